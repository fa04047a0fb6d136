"""Finds the locals of a kernel that the iterations of a parallel loop share, and the meaning of each assignment to one.

    s, t, m = 0, 0, 0
    for i in range(n):             # parallel
        t = x[i]                   # private: each iteration assigns t before it reads it, and nothing reads it later
        s = s + t                  # shared; an atomic add, as `s += t` is
        if t > m:                  # shared; an atomic maximum, if the loop has no other access to m
            m = t                  # and t is of m's type or a narrower one
        last = i                   # shared; a race: which iteration's value stays is not defined

The analysis runs on the tree, where each statement still has the form that the user wrote. `lower_tree` uses it to
lower a loop, and the translator uses it for warnings. The rules are those of the memory model (docs/memory-model.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields

from weft.ir import tree
from weft.ir.scalar import ATOMICS, BINARY, promote
from weft.ir.transforms.lower_tree_facts import CHILD_FIELDS, walk
from weft.ir.types import Prim, Type, element, shape_of

__all__ = ["Loop", "LoopLocals", "Update", "atomic_updates", "loop_locals", "root_variable"]

Loop = tree.RangeFor | tree.BoxFor | tree.StructFor
Part = tuple[tree.Variable, int]  # an element of a vector or matrix in row-major order; 0 of any other local
Parts = frozenset[Part]
NONE: Parts = frozenset()
_MOST_PARTS = 64  # a larger matrix is one part

# What must not be evaluated once where the program says twice.
_EFFECTS = (tree.Atomic, tree.Call, tree.CellOp, tree.Invoke, tree.Random, tree.Simt)
_EXTREMES = {"lt": "min", "le": "min", "gt": "max", "ge": "max"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


@dataclass(frozen=True, eq=False)
class Update:
    """An assignment that is performed by atomics, in order: a kind and an operand for each. A flag, which all
    iterations that set it set to the same constant, is an exchange whose old value is not used."""

    steps: tuple[tuple[str, tree.Expr], ...]


@dataclass(eq=False)
class LoopLocals:
    """How the iterations of one parallel loop use locals from outside of it. `private`: each iteration assigns them
    before it reads them. `shared`: all iterations share them. `updates`: assignments that are atomics. `extremes`: an
    `if` that is an atomic minimum or maximum of integers. `races`: assignments of which any may take effect."""

    private: list[tree.Variable] = field(default_factory=list[tree.Variable])
    shared: set[tree.Variable] = field(default_factory=set[tree.Variable])
    updates: dict[tree.Assign, Update] = field(default_factory=dict[tree.Assign, Update])
    extremes: dict[tree.If, tree.Assign] = field(default_factory=dict[tree.If, tree.Assign])
    races: list[tree.Assign | tree.AugAssign] = field(default_factory=list["tree.Assign | tree.AugAssign"])


def loop_locals(root: tree.KernelTree) -> dict[Loop, LoopLocals]:
    """The facts of each parallel loop at the kernel's top level that writes a local from outside of it."""
    loops = {loop: written for loop in _parallel_loops(root) if (written := _written_outside(loop))}
    if not loops:
        return {}
    live = _Liveness(frozenset(loops))
    live.sequence(root.body, NONE)
    return {loop: _facts(loop, loops[loop], after) for loop, after in live.after.items()}


def atomic_updates(loops: dict[Loop, LoopLocals]) -> set[tree.Node]:
    """The statements that update a shared local by atomics."""
    found = set[tree.Node]()
    for loop, facts in loops.items():
        found.update(facts.updates)
        for node in walk(loop):
            if isinstance(node, tree.AugAssign) and node.kind in ATOMICS and root_variable(node.target) in facts.shared:
                found.add(node)
    return found


def root_variable(expr: tree.Expr) -> tree.Variable | None:
    """The local that an lvalue is, or is a part of."""
    while isinstance(expr, (tree.Element, tree.Member)):
        expr = expr.base
    return expr.variable if isinstance(expr, tree.Var) else None


def _parallel_loops(root: tree.KernelTree) -> list[Loop]:
    loops = (node for node in walk(root) if isinstance(node, (tree.RangeFor, tree.BoxFor, tree.StructFor)))
    return [loop for loop in loops if loop.parallel and (not loop.config.serialize or is_listed(loop))]


