"""The bilateral filter on a picture of colours: smooth surfaces, sharp edges."""

import numpy as np
import taichi as ti
import taichi.math as tm

ti.init()

n = 24
source = ti.Vector.field(3, ti.f32, shape=(n, n))
result = ti.Vector.field(3, ti.f32, shape=(n, n))


@ti.kernel
def smooth(space: ti.f32, colour: ti.f32):
    radius = ti.ceil(space * 2, ti.i32)
    for i, j in source:
        low = ti.max(tm.ivec2(i, j) - radius, 0)
        high = ti.min(tm.ivec2(i, j) + radius + 1, n)
        total, weights = tm.vec3(0.0), 0.0
        for k, l in ti.ndrange((low.x, high.x), (low.y, high.y)):
            apart = ((i - k) ** 2 + (j - l) ** 2) / space**2
            differ = (source[i, j] - source[k, l]).norm_sqr() / colour**2
            weight = tm.exp(-0.5 * (apart + differ))
            total += weight * source[k, l]
            weights += weight
        result[i, j] = total / weights


def main():
    x, y = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    noise = np.sin(12.9898 * x + 78.233 * y) * 0.1
    image = np.stack([(x < 12) * 0.8 + noise, y / n + noise, np.full((n, n), 0.3) - noise], axis=2)
    source.from_numpy(image.astype(np.float32))
    smooth(1.5, 0.25)
    return {"smooth": result.to_numpy()}
