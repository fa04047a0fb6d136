"""Intersect rays with shapes, and compute the lighting.

The four rays of a pixel are processed together: `depth`, x and y are vectors of four. Triangles are intersected in
homogeneous coordinates, so clipping is not needed (M. Olano and T. Greer, "Triangle scan conversion using 2D
homogeneous coordinates", 1997). The lighting is that of J. Blinn, "Models of light reflection for computer synthesized
pictures", 1977.
"""

from __future__ import annotations

from typing import Any

from weft.lang.functions.func import func
from weft.lang.ui.render.bins import SLICES, begin_of
from weft.lang.ui.render.kinds import Vec2, Vec3, Vec4, f32, i32
from weft.lang.values.builtins import max, min, pow, sqrt, static
from weft.lang.values.matrix import Vector

__all__ = [
    "RAYS",
    "along_rod",
    "ball_depth",
    "depth_of",
    "lit",
    "meet_balls",
    "meet_faces",
    "meet_rods",
    "ray_through",
    "rod_depth",
    "shares_of",
]

RAYS = 4  # through each pixel
_SHINE, _GLOSS = 40.0, 0.22  # exponent and brightness of highlights
_SEAM = 1e-5  # relative margin around a triangle that still counts as a hit, which closes the seams between neighbours


@func
def ray_through(x: f32, y: f32, flat: i32) -> Any:
    """Return origin and direction of the ray through (x, y). A step of one direction increases its depth by 1."""
    origin, ray = Vector([0.0, 0.0, 0.0]), Vector([x, y, 1.0])
    if flat != 0:
        origin, ray = Vector([x, y, 0.0]), Vector([0.0, 0.0, 1.0])
    return origin, ray


@func
def _keep_nearest(depth: Any, met: Any, inside: Vec4, t: Vec4, number: i32, near: f32) -> Any:
    """Return depths and indices after a test of one more shape, which rays hit at the depths `t` unless they are
    outside of it. Of two equal depths, the first wins."""
    for k in static(range(RAYS)):
        if inside[k] >= 0.0 and t[k] > near and (t[k] < depth[k] or (t[k] == depth[k] and number < met[k])):
            depth[k], met[k] = t[k], number
    return depth, met


@func
def meet_balls(tile: i32, balls: Any, view: Any, x: Vec4, y: Vec4, farthest: Vec4, before: Any, first: i32) -> Any:
    """Return the depths of the nearest balls that the rays hit, and their indices, which begin at `first`; `farthest`
    and `before`, the results of earlier shapes, where no ball is nearer."""
    depth, met = farthest, before
    shrink = x * 0.0 + 1.0
    if view.flat == 0:
        shrink = 1.0 / (x * x + y * y + 1.0)
    for slice in range(balls.bins.slices):
        if begin_of(slice, balls.bins.span) < depth.max():
            bin = tile * SLICES + slice
            for entry in range(balls.bins.starts[bin], balls.bins.starts[bin + 1]):
                i, number = balls.bins.entries[entry], first + balls.bins.entries[entry]
                ball = balls.places[i]
                aside = (x - ball.x) * (x - ball.x) + (y - ball.y) * (y - ball.y)
                if view.flat == 0:  # squared length of the cross product of the ray and the vector to the center
                    a, b, c = ball.y - ball.z * y, ball.z * x - ball.x, ball.x * y - ball.y * x
                    aside = a * a + b * b + c * c
                inside = ball.w * ball.w - aside * shrink
                if inside.max() >= 0.0:
                    along = x * 0.0 + ball.z
                    if view.flat == 0:
                        along = (ball.x * x + ball.y * y + ball.z) * shrink
                    t = along - sqrt(max(inside * shrink, 0.0))
                    depth, met = _keep_nearest(depth, met, inside, t, number, view.near)
    return depth, met


@func
def ball_depth(ball: Vec4, origin: Vec3, ray: Vec3) -> Any:
    """Return the depth at which a ray enters a ball that it hits."""
    along = (ball.xyz - origin).dot(ray) / ray.dot(ray)
    aside = origin + along * ray - ball.xyz
    return along - sqrt(max(ball.w * ball.w - aside.dot(aside), 0.0) / ray.dot(ray))


@func
def shares_of(edges: Any, origin: Vec2, x: f32, y: f32) -> Vec3:
    """Return the barycentric weights of the point of a triangle that is seen at (x, y). A weight below 0 is outside."""
    sides = edges @ Vector([x - origin[0], y - origin[1], 1.0])
    return sides / (sides[0] + sides[1] + sides[2])


