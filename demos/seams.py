"""Seam carving: a photograph becomes narrower by its least interesting paths from top to bottom, one at a time.

A pixel costs what the picture changes there; the cheapest path to each pixel comes from one of the three above it
(dynamic programming, a parallel loop per row). Source: Avidan, Shamir, "Seam carving for content-aware image
resizing", SIGGRAPH 2007.
"""

import numpy as np

import weft as ti
from weft.demos.filters import photograph

FRAMES = 110
SEAMS = 2  # carved in each frame


def build(picture=None):
    """Carves `picture`, floats of shape (height, width, 3), or a portrait."""
    source = photograph() if picture is None else picture
    height, width, _ = source.shape
    pixels, narrow = (ti.Vector.field(3, ti.f32, (height, width)) for _ in range(2))
    cost, path = ti.field(ti.f32, (height, width)), ti.field(ti.i32, height)
    image = ti.Vector.field(3, ti.f32, (height, width))

    @ti.kernel
    def measure(columns: ti.i32):
        for i, j in ti.ndrange(height, columns):
            across = pixels[i, ti.min(j + 1, columns - 1)] - pixels[i, ti.max(j - 1, 0)]
            down = pixels[ti.min(i + 1, height - 1), j] - pixels[ti.max(i - 1, 0), j]
            cost[i, j] = ti.sqrt(across.norm_sqr() + down.norm_sqr())

    @ti.kernel
    def descend(i: ti.i32, columns: ti.i32):
        for j in range(columns):
            left, right = ti.max(j - 1, 0), ti.min(j + 1, columns - 1)
            cost[i, j] += ti.min(cost[i - 1, left], cost[i - 1, j], cost[i - 1, right])

    @ti.kernel
    def climb(columns: ti.i32):
        ti.loop_config(serialize=True)
        for up in range(height):
            i, best = height - 1 - up, 0
            low, high = 0, columns
            if up > 0:
                low, high = ti.max(path[i + 1] - 1, 0), ti.min(path[i + 1] + 2, columns)
            best = low
            for j in range(low, high):
                if cost[i, j] < cost[i, best]:
                    best = j
            path[i] = best

    @ti.kernel
    def carve(columns: ti.i32):
        for i, j in ti.ndrange(height, columns - 1):
            narrow[i, j] = pixels[i, j + (j >= path[i])]
        for i, j in ti.ndrange(height, columns - 1):
            pixels[i, j] = narrow[i, j]

    @ti.kernel
    def draw(columns: ti.i32, show: ti.i32):
        for i, j in image:
            image[i, j] = pixels[i, j] if j < columns else ti.Vector([0.07, 0.07, 0.09])
        for i in path:
            if show:
                image[i, path[i]] = ti.Vector([1.0, 0.25, 0.15])

    pixels.from_numpy(np.ascontiguousarray(source, np.float32))
    columns = width

    def find():
        """The cheapest seam: the column of each row."""
        measure(columns)
        for i in range(1, height):
            descend(i, columns)
        climb(columns)
        return path

    def frame(number):
        nonlocal columns
        for _ in range(SEAMS if columns > 2 + SEAMS else 0):
            find()
            carve(columns)
            columns -= 1
        find()
        draw(columns, 1)
        return image.to_numpy()

    frame.find, frame.pixels, frame.measure, frame.cost = find, pixels, measure, cost
    return frame
