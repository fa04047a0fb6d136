"""The programs that are measured, written once against Taichi's API: `ti` is the module that runs them.

Each entry of `PROGRAMS` makes its fields and kernels and gives a `Program`. Particles and fluids are in `physics.py`,
what launches and small loops cost in `launches.py`. The peers that cannot run these have programs of the same names.
"""

from collections.abc import Callable
from typing import Any

import inputs
from inputs import Program, sample

Maker = Callable[[Any], Program]
PROGRAMS: dict[str, Maker] = {}


def program(make: Maker) -> Maker:
    PROGRAMS[make.__name__] = make
    return make


def field_of(ti, array, dtype=None):
    """A field of the array's shape that holds its numbers."""
    field = ti.field(dtype or ti.f32, array.shape)
    field.from_numpy(array)
    return field


@program
def heat_4096(ti):
    """Five-point stencil, 4096 x 4096 f32 fields, a range-for per axis."""
    n = 4096
    x, y = field_of(ti, inputs.floats(n, n)), ti.field(ti.f32, (n, n))

    @ti.kernel
    def step():
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                y[i, j] = x[i, j] + 0.2 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j])

    return Program(step, lambda: sample(y.to_numpy()))


@program
def heat_4096_ndrange(ti):
    """The same over `ndrange`."""
    n = 4096
    x, y = field_of(ti, inputs.floats(n, n)), ti.field(ti.f32, (n, n))

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            y[i, j] = x[i, j] + 0.2 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j])

    return Program(step, lambda: sample(y.to_numpy()))


@program
def heat_4096_ndarray(ti):
    """The same over ndarrays that are arguments."""
    n = 4096
    x, y = ti.ndarray(ti.f32, (n, n)), ti.ndarray(ti.f32, (n, n))
    x.from_numpy(inputs.floats(n, n))

    @ti.kernel
    def heat(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 2)):
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            y[i, j] = x[i, j] + 0.2 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j])

    return Program(lambda: heat(x, y), lambda: sample(y.to_numpy()))


@program
def seven_point_256(ti):
    """Seven-point stencil, 256^3 f32 fields."""
    n = 256
    x, y = field_of(ti, inputs.floats(n, n, n)), ti.field(ti.f32, (n, n, n))

    @ti.kernel
    def step():
        for i, j, k in ti.ndrange((1, n - 1), (1, n - 1), (1, n - 1)):
            y[i, j, k] = x[i, j, k] + 0.1 * (
                x[i - 1, j, k]
                + x[i + 1, j, k]
                + x[i, j - 1, k]
                + x[i, j + 1, k]
                + x[i, j, k - 1]
                + x[i, j, k + 1]
                - 6 * x[i, j, k]
            )

    return Program(step, lambda: sample(y.to_numpy()))


def life(ti, dtype, numbers):
    n = 4096
    u, v = field_of(ti, inputs.cells(n, numbers), dtype), ti.field(dtype, (n, n))

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            around = (
                u[i - 1, j - 1]
                + u[i - 1, j]
                + u[i - 1, j + 1]
                + u[i, j - 1]
                + u[i, j + 1]
                + u[i + 1, j - 1]
                + u[i + 1, j]
                + u[i + 1, j + 1]
            )
            v[i, j] = 1 if around == 3 or (around == 2 and u[i, j] == 1) else 0

    return Program(step, lambda: sample(v.to_numpy()))


@program
def life_4096_i32(ti):
    """Game of life, 4096 x 4096 cells of i32."""
    return life(ti, ti.i32, "i4")


@program
def life_4096_u8(ti):
    """Game of life, 4096 x 4096 cells of u8."""
    return life(ti, ti.u8, "u1")


@program
def sum_64m(ti):
    """The sum of 64M f32."""
    x, total = field_of(ti, inputs.floats(64 << 20)), ti.field(ti.f32, ())

    @ti.kernel
    def step():
        for i in x:
            total[None] += x[i]

    return Program(step, lambda: sample(total.to_numpy()))


@program
def saxpy_64m(ti):
    """y = a x + y over 64M f32."""
    x, y = field_of(ti, inputs.floats(64 << 20)), ti.field(ti.f32, 64 << 20)

    @ti.kernel
    def saxpy(a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]

    return Program(lambda: saxpy(1.5), lambda: sample(y.to_numpy()))


@program
def spmv_1m(ti):
    """A sparse matrix (CSR, 1M rows of 4 to 12) times a vector."""
    n = 1 << 20
    begin, column, value = inputs.sparse(n)
    start, where = field_of(ti, begin, ti.i32), field_of(ti, column, ti.i32)
    a, x, y = field_of(ti, value), field_of(ti, inputs.floats(n)), ti.field(ti.f32, n)

    @ti.kernel
    def step():
        for i in range(n):
            total = 0.0
            for k in range(start[i], start[i + 1]):
                total += a[k] * x[where[k]]
            y[i] = total

    return Program(step, lambda: sample(y.to_numpy()))


