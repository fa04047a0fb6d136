"""Draws where a sparse field is active: a picture of the cells of each node above it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import path_of
from weft.lang.data.field import Field
from weft.lang.ui.images import imwrite

__all__ = ["draw_tree"]

_EMPTY, _LINE = (0.05, 0.06, 0.09), 0.75  # the colour where nothing is; how bright the border of a cell is
_OUTER, _INNER, _ACTIVE = (0.10, 0.17, 0.32), (0.16, 0.42, 0.56), (0.98, 0.80, 0.36)
_WIDE = 5  # pixels: cells from this size on have borders


def draw_tree(x: Any, filename: Any = None, size: Any = 512) -> Any:
    """Draw where a field below sparse nodes is active, and return the picture: (width, height, 3) numbers from 0 to 1,
    as `imwrite` takes them. With a `filename`, write it there too. The longer side has about `size` pixels.

    The first axis goes to the right and the second one up; a field with one axis is a band. Of a field with more axes,
    all cells along the others lie on one another. Cells of the outermost node are dark blue, those of inner nodes
    lighter, and active elements are yellow, brighter where more of them lie on one another. The picture shows all
    elements; below a hash node, the box of the active ones. Raises TypeMismatch unless x is a field of numbers, vectors
    or matrices with at least one axis.

    Example:
        x = ti.field(ti.f32)
        ti.root.pointer(ti.ij, 4).dense(ti.ij, 8).place(x)
        x[3, 5] = 1.0
        picture = ti.tools.draw_tree(x, "x.png", size=64)
        picture.shape  # (64, 64, 3)
    """
    if not isinstance(x, Field) or not x.shape:
        raise TypeMismatch(f"draw_tree takes a field with at least one axis, not {type(x).__name__}")
    if not isinstance(size, int) or isinstance(size, bool) or size < 16:
        raise TypeMismatch(f"the size of the picture must be an integer from 16 on, not {size!r}")
    node, first = x.snode.node, np.array(x.offset)
    at = x.active()[0] - first
    low, high = np.zeros(len(first), int), np.array(x.shape)
    if node.is_unbounded and len(at):
        low, high = at.min(axis=0), at.max(axis=0) + 1
    elif node.is_unbounded:
        high = low + 1
    spans = [np.array(x.shape) // _cells(above, x) for above in node.path() if above.is_sparse]
    if node.is_unbounded and spans:  # whole cells
        low, high = low // spans[0] * spans[0], -(-high // spans[0]) * spans[0]
    places = _Pixels(low, high, size)
    image = np.empty((*places.shape, 3), np.float32)
    image[:] = _EMPTY
    for level, span in enumerate(spans):
        share = level / max(len(spans) - 1, 1)
        colour = (1 - share) * np.array(_OUTER) + share * np.array(_INNER)
        inside, border = places.cells(at, span)
        image[inside] = colour
        image[border] = colour * _LINE
    count = places.count(at)
    if len(at):
        bright = (0.35 + 0.65 * count / count.max())[..., None]
        image = np.where(count[..., None] > 0, (1 - bright) * image + bright * np.array(_ACTIVE, np.float32), image)
    image = image.astype(np.float32)
    if filename is not None:
        imwrite(image, str(Path(path_of(filename, "draw_tree"))))
    return image


def _cells(above: Any, x: Any) -> Any:
    """How many cells a node above the field has along each axis of the field."""
    own = {axis for one in above.path() for axis in one.axes}
    counts = dict(zip(sorted(own), above.shape(), strict=True))
    if above.kind == "dynamic":
        counts[above.axes[0]] = above.extents[0] // above.chunk or 1
    axes = sorted({axis for one in x.snode.node.path() for axis in one.axes})
    return np.array([counts.get(axis, 1) for axis in axes])


class _Pixels:
    """The elements from `low` to `high` on a picture."""

    def __init__(self, low: Any, high: Any, size: int) -> None:
        self.low, extents = low[:2], (high - low)[:2]
        self.flat = len(extents) == 1
        self.scale = size / extents.max()  # pixels for an element
        if self.scale > 1:
            self.scale = float(int(self.scale))
        across = np.maximum((extents * self.scale).astype(int), 1)
        self.shape = (int(across[0]), max(size // 16, 1)) if self.flat else (int(across[0]), int(across[1]))

    def elements(self, axis: int, shift: int = 0) -> Any:
        """The element under each pixel along an axis, or under one that many pixels further."""
        return self.low[axis] + ((np.arange(self.shape[axis]) + shift + 0.5) / self.scale).astype(np.int64)

    def cells(self, at: Any, span: Any) -> tuple[Any, Any]:
        """Which pixels are in cells with active elements, and which of them at the border of a cell."""
        inside, border = np.ones(self.shape, bool), np.zeros(self.shape, bool)
        if self.flat:
            inside &= np.isin(self.elements(0) // span[0], np.unique(at[:, 0] // span[0]))[:, None]
        else:
            rows, columns = self.elements(0) // span[0], self.elements(1) // span[1]
            key = np.unique((at[:, 0] // span[0] << 32) + at[:, 1] // span[1])
            inside &= np.isin((rows[:, None] << 32) + columns[None], key)
        for axis in range(1 if self.flat else 2):
            if span[axis] * self.scale >= _WIDE:
                ends = self.elements(axis) // span[axis] != self.elements(axis, 1) // span[axis]
                border |= ends[:, None] if axis == 0 else ends[None]
        return inside, border & inside

    def count(self, at: Any) -> Any:
        """How many active elements are under each pixel, for the share of them that it shows."""
        inside = [self.elements(axis) for axis in range(1 if self.flat else 2)]
        if self.scale >= 1:
            where = [np.searchsorted(np.unique(part), at[:, axis]) for axis, part in enumerate(inside)]
            extents = [len(np.unique(part)) for part in inside]
            sums = np.zeros(extents, int)
            np.add.at(sums, tuple(where), 1)
            steps = [np.searchsorted(np.unique(part), part) for part in inside]
            found = sums[np.ix_(*steps)]
        else:
            found = np.zeros(self.shape[: len(inside)], int)
            ends = [
                np.clip(((at[:, axis] - self.low[axis]) * self.scale).astype(int), 0, self.shape[axis] - 1)
                for axis in range(len(inside))
            ]
            np.add.at(found, tuple(ends), 1)
        return np.broadcast_to(found[:, None], self.shape) if self.flat else found
