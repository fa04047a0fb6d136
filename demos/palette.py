"""Colours for the demos: matplotlib's colour maps as functions that kernels call, and a space to compare colours in."""

import numpy as np

import weft as ti
from weft.demos.shades import SHADES

WHITE = (0.9505, 1.0, 1.089)  # X, Y, Z of daylight


@ti.data_oriented
class Palette:
    """`Palette("magma")(t)` in a kernel is the colour at t, linear between some shades; t is clamped to 0..1."""

    def __init__(self, name):
        shades = np.frombuffer(bytes.fromhex(SHADES[name]), np.uint8).reshape(-1, 3)
        self.last = len(shades) - 1
        self.colors = ti.Vector.field(3, ti.f32, len(shades))
        self.colors.from_numpy(shades / np.float32(255))

    @ti.func
    def __call__(self, t):
        s = ti.max(0.0, ti.min(1.0, t)) * self.last
        k = ti.min(int(s), self.last - 1)
        return ti.math.mix(self.colors[k], self.colors[k + 1], s - k)


@ti.func
def lab(color):
    """sRGB in 0..1 as CIE L*a*b*, where equal distances look about equal."""
    light = ti.select(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    xyz = ti.Matrix([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ light
    t = xyz / ti.Vector(WHITE)
    f = ti.select(t > 0.008856, t ** (1 / 3), 7.787 * t + 16 / 116)
    return ti.Vector([116 * f.y - 16, 500 * (f.x - f.y), 200 * (f.y - f.z)])
