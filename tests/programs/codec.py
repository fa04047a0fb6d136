"""A picture coded as JPEG would: cosine transforms of blocks, rounded, in zigzag order, as runs of zeros and values."""

import math

import numpy as np
import taichi as ti

ti.init(arch=ti.cpu)

w, h = 48, 32
picture, decoded = ti.field(ti.u8, (w, h)), ti.field(ti.u8, (w, h))
coefficients = ti.field(ti.i16)
blocks = ti.root.dense(ti.ij, (w // 8, h // 8))
blocks.dense(ti.kl, (8, 8)).place(coefficients)
runs = ti.field(ti.i32, (w // 8, h // 8, 64))
length = ti.field(ti.i32, (w // 8, h // 8))
cosines = ti.field(ti.f32, (8, 8))
zigzag = ti.Vector.field(2, ti.i32, 64)
mat8 = ti.types.matrix(8, 8, ti.f32)


def tables():
    path = sorted(np.ndindex(8, 8), key=lambda p: (sum(p), p[0] if sum(p) % 2 else -p[0]))
    zigzag.from_numpy(np.array(path, dtype=np.int32))
    for u in range(8):
        for x in range(8):
            cosines[u, x] = (math.sqrt(1 / 8) if u == 0 else 0.5) * math.cos((2 * x + 1) * u * math.pi / 16)


@ti.func
def step(u, v, quality):
    return 3 + (u + v) * (100 - quality) // 10


@ti.kernel
def encode(quality: ti.i32):
    for a, b in ti.ndrange(w // 8, h // 8):
        for u, v in ti.ndrange(8, 8):
            s = 0.0
            for x in range(8):
                for y in range(8):
                    s += (picture[a * 8 + x, b * 8 + y] - 128.0) * cosines[u, x] * cosines[v, y]
            coefficients[a, b, u, v] = ti.cast(ti.floor(s / step(u, v, quality) + 0.4), ti.i16)


@ti.kernel
def pack() -> ti.i32:
    total = 0
    for a, b in length:
        n, zeros, k = 0, 0, 0
        while True:
            if k == 64:
                break
            c = coefficients[a, b, zigzag[k].x, zigzag[k].y]
            k += 1
            if c == 0:
                zeros += 1
                continue
            runs[a, b, n] = (zeros << 16) | (c & 0xFFFF)
            n += 1
            zeros = 0
        length[a, b] = n
        total += n
    return total


@ti.kernel
def decode(quality: ti.i32):
    for a, b in ti.ndrange(w // 8, h // 8):
        block, half = mat8(0), mat8(0)
        at = 0
        for n in range(length[a, b]):
            word = runs[a, b, n]
            at += word >> 16
            z = zigzag[at]
            block[z[0], z[1]] = ti.cast(word & 0xFFFF, ti.i16) * step(z.x, z.y, quality)
            at += 1
        for u, y, v in ti.ndrange(8, 8, 8):
            half[u, y] += block[u, v] * cosines[v, y]
        for x, y in ti.ndrange(8, 8):
            s = 128.0
            for u in range(8):
                s += half[u, y] * cosines[u, x]
            decoded[a * 8 + x, b * 8 + y] = ti.cast(ti.math.clamp(s, 0.0, 255.0), ti.u8)


def main():
    x, y = np.mgrid[0:w, 0:h]
    picture.from_numpy((127 + 60 * np.sin(x / 7) + 60 * np.cos((x + y * 2) / 11)).astype(np.uint8))
    tables()
    encode(60)
    total = pack()
    decode(60)
    return {
        "coefficients": coefficients.to_numpy(),
        "length": length.to_numpy(),
        "total": total,
        "decoded": decoded.to_numpy(),
    }
