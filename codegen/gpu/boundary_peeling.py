"""Indices that are clamped to a field, where they need not be: inside of it.

    x[max(0, min(n - 1, i + a))]             a in -2 .. 2

    if this thread's i are all in 2 .. n - 3:  x[i + a]       neighbours in memory: wide loads
    else:                                      as written, one after the other

Nearly all threads are inside. Both ways give the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.ir.core import Op, Value
from weft.ir.intervals import interval, type_interval
from weft.ir.ops import Binary, Cast, Task
from weft.ir.types import i32, i64

if TYPE_CHECKING:
    from weft.codegen.gpu.ops import DeviceWriter

__all__ = ["Clamp", "clamps_of", "write_inside"]

_FARTHEST = 1 << 16  # of a neighbour
_LEAST, _MOST = type_interval(i32)


@dataclass(frozen=True)
class Clamp:
    """An op that keeps index `axis` of the task, moved by something in `low .. high`, on one side of `bound`. `fits`:
    whether the moved index is surely none that 32 bits cannot hold."""

    op: Binary
    axis: int
    low: int
    high: int
    bound: Value
    fits: bool

    @property
    def moved(self) -> Value:
        """What is clamped."""
        return self.op.lhs if self.op.rhs is self.bound else self.op.rhs


def clamps_of(task: Task) -> list[Clamp]:
    """The clamps of the task's body whose bounds are the same for all iterations."""
    inside: set[Value] = set(task.body.args)
    reaches: dict[Value, tuple[int, int, int]] = {arg: (axis, 0, 0) for axis, arg in enumerate(task.body.args)}
    found = list[Clamp]()
    for top in task.body:
        for op in top.walk():
            inside.add(op)
            inside.update(arg for region in op.regions for arg in region.args)
            clamp = _clamp(op, task, inside, reaches) if isinstance(op, Binary) else None
            if clamp is not None:
                found.append(clamp)
                reaches[op] = clamp.axis, clamp.low, clamp.high
            elif (reach := _reach(op, reaches)) is not None:
                reaches[op] = reach
    return found


def _clamp(op: Binary, task: Task, inside: set[Value], reaches: dict[Value, tuple[int, int, int]]) -> Clamp | None:
    if op.kind not in ("min", "max") or op.type not in (i32, i64):
        return None
    for moved, bound in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if moved in reaches and bound not in inside:
            axis, low, high = reaches[moved]
            least, most = interval(task.body.args[axis])
            fits = op.type is i64 or (least + low >= _LEAST and most + high <= _MOST)
            return Clamp(op, axis, low, high, bound, fits)
    return None


def _reach(op: Op, reaches: dict[Value, tuple[int, int, int]]) -> tuple[int, int, int] | None:
    """Of which index the value is at what distance, if it is so. A cast must leave it what it is."""
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


def write_inside(f: DeviceWriter, clamps: Sequence[Clamp], corners: Sequence[tuple[str, str]]) -> str:
    """Whether none of the clamps does anything. `corners`: the first and the last of this thread's indices, by axis."""
    far: dict[tuple[str, int, Value | None], int] = {}
    for clamp in clamps:
        for kind in ("min", "max"):
            if kind != clamp.op.kind and (clamp.fits or _covered(clamp, kind, clamps)):
                continue
            key = kind, clamp.axis, clamp.bound if kind == clamp.op.kind else None
            moved, best = (clamp.high, max) if kind == "min" else (clamp.low, min)
            far[key] = best(far.get(key, moved), moved)
    holds = "true"
    for (kind, axis, bound), moved in far.items():
        place = f.set(f"add i64 {corners[axis][kind == 'min']}, {moved}")
        one = f.set(f"icmp {'sle' if kind == 'min' else 'sge'} i64 {place}, {_limit(f, kind, bound)}")
        holds = one if holds == "true" else f.set(f"and i1 {holds}, {one}")
    return holds


def _covered(clamp: Clamp, kind: str, clamps: Sequence[Clamp]) -> bool:
    """Whether the index is kept on that side as well, so that it does not leave 32 bits there."""
    others = [other for other in clamps if other.op.kind == kind and other.axis == clamp.axis and other.op.type is i32]
    return any(other.high >= clamp.high if kind == "min" else other.low <= clamp.low for other in others)


def _limit(f: DeviceWriter, kind: str, bound: Value | None) -> str:
    """The bound as i64; without one that of 32 bits, beyond which sums begin again at the other end."""
    if bound is None:
        return str(_MOST if kind == "min" else _LEAST)
    limit = f.use(bound)
    return limit if bound.type is i64 else f.set(f"sext {f.spell(bound.type)} {limit} to i64")
