"""Warp on the CPU, where its kernels run on one thread: some of the programs."""

from __future__ import annotations

from typing import Any

import inputs
import numpy as np
import warp as wp
from inputs import CALLS, Program, sample

wp.config.quiet = True
wp.init()
wp.set_device("cpu")
f32, u8, i32 = wp.float32, wp.uint8, wp.int32


@wp.kernel
def heat(x: wp.array2d(dtype=f32), y: wp.array2d(dtype=f32)):
    a, b = wp.tid()
    i, j = a + 1, b + 1
    y[i, j] = x[i, j] + 0.2 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4.0 * x[i, j])


@wp.kernel
def seven_point(x: wp.array3d(dtype=f32), y: wp.array3d(dtype=f32)):
    a, b, c = wp.tid()
    i, j, k = a + 1, b + 1, c + 1
    near = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
    y[i, j, k] = x[i, j, k] + 0.1 * (near - 6.0 * x[i, j, k])


@wp.kernel
def life(u: wp.array2d(dtype=i32), v: wp.array2d(dtype=i32)):
    a, b = wp.tid()
    i, j = a + 1, b + 1
    around = u[i - 1, j - 1] + u[i - 1, j] + u[i - 1, j + 1] + u[i, j - 1] + u[i, j + 1]
    around += u[i + 1, j - 1] + u[i + 1, j] + u[i + 1, j + 1]
    if around == 3 or (around == 2 and u[i, j] == 1):
        v[i, j] = 1
    else:
        v[i, j] = 0


@wp.kernel
def saxpy(a: f32, x: wp.array(dtype=f32), y: wp.array(dtype=f32)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def histogram(x: wp.array(dtype=u8), bins: wp.array(dtype=i32)):
    wp.atomic_add(bins, wp.int32(x[wp.tid()]), 1)


@wp.kernel
def spmv(
    start: wp.array(dtype=i32),
    column: wp.array(dtype=i32),
    a: wp.array(dtype=f32),
    x: wp.array(dtype=f32),
    y: wp.array(dtype=f32),
):
    i = wp.tid()
    total = f32(0.0)
    for k in range(start[i], start[i + 1]):
        total += a[k] * x[column[k]]
    y[i] = total


@wp.kernel
def transcendental(x: wp.array(dtype=f32), y: wp.array(dtype=f32)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * wp.exp(x[i]) + wp.log(x[i] + 1.0) + wp.pow(x[i], 1.5)


@wp.kernel
def mandelbrot(rounds: wp.array2d(dtype=i32), n: i32):
    i, j = wp.tid()
    cx = -2.0 + 3.0 * float(i) / float(n)
    cy = -1.5 + 3.0 * float(j) / float(n)
    x = f32(0.0)
    y = f32(0.0)
    k = i32(0)
    while x * x + y * y < 4.0 and k < 255:
        following = x * x - y * y + cx
        y = 2.0 * x * y + cy
        x = following
        k += 1
    rounds[i, j] = k


@wp.kernel
def nbody(x: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), n: i32):
    i = wp.tid()
    a = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        d = x[j] - x[i]
        inverse = 1.0 / wp.sqrt(wp.dot(d, d) + 1.0e-3)
        a += d * (inverse * inverse * inverse)
    f[i] = a


@wp.kernel
def add_one(x: wp.array(dtype=f32)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@wp.kernel
def nothing():
    pass


@wp.kernel
def keep(x: wp.array(dtype=f32), a: f32, b: f32, c: i32, d: i32):
    x[0] = a + b + float(c) + float(d)


def of(array: Any, dtype: Any = None) -> Any:
    """The array as one of Warp's."""
    return wp.from_numpy(array, dtype=dtype or wp.dtype_from_numpy(array.dtype))


def launching(kernel: Any, size: Any, result: Any, arguments: list[Any], times: int = 1) -> Program:
    """So many launches over `size`; `result`: the array that is looked at."""

    def step() -> None:
        for _ in range(times):
            wp.launch(kernel, dim=size, inputs=arguments)

    return Program(step, lambda: sample(0 if result is None else result.numpy()))


def stencil(kernel: Any, x: Any) -> Program:
    given, y = of(x), of(np.zeros_like(x))
    return launching(kernel, tuple(n - 2 for n in x.shape), y, [given, y])


def zeros(n: int) -> Any:
    return of(np.zeros(n, np.float32))


def histograms() -> Program:
    bins = of(np.zeros(256, np.int32))
    return launching(histogram, 64 << 20, bins, [of(inputs.bytes_of(64 << 20)), bins])


def saxpys() -> Program:
    y = zeros(64 << 20)
    return launching(saxpy, 64 << 20, y, [1.5, of(inputs.floats(64 << 20)), y])


def products() -> Program:
    n = 1 << 20
    y = zeros(n)
    return launching(spmv, n, y, [*map(of, inputs.sparse(n)), of(inputs.floats(n)), y])


def functions() -> Program:
    y = zeros(16 << 20)
    return launching(transcendental, 16 << 20, y, [of(inputs.floats(16 << 20)), y])


def drawn() -> Program:
    image = of(np.zeros((2048, 2048), np.int32))
    return launching(mandelbrot, (2048, 2048), image, [image, 2048])


def bodies() -> Program:
    f = of(np.zeros((8192, 3), np.float32), wp.vec3)
    return launching(nbody, 8192, f, [of(inputs.floats(8192, 3), wp.vec3), f, 8192])


def loops() -> Program:
    x = zeros(1024)
    return launching(add_one, 1024, x, [x], CALLS)


def scalars() -> Program:
    x = zeros(4)
    program = launching(keep, 1, x, [x, 1.0, 2.0, 3, 4], CALLS)
    return Program(program.step, lambda: sample(x.numpy()[:1]))


PROGRAMS = {
    "heat_4096": lambda: stencil(heat, inputs.floats(4096, 4096)),
    "heat_4096_ndrange": lambda: stencil(heat, inputs.floats(4096, 4096)),
    "heat_4096_ndarray": lambda: stencil(heat, inputs.floats(4096, 4096)),
    "seven_point_256": lambda: stencil(seven_point, inputs.floats(256, 256, 256)),
    "life_4096_i32": lambda: stencil(life, inputs.cells(4096, "i4")),
    "saxpy_64m": saxpys,
    "spmv_1m": products,
    "histogram_64m": histograms,
    "transcendental_16m": functions,
    "mandelbrot_2048": drawn,
    "nbody_8192": bodies,
    "loop_1024": loops,
    "launch_empty": lambda: launching(nothing, 1, None, [], CALLS),
    "launch_scalars": scalars,
}
