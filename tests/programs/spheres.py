"""Balls on a floor, lit by one lamp, with shadows and mirrors: a ray tracer without chance."""

import taichi as ti
from taichi.math import dot, mix, normalize, reflect, vec3

ti.init()

w, h, far = 40, 24, 1e5
picture = ti.Vector.field(3, ti.f32, shape=(w, h))
Ball = ti.types.struct(center=vec3, radius=ti.f32, colour=vec3)
balls = Ball.field(shape=3)


def scene():
    for k, (x, colour) in enumerate([(-1.3, (0.9, 0.3, 0.2)), (0.1, (0.2, 0.8, 0.3)), (1.4, (0.3, 0.4, 0.9))]):
        balls[k] = Ball(center=vec3(x, 0.2 * k, 4.0 + 0.5 * k), radius=0.7, colour=vec3(*colour))


@ti.func
def nearest(origin, way):
    distance, which = far, -1
    for k in range(balls.shape[0]):
        ball = balls[k]
        to = ball.center - origin
        along = dot(to, way)
        inside = ball.radius**2 - (dot(to, to) - along**2)
        if inside > 0:
            near = along - ti.sqrt(inside)
            if 1e-3 < near < distance:
                distance, which = near, k
    if way.y < -1e-4:
        floor = (-0.8 - origin.y) / way.y
        if 1e-3 < floor < distance:
            distance, which = floor, balls.shape[0]
    return distance, which


@ti.kernel
def render():
    for i, j in picture:
        way = normalize(vec3((i + 0.5) / w * 2 - 1, ((j + 0.5) / h * 2 - 1) * h / w, 1.2))
        origin, light, share = vec3(0.0, 0.3, 0.0), vec3(0.0), 1.0
        lamp = vec3(2.0, 4.0, 1.0)
        for _ in range(3):
            distance, which = nearest(origin, way)
            if which < 0:
                light += share * mix(vec3(0.7, 0.8, 1.0), vec3(0.2, 0.3, 0.6), way.y)
                break
            origin += way * distance
            normal, colour = vec3(0.0, 1.0, 0.0), vec3(0.6)
            if which < balls.shape[0]:
                normal = normalize(origin - balls[which].center)
                colour = balls[which].colour
            toward = normalize(lamp - origin)
            depth, blocked = nearest(origin + normal * 1e-2, toward)
            shine = 0.15 + (0.0 if blocked >= 0 and depth < far else ti.max(dot(normal, toward), 0.0))
            light += share * 0.7 * colour * shine
            share *= 0.3
            way = reflect(way, normal)
            origin += way * 1e-2
        picture[i, j] = ti.min(light, 1.0)


def main():
    scene()
    render()
    return {"picture": picture.to_numpy()}
