"""Rasterizer: twenty thousand triangles of a knot, drawn as graphics hardware does it (edge functions, z-buffer).

A triangle covers the pixels on the inner side of its three edges; what hits two triangles' common edge belongs to one
of them only (the top-left rule). The nearest one wins: the minimum of (depth, number) packed into an integer. Then
each pixel looks up its triangle, interpolates with perspective (w / z is linear on the screen, w is not) and is lit.
Source: Pineda, "A parallel algorithm for polygon rasterization", SIGGRAPH 1988.
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette

FRAMES = 160
WIDTH, HEIGHT, SAMPLES = 480, 360, 2
LONG, ROUND, THICK, TURNS = 440, 24, 0.36, (2, 3)  # squares along and around the tube; its radius; the knot's windings
NUMBER, EMPTY, DEPTHS = 16, 2**31 - 1, 2**15 - 1  # bits of a triangle's number; nothing there; steps of depth
NEAR, FAR, ZOOM = 2.0, 9.0, 1.08


def knot():
    """Points (n, 3) on a tube along a torus knot, and triangles (m, 3), counterclockwise seen from outside."""
    s, t = np.meshgrid(np.arange(LONG) * 2 * np.pi / LONG, np.arange(ROUND) * 2 * np.pi / ROUND, indexing="ij")
    p, q = TURNS

    def path(s):
        r = 1.3 + 0.55 * np.cos(q * s)
        return np.stack([r * np.cos(p * s), r * np.sin(p * s), 0.75 * np.sin(q * s)], -1)

    ahead = path(s + 1e-3) - path(s - 1e-3)
    side = np.cross(ahead, path(s))
    up = np.cross(side, ahead)
    side, up = (axis / np.linalg.norm(axis, axis=-1, keepdims=True) for axis in (side, up))
    points = path(s) + THICK * (np.cos(t)[..., None] * side + np.sin(t)[..., None] * up)
    i, j = (axis.ravel() for axis in np.meshgrid(np.arange(LONG), np.arange(ROUND), indexing="ij"))
    a, b, c, d = ((k % LONG) * ROUND + m % ROUND for k, m in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
    triangles = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)])
    return points.reshape(-1, 3).astype(np.float32), triangles.astype(np.int32)


def build(points=None, triangles=None, samples=SAMPLES):
    """A picture of these triangles, or of the knot; each pixel is the mean of samples x samples."""
    points, triangles = knot() if points is None else (points, triangles)
    width, height = WIDTH * samples, HEIGHT * samples
    place, seen, normal, tint = (
        ti.Vector.field(3, ti.f32, len(points)) for _ in range(4)
    )  # seen: x, y in samples, depth
    corner, facing = ti.Vector.field(3, ti.i32, len(triangles)), ti.Vector.field(3, ti.f32, len(triangles))
    front, image = ti.field(ti.i32, (width, height)), ti.Vector.field(3, ti.f32, (WIDTH, HEIGHT))
    palette, sun = Palette("twilight_shifted"), ti.Vector([0.48, 0.62, 0.62])
    place.from_numpy(points)
    corner.from_numpy(triangles)

    @ti.kernel
    def transform(turn: ti.math.mat3):
        for i in place:
            p = turn @ place[i]
            depth = 5.2 - p.z
            scale = ZOOM * height / depth
            seen[i] = [p.x * scale + width / 2, p.y * scale + height / 2, depth]

    @ti.func
    def edge(a, b, p):
        """Twice the area of a, b, p: positive where p is to the left of the way from a to b."""
        return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)

    @ti.func
    def inside(a, b, p):
        """Whether p is left of the edge, or on it and the edge is a left or a top one."""
        e = edge(a, b, p)
        return e > 0 or (e == 0 and (b.y < a.y or (b.y == a.y and b.x < a.x)))

    @ti.func
    def weights(t, p):
        """Barycentric coordinates of p in triangle t on the screen, and 1/z there."""
        a, b, c = seen[corner[t].x], seen[corner[t].y], seen[corner[t].z]
        w = ti.Vector([edge(b, c, p), edge(c, a, p), edge(a, b, p)]) / edge(a, b, c)
        return w, w.dot(1 / ti.Vector([a.z, b.z, c.z]))

    @ti.kernel
    def rasterize():
        for s in ti.grouped(front):
            front[s] = EMPTY
        for t in corner:
            a, b, c = seen[corner[t].x], seen[corner[t].y], seen[corner[t].z]
            if edge(a, b, c) > 0:  # else it is seen from behind
                low = ti.max(0, ti.floor(ti.min(a.xy, b.xy, c.xy), ti.i32))
                high = ti.min(ti.Vector([width, height]), ti.ceil(ti.max(a.xy, b.xy, c.xy), ti.i32))
                for i, j in ti.ndrange((low.x, high.x), (low.y, high.y)):
                    p = ti.Vector([i, j]) + 0.5
                    if inside(a, b, p) and inside(b, c, p) and inside(c, a, p):
                        depth = (1 / weights(t, p)[1] - NEAR) / (FAR - NEAR)
                        ti.atomic_min(front[i, j], (int(ti.math.clamp(depth, 0.0, 1.0) * DEPTHS) << NUMBER) + t)

    @ti.kernel
    def smooth():
        for t in corner:
            k = corner[t]
            facing[t] = (place[k.y] - place[k.x]).cross(place[k.z] - place[k.x])
        for i in normal:
            normal[i] = [0.0, 0.0, 0.0]
            tint[i] = palette(ti.math.fract(2 * (i // ROUND) / LONG)) ** 1.6  # a palette that ends where it begins
        ti.loop_config(serialize=True)  # sums of floats in one order: the same normals on every run
        for t in corner:
            for c in ti.static(range(3)):
                normal[corner[t][c]] += facing[t]

    @ti.func
    def shade(t, p, turn):
        k, (w, inverse) = corner[t], weights(t, p)
        true = w / ti.Vector([seen[k.x].z, seen[k.y].z, seen[k.z].z]) / inverse
        n = (turn @ (true.x * normal[k.x] + true.y * normal[k.y] + true.z * normal[k.z])).normalized()
        view = -ti.Vector(
            [(p.x - width / 2) / (ZOOM * height), (p.y - height / 2) / (ZOOM * height), -1.0]
        ).normalized()
        color = true.x * tint[k.x] + true.y * tint[k.y] + true.z * tint[k.z]
        diffuse = ti.max(0.0, n.dot(sun))
        gloss = ti.max(0.0, (sun + view).normalized().dot(n)) ** 60
        rim = (1 - ti.max(0.0, n.dot(view))) ** 3
        return color * (0.18 + 0.1 * n.y + 0.95 * diffuse) + 0.45 * gloss + 0.22 * rim * ti.Vector([0.5, 0.65, 1.0])

    @ti.kernel
    def resolve(turn: ti.math.mat3):
        for i, j in image:
            total, color, latest = ti.Vector([0.0, 0.0, 0.0]), ti.Vector([0.0, 0.0, 0.0]), -1
            for a, b in ti.ndrange(samples, samples):
                s = ti.Vector([samples * i + a, samples * j + b])
                t = front[s] & (2**NUMBER - 1)
                if front[s] == EMPTY:
                    color = ti.Vector([0.020, 0.022, 0.035]) * (0.5 + 1.5 * j / HEIGHT)
                elif t != latest:  # a pixel's samples in one triangle are lit once
                    color = shade(t, s + 0.5, turn)
                latest = t
                total += color
            image[i, j] = ti.min(1.0, total / samples**2) ** (1 / 2.2)

    smooth()

    def frame(number):
        a, b = 0.04 * number, 0.35
        turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
        tilt = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
        matrix = ti.Matrix((tilt @ turn).tolist())
        transform(matrix)
        rasterize()
        resolve(matrix)
        return image.to_numpy().swapaxes(0, 1)[::-1]

    frame.front, frame.transform, frame.rasterize = front, transform, rasterize
    return frame
