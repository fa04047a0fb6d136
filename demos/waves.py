"""Wave equation: a plane wave passes two slits and interferes with itself (leapfrog, nine-point Laplacian).

u_tt = c^2 lap u, stepped as u(t+1) = 2 u(t) - u(t-1) + (c dt/dx)^2 lap u(t). Near the edges the wave is damped more
and more, so that nothing comes back. Bright bands behind the wall lie where the two paths differ by whole waves:
slit distance * sin(angle) = k * wavelength (Young, 1804).
"""

import numpy as np

import weft as ti
from weft.demos.palette import Palette

FRAMES = 160
WIDTH, HEIGHT, STEPS = 640, 400, 8
COURANT, WAVELENGTH, SLITS, OPENING = 0.5, 20, 84, 14  # all lengths in cells; courant is c dt/dx
SPONGE, WALL = 50, 0.3  # the damped margin, and where the wall is, as a part of the width


def build(width=WIDTH, height=HEIGHT, sponge=SPONGE, slits=SLITS):
    """A tank of width x height cells; no margin if `sponge` is 0, no wall if `slits` is 0."""
    before, now, after = (ti.field(ti.f32, (width, height)) for _ in range(3))
    image = ti.Vector.field(3, ti.f32, (width, height))
    palette, wall = Palette("RdBu_r"), int(WALL * width)
    omega = 2 * np.pi * COURANT / WAVELENGTH  # radians in a step

    @ti.func
    def solid(i, j):
        """Whether the wall stands here: everywhere on its two columns but in the two slits."""
        aside = abs(abs(j + 0.5 - height / 2) - slits / 2)
        return slits > 0 and wall <= i < wall + 4 and aside > OPENING / 2

    @ti.func
    def damping(i, j):
        """1 in the tank, a little less in the margin, falling smoothly toward the edge."""
        edge = ti.min(ti.min(i, width - 1 - i), ti.min(j, height - 1 - j))
        depth = ti.max(0.0, 1 - edge / ti.max(1.0, sponge)) * (sponge > 0)
        return 1 - 0.16 * depth**3

    @ti.kernel
    def step(a: ti.template(), b: ti.template(), c: ti.template()):
        for i, j in ti.ndrange((1, width - 1), (1, height - 1)):
            sides = b[i - 1, j] + b[i + 1, j] + b[i, j - 1] + b[i, j + 1]
            corners = b[i - 1, j - 1] + b[i + 1, j - 1] + b[i - 1, j + 1] + b[i + 1, j + 1]
            laplacian = (4 * sides + corners - 20 * b[i, j]) / 6
            wave = (2 * b[i, j] - a[i, j] + COURANT**2 * laplacian) * damping(i, j)
            c[i, j] = 0.0 if solid(i, j) else wave

    @ti.kernel
    def source(a: ti.template(), phase: ti.f32, strength: ti.f32):
        for j in range(height):
            beam = ti.exp(-(((j + 0.5 - height / 2) / (0.3 * height)) ** 8))
            a[ti.max(2, sponge + 2), j] += strength * beam * ti.sin(phase)

    @ti.kernel
    def draw(a: ti.template()):
        for i, j in image:
            u = a[i, j] * (0.55 if i < wall else 1.5)
            slope = 0.0
            if 0 < i < width - 1 and 0 < j < height - 1:
                slope = a[i - 1, j] - a[i + 1, j] + a[i, j + 1] - a[i, j - 1]
            color = palette(0.5 + 0.42 * ti.tanh(0.8 * u)) * (0.9 + 0.12 * slope)
            image[i, j] = ti.Vector([0.13, 0.14, 0.17]) if solid(i, j) else color

    def frame(number):
        nonlocal before, now, after
        for k in range(number * STEPS, (number + 1) * STEPS):
            source(now, omega * k, 0.5 * min(1.0, k / 100))
            step(before, now, after)
            before, now, after = now, after, before
        draw(now)
        return np.clip(image.to_numpy(), 0, 1).swapaxes(0, 1)[::-1]

    frame.step, frame.fields = step, (before, now, after)
    return frame
