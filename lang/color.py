"""Colours as 0xRRGGBB integers and as (red, green, blue) in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["hex_to_rgb", "rgb_to_hex"]


def hex_to_rgb(color: int) -> tuple[float, float, float]:
    """0xFF8000 as (1.0, 0.50, 0.0)."""
    return ((color >> 16 & 255) / 255, (color >> 8 & 255) / 255, (color & 255) / 255)


def rgb_to_hex(c: Sequence[float]) -> int:
    """(red, green, blue), each held within [0, 1], as 0xRRGGBB."""
    red, green, blue = (int(min(max(float(part), 0.0), 1.0) * 255) for part in c)
    return red << 16 | green << 8 | blue
