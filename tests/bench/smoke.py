"""Smoke in a box that wraps around, as DiffTaichi has it, written anew. The state has an axis for time."""

import inputs
from simulations import simulation


def interpolation(ti, n):
    """What a field holds at any place, which wraps around."""

    @ti.func
    def carried(of: ti.template(), t, from_x, from_y):
        bx, by = ti.cast(ti.floor(from_x), ti.i32), ti.cast(ti.floor(from_y), ti.i32)
        fx, fy = from_x - bx, from_y - by
        i, j = (bx + 4 * n) % n, (by + 4 * n) % n
        k, l = (i + 1) % n, (j + 1) % n
        low = (1 - fy) * of[t, i, j] + fy * of[t, i, l]
        return (1 - fx) * low + fx * ((1 - fy) * of[t, k, j] + fy * of[t, k, l])

    return carried


def projection(ti, cells, ux, uy, vx, vy, rounds):
    """What makes the velocities `u` of a step free of divergence, by `rounds` iterations of Jacobi for the pressure."""
    steps, n, _ = ux.shape
    p = ti.field(ti.f32, (steps, rounds + 1, n, n), needs_grad=True)
    source = ti.field(ti.f32, (steps, n, n), needs_grad=True)

    @ti.kernel
    def diverge(t: ti.i32):
        for i, j in cells:
            source[t, i, j] = -0.5 * (
                ux[t, (i + 1) % n, j] - ux[t, (i + n - 1) % n, j] + uy[t, i, (j + 1) % n] - uy[t, i, (j + n - 1) % n]
            )
            p[t, 0, i, j] = 0.0

    @ti.kernel
    def relax(t: ti.i32, k: ti.i32):
        for i, j in cells:
            around = p[t, k, (i + 1) % n, j] + p[t, k, (i + n - 1) % n, j]
            around += p[t, k, i, (j + 1) % n] + p[t, k, i, (j + n - 1) % n]
            p[t, k + 1, i, j] = (source[t, i, j] + around) / 4

    @ti.kernel
    def correct(t: ti.i32):
        for i, j in cells:
            vx[t, i, j] = ux[t, i, j] - 0.5 * (p[t, rounds, (i + 1) % n, j] - p[t, rounds, (i + n - 1) % n, j])
            vy[t, i, j] = uy[t, i, j] - 0.5 * (p[t, rounds, i, (j + 1) % n] - p[t, rounds, i, (j + n - 1) % n])

    def project(t):
        diverge(t)
        for k in range(rounds):
            relax(t, k)
        correct(t)

    return project


@simulation
def smoke_110(ti):
    """Smoke on 110 x 110 cells that wrap around, 100 steps with 6 iterations for the pressure; the gradient by the
    velocity in the beginning."""
    n, steps, rounds = 110, 100, 6
    vx, vy, ux, uy, smoke = (ti.field(ti.f32, (steps, n, n), needs_grad=True) for _ in range(5))
    start, ink = ti.field(ti.f32, (n, n), needs_grad=True), ti.field(ti.f32, (n, n))
    target, loss = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def begin():
        for i, j in start:
            vx[0, i, j], vy[0, i, j], smoke[0, i, j] = start[i, j], 0.0, ink[i, j]

    carried = interpolation(ti, n)

    @ti.kernel
    def advect(t: ti.i32):
        for i, j in start:
            x, y = i - vx[t - 1, i, j], j - vy[t - 1, i, j]
            ux[t, i, j], uy[t, i, j] = carried(vx, t - 1, x, y), carried(vy, t - 1, x, y)

    project = projection(ti, start, ux, uy, vx, vy, rounds)

    @ti.kernel
    def carry(t: ti.i32):
        for i, j in start:
            smoke[t, i, j] = carried(smoke, t - 1, i - vx[t, i, j], j - vy[t, i, j])

    @ti.kernel
    def compare():
        for i, j in start:
            loss[None] += (smoke[steps - 1, i, j] - target[i, j]) ** 2 / (n * n)

    def run():
        begin()
        for t in range(1, steps):
            advect(t)
            project(t)
            carry(t)
        compare()

    start.from_numpy(inputs.floats(n, n) - 0.5)
    ink.from_numpy(inputs.floats(n, n))
    target.from_numpy(inputs.floats(n + 1, n)[1:].copy())
    return run, [start], loss
