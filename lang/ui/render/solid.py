"""Draw balls, triangles and lines in space as a camera sees them, with lighting, hidden surfaces and antialiasing.

Each pixel casts several rays, intersects them with the shapes of its tile, and lights the nearest points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.ui.render.bins import sort_into_bins
from weft.lang.ui.render.bounds import mark_balls, mark_faces, mark_rods
from weft.lang.ui.render.eye import Eye
from weft.lang.ui.render.frame import Frame
from weft.lang.ui.render.kinds import (
    BallsPack,
    Depths,
    FacesPack,
    LampsPack,
    Pixels,
    RodsPack,
    Vec4,
    ViewPack,
    f32,
    i32,
)
from weft.lang.ui.render.rays import (
    RAYS,
    along_rod,
    ball_depth,
    depth_of,
    lit,
    meet_balls,
    meet_faces,
    meet_rods,
    ray_through,
    rod_depth,
    shares_of,
)
from weft.lang.ui.render.rooms import on_device
from weft.lang.ui.render.tiles import TILE, pixel_of, tiles_of
from weft.lang.values.builtins import max, ndrange, sqrt, static
from weft.lang.values.matrix import Matrix, Vector

__all__ = ["Balls", "Lights", "Rods", "Surfaces", "draw_solids"]

# The positions of the rays in a pixel: a rotated square, so that edges close to the axes get all shades.
_X, _Y = (0.375, 0.875, 0.625, 0.125), (0.125, 0.375, 0.875, 0.625)


@dataclass(frozen=True)
class Balls:
    """Balls of the world, where kernels can access them: `count` of the `centers` (n, 3), from `offset` on. `radii` and
    `colors` (n, 3) have one item per ball, or one for all."""

    centers: Any
    radii: Any
    colors: Any
    offset: int
    count: int


class Surfaces(NamedTuple):
    """Triangles: `indices` (n, 3) into `points` relative to the eye, `normals` and `colors` (m, 3). `two_sided` (n,) is
    1 if both sides are lit, and 0 if the side that the normals point away from is dark."""

    points: Any
    normals: Any
    colors: Any
    indices: Any
    two_sided: Any


class Rods(NamedTuple):
    """Unlit lines: `places` and `colors` (n, 2, 3) of their ends in the world, and `radii` (n,), half of their widths
    in pixels."""

    places: Any
    colors: Any
    radii: Any


class Lights(NamedTuple):
    """Point lights: `places` relative to the eye and `colors` (n, 3). `ambient` (3,) is light from all directions."""

    places: Any
    colors: Any
    ambient: Any


def draw_solids(frame: Frame, eye: Eye, balls: Sequence[Balls], surfaces: Surfaces, rods: Rods, lights: Lights) -> None:
    """Draw the shapes over the contents of the frame."""
    view = ViewPack(*frame.size, Vector(eye.lens.tolist()), eye.near, eye.far, eye.flat)
    seen = _balls(frame, eye, view, balls), _faces(frame, view, surfaces), _rods(frame, eye, view, rods)
    ambient = Vector(list(lights.ambient))
    lamps = LampsPack(len(lights.places), _vectors(lights.places), _vectors(lights.colors), ambient)
    _draw(frame.pixels, frame.depths, view, *seen, lamps)


def _vectors(array: Any) -> Any:
    return on_device(array, np.float32, (3,))


def _placed(eye: Eye) -> tuple[Any, Any]:
    """Return what maps a place p of the world to the eye: turn @ (p - position)."""
    return Matrix(eye.turn.T.tolist()), Vector(eye.position.tolist())


def _balls(frame: Frame, eye: Eye, view: Any, groups: Sequence[Balls]) -> Any:
    count = sum(group.count for group in groups)
    places = frame.rooms.get("balls", np.float32, count, 4)
    colors = frame.rooms.get("colors of balls", np.float32, count, 3)
    turn, position = _placed(eye)

    def mark(*marks: Any) -> None:
        first = 0
        for group in groups:
            steps = int(group.radii.shape[0] > 1), int(group.colors.shape[0] > 1)
            mark_balls(
                *(*marks, view, first, group.count, places, colors, turn, position),
                *(group.offset, group.centers, group.radii, steps[0], group.colors, steps[1]),
            )
            first += group.count

    return BallsPack(count, sort_into_bins(frame.rooms, "balls", count, frame.size, mark), places, colors)


def _faces(frame: Frame, view: Any, surfaces: Surfaces) -> Any:
    count = len(surfaces.indices)
    edges = frame.rooms.get("edges", np.float32, count, 3, 3)
    origins = frame.rooms.get("origins", np.float32, count, 2)
    deeps = frame.rooms.get("depths of corners", np.float32, count, 3)
    points, corners = _vectors(surfaces.points), on_device(surfaces.indices, np.int32, (3,))

    def mark(*marks: Any) -> None:
        mark_faces(*marks, view, count, points, corners, edges, origins, deeps)

    bins = sort_into_bins(frame.rooms, "faces", count, frame.size, mark)
    looks = _vectors(surfaces.normals), _vectors(surfaces.colors), on_device(surfaces.two_sided, np.int32)
    return FacesPack(count, bins, edges, origins, deeps, corners, *looks)


def _rods(frame: Frame, eye: Eye, view: Any, rods: Rods) -> Any:
    count = len(rods.radii)
    ends = [on_device(array, np.float32, (3,)) for array in (rods.places, rods.colors)]
    heads = frame.rooms.get("heads", np.float32, count, 4)
    tails, first, last = (frame.rooms.get(name, np.float32, count, 3) for name in ("tails", "first", "last"))
    radii = on_device(rods.radii, np.float32)

    def mark(*marks: Any) -> None:
        mark_rods(*marks, view, count, *ends, radii, *_placed(eye), heads, tails, first, last)

    return RodsPack(sort_into_bins(frame.rooms, "rods", count, frame.size, mark), heads, tails, first, last)


@func
def _take(met: Any, x: Vec4, y: Vec4) -> Any:
    """Select one of the shapes that the rays hit. Returns its index, the share of the rays that hit it, their mean
    position, and the remaining rays."""
    number, rest, rays, sum_x, sum_y = met.max(), met, 0.0, 0.0, 0.0
    for k in static(range(RAYS)):
        if met[k] == number:
            rays, sum_x, sum_y = rays + 1.0, sum_x + x[k], sum_y + y[k]
            rest[k] = -1
    return number, rays / RAYS, sum_x / rays, sum_y / rays, rest


@func
def _ball_at(balls: Any, i: i32, origin: Any, ray: Any) -> Any:
    """Return point, normal and colour where a ray hits a ball."""
    ball = balls.places[i]
    place = origin + ball_depth(ball, origin, ray) * ray
    return place, (place - ball.xyz) / ball.w, balls.colors[i]


@func
def _face_at(faces: Any, i: i32, x: f32, y: f32, origin: Any, ray: Any, toward: Any) -> Any:
    """Return point, normal and colour of a triangle that is seen at (x, y)."""
    share, at = shares_of(faces.edges[i], faces.origins[i], x, y), faces.corners[i]
    normal = share[0] * faces.normals[at[0]] + share[1] * faces.normals[at[1]] + share[2] * faces.normals[at[2]]
    color = share[0] * faces.colors[at[0]] + share[1] * faces.colors[at[1]] + share[2] * faces.colors[at[2]]
    normal /= sqrt(max(normal.dot(normal), 1e-12))
    if faces.two_sided[i] != 0 and normal.dot(toward) < 0.0:
        normal = -normal
    return origin + share.dot(faces.deeps[i]) * ray, normal, color


@func
def _rod_at(rods: Any, i: i32, x: f32, y: f32, flat: i32) -> Any:
    """Return the colour of a line at a pixel. In perspective, it is interpolated linearly in space, not in the
    picture."""
    head, tail = rods.heads[i], rods.tails[i]
    at, _ = along_rod(head, tail, x, y)
    if flat == 0:
        at *= rod_depth(head, tail, at, flat) / tail[2]
    return rods.first[i] + at * (rods.last[i] - rods.first[i])


@func
def _color_of(number: i32, view: Any, balls: Any, faces: Any, rods: Any, lamps: Any, x: f32, y: f32) -> Any:
    """Return the colour of a shape at a pixel. Balls have the first indices, then triangles, then lines."""
    at_x, at_y = (x - view.lens[2]) / view.lens[0], (y - view.lens[3]) / view.lens[1]
    origin, ray = ray_through(at_x, at_y, view.flat)
    toward = -ray / sqrt(ray.dot(ray))
    color, place, normal = origin, origin, origin
    if number >= balls.count + faces.count:
        color = _rod_at(rods, number - balls.count - faces.count, x, y, view.flat)
    else:
        if number < balls.count:
            place, normal, color = _ball_at(balls, number, origin, ray)
        else:
            place, normal, color = _face_at(faces, number - balls.count, at_x, at_y, origin, ray, toward)
        color = lit(color, place, normal, toward, lamps)
    return color


@kernel
def _draw(
    pixels: Pixels,
    depths: Depths,
    view: ViewPack,
    balls: BallsPack,
    faces: FacesPack,
    rods: RodsPack,
    lamps: LampsPack,
) -> None:
    down = (view.height + TILE - 1) // TILE
    for tile, place in ndrange(tiles_of(view.width, view.height), TILE * TILE):
        i, j = pixel_of(tile, place, down)
        if i < view.width and j < view.height:
            x, y = Vector(_X) + i, Vector(_Y) + j
            at_x, at_y = (x - view.lens[2]) / view.lens[0], (y - view.lens[3]) / view.lens[1]
            depth, met = Vector([1.0, 1.0, 1.0, 1.0]) * view.far, Vector([-1, -1, -1, -1])
            depth, met = meet_balls(tile, balls, view, at_x, at_y, depth, met, 0)
            depth, met = meet_faces(tile, faces, view, at_x, at_y, depth, met, balls.count)
            depth, met = meet_rods(tile, rods, view, x, y, depth, met, balls.count + faces.count)
            if met.max() >= 0:
                depths[i, j] = max(depths[i, j], depth_of(depth.min(), view.near, view.far, view.flat))
                total, bare = Vector([0.0, 0.0, 0.0]), 1.0
                while met.max() >= 0:  # if several rays hit a shape, it is lit once, at their mean position
                    number, share, middle_x, middle_y, met = _take(met, x, y)
                    color = _color_of(number, view, balls, faces, rods, lamps, middle_x, middle_y)
                    total, bare = total + share * color, bare - share
                pixels[i, j] = total + bare * pixels[i, j]
