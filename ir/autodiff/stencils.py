"""Transposed stencils: the atomic additions of a parallel loop that can run as a gather.

    for i: x[i - 1] += a(i); x[i + 1] += b(i)    ->    for e: x[e] += a(e + 1) if e + 1 is in the box
                                                                   + b(e - 1) if e - 1 is in the box

A *stencil* is a group of atomic additions without a used result to one field or array. Each index of their addresses is
a loop index plus a constant, or does not change in the loop. Each loop index is in exactly one position, so an element
and a constant offset name one iteration. A stencil has at least two offsets.

The gather runs before the loop and computes what iterations contribute anew, once for each offset. This is legal if

    (1) no write of the loop changes what the contributions load, before they load it
    (2) no access of the loop meets the elements that the gather adds to, other additions excepted
    (3) the contributions consist of pure ops, loads, locals and conditions

In (1), a write may follow the load in its iteration: iterations of a parallel loop do not write what another one reads.
That would be a race. So `y.grad[i] = 0` behind `load y.grad[i]` is no obstacle, and is done after the gather.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import TypeGuard

from weft.ir import ops
from weft.ir.addresses import element_steps, root_of, split
from weft.ir.alias import space_of, spaces_meet
from weft.ir.core import BlockArg, Op, Value, ops_of
from weft.ir.mapping.cost import price
from weft.ir.rewrite import literal
from weft.ir.symbols import FieldSymbol
from weft.ir.types import Array, Pointer, i32

__all__ = ["Addition", "Loop", "Stencil", "own_additions", "stencils_of"]

Loop = ops.ParallelFor | ops.StructFor
Path = tuple[tuple[int, ...], ...]  # the steps from an element to the part of it that is added to

_FARTHEST = 1 << 16  # an offset is not larger
_LAST = 1 << 30  # a field has no index beyond, so that an index plus or minus an offset does not wrap around into it
_PLAIN_ATOMIC = 12.0  # the cost of an atomic addition if one thread runs all iterations
_TEST = 1.0  # the cost of testing whether an iteration is in the box, for each axis


@dataclass(frozen=True)
class Addition:
    """An atomic addition, the offset of its element along each axis of the loop, and the part of the element."""

    op: ops.Atomic
    offset: tuple[int, ...]
    path: Path


@dataclass
class Stencil:
    """Additions to the elements `root` of one field or array. `positions`: the index of the address in which the index
    of each axis of the loop is. `invariant`: the other indices, by position."""

    root: ops.FieldPtr | ops.ArrayPtr
    positions: tuple[int, ...]
    invariant: dict[int, Value]
    additions: list[Addition] = field(default_factory=list[Addition])
    needed: dict[tuple[int, ...], set[Op]] = field(default_factory=dict[tuple[int, ...], set[Op]])

    @property
    def offsets(self) -> list[tuple[int, ...]]:
        """Its offsets, those of the first iterations first."""
        return sorted({one.offset for one in self.additions}, reverse=True)

    @property
    def paths(self) -> list[Path]:
        return list(dict.fromkeys(one.path for one in self.additions))


def stencils_of(loop: Loop, gradients: Container[object], lanes: int = 1) -> list[Stencil]:
    """The stencils of a loop that shall become gathers. `gradients`: the fields and the numbers of the parameters that
    are gradients. `lanes`: how many iterations one vector runs."""
    if not _is_boxed(loop):
        return []
    grouped = _grouped(loop, gradients)
    chosen = [one for one in grouped if len(one.offsets) > 1 and not _overlap(one.paths)]
    return [one for one in chosen if _is_apart(one, loop) and _slice(one, loop) and _is_cheap(one, loop, lanes)]


def own_additions(loop: Loop, gradients: Container[object]) -> list[ops.Atomic]:
    """Additions that need not be atomic: each iteration has elements for itself."""
    grouped = _grouped(loop, gradients)
    alone = [one for one in grouped if len(one.offsets) == 1 and _is_apart(one, loop, additions=True)]
    return [addition.op for one in alone for addition in one.additions]


def _grouped(loop: Loop, gradients: Container[object]) -> list[Stencil]:
    inside = ops_of(loop.body)
    if not all(map(_is_known, inside)):
        return []
    grouped: dict[object, Stencil] = {}
    for op in inside:
        if _is_addition(op):
            _group(op, loop, gradients, grouped)
    return list(grouped.values())


def _is_boxed(loop: Loop) -> bool:
    """Whether the iterations are all points of a box, in any order."""
    return not loop.config.serialize and (not isinstance(loop, ops.StructFor) or _is_dense(loop.field))


def _is_dense(symbol: FieldSymbol) -> bool:
    """Whether all elements of a field always exist, and this program owns them."""
    return symbol.path.is_full and symbol.path.dense is not None and not symbol.path.cell.halo


def _is_known(op: Op) -> bool:
    """Whether an op of the loop has no effect other than on memory, and leaves no more than a serial loop in it."""
    if op.effect not in ("", "address") or isinstance(op, (ops.Shared, ops.Return)):
        return False
    return not isinstance(op, ops.Continue) or any(isinstance(outer, (ops.For, ops.While)) for outer in op.around())


def _is_addition(op: Op) -> TypeGuard[ops.Atomic]:
    """Whether it is an atomic addition whose result is not used. Such additions may be done in any order."""
    return isinstance(op, ops.Atomic) and op.kind in ("add", "sub") and not op.users


# ---- shapes ----------------------------------------------------------------------------------------------------------


def _group(op: ops.Atomic, loop: Loop, gradients: Container[object], grouped: dict[object, Stencil]) -> None:
    """Add an atomic addition to its stencil, if it can be a part of one."""
    root, steps = element_steps(op.ptr)
    if not isinstance(root, (ops.FieldPtr, ops.ArrayPtr)) or not _is_target(root) or _owner(root) not in gradients:
        return
    path: Path = ()
    for step in steps:
        indices = (step.index,) if isinstance(step, ops.MemberPtr) else tuple(map(literal, step.indices))
        if any(index is None for index in indices):
            return
        path += (tuple(int(index) for index in indices if index is not None),)
    parts = [split(index, exact=True) for index in root.indices]
    axes: dict[Value | None, int] = {arg: axis for axis, arg in enumerate(loop.body.args)}
    places, offset, key, fixed = [-1] * len(axes), [0] * len(axes), list[object](), dict[int, Value]()
    for position, ((value, constant), index) in enumerate(zip(parts, root.indices, strict=True)):
        if index.type is not i32:
            return
        if value in axes:
            if places[axes[value]] >= 0 or abs(constant) > _FARTHEST:
                return
            places[axes[value]], offset[axes[value]] = position, constant
            key.append(axes[value])
        elif _is_invariant(index, loop):
            fixed[position] = index
            key.append((_name(value), constant))
        else:
            return
    if min(places) < 0:
        return
    made = Stencil(root, tuple(places), fixed)
    stencil = grouped.setdefault((space_of(root), *key), made)
    stencil.additions.append(Addition(op, tuple(offset), path))


def _owner(root: ops.FieldPtr | ops.ArrayPtr) -> object:
    if isinstance(root, ops.FieldPtr):
        return root.field
    return root.array.index if isinstance(root.array, ops.Arg) else None


def _name(value: Value | None) -> object:
    """Equal for ops of one value."""
    return ("arg", value.index) if isinstance(value, ops.Arg) else value


def _is_target(root: ops.FieldPtr | ops.ArrayPtr) -> bool:
    """Whether different indices are different elements, which exist, and no other field or array has them."""
    if isinstance(root, ops.FieldPtr):
        first = root.field.offset or (0,) * len(root.field.shape)
        low, high = min(first, default=0), max((a + n for a, n in zip(first, root.field.shape, strict=True)), default=0)
        return _is_dense(root.field) and not root.field.exposed and low >= -_LAST and high <= _LAST
    kind = root.array.type
    if not isinstance(root.array, ops.Arg) or not isinstance(kind, Array):
        return False
    return kind.contiguous and not kind.exposed and kind.index is i32


def _overlap(paths: list[Path]) -> bool:
    """Whether one of the parts is inside of another one."""
    return any(a is not b and a == b[: len(a)] for a in paths for b in paths)


def _is_invariant(value: Value, loop: Op) -> bool:
    """Whether a value is the same in all iterations of a loop, and can be computed before it."""
    if isinstance(value, BlockArg):
        return value.block is None or value.block.owner is None or not value.block.owner.within(loop)
    assert isinstance(value, Op)
    return not value.within(loop) or (value.pure and all(_is_invariant(operand, loop) for operand in value.operands))


# ---- legality --------------------------------------------------------------------------------------------------------


def _accesses(loop: Loop) -> list[Op]:
    """The accesses of the loop to memory that is not an iteration's own."""
    return [op for op in ops_of(loop.body) if op.effect == "address" and not _is_own(op.operands[0], loop)]


