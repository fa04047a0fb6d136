"""Wave equation: a plane wave passes two slits and interferes with itself (leapfrog, nine-point Laplacian).

u_tt = c^2 lap u, stepped as u(t+1) = 2 u(t) - u(t-1) + (c dt/dx)^2 lap u(t). Near the edges the wave is damped more
and more, so that nothing comes back. Bright bands behind the wall lie where the two paths differ by whole waves:
slit distance * sin(angle) = k * wavelength (Young, 1804).
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 160
WIDTH, HEIGHT, STEPS = 640, 400, 8
COURANT, WAVELENGTH, SLITS, OPENING = 0.5, 20, 84, 14  # all lengths in cells; courant is c dt/dx
SPONGE, WALL = 50, 0.3  # the damped margin, and where the wall is, as a part of the width


@ti.data_oriented
class Waves:
    """A tank of width x height cells; no margin if `sponge` is 0, no wall if `slits` is 0."""

    def __init__(self, width=WIDTH, height=HEIGHT, sponge=SPONGE, slits=SLITS):
        self.width, self.height, self.sponge, self.slits = width, height, sponge, slits
        self.before, self.now, self.after = (ti.field(ti.f32, (width, height)) for _ in range(3))
        self.image = ti.Vector.field(3, ti.f32, (width, height))
        self.palette, self.wall = Palette("RdBu_r"), int(WALL * width)
        self.omega = 2 * np.pi * COURANT / WAVELENGTH  # radians in a step

    @ti.func
    def solid(self, i, j):
        """Whether the wall stands here: everywhere on its two columns but in the two slits."""
        aside = abs(abs(j + 0.5 - self.height / 2) - self.slits / 2)
        return self.slits > 0 and self.wall <= i < self.wall + 4 and aside > OPENING / 2

    @ti.func
    def damping(self, i, j):
        """1 in the tank, a little less in the margin, falling smoothly toward the edge."""
        edge = ti.min(ti.min(i, self.width - 1 - i), ti.min(j, self.height - 1 - j))
        depth = ti.max(0.0, 1 - edge / ti.max(1.0, self.sponge)) * (self.sponge > 0)
        return 1 - 0.16 * depth**3

    @ti.kernel
    def step(self, a: ti.Field[ti.f32], b: ti.Field[ti.f32], c: ti.Field[ti.f32]):
        """c from b, now, and a, before."""
        for i, j in ti.ndrange((1, self.width - 1), (1, self.height - 1)):
            sides = b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1]
            corners = b[i - 1, j - 1] + b[i + 1, j - 1] + b[i - 1, j + 1] + b[i + 1, j + 1]
            laplacian = (4 * sides + corners - 20 * b[i, j]) / 6
            wave = (2 * b[i, j] - a[i, j] + COURANT**2 * laplacian) * self.damping(i, j)
            c[i, j] = 0.0 if self.solid(i, j) else wave

    @ti.kernel
    def source(self, a: ti.Field[ti.f32], phase: ti.f32, strength: ti.f32):
        """A beam that enters from the left."""
        for j in range(self.height):
            beam = ti.exp(-(((j + 0.5 - self.height / 2) / (0.3 * self.height)) ** 8))
            a[ti.max(2, self.sponge + 2), j] += strength * beam * ti.sin(phase)

    @ti.kernel
    def draw(self, a: ti.Field[ti.f32]):
        for i, j in self.image:
            u = a[i, j] * (0.55 if i < self.wall else 1.5)
            slope = 0.0
            if 0 < i < self.width - 1 and 0 < j < self.height - 1:
                slope = a[i - 1, j] - a[i + 1, j] + a[i, j + 1] - a[i, j - 1]
            color = self.palette(0.5 + 0.42 * ti.tanh(0.8 * u)) * (0.9 + 0.12 * slope)
            self.image[i, j] = ti.Vector([0.13, 0.14, 0.17]) if self.solid(i, j) else color

    def __call__(self, number):
        for k in range(number * STEPS, (number + 1) * STEPS):
            self.source(self.now, self.omega * k, 0.5 * min(1.0, k / 100))
            self.step(self.before, self.now, self.after)
            self.before, self.now, self.after = self.now, self.after, self.before
        self.draw(self.now)
        return self.image


build = Waves

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