@func
def meet_faces(tile: i32, faces: Any, view: Any, x: Vec4, y: Vec4, farthest: Vec4, before: Any, first: i32) -> Any:
    """Do the same as `meet_balls` for triangles with corners at the depths `deeps`."""
    depth, met = farthest, before
    for slice in range(faces.bins.slices):
        if begin_of(slice, faces.bins.span) < depth.max():
            bin = tile * SLICES + slice
            for entry in range(faces.bins.starts[bin], faces.bins.starts[bin + 1]):
                i, number = faces.bins.entries[entry], first + faces.bins.entries[entry]
                edge, away_x, away_y = faces.edges[i], x - faces.origins[i][0], y - faces.origins[i][1]
                a = edge[0, 0] * away_x + edge[0, 1] * away_y + edge[0, 2]
                b = edge[1, 0] * away_x + edge[1, 1] * away_y + edge[1, 2]
                c = edge[2, 0] * away_x + edge[2, 1] * away_y + edge[2, 2]
                whole = a + b + c
                inside = min(a, min(b, c)) + _SEAM * whole
                if inside.max() >= 0.0:
                    t = (a * faces.deeps[i][0] + b * faces.deeps[i][1] + c * faces.deeps[i][2]) / whole
                    depth, met = _keep_nearest(depth, met, inside, t, number, view.near)
    return depth, met


@func
def along_rod(head: Vec4, tail: Vec3, x: Any, y: Any) -> Any:
    """Return how far along a line in the picture a place is, from 0 to 1, and its squared distance from the line."""
    whole_x, whole_y, to_x, to_y = tail[0] - head[0], tail[1] - head[1], x - head[0], y - head[1]
    scale = 1.0 / max(whole_x * whole_x + whole_y * whole_y, 1e-12)
    at = min(max((to_x * whole_x + to_y * whole_y) * scale, 0.0), 1.0)
    aside_x, aside_y = to_x - at * whole_x, to_y - at * whole_y
    return at, aside_x * aside_x + aside_y * aside_y


@func
def rod_depth(head: Vec4, tail: Vec3, at: Any, flat: i32) -> Any:
    """Return the depth of a line at that place. In the picture, 1 / t is linear along a straight line in space."""
    t = head[2] + at * (tail[2] - head[2])
    if flat == 0:
        t = head[2] * tail[2] / (tail[2] + at * (head[2] - tail[2]))
    return t


@func
def meet_rods(tile: i32, rods: Any, view: Any, x: Vec4, y: Vec4, farthest: Vec4, before: Any, first: i32) -> Any:
    """Do the same as `meet_balls` for lines. `x` and `y` are in pixels."""
    depth, met = farthest, before
    for slice in range(rods.bins.slices):
        if begin_of(slice, rods.bins.span) < depth.max():
            bin = tile * SLICES + slice
            for entry in range(rods.bins.starts[bin], rods.bins.starts[bin + 1]):
                i, number = rods.bins.entries[entry], first + rods.bins.entries[entry]
                head, tail = rods.heads[i], rods.tails[i]
                at, aside = along_rod(head, tail, x, y)
                inside = head.w * head.w - aside
                if inside.max() >= 0.0:
                    t = rod_depth(head, tail, at, view.flat)
                    depth, met = _keep_nearest(depth, met, inside, t, number, view.near)
    return depth, met


@func
def lit(color: Vec3, place: Vec3, normal: Vec3, toward: Vec3, lamps: Any) -> Vec3:
    """Return the colour of a point with a normal, seen from the direction `toward`. The last two have length 1."""
    light = color * lamps.ambient
    for k in range(lamps.count):
        to = lamps.places[k] - place
        to /= sqrt(max(to.dot(to), 1e-12))
        half = to + toward
        half /= sqrt(max(half.dot(half), 1e-12))
        slope = normal.dot(to)
        if slope > 0.0:
            light += lamps.colors[k] * (color * slope + _GLOSS * pow(max(normal.dot(half), 0.0), _SHINE))
    return light


@func
def depth_of(t: f32, near: f32, far: f32, flat: i32) -> f32:
    """Return the depth as in a depth buffer: 1 at the near plane, 0 at the far plane."""
    share = (far - t) / (far - near)
    return share if flat != 0 else share * near / t