def _is_own(ptr: Value, loop: Loop) -> bool:
    root = root_of(ptr)
    return isinstance(root, ops.Alloca) and root.within(loop)


def _is_apart(stencil: Stencil, loop: Loop, additions: bool = False) -> bool:
    """(2): no access meets its elements, other additions excepted. `additions`: no other addition does either."""
    own = {one.op for one in stencil.additions}
    others = [op for op in _accesses(loop) if op not in own and (additions or not _is_addition(op))]
    return not any(_meet(stencil.root, op.operands[0], loop) for op in others)


def _meet(p: Value, q: Value, loop: Loop) -> bool:
    """Whether two addresses, each in any iteration, may be in the same memory."""
    a, b = root_of(p), root_of(q)
    if isinstance(a, ops.FieldPtr) and isinstance(b, ops.FieldPtr):
        if not (a.field.shares_with(b.field) or (a.field.exposed and b.field.exposed)):
            return False
        return a.field is not b.field or not _differ(a.indices, b.indices, loop)
    if not spaces_meet(space_of(p), space_of(q)):
        return False
    if not isinstance(a, ops.ArrayPtr) or not isinstance(b, ops.ArrayPtr) or not _is_target(a):
        return True
    return not _differ(a.indices, b.indices, loop)


def _differ(p: list[Value], q: list[Value], loop: Loop) -> bool:
    """Whether in one position, both indices are the same unchanging value plus different constants."""
    for i, j in zip(p, q, strict=True):
        (x, c), (y, d) = split(i, exact=True), split(j, exact=True)
        if 0 < abs(c - d) < 1 << 31 and _name(x) == _name(y) and (x is None or _is_invariant(x, loop)):
            return True
    return False