def is_listed(loop: Loop) -> bool:
    """Whether a loop visits what is active of a sparse field or node."""
    return isinstance(loop, tree.StructFor) and loop.is_listed


def _variables_of(loop: Loop) -> list[tree.Variable]:
    return [loop.variable] if isinstance(loop, tree.RangeFor) else loop.variables


def _written_outside(loop: Loop) -> dict[tree.Variable, list[tree.Node]]:
    """The writes, in program order, of each local that the body writes but does not declare."""
    written: dict[tree.Variable, list[tree.Node]] = {}
    declared: set[tree.Variable] = set(_variables_of(loop))
    for stmt in loop.body:
        for node in reversed([*walk(stmt)]):  # `walk` takes children last to first
            if isinstance(node, (tree.Assign, tree.AugAssign, tree.Atomic)):
                variable = root_variable(node.target)
                if variable is not None:
                    written.setdefault(variable, []).append(node)
            elif isinstance(node, tree.Let):
                declared.add(node.variable)
            elif isinstance(node, tree.Call):
                declared.update(variable for variable, _ in node.arguments)
            elif isinstance(node, (tree.RangeFor, tree.BoxFor, tree.StructFor)):
                declared.update(_variables_of(node))
    return {variable: writes for variable, writes in written.items() if variable not in declared}


# ---- what is read before it is written, and what is read later -------------------------------------------------------


@dataclass(frozen=True)
class _Flow:
    """The effect of a statement on locals: the parts that it may read before it has assigned them, and those that it
    certainly assigns. `ends`: the code after it in its block is never reached."""

    exposed: Parts = NONE
    assigned: Parts = NONE
    ends: bool = False


class _Liveness:
    """One backward walk over the program. `after` holds the parts that may be read after each of the `loops`."""

    def __init__(self, loops: frozenset[Loop]) -> None:
        self.loops = loops
        self.after: dict[Loop, Parts] = {}

    def sequence(self, body: Sequence[tree.Stmt], live: Parts) -> Parts:
        """The parts that may be read from the start of `body` on, if `live` may be read after it. The loops of inlined
        calls that are statements count at the place of the call."""
        for stmt in reversed(body):
            if isinstance(stmt, (tree.RangeFor, tree.BoxFor, tree.StructFor)) and stmt in self.loops:
                self.after[stmt] = live
            elif isinstance(stmt, (tree.Eval, tree.Let, tree.Assign)) and isinstance(stmt.value, tree.Call):
                target = _reads(stmt.target) if isinstance(stmt, tree.Assign) else NONE
                self.sequence(stmt.value.body, live | target)
            flow = _flow(stmt)
            live = flow.exposed | (live - flow.assigned)
        return live


def _parts(variable: tree.Variable) -> Parts:
    """All parts of a local."""
    size = math.prod(shape_of(variable.type))
    return frozenset((variable, part) for part in range(size if size <= _MOST_PARTS else 1))


def _parts_of_all(variables: Iterable[tree.Variable]) -> Parts:
    return NONE.union(*(_parts(variable) for variable in variables))


def _named(expr: tree.Expr) -> Parts | None:
    """The parts that an lvalue is, if it is a local, or an element of one whose indices are constants."""
    if isinstance(expr, tree.Var):
        return _parts(expr.variable)
    if not isinstance(expr, tree.Element) or not isinstance(expr.base, tree.Var):
        return None
    variable, part = expr.base.variable, 0
    shape = shape_of(variable.type)
    if len(expr.indices) != len(shape) or math.prod(shape) > _MOST_PARTS:
        return None
    for index, extent in zip(expr.indices, shape, strict=True):
        if not isinstance(index, tree.Const) or not 0 <= index.value < extent:
            return None
        part = part * extent + int(index.value)
    return frozenset(((variable, part),))


def _flow(stmt: tree.Stmt) -> _Flow:
    if isinstance(stmt, (tree.Let, tree.Assign, tree.Eval)):
        return _assignment(stmt)
    if isinstance(stmt, tree.If):
        then, orelse = _body(stmt.then), _body(stmt.orelse)
        exposed = _reads(stmt.condition) | then.exposed | orelse.exposed
        if then.ends or orelse.ends:
            return _Flow(exposed, (orelse if then.ends else then).assigned, then.ends and orelse.ends)
        return _Flow(exposed, then.assigned & orelse.assigned)
    if isinstance(stmt, tree.While):
        return _Flow(_reads(stmt.condition) | _body(stmt.body).exposed)
    if isinstance(stmt, (tree.RangeFor, tree.BoxFor, tree.StructFor)):
        return _Flow(_reads_children(stmt) | (_body(stmt.body).exposed - _parts_of_all(_variables_of(stmt))))
    return _Flow(_reads_children(stmt), ends=isinstance(stmt, (tree.Break, tree.Continue, tree.Return)))


