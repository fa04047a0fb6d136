"""Numba: the programs as parallel `njit` functions on numpy's arrays, with `fastmath`."""

from __future__ import annotations

from math import exp, log, sin, sqrt
from typing import Any

import inputs
import numba
import numpy as np
from inputs import CALLS, Program, sample
from numba import prange

fast = numba.njit(parallel=True, fastmath=True)
inlined = numba.njit(fastmath=True)
F = np.float32


@fast
def heat(x, y):
    n = x.shape[0]
    for i in prange(1, n - 1):
        for j in range(1, n - 1):
            y[i, j] = x[i, j] + F(0.2) * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - F(4) * x[i, j])


@fast
def seven_point(x, y):
    n = x.shape[0]
    for i in prange(1, n - 1):
        for j in range(1, n - 1):
            for k in range(1, n - 1):
                near = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1]
                y[i, j, k] = x[i, j, k] + F(0.1) * (near + x[i, j, k + 1] - F(6) * x[i, j, k])


@fast
def life(u, v):
    n = u.shape[0]
    for i in prange(1, n - 1):
        for j in range(1, n - 1):
            around = u[i - 1, j - 1] + u[i - 1, j] + u[i - 1, j + 1] + u[i, j - 1] + u[i, j + 1]
            around += u[i + 1, j - 1] + u[i + 1, j] + u[i + 1, j + 1]
            v[i, j] = 1 if around == 3 or (around == 2 and u[i, j] == 1) else 0


@fast
def add_up(x, total):
    s = F(0)
    for i in prange(x.shape[0]):
        s += x[i]
    total[0] += s


@fast
def saxpy(a, x, y):
    for i in prange(x.shape[0]):
        y[i] = a * x[i] + y[i]


@fast
def spmv(start, column, a, x, y):
    for i in prange(y.shape[0]):
        total = F(0)
        for k in range(start[i], start[i + 1]):
            total += a[k] * x[column[k]]
        y[i] = total


@fast
def histogram(x, bins, threads):
    n, mine = x.shape[0], np.zeros((threads, 256), np.int32)
    for t in prange(threads):
        for i in range(t * n // threads, (t + 1) * n // threads):
            mine[t, x[i]] += 1
    for t in range(threads):
        for b in range(256):
            bins[b] += mine[t, b]


@fast
def transcendental(x, y):
    for i in prange(x.shape[0]):
        y[i] = sin(x[i]) * exp(x[i]) + log(x[i] + F(1)) + x[i] ** F(1.5)


@fast
def matmul(a, b, c):
    n = a.shape[0]
    for i in prange(n):
        for j in range(n):
            total = F(0)
            for k in range(n):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@fast
def blur(x, y, radius):
    n, scale = x.shape[0], F(1 / (2 * radius + 1) ** 2)
    for i in prange(radius, n - radius):
        for j in range(radius, n - radius):
            r, g, b = F(0), F(0), F(0)
            for p in range(-radius, radius + 1):
                for q in range(-radius, radius + 1):
                    r += x[i + p, j + q, 0]
                    g += x[i + p, j + q, 1]
                    b += x[i + p, j + q, 2]
            y[i, j, 0], y[i, j, 1], y[i, j, 2] = r * scale, g * scale, b * scale


@fast
def bilateral(x, y, radius):
    n = x.shape[0]
    for i in prange(n):
        for j in range(n):
            r, g, b, weights = F(0), F(0), F(0), F(0)
            for p in range(-radius, radius + 1):
                for q in range(-radius, radius + 1):
                    k, l = max(0, min(n - 1, i + p)), max(0, min(n - 1, j + q))
                    u, v, w = x[k, l, 0] - x[i, j, 0], x[k, l, 1] - x[i, j, 1], x[k, l, 2] - x[i, j, 2]
                    weight = exp(F(-0.03) * F(p * p + q * q) - F(4) * (u * u + v * v + w * w))
                    r += weight * x[k, l, 0]
                    g += weight * x[k, l, 1]
                    b += weight * x[k, l, 2]
                    weights += weight
            y[i, j, 0], y[i, j, 1], y[i, j, 2] = r / weights, g / weights, b / weights


@fast
def mandelbrot(rounds):
    n = rounds.shape[0]
    for i in prange(n):
        for j in range(n):
            cx, cy = F(-2) + F(3) * F(i) / F(n), F(-1.5) + F(3) * F(j) / F(n)
            x, y, k = F(0), F(0), 0
            while x * x + y * y < F(4) and k < 255:
                x, y = x * x - y * y + cx, F(2) * x * y + cy
                k += 1
            rounds[i, j] = k


@fast
def nbody(x, f):
    n = x.shape[0]
    for i in prange(n):
        a, b, c = F(0), F(0), F(0)
        for j in range(n):
            u, v, w = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
            inverse = F(1) / sqrt(u * u + v * v + w * w + F(1e-3))
            cubed = inverse * inverse * inverse
            a += u * cubed
            b += v * cubed
            c += w * cubed
        f[i, 0], f[i, 1], f[i, 2] = a, b, c


@fast
def add_one(x):
    for i in prange(x.shape[0]):
        x[i] += F(1)


@inlined
def loops(x, times):
    for _ in range(times):
        add_one(x)


@inlined
def nothing():
    pass


@inlined
def keep(x, a, b, c, d):
    x[0] = a + b + c + d


@inlined
def touch(a, b, c, d, e, f, g, h, i, j):
    a[0] = b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + h[0] + i[0] + j[0]


@inlined
def twice(a):
    return F(2) * a


def calling(function: Any, results: list[Any], *arguments: Any) -> Program:
    return Program(lambda: function(*arguments), lambda: sample(*results))


def repeated(function: Any, results: list[Any], *arguments: Any) -> Program:
    """A thousand calls from Python."""

    def step() -> None:
        for _ in range(CALLS):
            function(*arguments)

    return Program(step, lambda: sample(*results))


def stencil(function: Any, x: Any) -> Program:
    y = np.zeros_like(x)
    return calling(function, [y], x, y)


def into(function: Any, result: Any, *arguments: Any) -> Program:
    """Arguments first, the array of the result last."""
    return calling(function, [result], *arguments, result)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, F)


