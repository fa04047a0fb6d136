"""Compute where the eye sees shapes: their positions relative to the eye, the tiles that they may touch, and their
depths."""

from __future__ import annotations

from typing import Any

from weft.lang.functions.func import func
from weft.lang.kernels.kernel import kernel
from weft.lang.library.linalg import cross
from weft.lang.ui.render.bins import note
from weft.lang.ui.render.kinds import (
    Boxes,
    Colors,
    Edges,
    Ends,
    Floats,
    Mat3,
    Points,
    Quads,
    Triples,
    Vec3,
    ViewPack,
    f32,
    i32,
)
from weft.lang.ui.render.tiles import box_of
from weft.lang.values.builtins import max, min, sqrt
from weft.lang.values.matrix import Matrix, Vector

__all__ = ["mark_balls", "mark_faces", "mark_rods"]


@func
def _tangents(x: f32, t: f32, radius: f32, near: f32, flat: i32) -> Any:
    """Return the range of X in which a ball at x and t is seen. If it reaches the near plane, the range is
    unlimited."""
    low, high = x - radius, x + radius
    if flat == 0:
        if t - radius > near:
            away = t * t - radius * radius
            spread = radius * sqrt(x * x + away)
            low, high = (x * t - spread) / away, (x * t + spread) / away
        else:
            low, high = -1e9, 1e9
    return Vector([low, high])


@kernel
def mark_balls(
    boxes: Boxes,
    begins: Floats,
    span: Floats,
    view: ViewPack,
    first: i32,
    count: i32,
    balls: Quads,
    shades: Colors,
    turn: Mat3,
    position: Vec3,
    offset: i32,
    centers: Colors,
    radii: Floats,
    radius_step: i32,
    colors: Colors,
    color_step: i32,
) -> None:
    """Set `balls` (centers relative to the eye, and radii) and their `shades`, from index `first` on, and `note` them.
    The balls of the world begin at `offset`. A step of 0 means one radius or colour for all."""
    for k in range(count):
        i = first + k
        center, radius = turn @ (centers[offset + k] - position), radii[(offset + k) * radius_step]
        balls[i] = Vector([center[0], center[1], center[2], radius])
        shades[i] = colors[(offset + k) * color_step]
        box = Vector([0, 0, 0, 0])
        if center[2] + radius > view.near and radius > 0.0:
            x = _tangents(center[0], center[2], radius, view.near, view.flat) * view.lens[0] + view.lens[2]
            y = _tangents(center[1], center[2], radius, view.near, view.flat) * view.lens[1] + view.lens[3]
            box = box_of(Vector([x[0], y[0]]), Vector([x[1], y[1]]), Vector([view.width, view.height]) * 1.0)
        note(boxes, begins, span, i, box, max(center[2] - radius, view.near))


@kernel
def mark_faces(
    boxes: Boxes,
    begins: Floats,
    span: Floats,
    view: ViewPack,
    count: i32,
    points: Colors,
    corners: Triples,
    edges: Edges,
    origins: Points,
    deeps: Colors,
) -> None:
    """`note` triangles and set their `edges`: the three planes through the eye and an edge, as rows. A place (X, Y, 1)
    is on the inner side of a plane if the product is above 0. Its ray hits the triangle if that holds for all three. X
    and Y are relative to the triangle's `origins`, so that rounding does not lose small distant triangles. `deeps` are
    the depths of its corners."""
    size = Vector([view.width, view.height]) * 1.0
    for i in range(count):
        a, b, c = points[corners[i][0]], points[corners[i][1]], points[corners[i][2]]
        nearest, farthest = min(a[2], min(b[2], c[2])), max(a[2], max(b[2], c[2]))
        deeps[i] = Vector([a[2], b[2], c[2]])
        if view.flat != 0:
            a[2], b[2], c[2] = 1.0, 1.0, 1.0
        origin = Vector([0.0, 0.0])
        box = Vector([0, 0, 0, 0])
        if nearest > view.near or (view.flat != 0 and farthest > view.near):
            origin = a.xy / a[2]
            scale, shift = Vector([view.lens[0], view.lens[1]]), Vector([view.lens[2], view.lens[3]])
            p, q, r = origin * scale + shift, b.xy / b[2] * scale + shift, c.xy / c[2] * scale + shift
            box = box_of(min(p, min(q, r)), max(p, max(q, r)), size)
        elif farthest > view.near:  # partly behind the near plane
            box = box_of(size * 0.0, size, size)
        for k in range(2):
            a[k], b[k], c[k] = a[k] - origin[k] * a[2], b[k] - origin[k] * b[2], c[k] - origin[k] * c[2]
        ab, bc, ca = cross(a, b), cross(b, c), cross(c, a)
        side = -1.0 if a.dot(bc) < 0.0 else 1.0
        origins[i] = origin
        edges[i] = side * Matrix([[bc[0], bc[1], bc[2]], [ca[0], ca[1], ca[2]], [ab[0], ab[1], ab[2]]])
        note(boxes, begins, span, i, box, max(nearest, view.near))


@func
def _pixel(place: Vec3, view: Any) -> Any:
    """Return the place in the picture where a position is seen, and its depth."""
    away = 1.0 if view.flat != 0 else place[2]
    x, y = place[0] / away * view.lens[0] + view.lens[2], place[1] / away * view.lens[1] + view.lens[3]
    return Vector([x, y, place[2]])


@kernel
def mark_rods(
    boxes: Boxes,
    begins: Floats,
    span: Floats,
    view: ViewPack,
    count: i32,
    places: Ends,
    colors: Ends,
    radii: Floats,
    turn: Mat3,
    position: Vec3,
    heads: Quads,
    tails: Colors,
    first: Colors,
    last: Colors,
) -> None:
    """Set the members of `RodsPack` for lines between two `places` of the world each, clipped at the near plane, and
    `note` them."""
    for i in range(count):
        a, b = turn @ (places[i, 0] - position), turn @ (places[i, 1] - position)
        cut = view.near * 1.001
        to = b[2] - a[2]
        from_a = (cut - a[2]) / to if a[2] <= view.near and b[2] > view.near else 0.0
        from_b = (cut - b[2]) / to if b[2] <= view.near and a[2] > view.near else 0.0
        box = Vector([0, 0, 0, 0])
        if a[2] > view.near or b[2] > view.near:
            shade = colors[i, 1] - colors[i, 0]
            first[i], last[i] = colors[i, 0] + from_a * shade, colors[i, 1] + from_b * shade
            head, tail = _pixel(a + from_a * (b - a), view), _pixel(b + from_b * (b - a), view)
            heads[i], tails[i] = Vector([head[0], head[1], head[2], radii[i]]), tail
            reach = Vector([1.0, 1.0]) * radii[i]
            low, high = min(head.xy, tail.xy) - reach, max(head.xy, tail.xy) + reach
            box = box_of(low, high, Vector([view.width, view.height]) * 1.0)
            a[2], b[2] = head[2], tail[2]
        note(boxes, begins, span, i, box, min(a[2], b[2]))
