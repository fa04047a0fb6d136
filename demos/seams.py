"""Seam carving: a photograph becomes narrower by its least interesting paths from top to bottom, one at a time.

A pixel costs what the picture changes there; the cheapest path to each pixel comes from one of the three above it
(dynamic programming, a parallel loop per row). Source: Avidan, Shamir, "Seam carving for content-aware image
resizing", SIGGRAPH 2007.
"""

import numpy as np

import weft as ti
from weft.demos.filters import photograph
from weft.demos.runner import play

FRAMES = 110
SEAMS = 2  # carved in each frame


@ti.data_oriented
class SeamCarver:
    """Carves `picture`, floats of shape (height, width, 3), or a portrait."""

    def __init__(self, picture=None):
        source = photograph() if picture is None else picture
        self.height, width, _ = source.shape
        self.pixels, self.narrow = (ti.Vector.field(3, ti.f32, (self.height, width)) for _ in range(2))
        self.cost, self.path = ti.field(ti.f32, (self.height, width)), ti.field(ti.i32, self.height)
        self.image = ti.Vector.field(3, ti.f32, (self.height, width))
        self.pixels.from_numpy(np.ascontiguousarray(source, np.float32))
        self.columns = width

    @ti.kernel
    def measure(self, columns: ti.i32):
        for i, j in ti.ndrange(self.height, columns):
            across = self.pixels[i, ti.min(j + 1, columns - 1)] - self.pixels[i, ti.max(j - 1, 0)]
            down = self.pixels[ti.min(i + 1, self.height - 1), j] - self.pixels[ti.max(i - 1, 0), j]
            self.cost[i, j] = ti.sqrt(across.norm_sqr() + down.norm_sqr())

    @ti.kernel
    def descend(self, i: ti.i32, columns: ti.i32):
        for j in range(columns):
            left, right = ti.max(j - 1, 0), ti.min(j + 1, columns - 1)
            self.cost[i, j] += ti.min(self.cost[i - 1, left], self.cost[i - 1, j], self.cost[i - 1, right])

    @ti.kernel
    def climb(self, columns: ti.i32):
        ti.loop_config(serialize=True)
        for up in range(self.height):
            i, best = self.height - 1 - up, 0
            low, high = 0, columns
            if up > 0:
                low, high = ti.max(self.path[i + 1] - 1, 0), ti.min(self.path[i + 1] + 2, columns)
            best = low
            for j in range(low, high):
                if self.cost[i, j] < self.cost[i, best]:
                    best = j
            self.path[i] = best

    @ti.kernel
    def carve(self, columns: ti.i32):
        for i, j in ti.ndrange(self.height, columns - 1):
            self.narrow[i, j] = self.pixels[i, j + (j >= self.path[i])]
        for i, j in ti.ndrange(self.height, columns - 1):
            self.pixels[i, j] = self.narrow[i, j]

    @ti.kernel
    def draw(self, columns: ti.i32):
        """The picture so far, and the seam that is next, three pixels wide."""
        for i, j in self.image:
            self.image[i, j] = self.pixels[i, j] if j < columns else ti.Vector([0.07, 0.07, 0.09])
            if j < columns and abs(j - self.path[i]) < 2:
                self.image[i, j] = [1.0, 0.25, 0.15]

    def find(self):
        """The cheapest seam: the column of each row."""
        self.measure(self.columns)
        for i in range(1, self.height):
            self.descend(i, self.columns)
        self.climb(self.columns)
        return self.path

    def __call__(self, number):
        for _ in range(SEAMS if self.columns > 2 + SEAMS else 0):
            self.find()
            self.carve(self.columns)
            self.columns -= 1
        self.find()
        self.draw(self.columns)
        return self.image.to_numpy()


build = SeamCarver

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
