"""Sort shapes into the tiles of the picture that they touch.

    boxes of shapes 0, 1, 2:   0 in tiles a b, 1 in b, 2 in a b c
    starts   a 0, b 2, c 5, 6          (tile b: entries 2, 3, 4)
    entries  0 2 | 0 1 2 | 2           (drawing order within a tile)

This is a counting sort. Chunks of shapes count independently, and the prefix sums say where each writes. Nothing is
added atomically, so the order is the same in every run.
"""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

import numpy as np

from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.ui.render.kinds import Boxes, Ints, Vec2, i32
from weft.lang.ui.render.rooms import on_device, on_host, room
from weft.lang.values.builtins import cast, ceil, floor, max, min
from weft.lang.values.matrix import Vector

__all__ = ["TILE", "Tiles", "box_of", "pixel_of", "sort_into_tiles", "tiles_of"]

TILE = 8  # pixels along each side
_CHUNKS = 16
_CHUNKS_OF_A_GPU = 256


class Tiles(NamedTuple):
    """The shapes of tile `x * down + y` are `entries[starts[tile]:starts[tile + 1]]`."""

    starts: Any
    entries: Any
    down: int


@func
def box_of(low: Vec2, high: Vec2, size: Vec2) -> Any:
    """Return the tiles of the pixels `low` .. `high` as (x, y, end of x, end of y). The result is empty if the box is
    outside of the picture of `size` pixels, or if its corners are not numbers."""
    box = Vector([0, 0, 0, 0])
    if low[0] < size[0] and low[1] < size[1] and high[0] > 0 and high[1] > 0:
        for k in range(2):
            box[k] = cast(floor(max(low[k], 0.0) / TILE), i32)
            box[k + 2] = cast(ceil(min(high[k], size[k]) / TILE), i32)
    return box


@func
def tiles_of(width: i32, height: i32) -> i32:
    """Return the number of tiles in a picture of that many pixels."""
    return (width + TILE - 1) // TILE * ((height + TILE - 1) // TILE)


@func
def pixel_of(tile: i32, place: i32, down: i32) -> Any:
    """Return the pixel at a place in a tile, 0 to TILE * TILE - 1. It may be outside of the picture. Loops over tiles
    and places keep SIMD lanes, or a warp, in one tile, so that they test the same shapes."""
    return tile // down * TILE + place // TILE, tile % down * TILE + place % TILE


@kernel
def _count(boxes: Boxes, counts: Ints, shapes: i32, chunks: i32, down: i32) -> None:
    """Set counts[tile * chunks + chunk] to the number of shapes of the chunk that touch the tile."""
    for chunk in range(chunks):
        for i in range(shapes * chunk // chunks, shapes * (chunk + 1) // chunks):
            box = boxes[i]
            for x in range(box[0], box[2]):
                for y in range(box[1], box[3]):
                    at = (x * down + y) * chunks + chunk
                    counts[at] = counts[at] + 1


@kernel
def _fill(boxes: Boxes, nexts: Ints, entries: Ints, shapes: i32, chunks: i32, down: i32) -> None:
    """Write the shapes of each chunk to the positions in `nexts`."""
    for chunk in range(chunks):
        for i in range(shapes * chunk // chunks, shapes * (chunk + 1) // chunks):
            box = boxes[i]
            for x in range(box[0], box[2]):
                for y in range(box[1], box[3]):
                    at = (x * down + y) * chunks + chunk
                    entries[nexts[at]] = i
                    nexts[at] = nexts[at] + 1


def sort_into_tiles(boxes: Any, shapes: int, size: tuple[int, int]) -> Tiles:
    """Sort the first `shapes` of `boxes` (see `box_of`) by tile, for a picture of `size` pixels."""
    across, down = (-(-pixels // TILE) for pixels in size)
    most = _CHUNKS_OF_A_GPU if program().backend.blocks else _CHUNKS
    chunks = builtins.min(most, -(-shapes // 16) or 1)
    counts = room(np.int32, (across * down * chunks,))
    _count(boxes, counts, shapes, chunks, down)
    sums = np.zeros(across * down * chunks + 1, np.int32)
    np.cumsum(on_host(counts), out=sums[1:])
    starts = on_device(sums[::chunks], np.int32)
    nexts = on_device(sums[:-1].copy(), np.int32)
    entries = room(np.int32, (builtins.max(1, int(sums[-1])),))
    _fill(boxes, nexts, entries, shapes, chunks, down)
    return Tiles(starts, entries, down)