def _assignment(stmt: tree.Let | tree.Assign | tree.Eval) -> _Flow:
    exposed, assigned = _reads(stmt.value), _assigned_by(stmt.value)
    if isinstance(stmt, tree.Let):
        return _Flow(exposed, assigned | _parts(stmt.variable))
    if isinstance(stmt, tree.Eval):
        return _Flow(exposed, assigned)
    if (named := _named(stmt.target)) is not None:
        return _Flow(exposed, assigned | named)
    return _Flow(exposed | _reads(stmt.target), assigned)


def _body(body: Sequence[tree.Stmt]) -> _Flow:
    exposed, assigned = NONE, NONE
    for stmt in body:
        flow = _flow(stmt)
        exposed |= flow.exposed - assigned
        assigned |= flow.assigned
        if flow.ends:
            return _Flow(exposed, assigned, True)
    return _Flow(exposed, assigned)


def _reads(expr: tree.Expr) -> Parts:
    """What of locals an expression may read before it has assigned it."""
    if (named := _named(expr)) is not None:
        return named
    if isinstance(expr, tree.Call):
        own = _parts_of_all(variable for variable, _ in expr.arguments)
        return _reads_all(value for _, value in expr.arguments) | (_body(expr.body).exposed - own)
    return _reads_children(expr)


def _reads_children(node: tree.Node) -> Parts:
    """What the expressions of a node may read, those of its blocks left out."""
    return _reads_all(getattr(node, name) for name in CHILD_FIELDS[type(node)])


def _reads_all(parts: Iterable[object]) -> Parts:
    found = NONE
    for part in parts:
        if isinstance(part, tree.Expr):
            found |= _reads(part)
        elif isinstance(part, (list, tuple)):
            found |= _reads_all(part)
    return found


def _assigned_by(expr: tree.Expr) -> Parts:
    """The parts that an inlined call certainly assigns. After an early return, no more is certain."""
    if not isinstance(expr, tree.Call):
        return NONE
    early = any(
        isinstance(node, tree.Return) and node is not expr.body[-1] for stmt in expr.body for node in walk(stmt)
    )
    return NONE if early else _body(expr.body).assigned


# ---- what each assignment means --------------------------------------------------------------------------------------


def _facts(loop: Loop, written: dict[tree.Variable, list[tree.Node]], live: Parts) -> LoopLocals:
    facts, exposed = LoopLocals(), _body(loop.body).exposed
    for variable, writes in written.items():
        if _parts(variable).isdisjoint(exposed | live):
            facts.private.append(variable)
            continue
        facts.shared.add(variable)
        if _is_flag(writes):
            facts.updates |= {
                write: Update((("xchg", write.value),)) for write in writes if isinstance(write, tree.Assign)
            }
        elif not _is_one_writer_each(loop, writes):
            for write in writes:
                _classify(facts, loop, variable, write)
    return facts


def _classify(facts: LoopLocals, loop: Loop, variable: tree.Variable, write: tree.Node) -> None:
    if isinstance(write, tree.Assign):
        if (update := _update(write, variable)) is not None:
            facts.updates[write] = update
        elif (extreme := _extreme(loop, write, variable)) is not None:
            _take_extreme(facts, extreme, write)
        else:
            facts.races.append(write)
    elif isinstance(write, tree.AugAssign) and write.kind not in ATOMICS:
        facts.races.append(write)


def _update(write: tree.Assign, variable: tree.Variable) -> Update | None:
    """`s = s + a + b`, `s = a + s`, `s = max(s, a)`: an atomic for each operand, in the type of s. Nothing else in the
    value may read s, and integers and floats may not mix: a fraction would be cut off before the sum, not after it."""
    steps, value = list[tuple[str, tree.Expr]](), write.value
    while isinstance(value, tree.Binary) and value.kind in ATOMICS and _updates(value, write.target):
        if steps and _family(value.kind) != _family(steps[0][0]):
            return None
        lhs, rhs = value.lhs, value.rhs
        if BINARY[value.kind].commutative and _alike(rhs, write.target):
            lhs, rhs = rhs, lhs
        steps.append((value.kind, rhs))
        value = lhs
    read = _reads_all(operand for _, operand in steps)
    if not steps or not _alike(value, write.target) or not read.isdisjoint(_parts(variable)):
        return None
    return Update(tuple(reversed(steps)))


