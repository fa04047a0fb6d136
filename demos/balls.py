"""A view for the demos in three dimensions: points drawn as lit balls (or as bits of a surface) that throw shadows.

Each ball is projected onto the picture, and onto a second one as the sun sees it. A pixel keeps the nearest ball: the
minimum of (depth, number) packed into one integer, so that no order of the threads matters. Then each pixel is lit.
"""

from typing import Any

import numpy as np

import weft as ti

SIZE, SAMPLES, MAP, ZOOM = (440, 330), 2, 512, 1.9  # pixels; samples along each side of one; the sun's picture
NUMBER, EMPTY, FAR = 18, 2**31 - 1, 6.0  # bits of a ball's number; no ball; the depth that 13 bits reach
SUN = np.array([0.45, 0.80, 0.40]) / np.linalg.norm([0.45, 0.80, 0.40])


def frame_of(ahead):
    """Right, up and ahead of someone who looks that way."""
    ahead = np.asarray(ahead, float) / np.linalg.norm(ahead)
    right = np.cross(ahead, [0, 1, 0])
    right /= np.linalg.norm(right)
    return [ti.Vector([float(c) for c in axis]) for axis in (right, np.cross(right, ahead), ahead)]


@ti.data_oriented
class Balls:
    """Draws the points `x` with their `color`s (linear, 0..1), as balls of one radius or, with `normal`, as surfels.

    The floor is at y = 0. `span` is the radius of what the sun lights around `target`."""

    def __init__(self, x, color, radius, normal: Any = None, eye=(1.5, 1.15, 2.1), target=(0.5, 0.28, 0.5), span=1.0):
        self.x, self.color, self.radius, self.normal = x, color, radius, normal
        self.eye, self.target, self.span = ti.Vector(list(eye)), ti.Vector(list(target)), span
        self.axes = frame_of(np.subtract(target, eye))
        self.sun_axes, self.sun = frame_of(-SUN), ti.Vector([float(c) for c in SUN])
        self.front = ti.field(ti.i32, (SIZE[0] * SAMPLES, SIZE[1] * SAMPLES))
        self.lit = ti.field(ti.i32, (MAP, MAP))
        self.image = ti.Vector.field(3, ti.f32, SIZE)

    @ti.func
    def seen(self, p):
        """Where p is in the picture: x, y in samples, depth, samples for a unit of length."""
        d = p - self.eye
        z = d.dot(self.axes[2])
        scale = ZOOM * SIZE[1] * SAMPLES / z
        at = ti.Vector([d.dot(self.axes[0]), d.dot(self.axes[1])]) * scale + ti.Vector(SIZE) * SAMPLES / 2
        return ti.Vector([at.x, at.y, z, scale])

    @ti.func
    def ray(self, at):
        """The direction in which the eye looks through that place of the picture, in samples."""
        off = (at - ti.Vector(SIZE) * SAMPLES / 2) / (ZOOM * SIZE[1] * SAMPLES)
        return (self.axes[2] + off.x * self.axes[0] + off.y * self.axes[1]).normalized()

    @ti.func
    def sunlit(self, p):
        """The same in the sun's picture."""
        d, scale = p - self.target, MAP / 2 / self.span
        at = ti.Vector([d.dot(self.sun_axes[0]), d.dot(self.sun_axes[1])]) * scale + MAP / 2
        return ti.Vector([at.x, at.y, d.dot(self.sun_axes[2]) + 2 * self.span, scale])

    @ti.func
    def splat(self, picture: ti.Field[ti.i32], where, i):
        """Mark the disc of ball i where nothing nearer is."""
        reach, extent = self.radius * where.w, ti.Vector(picture.shape)
        low = ti.max(ti.floor(where.xy - reach, ti.i32), 0)
        high = ti.min(ti.ceil(where.xy + reach, ti.i32), extent)
        for a, b in ti.ndrange((low.x, high.x), (low.y, high.y)):
            off = (ti.Vector([a, b]) + 0.5 - where.xy) / reach
            if off.norm_sqr() < 1:
                depth = where.z - self.radius * ti.sqrt(1 - off.norm_sqr())
                key = int(ti.math.clamp(depth / FAR, 0.0, 1.0) * 8191)
                ti.atomic_min(picture[a, b], (key << NUMBER) + i)

    @ti.kernel
    def project(self):
        for s in ti.grouped(self.front):
            self.front[s] = EMPTY
        for s in ti.grouped(self.lit):
            self.lit[s] = EMPTY
        for i in self.x:
            self.splat(self.front, self.seen(self.x[i]), i)
        for i in self.x:
            self.splat(self.lit, self.sunlit(self.x[i]), i)

    @ti.func
    def sunshine(self, p):
        """How much of the sun reaches p: five looks at what the sun sees there."""
        where, total = self.sunlit(p), 0.0
        for a, b in ti.static(((0, 0), (1.3, 0.5), (-1.3, -0.5), (0.5, -1.3), (-0.5, 1.3))):
            k = ti.math.clamp(ti.floor(where.xy + ti.Vector([a, b]), ti.i32), 0, MAP - 1)
            total += 0.2 * ((self.lit[k] >> NUMBER) * (FAR / 8191) > where.z - 0.004)
        return total

    @ti.func
    def background(self, ray):
        """The floor, and where it ends in the haze."""
        haze = ti.Vector([0.58, 0.66, 0.76]) + 0.15 * ray.y
        t = -self.eye.y / ti.min(ray.y, -1e-3)
        p = self.eye + t * ray
        away = (p - self.target).norm() / self.span
        near = ti.exp(-0.12 * away**2) * (ray.y < 0)
        floor = ti.Vector([0.50, 0.52, 0.55]) * (0.42 + 0.58 * self.sunshine(p + 0.002 * self.sun))
        return ti.math.mix(haze, floor, near)

    @ti.func
    def shade(self, i, sample):
        """Ball i where this sample sees it."""
        ray, where, n, p = self.ray(sample), self.seen(self.x[i]), ti.Vector([0.0, 0.0, 0.0]), self.x[i]
        if ti.static(self.normal is None):
            off = (sample - where.xy) / (self.radius * where.w)
            toward = ti.sqrt(ti.max(0.0, 1 - off.norm_sqr()))
            n = self.axes[0] * off.x + self.axes[1] * off.y - self.axes[2] * toward
            p += self.radius * n
        else:
            n = self.normal[i] if self.normal[i].dot(ray) < 0 else -self.normal[i]
        lift = self.radius * (0.7 if ti.static(self.normal is None) else 2.5)  # so that it does not shade itself
        shine = ti.max(0.0, n.dot(self.sun)) * self.sunshine(p + lift * n)
        gloss = ti.max(0.0, (self.sun - ray).normalized().dot(n)) ** 40 * shine
        ground = 0.24 + 0.16 * n.y + 0.12 * ti.math.clamp(p.y, 0.0, 1.0)
        return self.color[i] * (0.95 * shine + ground) + 0.25 * gloss

    @ti.kernel
    def light(self):
        for i, j in self.image:
            total, empty = ti.Vector([0.0, 0.0, 0.0]), 0
            for a, b in ti.static(ti.ndrange(SAMPLES, SAMPLES)):
                s = ti.Vector([SAMPLES * i + a, SAMPLES * j + b])
                if self.front[s] == EMPTY:
                    empty += 1
                else:
                    total += self.shade(self.front[s] & (2**NUMBER - 1), s + 0.5)
            if empty > 0:
                total += empty * self.background(self.ray(SAMPLES * (ti.Vector([i, j]) + 0.5)))
            self.image[i, j] = ti.max(0.0, ti.min(1.0, total / SAMPLES**2)) ** (1 / 2.2)

    def draw(self):
        """The picture, a field."""
        self.project()
        self.light()
        return self.image
