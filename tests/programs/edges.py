"""Edges of a picture: a separable blur and Sobel's operator, over numpy's bytes."""

import numpy as np
import taichi as ti

ti.init()

w, h = 48, 32
blurred = ti.field(ti.f32, shape=(w, h))
middle = ti.field(ti.f32, shape=(w, h))
weights = [0.0625, 0.25, 0.375, 0.25, 0.0625]


@ti.func
def held(v, low, high):
    return ti.min(ti.max(v, low), high)


@ti.kernel
def blur(image: ti.types.ndarray(dtype=ti.u8, ndim=2)):
    for i, j in image:
        total = 0.0
        for k in ti.static(range(5)):
            total += weights[k] * image[held(i + k - 2, 0, w - 1), j]
        middle[i, j] = total
    for i, j in middle:
        total = 0.0
        for k in ti.static(range(5)):
            total += weights[k] * middle[i, held(j + k - 2, 0, h - 1)]
        blurred[i, j] = total


@ti.kernel
def edges(image: ti.types.ndarray(dtype=ti.u8, ndim=2), threshold: ti.f32) -> ti.i32:
    found = 0
    for i, j in blurred:
        gradient = ti.Vector([0.0, 0.0])
        for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
            value = blurred[held(i + di, 0, w - 1), held(j + dj, 0, h - 1)]
            gradient += ti.Vector([di * (2 - dj * dj), dj * (2 - di * di)]) * value
        strength = gradient.norm()
        image[i, j] = ti.cast(ti.min(strength, 255.0), ti.u8)
        if strength > threshold:
            found += 1
    return found


def main():
    x, y = np.meshgrid(np.arange(w), np.arange(h), indexing="ij")
    disc = (x - 20) ** 2 + (y - 15) ** 2 < 90
    image = np.where(disc, 200, (3 * x + 2 * y) % 64).astype(np.uint8)
    blur(image)
    count = edges(image, 120.25)
    return {"edges": image, "count": count, "blurred": blurred.to_numpy()}
