"""Serial loops in reverse mode: their iterations in reverse order, each with the locals that it began with.

The *state* of a loop is the locals from outside of it that the loop writes, and that the backward sweep of an iteration
needs as the iteration found them. If iterations run again, it is what that needs, too. A loop without a state needs
nothing: its iterations are recomputed in reverse order. Otherwise the forward sweep saves states in *slots*, which are
local arrays, with values that `keeping.py` chose:

    few iterations, at most a known number     a slot for each iteration
    else                                       slots for a part of the iterations, and checkpoints (`leaves.py`)
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from weft.ir import ops
from weft.ir.autodiff.adjoints import Frame
from weft.ir.autodiff.keeping import Kept
from weft.ir.autodiff.leaves import Leaves
from weft.ir.autodiff.slots import Slots, Step, binary, const, downwards
from weft.ir.core import Op, Value
from weft.ir.intervals import interval
from weft.ir.rewrite import literal
from weft.ir.types import Prim, i32, i64, u32

__all__ = ["Tape", "counted", "has_slots", "index_at", "reverse_each", "slots_of"]

_FEW = 1024  # the most scalars that are kept in the locals of an iteration of a parallel loop
_MANY = 1 << 22  # the most scalars that are kept in locals of the kernel


@dataclass
class Tape:
    """What the forward sweep of a block leaves for the backward sweep of an op in it. `saved`: the values that locals
    had before the op. `kept`: what is kept of a loop. `state`: what iterations need to run again. `advance`: the ops
    that compute the next state from it, and the kept values. (Nothing if none runs again.) `slots` or `leaves`: where
    it is kept. `count`: the number of iterations, if it is asked for. `exits`: where the conditions are that may end a
    While; `outer`: the one without which the last iteration is not swept (see `exits.py`)."""

    saved: list[tuple[Value, Value]] = field(default_factory=list[tuple[Value, Value]])
    kept: Kept = field(default_factory=lambda: Kept([]))
    state: list[Value] = field(default_factory=list[Value])
    advance: Set[Value] = frozenset()
    slots: Slots | None = None
    leaves: Leaves | None = None
    count: Value | None = None
    exits: dict[Op, Value] = field(default_factory=dict[Op, Value])
    outer: Op | None = None

    @property
    def rows(self) -> Slots:
        """The slots of iterations."""
        slots = self.slots if self.leaves is None else self.leaves.rows
        assert slots is not None
        return slots

    @property
    def noted(self) -> dict[Op, Value]:
        """Where the conditions are that the last sweep of an iteration needs."""
        return {exit: place for exit, place in self.exits.items() if exit is not self.outer}

    def unswept(self, frame: Frame, goes_on: Mapping[Op, bool]) -> Value:
        """How many of the last iterations are not swept: 0 or 1. `goes_on`: the conditions of all other iterations."""
        outer = self.outer
        if outer is None or outer not in self.exits:
            return const(frame, int(outer is not None))
        condition = frame.build.add(ops.Load(self.exits[outer]))
        sides = (0, 1) if goes_on[outer] else (1, 0)
        return frame.build.add(ops.Select(condition, *(const(frame, side) for side in sides)))


# ---- the iterations of a For -----------------------------------------------------------------------------------------


def _number(op: ops.For) -> int | None:
    """The number of iterations, if it is known."""
    begin, end, step = (literal(value) for value in (op.begin, op.end, op.step))
    if begin is None or end is None or not step:
        return None
    return _trips(int(begin), int(end), int(step))


def _trips(begin: int, end: int, step: int) -> int:
    """The number of iterations. (That of a range may be too large for `len`.)"""
    return max(0, -((begin - end) // step))


def _most(op: ops.For | ops.While) -> int | None:
    """The largest number of iterations, if there is one that follows from the intervals of the bounds."""
    step = literal(op.step) if isinstance(op, ops.For) else None
    if not step or not isinstance(op, ops.For):
        return None
    (low, high), (least, most) = interval(op.begin), interval(op.end)
    return _trips(low, most, int(step)) if step > 0 else _trips(high, least, int(step))


def has_slots(op: ops.For | ops.While, kept: Kept, shared: bool) -> bool:
    """Whether a loop gets a slot for each iteration. `shared`: the locals here are those of the kernel."""
    number = _most(op)
    return number is not None and number * kept.scalars <= (_MANY if shared else _FEW)


def slots_of(op: ops.For | ops.While, frame: Frame, kept: Kept, shared: bool) -> Slots:
    """A slot for each iteration of a loop."""
    return Slots(frame, kept, max(1, _most(op) or 0), shared)


def counted(op: ops.For, frame: Frame) -> Value:
    """The number of iterations of a For: an i64 if it may need that, else an i32."""
    number, (arg,) = _number(op), op.body.args
    assert isinstance(arg.type, Prim)
    wide = number >= 1 << 31 if number is not None else arg.type.bits > 32 or arg.type is u32
    kind = i64 if wide else i32
    if number is not None:
        return const(frame, number, kind)
    add = frame.build.add
    begin, end, step = (add(ops.Cast(frame.value(value), type=i64)) for value in (op.begin, op.end, op.step))
    count = binary(frame, "sub", end, begin)
    if literal(op.step) != 1:  # rounded up: -(-distance // step)
        negated = add(ops.Unary("neg", count))
        count = add(ops.Unary("neg", binary(frame, "floordiv", negated, step)))
    positive = binary(frame, "max", count, 0)
    return positive if wide else add(ops.Cast(positive, type=kind))


def index_at(op: ops.For, frame: Frame, number: Value) -> Value:
    """The index of an iteration of a For."""
    (arg,) = op.body.args
    add = frame.build.add
    moved = number if number.type is arg.type else add(ops.Cast(number, type=arg.type))
    if literal(op.step) != 1:
        moved = binary(frame, "mul", moved, frame.value(op.step))
    return moved if literal(op.begin) == 0 else binary(frame, "add", frame.value(op.begin), moved)


# ---- one slot for each iteration -------------------------------------------------------------------------------------


def reverse_each(frame: Frame, tape: Tape, sweep: Step) -> None:
    """Reverse the iterations of which each has a slot, or which need none."""
    assert tape.count is not None

    def one(inner: Frame, number: Value) -> None:
        if tape.slots is not None:
            tape.slots.restore(inner, number)
        sweep(inner, number)

    downwards(frame, tape.count, one)
