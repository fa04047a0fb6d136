"""Balls, triangles and lines in space, as a camera sees them: lit, hidden by what is nearer, antialiased.

Each pixel follows some rays through it, asks the shapes of its tile where they meet the ray, and lights the nearest
place.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from weft.lang.builtins import max, min, sqrt
from weft.lang.kernel import func, kernel
from weft.lang.matrix import Vector
from weft.lang.ui.render.bounds import box_balls, box_rods, box_surfaces
from weft.lang.ui.render.eye import Eye
from weft.lang.ui.render.frame import Frame
from weft.lang.ui.render.kinds import (
    Colors,
    Depths,
    Edges,
    Ints,
    Pixels,
    Points,
    Quads,
    Triples,
    Vec3,
    Vec4,
    f32,
    i32,
    on_device,
    room,
)
from weft.lang.ui.render.rays import depth_of, lit, meet_balls, meet_rods, meet_surfaces, ray_through, shares_of
from weft.lang.ui.render.tiles import TILE, Tiles, sort_into_tiles

__all__ = ["Balls", "Lights", "Rods", "Surfaces", "draw_solids"]

# Where in a pixel its rays go: in a turned square, so that edges near the axes get all the shades.
_SAMPLES = np.array([(0.375, 0.125), (0.875, 0.375), (0.625, 0.875), (0.125, 0.625)], np.float32)


class Balls(NamedTuple):
    """Balls: eye's `centers` (n, 3), `radii` (n,), `colors` (n, 3)."""

    centers: Any
    radii: Any
    colors: Any


class Surfaces(NamedTuple):
    """Triangles: `indices` (n, 3) into the eye's `points`, `normals` and `colors` (m, 3); `two_sided` (n,): 1 where
    both sides are lit, 0 where the side that the normals point away from is dark."""

    points: Any
    normals: Any
    colors: Any
    indices: Any
    two_sided: Any


class Rods(NamedTuple):
    """Lines, not lit: `begins`, `ends` (n, 3): pixels and depth; `first`, `last` (n, 3): the colours of their ends;
    `radii` (n,): half their widths in pixels."""

    begins: Any
    ends: Any
    radii: Any
    first: Any
    last: Any


class Lights(NamedTuple):
    """Points of light: eye's `places` and `colors` (n, 3); `ambient` (3,): light from everywhere."""

    places: Any
    colors: Any
    ambient: Any


def draw_solids(frame: Frame, eye: Eye, balls: Balls, surfaces: Surfaces, rods: Rods, lights: Lights) -> None:
    """Draw them over what the frame shows."""
    lens, three = Vector(eye.lens.tolist()), (3,)
    seen = lens, eye.near, eye.flat
    spheres = on_device(np.concatenate([balls.centers, balls.radii[:, None]], 1), np.float32, (4,))
    of_balls = _tiles(frame, len(balls.radii), box_balls, spheres, *seen)

    points = on_device(surfaces.points, np.float32, three)
    corners = on_device(surfaces.indices, np.int32, three)
    edges = room(np.float32, (max(1, len(surfaces.indices)),), (3, 3))
    of_surfaces = _tiles(frame, len(surfaces.indices), box_surfaces, points, corners, edges, *seen)

    begins = on_device(np.concatenate([rods.begins, rods.radii[:, None]], 1), np.float32, (4,))
    ends = on_device(rods.ends, np.float32, three)
    of_rods = _tiles(frame, len(rods.radii), box_rods, begins, ends)

    def colors(array: Any) -> Any:
        return on_device(array, np.float32, three)

    _draw(
        *(frame.pixels, frame.depths, on_device(_SAMPLES, np.float32, (2,)), of_balls.down),
        *(lens, eye.near, eye.far, eye.flat),
        *(of_balls.starts, of_balls.entries, spheres, colors(balls.colors)),
        *(of_surfaces.starts, of_surfaces.entries, points, corners, edges),
        *(colors(surfaces.normals), colors(surfaces.colors), on_device(surfaces.two_sided, np.int32)),
        *(of_rods.starts, of_rods.entries, begins, ends, colors(rods.first), colors(rods.last)),
        *(len(lights.places), colors(lights.places), colors(lights.colors), Vector(list(lights.ambient))),
    )


def _tiles(frame: Frame, count: int, box: Any, *shapes: Any) -> Tiles:
    boxes = room(np.int32, (max(1, count),), (4,))
    if count:
        box(boxes, count, *frame.size, *shapes)
    return sort_into_tiles(boxes, count, frame.size)


@func
def _surface_at(share: Vec3, at: Any, normals: Colors, colors: Colors) -> Any:
    """Normal and colour of a place of a triangle, of which each corner has its share."""
    normal = share[0] * normals[at[0]] + share[1] * normals[at[1]] + share[2] * normals[at[2]]
    color = share[0] * colors[at[0]] + share[1] * colors[at[1]] + share[2] * colors[at[2]]
    return normal / sqrt(max(normal.dot(normal), 1e-12)), color


@kernel
def _draw(
    pixels: Pixels,
    depths: Depths,
    samples: Points,
    down: i32,
    lens: Vec4,
    near: f32,
    far: f32,
    flat: i32,
    ball_starts: Ints,
    ball_entries: Ints,
    balls: Quads,
    ball_colors: Colors,
    surface_starts: Ints,
    surface_entries: Ints,
    points: Colors,
    corners: Triples,
    edges: Edges,
    normals: Colors,
    colors: Colors,
    two_sided: Ints,
    rod_starts: Ints,
    rod_entries: Ints,
    begins: Quads,
    ends: Colors,
    first: Colors,
    last: Colors,
    light_count: i32,
    lights: Colors,
    shades: Colors,
    ambient: Vec3,
) -> None:
    for x, y in pixels:
        tile = x // TILE * down + y // TILE
        b, b_end, s, s_end = ball_starts[tile], ball_starts[tile + 1], surface_starts[tile], surface_starts[tile + 1]
        r, r_end = rod_starts[tile], rod_starts[tile + 1]
        total, nearest = Vector([0.0, 0.0, 0.0]), far
        for sample in range(0 if b == b_end and s == s_end and r == r_end else samples.shape[0]):
            pixel, color = Vector([x, y]) + samples[sample], pixels[x, y]
            place = (pixel - lens.zw) / lens.xy
            origin, ray = ray_through(place, flat)
            depth, ball = meet_balls(b, b_end, ball_entries, balls, origin, ray, near, far)
            depth, face = meet_surfaces(s, s_end, surface_entries, edges, corners, points, place, near, depth)
            depth, rod, along = meet_rods(r, r_end, rod_entries, begins, ends, pixel, flat, near, depth)
            if rod >= 0:
                color = first[rod] + along * (last[rod] - first[rod])
            elif ball >= 0 or face >= 0:
                spot, toward = origin + depth * ray, -ray / sqrt(ray.dot(ray))
                normal = (spot - balls[max(ball, 0)].xyz) / balls[max(ball, 0)].w
                color = ball_colors[max(ball, 0)]
                if face >= 0:
                    normal, color = _surface_at(shares_of(edges[face], place), corners[face], normals, colors)
                    if two_sided[face] != 0 and normal.dot(toward) < 0.0:
                        normal = -normal
                color = lit(color, spot, normal, toward, light_count, lights, shades, ambient)
            total += color
            nearest = min(nearest, depth)
        if nearest < far:
            pixels[x, y] = total / samples.shape[0]
            depths[x, y] = max(depths[x, y], depth_of(nearest, near, far, flat))
