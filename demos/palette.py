"""A palette for the demos: one of matplotlib's colour maps as a function that kernels call."""

import numpy as np

import weft as ti

SHADES = 256


@ti.data_oriented
class Palette:
    """`Palette("magma")(t)` in a kernel is the colour at t, linear between 256 shades; t is clamped to 0..1."""

    def __init__(self, name):
        from matplotlib import colormaps

        self.colors = ti.Vector.field(3, ti.f32, SHADES)
        self.colors.from_numpy(colormaps[name](np.linspace(0, 1, SHADES))[:, :3].astype(np.float32))

    @ti.func
    def __call__(self, t):
        s = ti.max(0.0, ti.min(1.0, t)) * (SHADES - 1)
        k = ti.min(int(s), SHADES - 2)
        return ti.math.mix(self.colors[k], self.colors[k + 1], s - k)
