"""Lowers expressions of the tree to ops. Each function takes the state and one node, and gives the
value of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from weft.ir import ops, tree
from weft.ir.autodiff.lost import without_derivative
from weft.ir.calls import DRAWS
from weft.ir.core import Op, Value
from weft.ir.errors import InternalError
from weft.ir.symbols import FieldSymbol
from weft.ir.transforms.lower_tree_facts import always_returns, cost, has_return, returns_at_tail
from weft.ir.transforms.lower_tree_overflow import arithmetic, atomic, computed, matmul, reduction
from weft.ir.transforms.lower_tree_state import Inlined, Lowering, ends, lowers
from weft.ir.types import VOID, Array, Struct, Type, element, shape_of, u1

__all__ = ["address", "branches", "in_global_memory"]

# Up to this number of instructions, computing a value that may not be needed is cheaper than a branch around it.
SPECULATE = 12


@lowers(tree.Const)
def _const(low: Lowering, node: tree.Const) -> Value:
    return low.const(node.value, node.type)


@lowers(tree.ParamRef)
def _param(low: Lowering, node: tree.ParamRef) -> Value:
    return low.add(ops.Arg(node.index, type=node.type, name=low.kernel.params[node.index].name))


@lowers(tree.Unary)
def _unary(low: Lowering, node: tree.Unary) -> Value:
    return arithmetic(low, node.kind, [low.value(node.x)], node.type)


@lowers(tree.Binary)
def _binary(low: Lowering, node: tree.Binary) -> Value:
    return arithmetic(low, node.kind, low.values([node.lhs, node.rhs]), node.type)


@lowers(tree.Select)
def _select(low: Lowering, node: tree.Select) -> Value:
    condition, a, b = low.values([node.condition, node.a, node.b])
    return low.add(ops.Select(condition, a, b, type=node.type))


@lowers(tree.Cast)
def _cast(low: Lowering, node: tree.Cast) -> Value:
    return low.cast(low.value(node.x), node.type)


@lowers(tree.BitCast)
def _bit_cast(low: Lowering, node: tree.BitCast) -> Value:
    return low.add(ops.BitCast(low.value(node.x), type=node.type))


@lowers(tree.Random)
def _random(low: Lowering, node: tree.Random) -> Value:
    return low.add(ops.Random(low.stream, type=node.type))


@lowers(tree.MakeTensor)
def _make_tensor(low: Lowering, node: tree.MakeTensor) -> Value:
    return low.add(ops.MakeTensor(low.values(node.values), type=node.type))


@lowers(tree.Splat)
def _splat(low: Lowering, node: tree.Splat) -> Value:
    return low.add(ops.Splat(low.value(node.x), type=node.type))


@lowers(tree.MatMul)
def _matmul(low: Lowering, node: tree.MatMul) -> Value:
    lhs, rhs = low.values([node.lhs, node.rhs])
    return matmul(low, lhs, rhs, node.type)


@lowers(tree.Vary)
def _vary(low: Lowering, node: tree.Vary) -> Value:
    return low.add(ops.Vary(low.value(node.x)))


@lowers(tree.Derivative)
def _derivative(low: Lowering, node: tree.Derivative) -> Value:
    value, by = low.value(node.value), low.value(node.by)
    return low.add(ops.Derivative(value, by))


@lowers(tree.Transpose)
def _transpose(low: Lowering, node: tree.Transpose) -> Value:
    return low.add(ops.Transpose(low.value(node.x), type=node.type))


@lowers(tree.Reduce)
def _reduce(low: Lowering, node: tree.Reduce) -> Value:
    return reduction(low, node.kind, low.value(node.x), node.type)


@lowers(tree.Invoke)
def _invoke(low: Lowering, node: tree.Invoke) -> Value:
    values = low.values(node.arguments)
    touched: dict[str, list[FieldSymbol | int]] = {}  # by name
    for symbol in node.touched:
        touched.setdefault(symbol.name, []).append(symbol)
    for number, arg in enumerate(values):
        if isinstance(arg, ops.Arg) and isinstance(arg.type, Array):
            touched.setdefault(low.kernel.params[arg.index].name, []).append(number)
    only_read, only_written = (
        tuple(name for name, every in touched.items() if all(one in only for one in every))
        for only in (node.only_read, node.only_written)
    )
    made = ops.Invoke(node.function, values, tuple(touched), only_read, stream=low.stream, type=node.type)
    made.only_written, made.effects = only_written, (DRAWS,) if node.function in low.drawing else ()
    return low.add(made)


@lowers(tree.Simt)
def _simt(low: Lowering, node: tree.Simt) -> Value:
    low.require_block(f"'{node.kind}' is an operation of the threads of a block")
    return low.add(ops.Simt(node.kind, low.values(node.values), type=node.type))


_CELL_OPS: dict[str, Callable[..., Op]] = {
    **{op.opname: op for op in (ops.Activate, ops.Deactivate, ops.IsActive, ops.Length, ops.Append)},
    "cell_slot": partial(ops.IsActive, slot=True),
}


@lowers(tree.CellOp)
def _cell_op(low: Lowering, node: tree.CellOp) -> Value:
    made = _CELL_OPS[node.kind](node.node, low.values(node.indices), span=node.span)
    return low.add(made)


@lowers(tree.Shared)
def _shared(low: Lowering, node: tree.Shared) -> Value:
    if node not in low.shared:
        low.require_block("a SharedArray is memory of a block of threads")
        low.shared[node] = low.add(ops.Shared(node.shape, type=node.type, name=node.name))
    return low.shared[node]


@lowers(tree.MakeStruct)
def _make_struct(low: Lowering, node: tree.MakeStruct) -> Value:
    return low.add(ops.MakeStruct(low.values(node.values), type=node.type))


@lowers(tree.ArrayShape)
def _array_shape(low: Lowering, node: tree.ArrayShape) -> Value:
    return low.add(ops.ArrayShape(low.value(node.array), node.axis, type=node.type))


# ---- places ----------------------------------------------------------------------------------------------------------


def in_global_memory(expr: tree.Expr) -> bool:
    """Whether `expr` is an element of a field or an array, or a part of one."""
    while isinstance(expr, (tree.Element, tree.Member)):
        expr = expr.base
    return isinstance(expr, (tree.FieldElement, tree.ArrayElement))


def _is_place(low: Lowering, expr: tree.Expr) -> bool:
    while isinstance(expr, (tree.Element, tree.Member)):
        expr = expr.base
    if isinstance(expr, tree.Var):
        return expr.variable in low.memory
    return isinstance(expr, (tree.FieldElement, tree.ArrayElement))


def address(low: Lowering, expr: tree.Expr) -> Value:
    """The address of `expr`. A tensor that is not an lvalue is stored to memory first."""
    if not _is_place(low, expr):
        value = low.value(expr)
        place = low.local(value.type)
        low.store(place, value)
        return place
    if isinstance(expr, tree.Var):
        return low.lookup(expr.variable)
    if isinstance(expr, tree.FieldElement):
        return low.add(ops.FieldPtr(expr.field, low.values(expr.indices), expr.activates, span=expr.span))
    if isinstance(expr, tree.ArrayElement):
        array = low.value(expr.array)
        return low.add(ops.ArrayPtr(array, low.values(expr.indices), span=expr.span))
    if isinstance(expr, tree.Element):
        base = address(low, expr.base)
        indices = [_index(low, expr, axis) for axis in range(len(expr.indices))]
        return low.add(ops.ElementPtr(base, indices, span=expr.span))
    if isinstance(expr, tree.Member):
        return low.add(ops.MemberPtr(address(low, expr.base), _member(expr)))
    raise InternalError(f"lower_tree: {type(expr).__name__} has no address")


def _index(low: Lowering, expr: tree.Element, axis: int) -> Value:
    index = expr.indices[axis]
    if isinstance(index, tree.Const) and index.value < 0:
        return low.index(int(index.value) + shape_of(expr.base.type)[axis])
    return low.value(index)


def _member(expr: tree.Member) -> int:
    assert isinstance(expr.base.type, Struct)
    return expr.base.type.index(expr.name)


@lowers(tree.Var)
def _var(low: Lowering, node: tree.Var) -> Value:
    bound = low.lookup(node.variable)
    return low.load(bound) if node.variable in low.memory else bound


@lowers(tree.FieldElement)
@lowers(tree.ArrayElement)
def _stored(low: Lowering, node: tree.Expr) -> Value:
    return _read(low, node, address(low, node))


def _read(low: Lowering, node: tree.Expr, place: Value) -> Value:
    """The value at a place, without a derivative if it is in an element that carries none."""
    value, root = low.load(place), node
    while isinstance(root, (tree.Element, tree.Member)):
        root = root.base
    stopped = isinstance(root, tree.FieldElement) and root.stopped
    return without_derivative(low.builder, value) if stopped else value


@lowers(tree.Member)
def _member_value(low: Lowering, node: tree.Member) -> Value:
    if _is_place(low, node):
        return _read(low, node, address(low, node))
    return low.add(ops.Member(low.value(node.base), _member(node)))


@lowers(tree.Element)
def _element(low: Lowering, node: tree.Element) -> Value:
    if not _is_place(low, node) and all(isinstance(index, tree.Const) for index in node.indices):
        flat = 0
        for index, extent in zip(node.indices, shape_of(node.base.type), strict=True):
            assert isinstance(index, tree.Const)
            flat = flat * extent + int(index.value) % extent
        return low.add(ops.Extract(low.value(node.base), flat))
    base = address(low, node.base)
    indices = [_index(low, node, axis) for axis in range(len(node.indices))]
    return _read(low, node, low.add(ops.ElementPtr(base, indices)))


@lowers(tree.Atomic)
def _atomic(low: Lowering, node: tree.Atomic) -> Value:
    value = low.value(node.value)
    place = address(low, node.target)
    if in_global_memory(node.target) or low.shares(node.target):
        return atomic(low, node.kind, place, value)
    old = low.load(place)
    kind = "xor" if node.kind == "add" and element(old.type) is u1 else node.kind  # sums of truth values are modulo 2
    low.store(place, value if kind == "xchg" else computed(low, kind, old, value))
    return old


# ---- expressions that branch -----------------------------------------------------------------------------------------


@lowers(tree.IfExp)
def _if_exp(low: Lowering, node: tree.IfExp) -> Value:
    condition = low.value(node.condition)
    if not isinstance(node.type, Struct) and cost(node.a) + cost(node.b) <= _free(low):
        a = low.value(node.a)
        return low.add(ops.Select(condition, a, low.value(node.b), type=node.type))
    place = low.local(node.type)
    branch = low.branch(condition)
    for block, side in ((branch.then, node.a), (branch.orelse, node.b)):
        with low.inside(block):
            low.store(place, low.value(side))
    return low.load(place)


def branches(low: Lowering, node: tree.BoolOp) -> bool:
    """Whether `and`/`or` must skip its right side, because it has a side effect, may fault, or is expensive."""
    return any(cost(value) > _free(low) for value in node.values[1:])


def _free(low: Lowering) -> int:
    """What may be computed without being needed: nothing if it may fail."""
    config = low.config
    checks = config.debug, config.check_overflow, config.check_nan, config.check_uninitialised
    return 0 if any(checks) else SPECULATE


@lowers(tree.BoolOp)
def _bool_op(low: Lowering, node: tree.BoolOp) -> Value:
    if not branches(low, node):
        result = low.cast(low.value(node.values[0]), u1)
        for value in node.values[1:]:
            result = low.add(ops.Binary(node.kind, result, low.cast(low.value(value), u1), type=u1))
        return result
    place = low.local(u1)

    def rest(values: Sequence[tree.Expr]) -> None:
        low.store(place, low.value(values[0]))
        if len(values) > 1:
            branch = low.branch(low.load(place))
            with low.inside(branch.then if node.kind == "and" else branch.orelse):
                rest(values[1:])

    rest(node.values)
    return low.load(place)


@lowers(tree.Call)
def _call(low: Lowering, node: tree.Call) -> Value:
    """Inline a function. A `return` that is last in its block stores its value, or is just the value. Any other
    `return` leaves a loop that runs once."""
    arguments = low.values([value for _, value in node.arguments])
    for (variable, _), value in zip(node.arguments, arguments, strict=True):
        low.bind(variable, value)
    call = Inlined(node.type)
    early = [stmt for stmt in node.body if has_return(stmt)]
    straight = not early or (len(early) == 1 and isinstance(early[0], tree.Return))
    if node.type is not VOID and not straight:
        call.place = low.local(node.type, node.name)
    loops, low.loops = low.loops, []
    low.calls.append(call)
    if straight:
        low.run(node.body)
    elif returns_at_tail(node.body):
        _tail(low, node.body)
    else:
        _one_trip(low, call, node.body)
    low.calls.pop()
    low.loops = loops
    if call.value is not None:
        return call.value
    if call.place is not None:
        return low.load(call.place)
    return _nothing(low, node.type)


def _nothing(low: Lowering, type: Type) -> Value:
    """The value of a call without a result. Nothing uses it if the type is VOID."""
    if type is VOID:
        return Value(VOID)
    return low.load(low.local(type))


def _tail(low: Lowering, body: Sequence[tree.Stmt]) -> None:
    for position, stmt in enumerate(body):
        if ends(low.builder.block):
            return
        if isinstance(stmt, tree.Return):
            low.statement(stmt)
            return
        if not has_return(stmt):
            low.statement(stmt)
            continue
        assert isinstance(stmt, tree.If)
        rest = list(body[position + 1 :])
        from_then, from_orelse = _after(stmt, rest)
        low.builder.span = stmt.span or low.builder.span
        branch = low.branch(low.value(stmt.condition))
        for block, side in ((branch.then, from_then), (branch.orelse, from_orelse)):
            with low.inside(block):
                _tail(low, side)
        return


def _after(stmt: tree.If, rest: list[tree.Stmt]) -> tuple[list[tree.Stmt], list[tree.Stmt]]:
    if always_returns(stmt.then):
        return stmt.then, [*stmt.orelse, *rest]
    return [*stmt.then, *rest], stmt.orelse


def _one_trip(low: Lowering, call: Inlined, body: Sequence[tree.Stmt]) -> None:
    loop = low.add(ops.While())
    with low.loop(loop, loop.body) as frame:
        call.frame = frame
        low.run(body)
        if not ends(low.builder.block):
            low.add(ops.Break())
