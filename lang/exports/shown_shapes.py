"""What viewers need of frames: colours, triangles, and planes for grids with two axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.exports.frames import Grid, Points
from weft.lang.ui.colormaps import colored, table
from weft.lang.ui.images import as_bytes

__all__ = ["color_bytes", "corner_counts", "number_bytes", "plane_of", "triangles"]


def color_bytes(points: Points) -> Any:
    """The colours of points or vertices as u8 of shape (points, 3 or 4), from the channel `color`: colours as floats in
    [0, 1] or u8, or numbers, which the colour map viridis shows. None without that channel."""
    return None if "color" not in points.channels else _bytes_of(points.channels["color"])


def number_bytes(values: Any) -> Any:
    """Numbers as u8 colours of shape (numbers, 3): the smallest is dark, the largest is light. NaN is black."""
    numbers = values.reshape(-1, 1).astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    return as_bytes(colored((numbers - low) / (high - low or 1.0), table("viridis"))[:, 0], "a view")


def _bytes_of(colors: Any) -> Any:
    if colors.ndim == 1:
        return number_bytes(colors)
    if colors.ndim != 2 or colors.shape[1] not in (3, 4):
        raise TypeMismatch(f"a color must be a number, or 3 or 4 numbers, not {colors.shape[1:]} numbers")
    return as_bytes(colors, "a view")


def triangles(faces: Any) -> Any:
    """Faces with 3 or 4 corners as triangles."""
    return faces if faces.shape[1] == 3 else faces[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)


def corner_counts(grid: Grid) -> tuple[int, ...]:
    """The number of corners of cells along each axis."""
    return tuple(n + 1 if grid.geometry.at == "cells" else n for n in grid.shape)


def plane_of(grid: Grid) -> tuple[Any, Any]:
    """The corners and the faces of a grid with two axes, as a plane. The order is that of the elements of the grid: of
    its faces with `at="cells"`, of its corners with "points"."""
    counts = corner_counts(grid)
    x, y = (low + step * np.arange(n) for n, low, step in zip(counts, grid.geometry.origin, grid.geometry.spacing))
    corners = np.stack([*np.meshgrid(x, y, indexing="ij"), np.full(counts, grid.geometry.origin[2])], 2)
    number = np.arange(counts[0] * counts[1]).reshape(counts)
    faces = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], 2)
    return corners.reshape(-1, 3).astype(np.float32), faces.reshape(-1, 4).astype(np.int32)
