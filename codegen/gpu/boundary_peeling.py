"""The run-time test of boundary peeling: whether the clamps of a task's indices have no effect (see the pass
`peel_boundaries`).
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.gpu.device_writer import DeviceWriter
from weft.ir.core import Value
from weft.ir.intervals import type_interval
from weft.ir.ops import Clamp
from weft.ir.types import i32, i64

__all__ = ["write_interior_test"]

_LEAST, _MOST = type_interval(i32)


def write_interior_test(f: DeviceWriter, clamps: Sequence[Clamp], corners: Sequence[tuple[str, str]]) -> str:
    """Whether none of the clamps does anything. `corners`: the first and the last of this thread's indices, by axis."""
    far: dict[tuple[str, int, Value | None], int] = {}
    for clamp in clamps:
        for kind in ("min", "max"):
            if kind != clamp.kind and (clamp.fits or _covered(clamp, kind, clamps)):
                continue
            key = kind, clamp.axis, clamp.bound if kind == clamp.kind else None
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
    others = [other for other in clamps if other.kind == kind and other.axis == clamp.axis and other.type is i32]
    return any(other.high >= clamp.high if kind == "min" else other.low <= clamp.low for other in others)


def _limit(f: DeviceWriter, kind: str, bound: Value | None) -> str:
    """The bound as i64; without one that of 32 bits, beyond which sums begin again at the other end."""
    if bound is None:
        return str(_MOST if kind == "min" else _LEAST)
    limit = f.use(bound)
    return limit if bound.type is i64 else f.set(f"sext {f.spell(bound.type)} {limit} to i64")
