"""Spheres, a box and a floor as signed distances: ray marching with soft shadows, bounce by bounce."""

import math

import numpy as np
import taichi as ti

ti.init(arch=ti.gpu)

res = 96, 64
color_buffer = ti.Vector.field(3, dtype=ti.f32, shape=res)
max_ray_depth = 3
eps = 1e-4
inf = 1e10
fov = 0.6
light_direction = [0.8, 1.0, 0.6]
camera_pos = ti.Vector([0.0, 0.8, 4.5])


@ti.func
def sdf(o):
    wall = ti.min(o[1] + 0.1, o[2] + 1.4)
    sphere = (o - ti.Vector([0.0, 0.35, 0.0])).norm() - 0.36
    q = ti.abs(o - ti.Vector([0.8, 0.3, 0.0])) - ti.Vector([0.3, 0.3, 0.3])
    box = ti.Vector([ti.max(0, q[0]), ti.max(0, q[1]), ti.max(0, q[2])]).norm()
    box += ti.min(q.max(), 0)
    return ti.min(wall, ti.min(sphere, box))


@ti.func
def sdf_normal(p):
    d = 1e-3
    n = ti.Vector([0.0, 0.0, 0.0])
    for i in ti.static(range(3)):
        inc, dec = p, p
        inc[i] += d
        dec[i] -= d
        n[i] = (0.5 / d) * (sdf(inc) - sdf(dec))
    return n.normalized()


@ti.func
def ray_march(p, d):
    j = 0
    dist = 0.0
    while j < 100 and sdf(p + dist * d) > 1e-5 and dist < inf:
        dist += sdf(p + dist * d)
        j += 1
    return ti.min(inf, dist)


@ti.func
def sdf_color(p):
    scale = 0.4
    if 0.05 < p[0] < 0.6 and p[1] < 0.7:
        scale = 1.0
    return ti.Vector([0.3, 0.5, 0.7]) * scale


@ti.func
def next_hit(pos, d):
    closest, normal, color = inf, ti.Vector.zero(ti.f32, 3), ti.Vector.zero(ti.f32, 3)
    ray_march_dist = ray_march(pos, d)
    if ray_march_dist < 100.0 and ray_march_dist < closest:
        closest = ray_march_dist
        normal = sdf_normal(pos + d * closest)
        color = sdf_color(pos + d * closest)
    return closest, normal, color


@ti.kernel
def render():
    for u, v in color_buffer:
        aspect_ratio = res[0] / res[1]
        pos = camera_pos
        d = ti.Vector(
            [
                2 * fov * (u + 0.5) / res[1] - fov * aspect_ratio,
                2 * fov * (v + 0.5) / res[1] - fov,
                -1.0,
            ]
        )
        d = d.normalized()
        throughput = ti.Vector([1.0, 1.0, 1.0])
        depth = 0
        lit = 0.0
        while depth < max_ray_depth:
            closest, normal, c = next_hit(pos, d)
            depth += 1
            if normal.norm() != 0:
                hit = pos + closest * d
                l = ti.Vector(light_direction).normalized()
                shade = ti.max(0.0, normal.dot(l))
                if ray_march(hit + normal * 1e-2, l) < 20.0:
                    shade *= 0.2
                lit += shade / depth
                d = d - 2 * d.dot(normal) * normal
                pos = hit + normal * 1e-2
                throughput *= c
            else:
                depth = max_ray_depth
        color_buffer[u, v] = throughput * lit + throughput * 0.1


def main():
    render()
    image = color_buffer.to_numpy()
    return {"image": np.sqrt(image), "brightness": np.array([image.mean() * math.pi])}
