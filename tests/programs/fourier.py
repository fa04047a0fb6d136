"""Noise, blurred by way of its spectrum: complex numbers as a struct with methods, and a Fourier transform of them."""

import numpy as np
import taichi as ti

ti.init(arch=ti.cpu, default_fp=ti.f64)

log2 = 4
n = 1 << log2


@ti.dataclass
class Complex:
    re: ti.f64
    im: ti.f64

    @ti.func
    def times(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    @ti.func
    def plus(self, other, sign):
        return Complex(re=self.re + sign * other.re, im=self.im + sign * other.im)

    @ti.func
    def power(self):
        return self.re**2 + self.im**2

    @ti.func
    def scale(self, by: ti.f64):
        self.re *= by
        self.im *= by


picture = Complex.field(shape=(n, n))
blur = Complex.field(shape=(n, n), layout=ti.Layout.SOA)
loud = ti.field(float, n // 2)
settings = ti.Struct(sharpness=0.35, rounds=log2)


@ti.func
def mirrored(x: ti.u32, bits: ti.template()):
    found = ti.u32(0)
    for k in ti.static(range(bits)):
        found |= ((x >> k) & 1) << (bits - 1 - k)
    return found


@ti.kernel
def shuffle(f: ti.template(), axis: ti.template()):
    for i, j in f:
        here, there = ti.Vector([i, j]), ti.Vector([i, j])
        there[axis] = ti.cast(mirrored(ti.u32(here[axis]), settings.rounds), ti.i32)
        if here[axis] < there[axis]:
            kept = f[here]
            f[here] = f[there]
            f[there] = kept


@ti.kernel
def butterflies(f: ti.template(), axis: ti.template(), half: ti.i32, sign: ti.f64):
    for k, line in ti.ndrange(n // 2, n):
        at = k // half * half * 2 + k % half
        a, b = ti.Vector([at, line]), ti.Vector([at + half, line])
        if ti.static(axis == 1):
            a, b = ti.Vector([line, at]), ti.Vector([line, at + half])
        angle = sign * ti.math.pi * (k % half) / half
        u, v = f[a], f[b].times(Complex(ti.cos(angle), ti.sin(angle)))
        f[a] = u.plus(v, 1)
        f[b] = u.plus(v, -1)


def transform(f, sign):
    for axis in range(2):
        shuffle(f, axis)
        for k in range(settings.rounds):
            butterflies(f, axis, 1 << k, sign)


@ti.kernel
def product(f: ti.template(), g: ti.template()):
    for I in ti.grouped(f):
        f[I] = f[I].times(g[I])
        f[I].scale(1.0 / n**2)


@ti.kernel
def listen(f: ti.template()):
    loud.fill(0)
    for i, j in f:
        a, b = ti.min(i, n - i), ti.min(j, n - j)
        k = ti.cast(ti.sqrt(float(a * a + b * b)) + 0.5, ti.i32)
        if k < n // 2:
            ti.atomic_add(loud[k], f[i, j].power())


@ti.kernel
def soften(g: ti.template()):
    for i, j in g:
        a, b = ti.min(i, n - i), ti.min(j, n - j)
        g[i, j] = Complex(ti.exp(-settings.sharpness * (a * a + b * b)), 0.0)


def main():
    noise = np.random.default_rng(9).normal(size=(n, n))
    picture.from_numpy({"re": noise, "im": np.zeros_like(noise)})
    soften(blur)
    transform(picture, -1.0)
    transform(blur, -1.0)
    product(picture, blur)
    listen(picture)
    transform(picture, 1.0)
    found = picture.to_numpy()
    return {"re": found["re"], "im": 1 + found["im"], "loud": loud.to_numpy()}
