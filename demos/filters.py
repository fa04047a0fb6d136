"""Image filters: a noisy photograph, a Gaussian blur of it, and a bilateral filter, which keeps the edges."""

import numpy as np

import weft as ti
from weft.demos.runner import play

FRAMES = 60
RADIUS = 7


def photograph():
    """The portrait that matplotlib ships, as (height, width, 3) floats in 0..1."""
    from matplotlib import cbook
    from PIL import Image

    file = cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
    return np.asarray(Image.open(str(file)).convert("RGB"), np.float32)[:500] / 255


@ti.data_oriented
class Filters:
    """Three pictures side by side: `noisy`, `soft`, `sharp`."""

    def __init__(self):
        clean = photograph()
        self.height, self.width, _ = clean.shape
        self.noisy, self.soft, self.sharp = (ti.Vector.field(3, ti.f32, (self.height, self.width)) for _ in range(3))
        self.row = ti.Vector.field(3, ti.f32, (self.height, self.width))
        self.spoil(np.ascontiguousarray(clean), 0.45)

    @ti.func
    def clamped(self, q: ti.Field[ti.vec3], i, j):
        return q[ti.max(0, ti.min(self.height - 1, i)), ti.max(0, ti.min(self.width - 1, j))]

    @ti.kernel
    def spoil(self, source: ti.Array2[ti.vec3], amount: ti.f32):
        """Add noise of that amount."""
        for i, j in self.noisy:
            grain = ti.Vector([ti.random(), ti.random(), ti.random()]) - 0.5
            self.noisy[i, j] = ti.max(0.0, ti.min(1.0, source[i, j] + amount * grain))

    @ti.kernel
    def gauss(self, source: ti.Field[ti.vec3], out: ti.Field[ti.vec3], sigma: ti.f32, di: ti.i32, dj: ti.i32):
        """A blur along one axis; two of them, one after the other, are one in the plane."""
        for i, j in out:
            total, weights = ti.Vector([0.0, 0.0, 0.0]), 0.0
            for k in range(-RADIUS, RADIUS + 1):
                weight = ti.exp(-k * k / (2 * sigma * sigma))
                total += weight * self.clamped(source, i + k * di, j + k * dj)
                weights += weight
            out[i, j] = total / weights

    @ti.kernel
    def bilateral(self, sigma: ti.f32, tolerance: ti.f32):
        """The mean of what is near and alike."""
        for i, j in self.sharp:
            middle, total, weights = self.noisy[i, j], ti.Vector([0.0, 0.0, 0.0]), 0.0
            for a, b in ti.ndrange((-RADIUS, RADIUS + 1), (-RADIUS, RADIUS + 1)):
                other = self.clamped(self.noisy, i + a, j + b)
                near = (a * a + b * b) / (2 * sigma * sigma)
                alike = (other - middle).norm_sqr() / (2 * tolerance * tolerance)
                weight = ti.exp(-near - alike)
                total += weight * other
                weights += weight
            self.sharp[i, j] = total / weights

    def __call__(self, number):
        strength = 0.5 + 0.5 * np.sin(2 * np.pi * number / FRAMES)  # each frame smooths: the weakest by 1.2 pixels
        sigma = 1.2 + 2.8 * strength
        self.gauss(self.noisy, self.row, sigma, 0, 1)
        self.gauss(self.row, self.soft, sigma, 1, 0)
        self.bilateral(sigma, 0.3 + 0.15 * strength)
        gap = np.ones((self.height, 8, 3), np.float32)
        return np.concatenate([self.noisy.to_numpy(), gap, self.soft.to_numpy(), gap, self.sharp.to_numpy()], axis=1)


build = Filters

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