def _updates(value: tree.Expr, place: tree.Expr) -> bool:
    """Whether both are integers, or both floats, of one shape."""
    return element(value.type).is_int == element(place.type).is_int and shape_of(value.type) == shape_of(place.type)


def _family(kind: str) -> str:
    """Sums and differences may be computed in any order."""
    return "add" if kind == "sub" else kind


def _extreme(loop: Loop, write: tree.Assign, variable: tree.Variable) -> tree.If | None:
    """The `if e > m: m = e` whose whole body is `write`, if the loop has no other access to m."""
    accesses = 0
    found: tree.If | None = None
    for stmt in loop.body:
        for node in walk(stmt):
            accesses += isinstance(node, tree.Var) and node.variable is variable
            if isinstance(node, tree.If) and len(node.then) == 1 and node.then[0] is write and not node.orelse:
                found = node
    if found is None or accesses != 2 or _extreme_kind(found, write) is None:
        return None
    return found


def _extreme_kind(branch: tree.If, write: tree.Assign) -> str | None:
    condition = branch.condition
    if not isinstance(condition, tree.Binary) or condition.kind not in _EXTREMES:
        return None
    kind, value, place = condition.kind, condition.lhs, condition.rhs
    if _alike(value, write.target):
        kind, value, place = _MIRRORED[kind], place, value
    if not _alike(place, write.target) or not _alike(value, write.value) or not _fits(value.type, place.type):
        return None
    if any(isinstance(node, _EFFECTS) for node in walk(condition)):
        return None
    return _EXTREMES[kind]


def _fits(value: Type, place: Type) -> bool:
    """Whether the numbers are compared in the type of the place, so that the compared value is the stored one."""
    return isinstance(value, Prim) and isinstance(place, Prim) and promote(value, place) is place


def _take_extreme(facts: LoopLocals, branch: tree.If, write: tree.Assign) -> None:
    """For integers, the atomic alone suffices. For floats, the test remains around the atomic: a NaN in m must stay,
    because no comparison with it holds."""
    kind = _extreme_kind(branch, write)
    assert kind is not None
    facts.updates[write] = Update(((kind, write.value),))
    if element(write.target.type).is_int:
        facts.extremes[branch] = write


def _is_flag(writes: Sequence[tree.Node]) -> bool:
    """Whether every iteration that assigns the local gives it the same constant."""
    values: set[str] = set()
    for write in writes:
        if not isinstance(write, tree.Assign) or not isinstance(write.target, tree.Var):
            return False
        value = write.value.x if isinstance(write.value, tree.Cast) else write.value
        if not isinstance(value, tree.Const):
            return False
        values.add(f"{value.value!r}: {value.type}")
    return len(values) == 1


def _is_one_writer_each(loop: Loop, writes: Sequence[tree.Node]) -> bool:
    """Whether each iteration writes its own elements: every write has all of the loop's variables as indices, in the
    same positions."""
    variables = _variables_of(loop)
    positions: set[tuple[int, ...]] = set()
    for write in writes:
        target = write.target  # type: ignore[attr-defined]
        if not isinstance(target, tree.Element) or not isinstance(target.base, tree.Var):
            return False
        named = [index.variable if isinstance(index, tree.Var) else None for index in target.indices]
        if not variables or any(variable not in named for variable in variables):
            return False
        positions.add(tuple(named.index(variable) for variable in variables))
    return len(positions) == 1


def _alike(a: tree.Expr, b: tree.Expr) -> bool:
    """Whether two expressions have the same text."""
    return _spelling(a) == _spelling(b)


def _spelling(part: object) -> object:
    """A key that is equal for parts of expressions with the same text. A call may give a different value each time."""
    if isinstance(part, (tree.Shared, tree.Call)):
        return object()
    if isinstance(part, tree.Node):
        return type(part), *(_spelling(getattr(part, one.name)) for one in fields(part) if one.name != "span")
    if isinstance(part, (list, tuple)):
        return [_spelling(each) for each in part]
    return part