def histograms() -> Program:
    bins = np.zeros(256, np.int32)
    return calling(histogram, [bins], inputs.bytes_of(64 << 20), bins, numba.get_num_threads())


def filtered(function: Any, n: int, radius: int) -> Program:
    y = zeros(n, n, 3)
    return calling(function, [y], inputs.picture(n), y, radius)


def scalars() -> Program:
    x = zeros(4)
    return repeated(keep, [x[:1]], x, 1.0, 2.0, 3, 4)


def arrays() -> Program:
    given = [inputs.floats(16) + number for number in range(10)]
    return repeated(touch, [given[0]], *given)


def drawn(image: Any) -> Program:
    return calling(mandelbrot, [image], image)


def grown(x: Any) -> Program:
    return calling(loops, [x], x, CALLS)


PROGRAMS = {
    "heat_4096": lambda: stencil(heat, inputs.floats(4096, 4096)),
    "heat_4096_ndrange": lambda: stencil(heat, inputs.floats(4096, 4096)),
    "heat_4096_ndarray": lambda: stencil(heat, inputs.floats(4096, 4096)),
    "seven_point_256": lambda: stencil(seven_point, inputs.floats(256, 256, 256)),
    "life_4096_i32": lambda: stencil(life, inputs.cells(4096, "i4")),
    "life_4096_u8": lambda: stencil(life, inputs.cells(4096, "u1")),
    "sum_64m": lambda: into(add_up, zeros(1), inputs.floats(64 << 20)),
    "saxpy_64m": lambda: into(saxpy, zeros(64 << 20), F(1.5), inputs.floats(64 << 20)),
    "spmv_1m": lambda: into(spmv, zeros(1 << 20), *inputs.sparse(1 << 20), inputs.floats(1 << 20)),
    "histogram_64m": histograms,
    "transcendental_16m": lambda: stencil(transcendental, inputs.floats(16 << 20)),
    "matmul_1024": lambda: into(matmul, zeros(1024, 1024), inputs.floats(1024, 1024), inputs.floats(1024, 1024)),
    "blur_5": lambda: filtered(blur, 2048, 2),
    "blur_11": lambda: filtered(blur, 2048, 5),
    "bilateral_1024": lambda: filtered(bilateral, 1024, 5),
    "mandelbrot_2048": lambda: drawn(np.zeros((2048, 2048), np.int32)),
    "nbody_8192": lambda: into(nbody, zeros(8192, 3), inputs.floats(8192, 3)),
    "loop_1024": lambda: grown(zeros(1024)),
    "launch_empty": lambda: repeated(nothing, [0]),
    "launch_scalars": scalars,
    "launch_arrays": arrays,
    "launch_result": lambda: repeated(twice, [3.0], F(1.5)),
}
