"""Lowers the tree of a kernel to CHI.

    while i < n:            %c: while { %t = binary lt (load %i), %n
        x[i] += v     =>                if %t {} else { break }
        i += 1                          atomic add (field_ptr @x (load %i)), %v
                                        store %i, binary add (load %i), 1 }

A local that is assigned once becomes a plain SSA value. All other locals become memory (`alloca`). A local that the
iterations of a parallel loop write becomes a `shared_local`, and `s += v` on it is atomic (see `ir/shared_locals.py`).
Inlined functions, `and`/`or`, conditional expressions and multi-axis serial loops become structured control flow.
Operand types may still differ: `infer_types` runs next. A loop stays parallel only at the top level of the kernel.
Elsewhere it becomes a nest of serial loops.

The rules for statements are in this module, those for expressions in `lower_tree_expressions`. Both keep their state in
`lower_tree_state`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from weft.ir import ops, tree
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Value
from weft.ir.errors import CompilationError
from weft.ir.intervals import interval
from weft.ir.scalar import ATOMICS
from weft.ir.shared_locals import Loop, loop_locals
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.transforms.lower_tree_expressions import address, branches, in_global_memory
from weft.ir.transforms.lower_tree_facts import drawing, memory_variables
from weft.ir.transforms.lower_tree_inlining import with_calls_inlined
from weft.ir.transforms.lower_tree_overflow import atomic, computed
from weft.ir.transforms.lower_tree_state import PARALLEL, Frame, Inlined, Lowering, lowers
from weft.ir.trips import ONCE, TRIP
from weft.ir.types import Array, Struct, i32, i64, u64

__all__ = ["lower_tree"]

Bind = Callable[[Sequence[Value]], None]


def lower_tree(root: tree.KernelTree, config: CompileConfig) -> ops.Kernel:
    """Build the kernel's ops from its tree. In a kernel that is differentiated, some calls are inlined."""
    if root.mode:
        root = with_calls_inlined(root)
    kernel = ops.Kernel(root.name, root.params, root.results, root.fields, span=root.span)
    kernel.called, kernel.mode, kernel.nodes = root.called, root.mode, root.nodes
    lowering = Lowering(kernel, config, memory_variables(root), loop_locals(root))
    lowering.builder.span, lowering.drawing = root.span, drawing(root.functions)
    lowering.run(root.body)
    return kernel


# ---- plain statements ------------------------------------------------------------------------------------------------


@lowers(tree.Let)
def _let(low: Lowering, node: tree.Let) -> None:
    low.bind(node.variable, low.value(node.value))


@lowers(tree.Assign)
def _assign(low: Lowering, node: tree.Assign) -> None:
    update = low.loop_locals.updates.get(node)
    if update is not None:
        place = address(low, node.target)
        for kind, operand in update.steps:
            atomic(low, kind, place, low.value(operand))
        return
    value = low.value(node.value)
    low.store(address(low, node.target), value, relaxed=low.shares(node.target))


@lowers(tree.AugAssign)
def _aug_assign(low: Lowering, node: tree.AugAssign) -> None:
    value = low.value(node.value)
    place = address(low, node.target)
    shared = low.shares(node.target)
    if node.kind in ATOMICS and (shared or in_global_memory(node.target)):
        atomic(low, node.kind, place, value)
    else:
        low.store(place, computed(low, node.kind, low.load(place), value), relaxed=shared)


@lowers(tree.Eval)
def _eval(low: Lowering, node: tree.Eval) -> None:
    low.value(node.value)


@lowers(tree.Print)
def _print(low: Lowering, node: tree.Print) -> None:
    values = [low.value(part[0]) for part in node.parts if not isinstance(part, str)]
    low.add(ops.Print(values, tuple(part if isinstance(part, str) else "\0" + part[1] for part in node.parts)))


