"""Simulations that DiffTaichi made known, written anew: a wave, springs, an elastic body, billiards.

Each is a program that runs forward, and one of the same name with `_gradient` that runs forward and backward under a
tape. The state has an axis for time, so that nothing is overwritten, as Taichi demands. Numbers are f32.
"""

import elastic
import inputs
import numpy as np
from inputs import Program, sample
from programs import PROGRAMS


def simulation(make):
    """Register what `make(ti)` gives: what runs forward, the inputs with gradients, and the loss."""

    def forward(ti):
        run, _, loss = make(ti)

        def step():
            loss[None] = 0
            run()

        return Program(step, lambda: sample(loss.to_numpy()))

    def both(ti):
        run, given, loss = make(ti)

        def step():
            with ti.ad.Tape(loss):
                run()

        return Program(step, lambda: sample(loss.to_numpy(), *(one.grad.to_numpy() for one in given)))

    forward.__doc__, both.__doc__ = make.__doc__, f"{make.__name__}, forward and backward."
    PROGRAMS[make.__name__], PROGRAMS[f"{make.__name__}_gradient"] = forward, both
    return make


@simulation
def wave_256(ti):
    """A wave on 256 x 256 cells, 64 steps; the gradient by its beginning."""
    n, steps = 256, 64
    dx, dt, speed, damping = 1 / 256, 3e-4, 340 / 256, 0.0
    weight = (speed * dt / dx) ** 2
    p = ti.field(ti.f32, (steps, n, n), needs_grad=True)
    start, loss = ti.field(ti.f32, (n, n), needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
    target = ti.field(ti.f32, (n, n))

    @ti.kernel
    def begin():
        for i, j in start:
            p[0, i, j] = start[i, j]

    @ti.kernel
    def move(t: ti.i32):
        for i, j in start:
            around = ti.cast(0.0, ti.f32)
            if 0 < i < n - 1 and 0 < j < n - 1:
                around = p[t - 1, i - 1, j] + p[t - 1, i + 1, j] + p[t - 1, i, j - 1] + p[t - 1, i, j + 1]
                around -= 4 * p[t - 1, i, j]
            before = p[t - 1, i, j]
            if t > 1:
                before = p[t - 2, i, j]
            p[t, i, j] = 2 * p[t - 1, i, j] + weight * around - before - damping * (p[t - 1, i, j] - before)

    @ti.kernel
    def compare():
        for i, j in start:
            loss[None] += (p[steps - 1, i, j] - target[i, j]) ** 2 / (n * n)

    def run():
        begin()
        for t in range(1, steps):
            move(t)
        compare()

    start.from_numpy(inputs.floats(n, n))
    target.from_numpy(inputs.floats(n + 1, n)[1:].copy())
    return run, [start], loss


@simulation
def springs_4096(ti):
    """4096 masses in a chain of springs with neighbours near and far, 128 steps; the gradient by lengths at rest."""
    n, reach, steps = 4096, 4, 128
    dt, stiffness, drag = 4e-3, 30.0, 0.1
    x, v, force = (ti.Vector.field(2, ti.f32, (steps, n), needs_grad=True) for _ in range(3))
    rest, loss = ti.field(ti.f32, (n, reach), needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
    start = ti.Vector.field(2, ti.f32, n)

    @ti.kernel
    def begin():
        for t, i in force:
            force[t, i] = ti.Vector([0.0, 0.0])
        for i in start:
            x[0, i] = start[i]
            v[0, i] = ti.Vector([0.0, 0.0])

    @ti.kernel
    def pull(t: ti.i32):
        for i, k in rest:
            j = i + 1 + k
            if j < n:
                apart = x[t, j] - x[t, i]
                length = apart.norm() + 1e-4
                push = stiffness * (length - rest[i, k]) / length * apart
                force[t, i] += push
                force[t, j] -= push

    @ti.kernel
    def move(t: ti.i32):
        for i in start:
            v[t, i] = (1 - drag * dt) * v[t - 1, i] + dt * (force[t - 1, i] + ti.Vector([0.0, -1.0]))
            x[t, i] = x[t - 1, i] + dt * v[t, i]

    @ti.kernel
    def compare():
        for i in start:
            loss[None] += x[steps - 1, i].norm_sqr() / n

    def run():
        begin()
        for t in range(1, steps):
            pull(t - 1)
            move(t)
        compare()

    start.from_numpy(np.stack([np.arange(n) * 0.1, inputs.floats(n) * 0.1], axis=1).astype(np.float32))
    rest.from_numpy((0.1 * (1 + np.arange(reach)) * np.ones((n, 1)) * 1.05).astype(np.float32))
    return run, [rest], loss


@simulation
def elastic_8192(ti):
    """An elastic body of 8192 particles by the material point method, 128 x 128 cells, 16 steps; the gradient by its
    velocities."""
    return elastic.body(ti, 2, count=8192, n=128, steps=16, react=elastic.corotated(ti))


@simulation
def elastic_3d(ti):
    """The same in three dimensions: 8192 particles, 32 x 32 x 32 cells, 8 steps."""
    return elastic.body(ti, 3, count=8192, n=32, steps=8, react=elastic.neo_hookean(ti))


@simulation
def liquid_8192(ti):
    """A liquid of 8192 particles, 128 x 128 cells, 16 steps."""
    return elastic.body(ti, 2, count=8192, n=128, steps=16, react=elastic.weakly_compressible(ti))


@simulation
def billiards_256(ti):
    """256 balls, each pair pushed apart where it touches, 64 steps; the gradient by the velocities."""
    n, steps, dt, radius, stiffness = 256, 64, 3e-3, 0.03, 200.0
    x, v, force = (ti.Vector.field(2, ti.f32, (steps, n), needs_grad=True) for _ in range(3))
    x0, v0 = (ti.Vector.field(2, ti.f32, n, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def begin():
        for i in x0:
            x[0, i], v[0, i] = x0[i], v0[i]
        for t, i in force:
            force[t, i] = ti.Vector([0.0, 0.0])

    @ti.kernel
    def collide(t: ti.i32):
        for i, j in ti.ndrange(n, n):
            if i != j:
                apart = x[t, i] - x[t, j]
                distance = apart.norm() + 1e-5
                if distance < 2 * radius:
                    force[t, i] += stiffness * (2 * radius - distance) / distance * apart

    @ti.kernel
    def move(t: ti.i32):
        for i in x0:
            v[t, i] = v[t - 1, i] + dt * force[t - 1, i]
            x[t, i] = x[t - 1, i] + dt * v[t, i]

    @ti.kernel
    def compare():
        loss[None] += (x[steps - 1, 0] - ti.Vector([0.5, 0.5])).norm_sqr()

    def run():
        begin()
        for t in range(1, steps):
            collide(t - 1)
            move(t)
        compare()

    x0.from_numpy(inputs.floats(n, 2))
    v0.from_numpy(inputs.floats(n, 2) - 0.5)
    return run, [v0], loss
