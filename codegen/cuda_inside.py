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
from weft.ir.intervals import interval
from weft.ir.ops import Binary, Cast, Task

if TYPE_CHECKING:
    from weft.codegen.cuda_ops import DeviceWriter

__all__ = ["Clamp", "clamps_of", "write_inside"]

_FARTHEST = 1 << 16  # of a neighbour


@dataclass(frozen=True)
class Clamp:
    """An op that keeps index `axis` of the task, moved by something in `low .. high`, on one side of `bound`."""

    op: Binary
    axis: int
    low: int
    high: int
    bound: Value

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
            clamp = _clamp(op, inside, reaches) if isinstance(op, Binary) else None
            if clamp is not None:
                found.append(clamp)
                reaches[op] = clamp.axis, clamp.low, clamp.high
            elif (reach := _reach(op, reaches)) is not None:
                reaches[op] = reach
    return found


def _clamp(op: Binary, inside: set[Value], reaches: dict[Value, tuple[int, int, int]]) -> Clamp | None:
    if op.kind not in ("min", "max"):
        return None
    for moved, bound in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if moved in reaches and bound not in inside:
            return Clamp(op, *reaches[moved], bound)
    return None


def _reach(op: Op, reaches: dict[Value, tuple[int, int, int]]) -> tuple[int, int, int] | None:
    """Of which index the value is at what distance, if it is so."""
    if isinstance(op, Cast) and op.x in reaches:
        return reaches[op.x]
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
    far: dict[tuple[str, int, Value], int] = {}
    for clamp in clamps:
        key = clamp.op.kind, clamp.axis, clamp.bound
        moved = clamp.high if clamp.op.kind == "min" else clamp.low
        best = max if clamp.op.kind == "min" else min
        far[key] = best(far.get(key, moved), moved)
    holds = "true"
    for (kind, axis, bound), moved in far.items():
        place = f.set(f"add i64 {corners[axis][kind == 'min']}, {moved}")
        limit = f.use(bound)
        if f.spell(bound.type) != "i64":
            limit = f.set(f"sext {f.spell(bound.type)} {limit} to i64")
        one = f.set(f"icmp {'sle' if kind == 'min' else 'sge'} i64 {place}, {limit}")
        holds = one if holds == "true" else f.set(f"and i1 {holds}, {one}")
    return holds
