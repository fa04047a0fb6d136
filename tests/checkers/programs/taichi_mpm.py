"""A program in Taichi's style: calls in annotations, functions without any."""

import weft as ti

n_particles, n_grid = 64, 16
dx, dt = 1 / n_grid, 2e-4
x = ti.Vector.field(2, dtype=float, shape=n_particles)
v = ti.Vector.field(2, dtype=float, shape=n_particles)
C = ti.Matrix.field(2, 2, dtype=float, shape=n_particles)
J = ti.field(dtype=float, shape=n_particles)
grid_v = ti.Vector.field(2, dtype=float, shape=(n_grid, n_grid))
grid_m = ti.field(dtype=float, shape=(n_grid, n_grid))


@ti.kernel
def substep():
    for i, j in grid_m:
        grid_v[i, j] = [0, 0]
        grid_m[i, j] = 0
    for p in x:
        base = (x[p] / dx - 0.5).cast(int)
        fx = x[p] / dx - base.cast(float)
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        affine = ti.Matrix([[J[p] - 1, 0], [0, J[p] - 1]]) + C[p]
        for i, j in ti.static(ti.ndrange(3, 3)):
            offset = ti.Vector([i, j])
            dpos = (offset.cast(float) - fx) * dx
            weight = w[i][0] * w[j][1]
            grid_v[base + offset] += weight * (v[p] + affine @ dpos)
            grid_m[base + offset] += weight
    for i, j in grid_m:
        if grid_m[i, j] > 0:
            grid_v[i, j] = (1 / grid_m[i, j]) * grid_v[i, j]
            grid_v[i, j][1] -= dt * 9.8
            if i < 3 and grid_v[i, j][0] < 0:
                grid_v[i, j][0] = 0
    for p in x:
        base = (x[p] / dx - 0.5).cast(int)
        new_v = ti.Vector.zero(float, 2)
        new_C = ti.Matrix.zero(float, 2, 2)
        for i, j in ti.static(ti.ndrange(3, 3)):
            g_v = grid_v[base + ti.Vector([i, j])]
            new_v += g_v
            new_C += 4 * g_v.outer_product(g_v) / dx
        v[p] = new_v
        x[p] += dt * v[p]
        J[p] *= 1 + dt * new_C.trace()
        C[p] = new_C


@ti.kernel
def scale(a: ti.types.ndarray(dtype=ti.f32, ndim=2), f: ti.template(), factor: ti.f32) -> ti.f32:  # form form
    total = 0.0
    for i, j in a:
        a[i, j] *= factor
        total += a[i, j] + f[i]
    return total


@ti.func
def weigh(f: ti.template(), i, w=1.0):  # form
    return f[i] * w


@ti.kernel
def total(f: ti.template(), vectors: ti.types.ndarray(element_dim=1)) -> float:  # form form
    s = 0.0
    for i in f:
        s += weigh(f, i)
    for i in range(vectors.shape[0]):
        s += vectors[i].norm() + ti.max(vectors[i].x, 0.0)
    return s


@ti.kernel
def init():
    for i in range(n_particles):
        x[i] = [ti.random() * 0.4 + 0.2, ti.random() * 0.4 + 0.2]
        J[i] = 1


def main() -> None:
    """Run it."""
    init()
    for _ in range(3):
        substep()
    print(x.to_numpy().mean(), total(J, v.to_numpy()))
