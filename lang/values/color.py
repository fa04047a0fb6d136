"""Colours as 0xRRGGBB integers and as (red, green, blue) in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch

__all__ = ["hex_to_rgb", "rgb_to_hex"]


def hex_to_rgb(color: Any) -> tuple[float, float, float]:
    """0xFF8000 as (1.0, 0.50, 0.0). TypeMismatch for what is no integer."""
    if not isinstance(color, int | np.integer):
        raise TypeMismatch(f"a colour is an integer such as 0xFF8000, not {color!r}")
    return ((color >> 16 & 255) / 255, (color >> 8 & 255) / 255, (color & 255) / 255)


def rgb_to_hex(c: Sequence[float]) -> int:
    """(red, green, blue), each held within [0, 1], as 0xRRGGBB. TypeMismatch for what is not three numbers."""
    try:
        red, green, blue = (int(min(max(float(part), 0.0), 1.0) * 255) for part in c)
    except (TypeError, ValueError):
        raise TypeMismatch(f"a colour is (red, green, blue), numbers in [0, 1], not {c!r}") from None
    return red << 16 | green << 8 | blue
