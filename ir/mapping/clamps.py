"""Clamped indices: `max(0, min(n - 1, i + a))`, where `i` is an index of the task and `a` lies between
two constants.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.core import Op, Value
from weft.ir.intervals import interval, type_interval
from weft.ir.ops import Binary, Cast, Clamp, Task
from weft.ir.types import i32, i64

__all__ = ["ClampedIndex", "clamps_of"]

Reaches = dict[Value, tuple[int, int, int]]  # the axis of the index that a value is computed from, and its distance

_FARTHEST = 1 << 16  # the largest distance of a neighbour
_LEAST, _MOST = type_interval(i32)


@dataclass(frozen=True)
class ClampedIndex:
    """An op that clamps the index of the task along `axis`, plus a value in `low .. high`, at `bound`. `fits`: the sum
    is known to fit 32 bits."""

    op: Binary | Clamp
    axis: int
    low: int
    high: int
    bound: Value
    fits: bool

    @property
    def moved(self) -> Value:
        """The clamped operand."""
        return self.op.lhs if self.op.rhs is self.bound else self.op.rhs


def clamps_of(task: Task) -> list[ClampedIndex]:
    """The clamps of the task's body whose bounds are the same for all iterations."""
    inside: set[Value] = set(task.body.args)
    reaches: Reaches = {arg: (axis, 0, 0) for axis, arg in enumerate(task.body.args)}
    found = list[ClampedIndex]()
    for top in task.body:
        for op in top.walk():
            inside.add(op)
            inside.update(arg for region in op.regions for arg in region.args)
            clamp = _clamp(op, task, inside, reaches) if isinstance(op, Binary | Clamp) else None
            if clamp is not None:
                found.append(clamp)
                reaches[op] = clamp.axis, clamp.low, clamp.high
            elif (reach := _reach(op, reaches)) is not None:
                reaches[op] = reach
    return found


def _clamp(op: Binary | Clamp, task: Task, inside: set[Value], reaches: Reaches) -> ClampedIndex | None:
    if op.kind not in ("min", "max") or op.type not in (i32, i64):
        return None
    for moved, bound in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if moved in reaches and bound not in inside:
            axis, low, high = reaches[moved]
            least, most = interval(task.body.args[axis])
            fits = op.type is i64 or (least + low >= _LEAST and most + high <= _MOST)
            return ClampedIndex(op, axis, low, high, bound, fits)
    return None


def _reach(op: Op, reaches: Reaches) -> tuple[int, int, int] | None:
    """The index of the task that the value is computed from and its distance from it, or None. A cast must preserve the
    value."""
    if op.type not in (i32, i64):
        return None
    if isinstance(op, Cast) and op.x in reaches:
        (least, most), (low, high) = interval(op.x), type_interval(op.type)
        return reaches[op.x] if low <= least and most <= high else None
    if not isinstance(op, Binary) or op.kind not in ("add", "sub"):
        return None
    index, by, sign = op.lhs, op.rhs, 1 if op.kind == "add" else -1
    if sign == 1 and index not in reaches:
        index, by = by, index
    if index not in reaches or by in reaches:
        return None
    axis, low, high = reaches[index]
    least, most = sorted(sign * end for end in interval(by))
    return (axis, low + least, high + most) if -_FARTHEST < least <= most < _FARTHEST else None
