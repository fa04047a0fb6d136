"""Rasterizer: twenty thousand triangles of a knot, drawn as graphics hardware does it (edge functions, z-buffer).

A triangle covers the pixels on the inner side of its three edges; what hits two triangles' common edge belongs to one
of them only (the top-left rule). The nearest one wins: the minimum of (depth, number) packed into an integer. Then
each pixel looks up its triangle, interpolates with perspective (w / z is linear on the screen, w is not) and is lit.
Source: Pineda, "A parallel algorithm for polygon rasterization", SIGGRAPH 1988.
"""

import numpy as np

import weft as ti
from weft.demos.meshes import knot
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 160
WIDTH, HEIGHT, SAMPLES = 480, 360, 2
LONG, ROUND, THICK, TURNS = 440, 24, 0.36, (2, 3)  # squares along and around the tube; its radius; the knot's windings
NUMBER, EMPTY, DEPTHS = 16, 2**31 - 1, 2**15 - 1  # bits of a triangle's number; nothing there; steps of depth
NEAR, FAR, ZOOM = 2.0, 9.0, 1.08


@ti.func
def edge(a, b, p):
    """Twice the area of a, b, p: positive where p is to the left of the way from a to b."""
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)


@ti.func
def inside(a, b, p):
    """Whether p is left of the edge, or on it and the edge is a left or a top one."""
    e = edge(a, b, p)
    return e > 0 or (e == 0 and (b.y < a.y or (b.y == a.y and b.x < a.x)))


@ti.data_oriented
class Rasterizer:
    """A picture of these triangles, or of the knot; each pixel is the mean of samples x samples."""

    def __init__(self, points=None, triangles=None, samples=SAMPLES):
        self.samples = samples
        points, triangles = (
            knot(LONG, ROUND, THICK, TURNS) if points is None or triangles is None else (points, triangles)
        )
        self.width, self.height = WIDTH * samples, HEIGHT * samples
        # `seen`: x and y in samples, and the depth.
        self.place, self.seen, self.normal, self.tint = (ti.Vector.field(3, ti.f32, len(points)) for _ in range(4))
        self.corner = ti.Vector.field(3, ti.i32, len(triangles))
        self.front = ti.field(ti.i32, (self.width, self.height))
        self.image = ti.Vector.field(3, ti.f32, (WIDTH, HEIGHT))
        self.palette, self.sun = Palette("twilight_shifted"), ti.Vector([0.48, 0.62, 0.62])
        self.place.from_numpy(points)
        self.corner.from_numpy(triangles)
        self.smooth()

    @ti.kernel
    def transform(self, turn: ti.mat3):
        """Turn the corners and see them from the front."""
        for i in self.place:
            p = turn @ self.place[i]
            depth = 5.2 - p.z
            scale = ZOOM * self.height / depth
            self.seen[i] = [p.x * scale + self.width / 2, p.y * scale + self.height / 2, depth]

    @ti.func
    def weights(self, t, p):
        """Barycentric coordinates of p in triangle t on the screen, and 1/z there."""
        a, b, c = self.seen[self.corner[t].x], self.seen[self.corner[t].y], self.seen[self.corner[t].z]
        w = ti.Vector([edge(b, c, p), edge(c, a, p), edge(a, b, p)]) / edge(a, b, c)
        return w, w.dot(1 / ti.Vector([a.z, b.z, c.z]))

    @ti.kernel
    def rasterize(self):
        """`front`: of each sample the depth and the number of the triangle that is seen there."""
        for s in ti.grouped(self.front):
            self.front[s] = EMPTY
        for t in self.corner:
            a, b, c = self.seen[self.corner[t].x], self.seen[self.corner[t].y], self.seen[self.corner[t].z]
            if edge(a, b, c) > 0:  # else it is seen from behind
                low = ti.max(0, ti.floor(ti.min(a.xy, b.xy, c.xy), ti.i32))
                high = ti.min(ti.Vector([self.width, self.height]), ti.ceil(ti.max(a.xy, b.xy, c.xy), ti.i32))
                for i, j in ti.ndrange((low.x, high.x), (low.y, high.y)):
                    p = ti.Vector([i, j]) + 0.5
                    if inside(a, b, p) and inside(b, c, p) and inside(c, a, p):
                        depth = (1 / self.weights(t, p)[1] - NEAR) / (FAR - NEAR)
                        ti.atomic_min(self.front[i, j], (int(ti.math.clamp(depth, 0.0, 1.0) * DEPTHS) << NUMBER) + t)

    @ti.kernel
    def smooth(self):
        """Normals of the corners: the sums of those of their triangles, each as long as twice its area."""
        for i in self.tint:  # a palette that ends where it begins
            self.tint[i] = self.palette(ti.math.fract(2 * (i // ROUND) / LONG)) ** 1.6
        ti.loop_config(serialize=True)  # sums of floats in one order: the same normals on every run
        for t in self.corner:
            k = self.corner[t]
            facing = (self.place[k.y] - self.place[k.x]).cross(self.place[k.z] - self.place[k.x])
            for c in ti.static(range(3)):
                self.normal[k[c]] += facing

    @ti.func
    def shade(self, t, p, turn):
        k, (w, inverse) = self.corner[t], self.weights(t, p)
        true = w / ti.Vector([self.seen[k.x].z, self.seen[k.y].z, self.seen[k.z].z]) / inverse
        n = (turn @ (true.x * self.normal[k.x] + true.y * self.normal[k.y] + true.z * self.normal[k.z])).normalized()
        view = ti.Vector([self.width / 2 - p.x, self.height / 2 - p.y, ZOOM * self.height]).normalized()
        color = true.x * self.tint[k.x] + true.y * self.tint[k.y] + true.z * self.tint[k.z]
        diffuse = ti.max(0.0, n.dot(self.sun))
        gloss = ti.max(0.0, (self.sun + view).normalized().dot(n)) ** 60
        rim = (1 - ti.max(0.0, n.dot(view))) ** 3
        return color * (0.18 + 0.1 * n.y + 0.95 * diffuse) + 0.45 * gloss + 0.22 * rim * ti.Vector([0.5, 0.65, 1.0])

    @ti.kernel
    def resolve(self, turn: ti.mat3):
        """Light each pixel's samples, and average them."""
        for i, j in self.image:
            total, color, latest = ti.Vector([0.0, 0.0, 0.0]), ti.Vector([0.0, 0.0, 0.0]), -1
            for a, b in ti.ndrange(self.samples, self.samples):
                s = ti.Vector([self.samples * i + a, self.samples * j + b])
                t = self.front[s] & (2**NUMBER - 1)
                if self.front[s] == EMPTY:
                    color = ti.Vector([0.020, 0.022, 0.035]) * (0.5 + 1.5 * j / HEIGHT)
                elif t != latest:  # a pixel's samples in one triangle are lit once
                    color = self.shade(t, s + 0.5, turn)
                latest = t
                total += color
            self.image[i, j] = ti.min(1.0, total / self.samples**2) ** (1 / 2.2)

    def __call__(self, number):
        a, b = 0.04 * number, 0.35
        turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
        tilt = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
        matrix = ti.Matrix((tilt @ turn).tolist())
        self.transform(matrix)
        self.rasterize()
        self.resolve(matrix)
        return self.image


build = Rasterizer

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