@program
def histogram_64m(ti):
    """64M u8 into 256 bins."""
    x, bins = field_of(ti, inputs.bytes_of(64 << 20), ti.u8), ti.field(ti.i32, 256)

    @ti.kernel
    def step():
        for i in x:
            bins[x[i]] += 1

    return Program(step, lambda: sample(bins.to_numpy()))


@program
def transcendental_16m(ti):
    """sin(x) * exp(x) + log(x + 1) + x ** 1.5 over 16M f32."""
    n = 16 << 20
    x, y = field_of(ti, inputs.floats(n)), ti.field(ti.f32, n)

    @ti.kernel
    def step():
        for i in x:
            y[i] = ti.sin(x[i]) * ti.exp(x[i]) + ti.log(x[i] + 1.0) + ti.pow(x[i], 1.5)

    return Program(step, lambda: sample(y.to_numpy()))


@program
def matmul_1024(ti):
    """Product of 1024 x 1024 matrices, three loops."""
    n = 1024
    a, b, c = field_of(ti, inputs.floats(n, n)), field_of(ti, inputs.floats(n, n)), ti.field(ti.f32, (n, n))

    @ti.kernel
    def step():
        for i, j in c:
            total = 0.0
            for k in range(n):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    return Program(step, lambda: sample(c.to_numpy()))


def blur(ti, radius):
    n = 2048
    x, y = ti.Vector.field(3, ti.f32, (n, n)), ti.Vector.field(3, ti.f32, (n, n))

    @ti.kernel
    def step():
        for i, j in ti.ndrange((radius, n - radius), (radius, n - radius)):
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-radius, radius + 1), (-radius, radius + 1)):
                total += x[i + p, j + q]
            y[i, j] = total / (2 * radius + 1) ** 2

    x.from_numpy(inputs.picture(n))
    return Program(step, lambda: sample(y.to_numpy()))


@program
def blur_5(ti):
    """The mean of 5 x 5 pixels of three f32, 2048 x 2048."""
    return blur(ti, 2)


@program
def blur_11(ti):
    """The mean of 11 x 11 pixels of three f32, 2048 x 2048."""
    return blur(ti, 5)


@program
def bilateral_1024(ti):
    """Bilateral filter of radius 5, 1024 x 1024 vec3 pixels, indices clamped to the image."""
    n, radius = 1024, 5
    x, y = ti.Vector.field(3, ti.f32, (n, n)), ti.Vector.field(3, ti.f32, (n, n))

    @ti.kernel
    def step():
        for i, j in y:
            middle, total, weights = x[i, j], ti.Vector([0.0, 0.0, 0.0]), 0.0
            for a, b in ti.ndrange((-radius, radius + 1), (-radius, radius + 1)):
                other = x[ti.max(0, ti.min(n - 1, i + a)), ti.max(0, ti.min(n - 1, j + b))]
                apart = other - middle
                weight = ti.exp(-0.03 * (a * a + b * b) - 4.0 * apart.dot(apart))
                total += weight * other
                weights += weight
            y[i, j] = total / weights

    x.from_numpy(inputs.picture(n))
    return Program(step, lambda: sample(y.to_numpy()))


@program
def mandelbrot_2048(ti):
    """Mandelbrot set, 2048 x 2048 pixels, at most 255 rounds each."""
    n = 2048
    rounds = ti.field(ti.i32, (n, n))

    @ti.kernel
    def step():
        for i, j in rounds:
            cx, cy = -2.0 + 3.0 * i / n, -1.5 + 3.0 * j / n
            x, y, k = 0.0, 0.0, 0
            while x * x + y * y < 4.0 and k < 255:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                k += 1
            rounds[i, j] = k

    return Program(step, lambda: sample(rounds.to_numpy()))


@program
def raymarch_1024(ti):
    """Sphere tracing of a field of balls over a floor with soft shadows, 1024 x 1024 pixels."""
    n = 1024
    image = ti.field(ti.f32, (n, n))

    @ti.func
    def scene(x, y, z):
        u, w = x - 2.0 * ti.round(x * 0.5), z - 2.0 * ti.round(z * 0.5)
        return ti.min(y + 0.5, ti.sqrt(u * u + y * y + w * w) - 0.5 + 0.02 * ti.sin(20.0 * x) * ti.sin(20.0 * z))

    @ti.kernel
    def step():
        for i, j in image:
            u, w = (i - n / 2) / n, (j - n / 2) / n
            scale = 1.0 / ti.sqrt(1.0 + u * u + w * w)
            dx, dy, dz = u * scale, w * scale, scale
            t, k, hit = 0.0, 0, 0
            while k < 100 and t < 20.0:
                near = scene(t * dx, 0.6 + t * dy, t * dz)
                if near < 0.001:
                    hit = 1
                    break
                t += 0.8 * near
                k += 1
            light = 0.1
            if hit == 1:
                light, s = 1.0, 0.05
                for _ in range(24):
                    near = scene(t * dx + 0.5 * s, 0.6 + t * dy + 0.7 * s, t * dz - 0.5 * s)
                    light = ti.min(light, 8.0 * near / s)
                    s += ti.max(0.02, near)
            image[i, j] = light

    return Program(step, lambda: sample(image.to_numpy()))
