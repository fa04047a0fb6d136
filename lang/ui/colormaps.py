"""Map numbers to colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.lang.arguments import is_one, numbers_of, shown
from weft.lang.ui.gui_canvas import colors_of

__all__ = ["COLORMAPS", "colored", "extent", "numbers", "table"]

# Nine colours for each map, from 0 to 1, taken from matplotlib's maps of these names.
COLORMAPS: dict[str, tuple[int, ...]] = {
    "plasma": (0x0D0887, 0x4C02A1, 0x7E03A8, 0xA92395, 0xCC4778, 0xE56B5D, 0xF89540, 0xFDC527, 0xF0F921),
    "viridis": (0x440154, 0x472D7B, 0x3B528B, 0x2C728E, 0x21918C, 0x28AE80, 0x5EC962, 0xADDC30, 0xFDE725),
    "inferno": (0x000004, 0x210C4A, 0x57106E, 0x8A226A, 0xBC3754, 0xE45A31, 0xF98E09, 0xF9CB35, 0xFCFFA4),
    "magma": (0x000004, 0x1D1147, 0x51127C, 0x832681, 0xB73779, 0xE75263, 0xFC8961, 0xFEC488, 0xFCFDBF),
    "gray": (0x000000, 0xFFFFFF),
}


def numbers(scalar_field: Any) -> Any:
    """Return the numbers of a two-dimensional field or array in f64. Raises ValueError for another number of axes."""
    values = numbers_of(scalar_field, "a contour plot").astype(np.float64)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"a contour plot takes a field of numbers with 2 axes, not of shape {values.shape}")
    return values


def extent(values: Any) -> tuple[float, float]:
    """Return the least finite number, and one over its distance to the largest."""
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    return low, 1 / (high - low) if high > low else 1.0


def table(name: str) -> Any:
    """Return the colours of a map (n, 3). Raises ValueError for a name that is not in `COLORMAPS`."""
    if not is_one(name, COLORMAPS):
        raise ValueError(f"there is no color map {shown(name)}; the color maps are {', '.join(COLORMAPS)}")
    return colors_of(COLORMAPS[name], len(COLORMAPS[name]))


def colored(values: Any, colors: Any) -> Any:
    """Return the colours of numbers (w, h) in [0, 1] as f32 (w, h, 3)."""
    stops = np.linspace(0, 1, len(colors))
    return np.stack([np.interp(values, stops, colors[:, k]) for k in range(3)], 2).astype(np.float32)
