"""Superpixels: a photograph falls into patches of like colour, which follow its edges (simple linear clustering).

k-means of colours and places together: a pixel belongs to the nearest of the nine centers around it, by

    d^2 = |Lab - Lab'|^2 + (m / S)^2 |x - x'|^2      S pixels between centers, m: how much round patches are worth

and each center moves to the mean of its pixels. What came off its patch joins a neighbour in the end.
Source: Achanta et al., "SLIC superpixels compared to state-of-the-art superpixel methods", PAMI 2012.
"""

import numpy as np

import weft as ti
from weft.demos.filters import photograph
from weft.demos.palette import lab
from weft.demos.runner import play

FRAMES = 120
STEP, COMPACT = 20, 12.0  # S, in pixels; m, in units of L, which is 0 .. 100
ROUNDS = 15  # of k-means, one a frame
LINE = (1.0, 0.86, 0.3)


@ti.data_oriented
class Superpixels:
    """Clusters `picture`, floats of shape (height, width, 3), or a portrait; centers stand `step` pixels apart."""

    def __init__(self, picture=None, step=STEP, compact=COMPACT):
        picture = photograph() if picture is None else picture
        pixels, centers = picture.shape[:2], tuple(n // step for n in picture.shape[:2])
        self.size, self.centers, self.weight = ti.Vector(pixels), ti.Vector(centers), (compact / step) ** 2
        # Of each pixel: its colour twice, the number of its center, and of its patch, in two fields that take turns.
        self.rgb, self.lab, self.image = (ti.Vector.field(3, ti.f32, pixels) for _ in range(3))
        self.nearest, self.patch, self.grown = (ti.field(ti.i32, pixels) for _ in range(3))
        # Of each center: colour and place.
        self.color, self.mean = (ti.Vector.field(3, ti.f32, centers) for _ in range(2))
        self.place = ti.Vector.field(2, ti.f32, centers)
        self.rgb.from_numpy(np.ascontiguousarray(picture, np.float32))
        self.start()

    @ti.kernel
    def start(self):
        """Centers on a grid, each in the middle of a cell."""
        for p in ti.grouped(self.lab):
            self.lab[p] = lab(self.rgb[p])
        for c in ti.grouped(self.color):
            low, high = self.cells(c, 0)
            self.place[c] = (low + high - 1) / 2
            self.color[c] = self.lab[(low + high) // 2]

    @ti.func
    def cells(self, c, around):
        """The pixels of a cell, and of so many cells around it: from here, to there."""
        low, high = ti.max(c - around, 0), ti.min(c + around + 1, self.centers)
        return low * self.size // self.centers, high * self.size // self.centers

    @ti.func
    def number(self, c):
        return c.x * self.centers.y + c.y

    @ti.func
    def distance(self, p, c):
        return (self.lab[p] - self.color[c]).norm_sqr() + self.weight * (p - self.place[c]).norm_sqr()

    @ti.kernel
    def assign(self):
        """The nearest center of each pixel, of those in its cell and in the eight around it."""
        for p in ti.grouped(self.nearest):
            cell, best = ((p + 1) * self.centers - 1) // self.size, 1e30
            for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2))):
                c = cell + offset
                if all(c >= 0) and all(c < self.centers) and self.distance(p, c) < best:
                    best = self.distance(p, c)
                    self.nearest[p] = self.number(c)

    @ti.kernel
    def move(self):
        """Each center to the mean of its pixels; one that has lost them all stays."""
        for c in ti.grouped(self.color):
            color, mean, place, count = self.color[c] * 0, self.mean[c] * 0, self.place[c] * 0, 0
            low, high = self.cells(c, 1)
            for p in ti.grouped(ti.ndrange((low.x, high.x), (low.y, high.y))):
                if self.nearest[p] == self.number(c):
                    color, mean, place, count = color + self.lab[p], mean + self.rgb[p], place + p, count + 1
            if count > 0:
                self.color[c], self.mean[c], self.place[c] = color / count, mean / count, place / count

    @ti.kernel
    def sow(self):
        """Patches of one pixel each: of a center's pixels the one nearest to it."""
        for p in ti.grouped(self.patch):
            self.patch[p] = -1
        for c in ti.grouped(self.color):
            low, high = self.cells(c, 1)
            best, seed = 1e30, low
            for p in ti.grouped(ti.ndrange((low.x, high.x), (low.y, high.y))):
                if self.nearest[p] == self.number(c) and (p - self.place[c]).norm_sqr() < best:
                    best, seed = (p - self.place[c]).norm_sqr(), p
            if best < 1e30:
                self.patch[seed] = self.number(c)

    @ti.kernel
    def grow(self, patch: ti.Field[ti.i32], grown: ti.Field[ti.i32], strays: ti.i32) -> ti.i32:
        """Patches take the pixels next to them: their own, or, in the end, `strays`. How many were taken."""
        taken = 0
        for p in ti.grouped(patch):
            grown[p], best = patch[p], 1e30
            for way in ti.static(((0, 1), (1, 0), (0, -1), (-1, 0))):
                k = patch[ti.math.clamp(p + ti.Vector(way), 0, self.size - 1)]
                if patch[p] < 0 and k >= 0 and (strays or k == self.nearest[p]):
                    away = self.distance(p, ti.Vector([k // self.centers.y, k % self.centers.y]))
                    if away < best:
                        grown[p], best = k, away
            taken += grown[p] != patch[p]
        return taken

    def connect(self):
        """`patch`: as `nearest`, but all of one piece."""
        self.sow()
        for strays in (0, 1):
            while self.grow(self.patch, self.grown, strays):
                self.patch, self.grown = self.grown, self.patch

    @ti.kernel
    def draw(self, patch: ti.Field[ti.i32], middle: ti.i32):
        """The photograph with the patches' outlines on the left, the patches' colours on the right."""
        for i, j in self.image:
            k, below, right = patch[i, j], ti.min(i + 1, self.size[0] - 1), ti.min(j + 1, self.size[1] - 1)
            self.image[i, j] = self.rgb[i, j]
            if j >= middle:
                self.image[i, j] = self.mean[k // self.centers.y, k % self.centers.y]
            elif k != patch[below, j] or k != patch[i, right]:
                self.image[i, j] = ti.math.mix(self.rgb[i, j], ti.Vector(LINE), 0.8)

    def __call__(self, number):
        if number < ROUNDS:
            self.assign()
            self.move()
        elif number == ROUNDS:
            self.connect()
        middle = (0.5 - 0.35 * np.sin(2 * np.pi * number / FRAMES)) * self.size[1]
        self.draw(self.nearest if number < ROUNDS else self.patch, int(middle))
        return self.image.to_numpy()


build = Superpixels

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
