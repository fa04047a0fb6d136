"""Conversions between colours as 0xRRGGBB integers and as (red, green, blue) in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch

__all__ = ["hex_to_rgb", "rgb_to_hex"]


def hex_to_rgb(color: Any) -> tuple[float, float, float]:
    """Convert 0xRRGGBB to (red, green, blue), floats in [0, 1]. Raises TypeMismatch if the colour is not an integer.

    Example:
        ti.hex_to_rgb(0xFF0080)  # (1.0, 0.0, 0.501961)
    """
    if not isinstance(color, int | np.integer):
        raise TypeMismatch(f"a color must be an integer such as 0xFF8000, not {color!r}")
    return ((color >> 16 & 255) / 255, (color >> 8 & 255) / 255, (color & 255) / 255)


def rgb_to_hex(c: Sequence[Any]) -> Any:
    """Convert (red, green, blue) to 0xRRGGBB. Each component is clamped to [0, 1]. If components are numpy arrays, the
    result is an array of colours. Raises TypeMismatch if the colour is not three numbers or arrays.

    Example:
        hex(ti.rgb_to_hex((1.0, 0.5, 0.0)))  # '0xff7f00'
    """
    if isinstance(c, (list, tuple)) and len(c) == 3 and any(isinstance(part, np.ndarray) for part in c):
        red, green, blue = ((np.clip(part, 0.0, 1.0) * 255).astype(np.int64) for part in c)
        return red << 16 | green << 8 | blue
    try:
        red, green, blue = (int(min(max(float(part), 0.0), 1.0) * 255) for part in c)
    except (TypeError, ValueError):
        raise TypeMismatch(f"a color must be (red, green, blue), three numbers in [0, 1], not {c!r}") from None
    return red << 16 | green << 8 | blue
