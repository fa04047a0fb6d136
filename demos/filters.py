"""Image filters: a noisy photograph, a Gaussian blur of it, and a bilateral filter, which keeps the edges."""

import numpy as np

import weft as ti

FRAMES = 60
RADIUS = 7


def photograph():
    """The portrait that matplotlib ships, as (height, width, 3) floats in 0..1."""
    from matplotlib import cbook
    from PIL import Image

    with cbook.get_sample_data("grace_hopper.jpg") as file:
        return np.asarray(Image.open(file).convert("RGB"), np.float32)[:500] / 255


def build():
    clean = photograph()
    height, width, _ = clean.shape
    noisy, soft, sharp = (ti.Vector.field(3, ti.f32, (height, width)) for _ in range(3))
    row = ti.Vector.field(3, ti.f32, (height, width))

    @ti.func
    def clamped(q: ti.template(), i, j):
        return q[ti.max(0, ti.min(height - 1, i)), ti.max(0, ti.min(width - 1, j))]

    @ti.kernel
    def spoil(source: ti.types.ndarray(dtype=ti.math.vec3, ndim=2), amount: ti.f32):
        for i, j in noisy:
            grain = ti.Vector([ti.random(), ti.random(), ti.random()]) - 0.5
            noisy[i, j] = ti.max(0.0, ti.min(1.0, source[i, j] + amount * grain))

    @ti.kernel
    def gauss(source: ti.template(), out: ti.template(), sigma: ti.f32, di: ti.i32, dj: ti.i32):
        for i, j in out:
            total, weights = ti.Vector([0.0, 0.0, 0.0]), 0.0
            for k in range(-RADIUS, RADIUS + 1):
                weight = ti.exp(-k * k / (2 * sigma * sigma))
                total += weight * clamped(source, i + k * di, j + k * dj)
                weights += weight
            out[i, j] = total / weights

    @ti.kernel
    def bilateral(sigma: ti.f32, tolerance: ti.f32):
        for i, j in sharp:
            middle, total, weights = noisy[i, j], ti.Vector([0.0, 0.0, 0.0]), 0.0
            for a, b in ti.ndrange((-RADIUS, RADIUS + 1), (-RADIUS, RADIUS + 1)):
                other = clamped(noisy, i + a, j + b)
                near = (a * a + b * b) / (2 * sigma * sigma)
                alike = (other - middle).norm_sqr() / (2 * tolerance * tolerance)
                weight = ti.exp(-near - alike)
                total += weight * other
                weights += weight
            sharp[i, j] = total / weights

    spoil(np.ascontiguousarray(clean), 0.45)

    def frame(number):
        strength = 0.5 - 0.5 * np.cos(2 * np.pi * number / FRAMES)
        sigma = 0.4 + 3.6 * strength
        gauss(noisy, row, sigma, 0, 1)
        gauss(row, soft, sigma, 1, 0)
        bilateral(sigma, 0.05 + 0.4 * strength)
        gap = np.ones((height, 8, 3), np.float32)
        return np.concatenate([noisy.to_numpy(), gap, soft.to_numpy(), gap, sharp.to_numpy()], axis=1)

    return frame
