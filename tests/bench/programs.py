"""The programs that are measured, written once against Taichi's API: `ti` is the module that runs them.

Each entry of `PROGRAMS` makes its fields and kernels and gives a function that does the measured work once.
"""

from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[[Any], Callable[[], Any]]] = {}


def program(make: Callable[[Any], Callable[[], Any]]) -> Callable[[Any], Callable[[], Any]]:
    PROGRAMS[make.__name__] = make
    return make


@program
def heat_4096(ti):
    """Five-point stencil, 4096 x 4096 f32 fields, a range-for per axis."""
    n = 4096
    x, y = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))

    @ti.kernel
    def step():
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                y[i, j] = x[i, j] + 0.2 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j])

    x.fill(1.0)
    return step


@program
def heat_4096_ndrange(ti):
    """The same over `ndrange`."""
    n = 4096
    x, y = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))

    @ti.kernel
    def step():
        for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
            y[i, j] = x[i, j] + 0.2 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j])

    x.fill(1.0)
    return step


@program
def seven_point_256(ti):
    """Seven-point stencil, 256^3 f32 fields."""
    n = 256
    x, y = ti.field(ti.f32, (n, n, n)), ti.field(ti.f32, (n, n, n))

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

    x.fill(1.0)
    return step


@program
def sum_64m(ti):
    """The sum of 64M f32."""
    x, total = ti.field(ti.f32, 64 << 20), ti.field(ti.f32, ())

    @ti.kernel
    def step():
        for i in x:
            total[None] += x[i]

    x.fill(0.5)
    return step


@program
def saxpy_64m(ti):
    """y = a x + y over 64M f32."""
    x, y = ti.field(ti.f32, 64 << 20), ti.field(ti.f32, 64 << 20)

    @ti.kernel
    def step(a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]

    x.fill(1.0)
    return lambda: step(1.5)


@program
def nbody_8192(ti):
    """All-pairs gravity of 8192 bodies, vec3 fields."""
    n = 8192
    x, f = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)

    @ti.kernel
    def start():
        for i in x:
            x[i] = ti.Vector([ti.random(), ti.random(), ti.random()])

    @ti.kernel
    def step():
        for i in range(n):
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = x[j] - x[i]
                inverse = 1.0 / ti.sqrt(d.dot(d) + 1e-3)
                a += d * (inverse * inverse * inverse)
            f[i] = a

    start()
    return step


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

    return step


@program
def bilateral_1024(ti):
    """Bilateral filter of radius 5, 1024 x 1024 vec3 pixels, indices clamped to the image."""
    n, radius = 1024, 5
    x, y = ti.Vector.field(3, ti.f32, (n, n)), ti.Vector.field(3, ti.f32, (n, n))

    @ti.kernel
    def start():
        for i, j in x:
            x[i, j] = ti.Vector([ti.random(), ti.random(), ti.random()])

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

    start()
    return step


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

    return step


@program
def transcendental_16m(ti):
    """sin(x) * exp(x) + log(x + 1) + x ** 1.5 over 16M f32."""
    n = 16 << 20
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)

    @ti.kernel
    def start():
        for i in x:
            x[i] = ti.random()

    @ti.kernel
    def step():
        for i in x:
            y[i] = ti.sin(x[i]) * ti.exp(x[i]) + ti.log(x[i] + 1.0) + ti.pow(x[i], 1.5)

    start()
    return step


@program
def mpm88_50(ti):
    """50 substeps of MPM88: 8192 particles, 128 x 128 grid."""
    count, grid = 8192, 128
    dx, dt, gravity, bound, stiffness = 1 / grid, 2e-4, 9.8, 3, 400
    volume = (dx * 0.5) ** 2
    mass = volume
    x, v = ti.Vector.field(2, ti.f32, count), ti.Vector.field(2, ti.f32, count)
    C, J = ti.Matrix.field(2, 2, ti.f32, count), ti.field(ti.f32, count)
    grid_v, grid_m = ti.Vector.field(2, ti.f32, (grid, grid)), ti.field(ti.f32, (grid, grid))

    @ti.kernel
    def start():
        for i in x:
            x[i] = [ti.random() * 0.4 + 0.2, ti.random() * 0.4 + 0.2]
            v[i] = [0, -1]
            J[i] = 1

    @ti.kernel
    def substep():
        for i, j in grid_m:
            grid_v[i, j] = [0, 0]
            grid_m[i, j] = 0
        for p in x:
            Xp = x[p] / dx
            base = int(Xp - 0.5)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            stress = -dt * 4 * stiffness * volume * (J[p] - 1) / dx**2
            affine = ti.Matrix([[stress, 0], [0, stress]]) + mass * C[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset - fx) * dx
                weight = w[i].x * w[j].y
                grid_v[base + offset] += weight * (mass * v[p] + affine @ dpos)
                grid_m[base + offset] += weight * mass
        for i, j in grid_m:
            if grid_m[i, j] > 0:
                grid_v[i, j] /= grid_m[i, j]
            grid_v[i, j].y -= dt * gravity
            if i < bound and grid_v[i, j].x < 0:
                grid_v[i, j].x = 0
            if i > grid - bound and grid_v[i, j].x > 0:
                grid_v[i, j].x = 0
            if j < bound and grid_v[i, j].y < 0:
                grid_v[i, j].y = 0
            if j > grid - bound and grid_v[i, j].y > 0:
                grid_v[i, j].y = 0
        for p in x:
            Xp = x[p] / dx
            base = int(Xp - 0.5)
            fx = Xp - base
            w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
            new_v = ti.Vector.zero(float, 2)
            new_C = ti.Matrix.zero(float, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                offset = ti.Vector([i, j])
                dpos = (offset - fx) * dx
                weight = w[i].x * w[j].y
                g_v = grid_v[base + offset]
                new_v += weight * g_v
                new_C += 4 * weight * g_v.outer_product(dpos) / dx**2
            v[p] = new_v
            x[p] += dt * v[p]
            J[p] *= 1 + dt * new_C.trace()
            C[p] = new_C

    start()

    def step():
        for _ in range(50):
            substep()

    return step
