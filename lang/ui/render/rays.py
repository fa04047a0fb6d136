"""Where rays meet shapes, and in what light.

Triangles are met in homogeneous coordinates, so none needs clipping (M. Olano and T. Greer, "Triangle scan conversion
using 2D homogeneous coordinates", 1997); light is that of J. Blinn, "Models of light reflection for computer
synthesized pictures", 1977.
"""

from __future__ import annotations

from typing import Any

from weft.lang.builtins import max, min, pow, sqrt
from weft.lang.kernel import func
from weft.lang.matrix import Vector
from weft.lang.ui.render.kinds import Colors, Edges, Ints, Quads, Triples, Vec2, Vec3, f32, i32

__all__ = ["depth_of", "lit", "meet_balls", "meet_rods", "meet_surfaces", "ray_through", "shares_of"]

_SHINE, _GLOSS = 40.0, 0.22  # how small highlights are, and how bright


@func
def ray_through(place: Vec2, flat: i32) -> Any:
    """Origin and direction of the ray that is seen at `place`; its depth grows by 1 for each length of it."""
    origin, ray = Vector([0.0, 0.0, 0.0]), Vector([place[0], place[1], 1.0])
    if flat != 0:
        origin, ray = Vector([place[0], place[1], 0.0]), Vector([0.0, 0.0, 1.0])
    return origin, ray


@func
def meet_ball(origin: Vec3, ray: Vec3, center: Vec3, radius: f32) -> f32:
    """The depth at which a ray enters a ball, -1 if it does not."""
    to = center - origin
    length = ray.dot(ray)
    along = to.dot(ray) / length
    aside = to - along * ray
    inside = radius * radius - aside.dot(aside)
    return -1.0 if inside <= 0.0 else along - sqrt(max(inside, 0.0) / length)


@func
def shares_of(planes: Any, place: Vec2) -> Vec3:
    """How much of each corner there is at the place of a triangle that is seen at `place`: below 0 is outside."""
    sides = planes @ Vector([place[0], place[1], 1.0])
    whole = sides[0] + sides[1] + sides[2]
    result = Vector([-1.0, -1.0, -1.0])
    if whole != 0.0:
        result = sides / whole
    return result


@func
def meet_balls(
    begin: i32, end: i32, entries: Ints, balls: Quads, origin: Vec3, ray: Vec3, near: f32, farthest: f32
) -> Any:
    """The depth of the nearest ball that the ray meets before `farthest`, and its number, or `farthest` and -1."""
    depth, which = farthest, -1
    for entry in range(begin, end):
        i = entries[entry]
        ball = balls[i]
        t = meet_ball(origin, ray, ball.xyz, ball.w)
        if t > near and t < depth:
            depth, which = t, i
    return depth, which


@func
def meet_surfaces(
    begin: i32,
    end: i32,
    entries: Ints,
    edges: Edges,
    corners: Triples,
    points: Colors,
    place: Vec2,
    near: f32,
    farthest: f32,
) -> Any:
    """The same of triangles. The tolerance closes the seams between neighbours."""
    depth, which = farthest, -1
    for entry in range(begin, end):
        i = entries[entry]
        share = shares_of(edges[i], place)
        if min(share[0], min(share[1], share[2])) >= -1e-5:
            at = corners[i]
            t = share[0] * points[at[0]][2] + share[1] * points[at[1]][2] + share[2] * points[at[2]][2]
            if t > near and t < depth:
                depth, which = t, i
    return depth, which


@func
def meet_rods(
    begin: i32, end: i32, entries: Ints, begins: Quads, ends: Colors, pixel: Vec2, flat: i32, near: f32, farthest: f32
) -> Any:
    """The same of lines, and how far along the line it is, 0 to 1."""
    depth, which, along = farthest, -1, 0.0
    for entry in range(begin, end):
        i = entries[entry]
        a, b = begins[i], ends[i]
        whole, to = b.xy - a.xy, pixel - a.xy
        at = min(max(to.dot(whole) / max(whole.dot(whole), 1e-12), 0.0), 1.0)
        aside = to - at * whole
        if aside.dot(aside) <= a.w * a.w:
            t = a.z + at * (b.z - a.z)
            if flat == 0:  # what is a straight line in space is one of 1 / t across the picture
                t = a.z * b.z / (b.z + at * (a.z - b.z))
                at *= t / b.z
            if t > near and t < depth:
                depth, which, along = t, i, at
    return depth, which, along


@func
def lit(
    color: Vec3, place: Vec3, normal: Vec3, toward: Vec3, count: i32, lights: Colors, shades: Colors, ambient: Vec3
) -> Vec3:
    """The colour of a place with a normal, seen from the direction `toward`; the last two have length 1."""
    light = color * ambient
    for k in range(count):
        to = lights[k] - place
        to /= sqrt(max(to.dot(to), 1e-12))
        half = to + toward
        half /= sqrt(max(half.dot(half), 1e-12))
        slope = normal.dot(to)
        if slope > 0.0:
            light += shades[k] * (color * slope + _GLOSS * pow(max(normal.dot(half), 0.0), _SHINE))
    return light


@func
def depth_of(t: f32, near: f32, far: f32, flat: i32) -> f32:
    """The depth as a depth buffer has it: 1 at the near plane, 0 at the far one."""
    share = (far - t) / (far - near)
    return share if flat != 0 else share * near / t
