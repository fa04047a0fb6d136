"""Draw antialiased circles, lines and triangles on a picture, in the given order.

Positions are in pixels, y up. The center of pixel (x, y) is at (x + 1/2, y + 1/2). A circle or line covers a pixel by a
share that is computed from its distance. Triangles cover 16 samples of each pixel, so there are no seams between
neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.ui.render.frame import Frame
from weft.lang.ui.render.kinds import Boxes, Colors, Floats, Ints, Pixels, Points, Vec2, f32, i32
from weft.lang.ui.render.rooms import on_device, room
from weft.lang.ui.render.tiles import TILE, box_of, pixel_of, sort_into_tiles, tiles_of
from weft.lang.values.builtins import cast, max, min, ndrange, popcnt, sqrt
from weft.lang.values.matrix import Vector

__all__ = ["draw_circles", "draw_lines", "draw_triangles"]


def draw_circles(frame: Frame, centers: Any, radii: Any, colors: Any) -> None:
    """Draw filled circles: `centers` (n, 2), `radii` (n,), `colors` (n, 3)."""
    draw_lines(frame, centers, centers, radii, colors, colors)


def draw_lines(frame: Frame, begins: Any, ends: Any, radii: Any, first: Any, last: Any) -> None:
    """Draw straight lines with round ends: `begins`, `ends` (n, 2); `radii` (n,), half the widths; `first`, `last` (n,
    3), the colours of the ends."""
    count = len(begins)
    a, b = on_device(begins, np.float32, (2,)), on_device(ends, np.float32, (2,))
    reach = on_device(radii, np.float32)
    boxes = room(np.int32, (max(1, count),), (4,))
    _box_lines(boxes, a, b, reach, count, *frame.size)
    tiles = sort_into_tiles(boxes, count, frame.size)
    colors = on_device(first, np.float32, (3,)), on_device(last, np.float32, (3,))
    _draw_lines(frame.pixels, tiles.starts, tiles.entries, tiles.down, a, b, reach, *colors)


def draw_triangles(frame: Frame, corners: Any, indices: Any, colors: Any) -> None:
    """Draw filled triangles: `corners` (m, 2), their `colors` (m, 3), and `indices` (n, 3) of the corners of each
    triangle."""
    count = len(indices)
    a, b, c = (on_device(corners[indices[:, k]], np.float32, (2,)) for k in range(3))
    shades = [on_device(colors[indices[:, k]], np.float32, (3,)) for k in range(3)]
    boxes = room(np.int32, (max(1, count),), (4,))
    _box_triangles(boxes, a, b, c, count, *frame.size)
    tiles = sort_into_tiles(boxes, count, frame.size)
    _draw_triangles(frame.pixels, tiles.starts, tiles.entries, tiles.down, a, b, c, *shades)


@kernel
def _box_lines(boxes: Boxes, a: Points, b: Points, radii: Floats, count: i32, width: i32, height: i32) -> None:
    for i in range(count):
        reach = Vector([1.0, 1.0]) * (radii[i] + 0.5)
        boxes[i] = box_of(min(a[i], b[i]) - reach, max(a[i], b[i]) + reach, Vector([width, height]) * 1.0)


@kernel
def _box_triangles(boxes: Boxes, a: Points, b: Points, c: Points, count: i32, width: i32, height: i32) -> None:
    for i in range(count):
        low, high = min(min(a[i], b[i]), c[i]), max(max(a[i], b[i]), c[i])
        boxes[i] = box_of(low, high, Vector([width, height]) * 1.0)


@kernel
def _draw_lines(
    pixels: Pixels,
    starts: Ints,
    entries: Ints,
    down: i32,
    a: Points,
    b: Points,
    radii: Floats,
    first: Colors,
    last: Colors,
) -> None:
    for tile, place in ndrange(tiles_of(pixels.shape[0], pixels.shape[1]), TILE * TILE):
        x, y = pixel_of(tile, place, down)
        if x < pixels.shape[0] and y < pixels.shape[1]:
            color = pixels[x, y]
            for entry in range(starts[tile], starts[tile + 1]):
                i = entries[entry]
                to, along = Vector([x + 0.5, y + 0.5]) - a[i], b[i] - a[i]
                at = min(max(to.dot(along) * (1.0 / max(along.dot(along), 1e-12)), 0.0), 1.0)
                away = to - at * along
                # A shape that is thinner than a pixel can cover only a part of it.
                share = min(max(radii[i] + 0.5 - sqrt(away.dot(away)), 0.0), min(2.0 * radii[i], 1.0))
                color += share * (first[i] + at * (last[i] - first[i]) - color)
            pixels[x, y] = color


@func
def _side(a: Vec2, b: Vec2, p: Vec2) -> Any:
    """Return twice the area of the triangle a, b, p. It is above 0 if the corners are in counterclockwise order."""
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


@kernel
def _draw_triangles(
    pixels: Pixels,
    starts: Ints,
    entries: Ints,
    down: i32,
    a: Points,
    b: Points,
    c: Points,
    color_a: Colors,
    color_b: Colors,
    color_c: Colors,
) -> None:
    for tile, place in ndrange(tiles_of(pixels.shape[0], pixels.shape[1]), TILE * TILE):
        x, y = pixel_of(tile, place, down)
        if x < pixels.shape[0] and y < pixels.shape[1]:
            middle, drawn = Vector([x + 0.5, y + 0.5]), Vector([0.0, 0.0, 0.0])
            taken = 0  # a bit per sample: the first hit, from the last triangle back, takes it
            for entry in range(starts[tile + 1] - starts[tile]):
                i = entries[starts[tile + 1] - 1 - entry]
                whole = _side(a[i], b[i], c[i])
                if whole != 0.0 and taken != 0xFFFF:
                    scale, covered = 1.0 / whole, 0
                    for sample in range(16):
                        p = middle + Vector([sample % 4 - 1.5, (sample // 4 + sample % 4 * 0.25) - 1.875]) * 0.25
                        u, v = _side(b[i], c[i], p) * scale, _side(c[i], a[i], p) * scale
                        if u >= -1e-6 and v >= -1e-6 and u + v <= 1.000001:
                            covered |= 1 << sample
                    covered &= ~taken
                    if covered != 0:
                        u = min(max(_side(b[i], c[i], middle) * scale, 0.0), 1.0)
                        v = min(max(_side(c[i], a[i], middle) * scale, 0.0), 1.0 - u)
                        color = u * color_a[i] + v * color_b[i] + (1.0 - u - v) * color_c[i]
                        drawn += cast(popcnt(covered), f32) / 16.0 * color
                        taken |= covered
            pixels[x, y] = pixels[x, y] * (1.0 - cast(popcnt(taken), f32) / 16.0) + drawn
