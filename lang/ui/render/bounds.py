"""In which tiles shapes in space may be seen."""

from __future__ import annotations

from typing import Any

from weft.lang.builtins import max, min, sqrt
from weft.lang.kernel import func, kernel
from weft.lang.linalg import cross
from weft.lang.matrix import Matrix, Vector
from weft.lang.ui.render.kinds import Boxes, Colors, Edges, Quads, Triples, Vec4, f32, i32
from weft.lang.ui.render.tiles import box_of

__all__ = ["box_balls", "box_rods", "box_surfaces"]


@func
def _tangents(x: f32, t: f32, radius: f32, near: f32, flat: i32) -> Any:
    """Between which X a ball is seen that is at x and t. Where it reaches to the near plane: anywhere."""
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
def box_balls(
    boxes: Boxes, count: i32, width: i32, height: i32, balls: Quads, lens: Vec4, near: f32, flat: i32
) -> None:
    """Set the tiles that each ball may be seen in: `balls` are their centers and radii."""
    for i in range(count):
        center, radius = balls[i], balls[i][3]
        if center[2] + radius > near and radius > 0.0:
            x = _tangents(center[0], center[2], radius, near, flat) * lens[0] + lens[2]
            y = _tangents(center[1], center[2], radius, near, flat) * lens[1] + lens[3]
            boxes[i] = box_of(Vector([x[0], y[0]]), Vector([x[1], y[1]]), Vector([width, height]) * 1.0)
        else:
            boxes[i] = Vector([0, 0, 0, 0])


@kernel
def box_surfaces(
    boxes: Boxes,
    count: i32,
    width: i32,
    height: i32,
    points: Colors,
    corners: Triples,
    edges: Edges,
    lens: Vec4,
    near: f32,
    flat: i32,
) -> None:
    """Set the tiles that each triangle may be seen in, and `edges`: of each the three planes through the eye and an
    edge, as rows: a place (X, Y, 1) is on the same side of all three where its ray meets the triangle."""
    size = Vector([width, height]) * 1.0
    for i in range(count):
        a, b, c = points[corners[i][0]], points[corners[i][1]], points[corners[i][2]]
        nearest, farthest = min(a[2], min(b[2], c[2])), max(a[2], max(b[2], c[2]))
        if flat != 0:
            a[2], b[2], c[2] = 1.0, 1.0, 1.0
        ab, bc, ca = cross(a, b), cross(b, c), cross(c, a)
        edges[i] = Matrix([[bc[0], bc[1], bc[2]], [ca[0], ca[1], ca[2]], [ab[0], ab[1], ab[2]]])
        scale, shift = Vector([lens[0], lens[1]]), Vector([lens[2], lens[3]])
        box = Vector([0, 0, 0, 0])
        if nearest > near or (flat != 0 and farthest > near):
            p, q, r = a.xy / a[2] * scale + shift, b.xy / b[2] * scale + shift, c.xy / c[2] * scale + shift
            box = box_of(min(p, min(q, r)), max(p, max(q, r)), size)
        elif farthest > near:  # partly behind the eye
            box = box_of(size * 0.0, size, size)
        boxes[i] = box


@kernel
def box_rods(boxes: Boxes, count: i32, width: i32, height: i32, begins: Quads, ends: Colors) -> None:
    """Set the tiles that each line is in: `begins` are pixels, depths and half widths, `ends` pixels and depths."""
    for i in range(count):
        reach = Vector([1.0, 1.0]) * begins[i][3]
        a, b = begins[i].xy, ends[i].xy
        boxes[i] = box_of(min(a, b) - reach, max(a, b) + reach, Vector([width, height]) * 1.0)
