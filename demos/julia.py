"""Fractal zoom: into the Mandelbrot set's seahorse valley, smoothly coloured, with its Julia set in the corner."""

import numpy as np

import weft as ti
from weft.demos.runner import play

FRAMES = 160
WIDTH, HEIGHT, INSET = 640, 480, 168
TARGET = (-0.743643887037151, 0.131825904205330)


@ti.func
def escape(z0, c, limit):
    """How many steps until |z| > 16, made smooth by the size of the last step; 0 inside the set."""
    z = z0
    count = 0
    while z.norm_sqr() < 256 and count < limit:
        z = ti.Vector([z.x * z.x - z.y * z.y, 2 * z.x * z.y], ti.f64) + c
        count += 1
    smooth = 0.0
    if count < limit:
        smooth = count + 1 - ti.log(ti.log(float(z.norm_sqr())) * 0.5 / ti.log(2.0)) / ti.log(2.0)
    return smooth


@ti.func
def palette(s):
    color = ti.Vector([0.02, 0.01, 0.05])
    if s > 0:
        t = 0.42 * ti.sqrt(s)
        color = 0.5 + 0.5 * ti.cos(2 * np.pi * (t + ti.Vector([0.62, 0.70, 0.80])))
        color *= ti.min(1.0, 0.25 + 0.07 * s)
    return color


@ti.data_oriented
class Zoom:
    """The picture; each pixel is computed anew in each frame."""

    def __init__(self):
        self.image = ti.Vector.field(3, ti.f32, (WIDTH, HEIGHT))

    @ti.kernel
    def draw(self, zoom: ti.f64, limit: ti.i32, turn: ti.f64):
        for i, j in self.image:
            x, y = (i - WIDTH / 2) / HEIGHT, (j - HEIGHT / 2) / HEIGHT
            c = ti.Vector([TARGET[0] + zoom * x, TARGET[1] + zoom * y], ti.f64)
            self.image[i, j] = palette(escape(ti.Vector([0.0, 0.0], ti.f64), c, limit))
        for i, j in ti.ndrange(INSET, INSET):
            z = ti.Vector([3.0 * (i / INSET - 0.5), 3.0 * (j / INSET - 0.5)], ti.f64)
            c = ti.Vector([-0.79 + 0.03 * ti.cos(turn), 0.15 + 0.03 * ti.sin(turn)], ti.f64)
            color = palette(escape(z, c, 200))
            if i < 2 or j >= INSET - 2 or j < 2 or i >= INSET - 2:
                color = ti.Vector([0.9, 0.9, 0.95])
            self.image[i + WIDTH - INSET - 14, j + 14] = color

    def __call__(self, number):
        self.draw(2.6 * 0.945**number, 180 + 4 * number, 0.06 * number)
        return self.image


build = Zoom

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
