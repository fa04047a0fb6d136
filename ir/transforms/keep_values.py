"""Keeps what the iterations of a loop compute for the same iterations of a later loop."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

from weft.ir import ops
from weft.ir.alias import is_access, space_of, spaces_meet
from weft.ir.config import CompileConfig
from weft.ir.core import BlockArg, Builder, Op, Value
from weft.ir.mapping.cost import price
from weft.ir.passes import pass_
from weft.ir.tasks import touched_spaces
from weft.ir.types import Prim, i32, pointer, tensor

__all__ = ["Loop", "keep_values", "known_box", "runs_through"]

Loop = ops.ParallelFor | ops.StructFor

_MOST = 1 << 20  # numbers that a kernel keeps, of all loops: more do not fit the caches
_LEAST = 1 << 16  # iterations: the memory costs some microseconds of the launch
_GAIN = 2.0  # the price of computing a value again, for each of its bytes


@pass_("keep_values")
def keep_values(root: ops.Kernel, config: CompileConfig) -> bool:
    """Before and after:

        parallel_for (%i) in [0, 100000) {                   %kept = shared_local : *f64x100000
          %a = exp (load @x[%i])                             parallel_for (%i) in [0, 100000) {
          atomic add %total, %a                                %a = exp (load @x[%i])
        }                                                      store %kept[%i], %a
        parallel_for (%i) in [0, 100000) {           ->        atomic add %total, %a
          %b = exp (load @x[%i])                             }
          store @y[%i], %b / (load %total)                   parallel_for (%i) in [0, 100000) {
        }                                                      store @y[%i], (load %kept[%i]) / (load %total) }

    A softmax is such a program, and so are gradients whose reverse loop computes again what the loop before it did.

    The pass is correct under these conditions. Both loops run over the same box, which is known. The first one computes
    the value in each iteration, and no iteration ends early. Both values come from equal ops, the indices, constants,
    values from outside of the loops, and loads of memory that nothing from the begin of the first loop to the end of
    the second may write.

    It pays on a CPU, where a number in the caches costs less than a function, and for boxes of a size at which the
    numbers are in the caches.
    """
    checked = config.debug or config.boundary_check or config.check_nan or config.check_overflow
    if checked or not config.advanced_optimization or root.called or config.traits.lanes == 1:
        return False
    top, left, changed = list(root.body), _MOST, False
    loops = [(place, op) for place, op in enumerate(top) if isinstance(op, Loop) and _size(op) >= _LEAST]
    for number, (last, later) in enumerate(loops):
        for first, earlier in reversed(loops[:number]):
            if known_box(earlier) != known_box(later) or not runs_through(earlier):
                continue
            for found in _Pair(earlier, later, _written(root, top[first : last + 1])).find():
                if _size(later) > left:
                    return changed
                _keep(root, found, earlier, later)
                left, changed = left - _size(later), True
    return changed


# ---- boxes -----------------------------------------------------------------------------------------------------------


def known_box(loop: Loop) -> tuple[tuple[int, int], ...] | None:
    """The begin and the end of each axis, if they are known."""
    if isinstance(loop, ops.StructFor):
        symbol = loop.field
        if symbol.node is not None or loop.cells:
            return None
        starts = symbol.offset or (0,) * len(symbol.shape)
        return tuple((start, start + count) for start, count in zip(starts, symbol.shape, strict=True))
    limits = [*loop.begins, *loop.ends]
    if not all(isinstance(limit, ops.Const) for limit in limits):
        return None
    numbers = [int(limit.value) for limit in limits if isinstance(limit, ops.Const)]
    half = len(loop.begins)
    return tuple(zip(numbers[:half], numbers[half:], strict=True))


def _size(loop: Loop) -> int:
    """How many iterations there are, or 0 if that is not known."""
    box = known_box(loop)
    return 0 if box is None else prod(max(0, end - begin) for begin, end in box)


# ---- what is legal ---------------------------------------------------------------------------------------------------


def runs_through(loop: Loop) -> bool:
    """Whether each iteration executes all ops of the body."""
    return not loop.all_of(ops.Continue)  # (`return` is not possible in a parallel loop)


def _written(kernel: ops.Kernel, between: list[Op]) -> set[Hashable] | None:
    """The memory that these ops, or ops inside them, may write. None: any."""
    found = set[Hashable]()
    for top in between:
        found |= touched_spaces(top, kernel)
        for op in top.walk():
            if is_access(op):
                found |= set() if isinstance(op, ops.Load) else {space_of(op.ptr)}
            elif op.writes and op.effect != "elsewhere" and not isinstance(op, ops.Invoke):
                return None
    return found


@dataclass(frozen=True)
class _Found:
    """A value of the earlier loop, and the equal one of the later loop."""

    earlier: Op
    later: Op


class _Pair:
    """Two loops over one box."""

    def __init__(self, earlier: Loop, later: Loop, written: set[Hashable] | None) -> None:
        self.earlier, self.later, self.written = earlier, later, written
        self.numbers: dict[Hashable, int] = {}  # of values: equal ones have the same number
        self.known: dict[Value, int] = {}

    def find(self) -> list[_Found]:
        """The values to keep."""
        if self.written is None:
            return []
        there = {self.number(op, self.earlier): op for op in self.earlier.body if isinstance(op.type, Prim)}
        found, gone = list[_Found](), set[Op]()
        for op in reversed(list(self.later.body)):
            equal = there.get(self.number(op, self.later)) if isinstance(op.type, Prim) else None
            if equal is None or not op.users:
                continue
            needed = any(user not in gone for user in op.users)
            if needed and op.type.is_float and _price(op, self.later) >= _GAIN * op.type.size:  # type: ignore[attr-defined]
                found.append(_Found(equal, op))
            elif needed:
                continue
            gone.add(op)
        return found

    def number(self, value: Value, loop: Loop) -> int:
        """The number of a value of a loop."""
        if value not in self.known:
            key = self._key(value, loop)
            self.known[value] = self.numbers.setdefault(key, len(self.numbers))
        return self.known[value]

    def _key(self, value: Value, loop: Loop) -> Hashable:
        """What a value is computed from."""
        if isinstance(value, BlockArg) and value in loop.body.args:
            return "index", loop.body.args.index(value)
        if not isinstance(value, Op) or not value.within(loop) or not (value.pure or self._stays(value)):
            return value
        attributes = tuple((name, repr(getattr(value, name))) for name in value.attribute_names)
        operands = tuple(self.number(operand, loop) for operand in value.operands)
        return type(value), value.type, attributes, value.groups, operands

    def _stays(self, op: Op) -> bool:
        """Whether it is a load of memory that is the same in both loops."""
        assert self.written is not None
        return isinstance(op, ops.Load) and not any(spaces_meet(space_of(op.ptr), space) for space in self.written)


def _price(op: Op, loop: Loop) -> float:
    """What it costs to compute a value of a loop from the memory that it comes from."""
    tree, left = set[Op](), [op]
    while left:
        one = left.pop()
        if one not in tree and one.within(loop):
            tree.add(one)
            left += [operand for operand in one.operands if isinstance(operand, Op)]
    return sum(price(one) for one in tree if one.pure)


# ---- the rewrite -----------------------------------------------------------------------------------------------------


def _keep(kernel: ops.Kernel, found: _Found, earlier: Loop, later: Loop) -> None:
    """Store the value in the earlier loop, and load it in the later one."""
    type = found.later.type
    assert isinstance(type, Prim)
    build = Builder(kernel.body, next(iter(kernel.body)), earlier.span)
    kept = build.add(ops.SharedLocal(type=pointer(tensor(type, (_size(later),))), name="kept"))
    before = Builder(earlier.body, found.earlier.next, found.earlier.span)
    before.add(ops.Store(_place(before, kept, earlier), found.earlier, relaxed=True))
    after = Builder.at(found.later)
    found.later.replace(after.add(ops.Load(_place(after, kept, later), name=found.later.name)))


def _place(build: Builder, kept: Value, loop: Loop) -> Value:
    """Where an iteration keeps its value."""
    box, total = known_box(loop), None
    assert box is not None
    for arg, (begin, end) in zip(loop.body.args, box, strict=True):
        here: Value = build.add(ops.Binary("sub", arg, build.add(ops.Const(begin, type=arg.type)))) if begin else arg
        here = here if here.type is i32 else build.add(ops.Cast(here, type=i32))
        if total is not None:
            row = build.add(ops.Binary("mul", total, build.add(ops.Const(end - begin, type=i32))))
            here = build.add(ops.Binary("add", row, here))
        total = here
    assert total is not None
    return build.add(ops.ElementPtr(kept, [total]))