def _slice(stencil: Stencil, loop: Loop) -> bool:
    """Find what computes the contributions of each offset. False: it cannot be computed anew: (1) or (3)."""
    for offset in stencil.offsets:
        needed = _backwards([one.op for one in stencil.additions if one.offset == offset], loop)
        if needed is None or not _is_unclobbered(needed, loop):
            return False
        stencil.needed[offset] = needed
    return True


def _backwards(additions: list[ops.Atomic], loop: Loop) -> set[Op] | None:
    """The ops of an iteration that its additions depend on, and these themselves. None: not all of them are pure ops,
    loads, locals and conditions."""
    needed, todo = set[Op](), list[Op](additions)

    def need(value: Value) -> None:
        if isinstance(value, Op) and value.within(loop):
            todo.append(value)

    while todo:
        op = todo.pop()
        if op in needed or op is loop:
            continue
        if not (op.pure or isinstance(op, (ops.If, ops.Load, ops.Alloca, ops.Store)) or op in additions):
            return None
        needed.add(op)
        for value in op.operands[1:] if op in additions else op.operands:
            need(value)
        if op.parent is not None and op.parent is not loop:
            todo.append(op.parent)
        if isinstance(op, ops.Alloca):
            todo += [one for one in ops_of(loop.body) if one.writes and one.effect == "address" and _root(one) is op]
    return needed


def _root(op: Op) -> Value:
    return root_of(op.operands[0])


def _is_unclobbered(needed: set[Op], loop: Loop) -> bool:
    """(1): writes that may change what is loaded follow the load in its iteration. No loop around both repeats them,
    because the ops that are needed are in no serial loop."""
    everything = {op: number for number, op in enumerate(ops_of(loop.body))}
    writes = [op for op in _accesses(loop) if op.writes]
    loads = [op for op in needed if isinstance(op, ops.Load) and not _is_own(op.ptr, loop)]
    return not any(
        everything[write] < everything[load] and _meet(load.ptr, write.operands[0], loop)
        for load in loads
        for write in writes
    )


def _is_cheap(stencil: Stencil, loop: Loop, lanes: int) -> bool:
    """Whether computing all contributions anew costs no more than computing them once and adding atomically, where
    atomics are cheapest: if one thread runs all iterations. A loop with atomics has no lanes. A gather has them if what
    neighbouring iterations load lies side by side."""
    costs = [sum(_price(op) for op in needed) + _TEST * len(offset) for offset, needed in stencil.needed.items()]
    loads = {op for needed in stencil.needed.values() for op in needed if isinstance(op, ops.Load)}
    side_by_side = all(_is_side_by_side(load.ptr, loop) for load in loads)
    return sum(costs) <= (lanes if side_by_side else 1) * (max(costs) + _PLAIN_ATOMIC * len(stencil.additions))


def _is_side_by_side(ptr: Value, loop: Loop) -> bool:
    """Whether each index is a loop index plus a constant, or does not change in the loop."""
    root, axes = root_of(ptr), loop.body.args
    if not isinstance(root, (ops.FieldPtr, ops.ArrayPtr)):
        return _is_own(ptr, loop)
    parts = [split(index, exact=True)[0] for index in root.indices]
    return all(part is None or part in axes or _is_invariant(part, loop) for part in parts)


def _price(op: Op) -> float:
    return 1.0 if isinstance(op, ops.Atomic) or isinstance(op.type, Pointer) else price(op)
