"""Sort shapes into the tiles of the picture that they touch, front to back.

The shapes of a tile are divided into slices of depth, by the depth at which each begins. A pixel that has hit a shape
can skip the slices that begin behind it.

    tile 0, slices 0, 1, 2 ..     tile 1, slices 0, 1, 2 ..
    starts   0 2 3 ..             7 7 9 ..
    entries  4 0 | 2 | ..         | 1 5 | ..

This is a counting sort that assigns slots atomically. The order within a slice is therefore arbitrary, and users must
not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.ui.render.kinds import BinsPack, Boxes, Floats, Ints, f32, i32
from weft.lang.ui.render.rooms import Rooms, on_host, put
from weft.lang.ui.render.tiles import TILE
from weft.lang.values.builtins import atomic_add, atomic_max, atomic_min, cast, max, min

__all__ = ["SLICES", "begin_of", "note", "sort_into_bins"]

SLICES = 16


@func
def note(boxes: Boxes, begins: Floats, span: Floats, i: i32, box: Any, begin: f32) -> None:
    """Record that shape `i` may be visible in the tiles of `box` (see `box_of`), at the depth `begin` or behind it."""
    boxes[i], begins[i] = box, begin
    if box[0] < box[2] and box[1] < box[3]:
        atomic_min(span[0], begin)
        atomic_max(span[1], begin)


@func
def begin_of(slice: i32, span: Floats) -> Any:
    """Return the depth before which no shape of the slice begins."""
    return span[0] + (cast(slice, f32) - 0.01) * ((span[1] - span[0]) / SLICES)


@func
def _slice_of(begin: f32, span: Floats) -> Any:
    share = (begin - span[0]) / max(span[1] - span[0], 1e-30)
    return min(cast(share * SLICES, i32), SLICES - 1)


@kernel
def _forget(counts: Ints, span: Floats, bins: i32) -> None:
    for bin in range(bins):
        counts[bin] = 0
    span[0], span[1] = 1e30, -1e30


@kernel
def _count(boxes: Boxes, begins: Floats, span: Floats, counts: Ints, shapes: i32, down: i32) -> None:
    for i in range(shapes):
        box, slice = boxes[i], _slice_of(begins[i], span)
        for x in range(box[0], box[2]):
            for y in range(box[1], box[3]):
                atomic_add(counts[(x * down + y) * SLICES + slice], 1)


@kernel
def _fill(
    boxes: Boxes, begins: Floats, span: Floats, starts: Ints, counts: Ints, entries: Ints, shapes: i32, down: i32
) -> None:
    """Put each shape into its bins, and count `counts` back to 0."""
    for i in range(shapes):
        box, slice = boxes[i], _slice_of(begins[i], span)
        for x in range(box[0], box[2]):
            for y in range(box[1], box[3]):
                bin = (x * down + y) * SLICES + slice
                entries[starts[bin] + atomic_add(counts[bin], -1) - 1] = i


def sort_into_bins(
    rooms: Rooms, kind: str, shapes: int, size: tuple[int, int], mark: Callable[[Any, Any, Any], None]
) -> Any:
    """Sort that many shapes for a picture of `size` pixels. Returns a `BinsPack`: the shapes of `bin` = `tile * SLICES
    + slice` are `entries[starts[bin]:starts[bin + 1]]`. The slices divide the depths of `span` evenly. `mark(boxes,
    begins, span)` must call `note` for all shapes."""
    across, down = (-(-pixels // TILE) for pixels in size)
    bins = across * down * SLICES
    starts, span = rooms.get(f"{kind} starts", np.int32, bins + 1), rooms.get(f"{kind} span", np.float32, 2)
    counts = rooms.get(f"{kind} counts", np.int32, bins)
    boxes, begins = rooms.get(f"{kind} boxes", np.int32, shapes, 4), rooms.get(f"{kind} begins", np.float32, shapes)
    if not shapes:
        return BinsPack(0, starts, rooms.get(f"{kind} entries", np.int32, 1), span)
    _forget(counts, span, bins)
    mark(boxes, begins, span)
    _count(boxes, begins, span, counts, shapes, down)
    sums = np.zeros(bins + 1, np.int32)
    np.cumsum(on_host(counts), out=sums[1:])
    put(starts, sums)
    entries = rooms.get(f"{kind} entries", np.int32, int(sums[-1]))
    _fill(boxes, begins, span, starts, counts, entries, shapes, down)
    return BinsPack(SLICES, starts, entries, span)