@lowers(tree.Assert)
def _assert(low: Lowering, node: tree.Assert) -> None:
    condition = low.value(node.condition)  # it may have side effects, which must not depend on the check
    if low.config.debug:
        low.add(ops.Assert(condition, low.values(node.arguments), node.message))


@lowers(tree.If)
def _if(low: Lowering, node: tree.If) -> None:
    condition = node.condition
    if node in low.loop_locals.extremes:
        low.statement(low.loop_locals.extremes[node])
        return
    if isinstance(condition, tree.BoolOp) and condition.kind == "and" and not node.orelse and branches(low, condition):
        _nested_ifs(low, condition.values, node.then)
        return
    branch = low.branch(low.value(condition))
    for block, body in ((branch.then, node.then), (branch.orelse, node.orelse)):
        with low.inside(block):
            low.run(body)


def _nested_ifs(low: Lowering, conditions: Sequence[tree.Expr], body: Sequence[tree.Stmt]) -> None:
    """`if a and b: S` without `else` is `if a: if b: S`."""
    if not conditions:
        low.run(body)
        return
    with low.inside(low.branch(low.value(conditions[0])).then):
        _nested_ifs(low, conditions[1:], body)


# ---- jumps -----------------------------------------------------------------------------------------------------------


@lowers(tree.Break)
def _break(low: Lowering, node: tree.Break) -> None:
    if not low.loops:
        raise CompilationError("'break' outside a loop", node.span)
    low.jump(low.loops[-1][0], ops.Break)


@lowers(tree.Continue)
def _continue(low: Lowering, node: tree.Continue) -> None:
    if not low.loops:
        raise CompilationError("'continue' outside a loop", node.span)
    low.jump(low.loops[-1][1], ops.Continue)


@lowers(tree.Return)
def _return(low: Lowering, node: tree.Return) -> None:
    if low.calls:
        _return_from_call(low, low.calls[-1], node)
        return
    if any(isinstance(frame.op, PARALLEL) for frame in low.frames):
        raise CompilationError("a parallel loop cannot contain 'return': its iterations run in any order", node.span)
    low.add(ops.Return(low.values(node.values)))


def _return_from_call(low: Lowering, call: Inlined, node: tree.Return) -> None:
    values = low.values(node.values)
    if len(values) == 1:
        value: Value | None = values[0]
    else:
        value = low.add(ops.MakeStruct(values, type=call.type)) if isinstance(call.type, Struct) else None
    if value is not None:
        if call.place is None:
            call.value = low.cast(value, call.type)
        else:
            low.store(call.place, value)
    if call.frame is not None:
        low.jump(call.frame, ops.Break)


# ---- loops -----------------------------------------------------------------------------------------------------------


@lowers(tree.While)
def _while(low: Lowering, node: tree.While) -> None:
    loop = low.add(ops.While())
    with low.loop(loop, loop.body) as frame:
        if not (isinstance(node.condition, tree.Const) and node.condition.value):
            test = low.branch(low.value(node.condition))
            test.orelse.append(ops.Break(span=low.span))
        low.loops.append((frame, frame))
        low.run(node.body)
        low.loops.pop()


@dataclass(frozen=True)
class _Axis:
    """One axis of a loop. `variable` goes from `begin` in steps of `step` up to but excluding `end`.
    All have its type."""

    variable: tree.Variable
    begin: Value
    end: Value
    step: Value


@lowers(tree.RangeFor)
def _range_for(low: Lowering, node: tree.RangeFor) -> None:
    variable = node.variable
    begin, end, step = (low.cast(value, variable.type) for value in low.values([node.begin, node.end, node.step]))
    if low.config.debug and not isinstance(step, ops.Const):
        low.add(ops.Assert(low.binary("ne", step, low.zero_like(variable.type)), [], "the step of a range is 0"))
    _box(
        low,
        [_Axis(variable, begin, end, step)],
        _is_parallel(low, node),
        node,
        lambda args: low.bind(variable, args[0]),
    )


