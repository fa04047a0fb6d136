"""`ti.examples.patterns`: the logo that programs written for Taichi draw."""

from __future__ import annotations

from typing import Any

from weft.lang.values.builtins import pyfunc
from weft.lang.values.matrix import Vector

__all__ = ["taichi_logo"]


@pyfunc
def taichi_logo(pos: Any, scale: Any = 1 / 1.11) -> Any:
    """Return 1 where the yin-yang symbol is light and 0 where it is dark, at `pos` in the unit square. `scale` is the
    diameter of the ring around it divided by 1.04."""
    p = (pos - 0.5) / scale
    light = p[0] >= 0.0
    below, above = Vector([p[0], p[1] + 0.25]).norm(), Vector([p[0], p[1] - 0.25]).norm()
    if below < 0.25:
        light = below > 0.08
    if above < 0.25:
        light = above <= 0.08
    if p.norm() > 0.495:
        light = p.norm() > 0.52
    return 1 if light else 0