def _is_parallel(low: Lowering, node: Loop) -> bool:
    return node.parallel and low.parallel_here() and not node.config.serialize


@lowers(tree.BoxFor)
def _box_for(low: Lowering, node: tree.BoxFor) -> None:
    types = [variable.type for variable in node.variables]
    begins = [low.cast(low.value(value), type) for value, type in zip(node.begins, types, strict=True)]
    ends = [low.cast(low.value(value), type) for value, type in zip(node.ends, types, strict=True)]
    _unit_box(low, node, begins, ends, range(len(types)))


@lowers(tree.StructFor)
def _struct_for(low: Lowering, node: tree.StructFor) -> None:
    types = [variable.type for variable in node.variables]
    if isinstance(node.over, NodeSymbol):
        _elements(low, node, node.over.table, cells=True)
        return
    if not isinstance(node.over, FieldSymbol):
        array = low.value(node.over)
        if not isinstance(array.type, Array):
            raise CompilationError(f"cannot loop over a {array.type}", node.span)
        shape: list[Value] = [low.add(ops.ArrayShape(array, axis)) for axis in range(array.type.ndim)]
        ends = [low.cast(extent, type) for extent, type in zip(shape, types, strict=True)]
        _unit_box(low, node, list(map(low.zero_like, types)), ends, range(len(types)))
        return
    field = node.over
    if node.is_listed or _is_parallel(low, node):
        _elements(low, node, field)
        return
    first, box = field.space.first, field.path.enumerate(field.space, int)
    begin, end = (dict(zip(box.axes, limits, strict=False)) for limits in (box.begins, box.ends))
    begins = [low.const(first[axis] + begin[axis], type) for axis, type in enumerate(types)]
    ends = [low.const(first[axis] + end[axis], type) for axis, type in enumerate(types)]
    _unit_box(low, node, begins, ends, field.space.order)


def _elements(low: Lowering, node: tree.StructFor, field: FieldSymbol, cells: bool = False) -> None:
    """A loop over elements that stays one op."""
    if not low.parallel_here():
        what = "node" if cells else "field"
        raise CompilationError(f"a loop over a sparse {what} must be at the top level of the kernel", node.span)
    body = low.body_args(node.variables)
    loop = ops.StructFor(field, node.config, cells, body)
    _parallel(low, loop, body, node, partial(_bind_all, low, node.variables))


def _unit_box(
    low: Lowering, node: tree.BoxFor | tree.StructFor, begins: list[Value], ends: list[Value], order: Sequence[int]
) -> None:
    """A box with step 1 along every axis. Its serial form nests the axes in `order`, outermost first."""
    parallel = _is_parallel(low, node)
    order = range(len(begins)) if parallel else order
    variables = [node.variables[axis] for axis in order]
    axes = [
        _Axis(variable, begins[axis], ends[axis], low.one_like(variable.type))
        for axis, variable in zip(order, variables, strict=True)
    ]
    _box(low, axes, parallel, node, partial(_bind_all, low, variables))


def _bind_all(low: Lowering, variables: Sequence[tree.Variable], args: Sequence[Value]) -> None:
    for variable, arg in zip(variables, args, strict=True):
        low.bind(variable, arg)


def _box(low: Lowering, axes: Sequence[_Axis], parallel: bool, node: Loop, bind: Bind) -> None:
    """One parallel loop, or a nest of serial ones. `bind` gives the user's variables their values in the body."""
    # The single element of a 0-D field becomes a loop of one trip, so that `break` and `continue` have a loop.
    loops = [axis if _counts_itself(axis, parallel) else _trips(low, axis) for axis in axes] or [_once(low)]

    def inside(args: Sequence[Value]) -> None:
        bind([arg if loop is axis else _index(low, axis, arg) for axis, loop, arg in zip(axes, loops, args)])

    if parallel:
        body = low.body_args([axis.variable for axis in loops])
        begins, ends = [axis.begin for axis in loops], [axis.end for axis in loops]
        _parallel(low, ops.ParallelFor(begins, ends, node.config, body), body, node, inside)
        return
    frames: list[Frame] = []
    args: list[Value] = []
    with ExitStack() as nest:
        for axis in loops:
            body = low.body_args([axis.variable])
            frames.append(
                nest.enter_context(low.loop(low.add(ops.For(axis.begin, axis.end, axis.step, body=body)), body))
            )
            args.append(body.args[0])
        low.loops.append((frames[0], frames[-1]))
        inside(args)
        low.run(node.body)
        low.loops.pop()


def _once(low: Lowering) -> _Axis:
    return _Axis(tree.Variable(ONCE, i32), low.index(0), low.index(1), low.index(1))


# ---- loops over numbered trips ---------------------------------------------------------------------------------------


def _counts_itself(axis: _Axis, parallel: bool) -> bool:
    """Whether the loop can use the user's index directly. A parallel loop must count by one, and lengths must fit 64
    bits."""
    if not isinstance(axis.step, ops.Const) or axis.step.value == 0:
        return False
    near = (abs(limit) < 2**62 for value in (axis.begin, axis.end) for limit in interval(value))
    return not parallel or (axis.step.value == 1 and all(near))


def _trips(low: Lowering, axis: _Axis) -> _Axis:
    """The number of trips, n = ceil((end - begin) / step) for a step of either sign, or 0 if the step is 0. Trips are
    counted in [0, n) by one."""
    type = axis.variable.type
    kind = u64 if type is i64 else i64  # holds every distance between two indices
    first, last = _in_order(low, axis)
    one, size = low.one_like(kind), low.cast(low.add(ops.Unary("abs", low.cast(axis.step, i64), type=i64)), kind)
    reach = low.binary("sub", low.binary("sub", low.cast(last, kind), low.cast(first, kind)), one)
    count = low.binary("add", low.binary("floordiv", reach, low.binary("max", size, one)), one)
    if kind is u64:  # a loop of more trips would not end in practice
        count = low.cast(low.binary("min", count, low.const(2**63 - 1, kind)), i64)
    some = low.binary("and", low.binary("lt", first, last), low.binary("ne", axis.step, low.zero_like(type)))
    end = low.add(ops.Select(some, count, low.zero_like(i64)))
    plain = type is i64 and _is(axis.begin, 0) and _is(axis.step, 1)  # the trip's number is the index
    name = axis.variable.name if plain else TRIP
    return _Axis(tree.Variable(name, i64), low.zero_like(i64), end, low.one_like(i64))


def _is(value: Value, number: int) -> bool:
    return isinstance(value, ops.Const) and value.value == number


def _in_order(low: Lowering, axis: _Axis) -> tuple[Value, Value]:
    """The two ends of an axis, the lower one first if the loop runs at all."""
    if isinstance(axis.step, ops.Const):
        return (axis.begin, axis.end) if axis.step.value > 0 else (axis.end, axis.begin)
    up = low.binary("gt", axis.step, low.zero_like(axis.variable.type))
    return low.add(ops.Select(up, axis.begin, axis.end)), low.add(ops.Select(up, axis.end, axis.begin))


def _index(low: Lowering, axis: _Axis, number: Value) -> Value:
    """The index in a trip: begin + number * step. Intermediate results may wrap around, the final one does not."""
    return low.binary("add", axis.begin, low.binary("mul", low.cast(number, axis.variable.type), axis.step))


def _parallel(low: Lowering, loop: ops.ParallelFor | ops.StructFor, body: Block, node: Loop, bind: Bind) -> None:
    low.add(loop)
    low.parallel_loops += 1
    low.stream = low.parallel_loops
    with low.loop(loop, body) as frame:
        low.loops.append((frame, frame))
        bind(body.args)
        with low.iterations(node):
            low.run(node.body)
        low.loops.pop()
    low.stream = 0
