"""Issues of Taichi with derivatives, of which most are gradients that are wrong without a word there.

Expected values are formulas, or central differences of the same program.
"""

import math

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close, slope
from weft.lang.errors import CompilationError, WeftError


def test_x_becomes_a_multiple_of_itself(ti, number):
    """taichi #2505."""
    x, loss, theta = number(), number(), number()

    @ti.kernel
    def update(itself: ti.i32):
        multiplier = ti.cast(1.0, ti.f64)
        if itself:
            multiplier = x[None]
        x[None] = ti.cos(theta[None]) * multiplier

    @ti.kernel
    def compute():
        loss[None] += x[None]

    for itself, at in ((0, 0.7), (1, 0.7), (1, 2.5)):
        x[None], theta[None] = 3.0, at
        with ti.ad.Tape(loss):
            update(itself)
            compute()
        close(theta.grad[None], -math.sin(at) * (3.0 if itself else 1.0))
        close(x.grad[None], math.cos(at) if itself else 0.0)


def test_a_moving_average(ti, number):
    """taichi #2425: the average is read and written by the same loop. The gradient is right, or refused."""
    data, average, weight, loss = ti.field(ti.f64, 20, needs_grad=True), number(), number(), number()

    @ti.kernel
    def move():
        for _ in range(1):
            for i in range(20):
                average[None] = average[None] * weight[None] + data[i] * (1 - weight[None])
            loss[None] += average[None] ** 2

    given = np.sin(np.arange(20.0))

    def program():
        data.from_numpy(given)
        average[None] = 0.25
        with ti.ad.Tape(loss):
            move()
        return loss[None]

    weight[None] = 0.8
    try:
        program()
    except CompilationError as error:
        if "'average' that is read here, but the kernel overwrites it" not in str(error):
            raise
        return
    found = weight.grad[None], data.grad.to_numpy()
    close(found[0], slope(program, weight, 0.8), rtol=1e-6)
    given[7] += 1e-6
    high = program()
    given[7] -= 2e-6
    close(found[1][7], (high - program()) / 2e-6, rtol=1e-6)


def test_a_chain_in_a_serial_loop(ti, number):
    """taichi #8802: a return map of plasticity reads element i and writes element i + 1. Taichi's gradient is 4.8 times
    too large, also with validation."""
    stiffness, limit, n = 1000.0, 2.0, 60
    amplitude, total = number(), number()
    plastic = ti.field(ti.f64, n + 1, needs_grad=True)

    @ti.kernel
    def load():
        ti.loop_config(serialize=True)
        for i in range(n):
            trial = stiffness * (amplitude[None] * ti.sin(2.0 * math.pi * i / n) - plastic[i])
            d = ti.cast(0.0, ti.f64)
            if ti.abs(trial) > limit:
                d = (ti.abs(trial) - limit) / stiffness
                total[None] += d
            plastic[i + 1] = plastic[i] + (d if trial > 0 else -d)

    def program():
        plastic.fill(0)
        with ti.ad.Tape(total, validation=True):
            load()
        return total[None]

    amplitude[None] = 0.0045
    program()
    found = amplitude.grad[None]
    close(found, 3.895472, rtol=1e-6)
    close(found, slope(program, amplitude, 0.0045, 1e-8), rtol=1e-6)


def test_a_sum_over_an_array_in_each_iteration(ti):
    """taichi #8356: two ways to write the same sum have different gradients there."""

    @ti.kernel
    def direct(x: ti.types.ndarray(ti.f64, 1), y: ti.types.ndarray(ti.f64, 1)):
        for i in x:
            for j in y:
                x[i] += y[j]

    @ti.kernel
    def by_a_local(x: ti.types.ndarray(ti.f64, 1), y: ti.types.ndarray(ti.f64, 1)):
        for i in x:
            a = ti.cast(0.0, ti.f64)
            for j in y:
                a += y[j]
            x[i] += a

    for kernel in (direct, by_a_local):
        x, y = (ti.ndarray(ti.f64, n, needs_grad=True) for n in (5, 3))
        y.from_numpy(np.array([1.0, 2.0, 3.0]))
        kernel(x, y)
        close(x.to_numpy(), np.full(5, 6.0))
        x.grad.fill(1.0)
        kernel.grad(x, y)
        close(x.grad.to_numpy(), np.ones(5))
        close(y.grad.to_numpy(), np.full(3, 5.0))


def test_a_field_without_a_gradient_in_between(ti, number):
    """taichi #1966: the gradients are 0 without a word."""
    loss, strength, x = number(), number(), ti.Vector.field(2, ti.f64, (), needs_grad=True)
    pull, along = (ti.Vector.field(2, ti.f64, ()) for _ in range(2))

    @ti.kernel
    def forces():
        distance = ti.max(x[None].norm(), 0.1)
        pull[None] = strength[None] / (distance * distance * distance) * x[None]

    @ti.kernel
    def project():
        loss[None] = pull[None].dot(along[None])

    def program(validation):
        with ti.ad.Tape(loss, validation=validation):
            forces()
            project()

    x[None], strength[None], along[None] = [0.5, -0.7], 1.5, [1.0, 2.0]
    with pytest.warns(Warning, match="pull"):
        program(validation=False)
    with pytest.raises(WeftError, match="pull"):
        program(validation=True)


def test_a_tape_and_gradients_by_hand_agree(ti, number):
    """taichi #8119."""
    steps = 4
    theta, loss, z = number(), number(), ti.field(ti.f64, steps, needs_grad=True)

    @ti.kernel
    def compute(t: ti.i32):
        z[t + 1] = z[t] * theta[None] + theta[None] * 2

    @ti.kernel
    def compare(t: ti.i32):
        loss[None] = ti.abs(z[t] - 200)

    theta[None], z[0] = 2.0, 1.0
    with ti.ad.Tape(loss):
        for t in range(steps - 1):
            compute(t)
        compare(steps - 1)
    by_tape = theta.grad[None]
    ti.ad.clear_all_gradients()
    loss.grad[None] = 1.0
    compare.grad(steps - 1)
    for t in reversed(range(steps - 1)):
        compute.grad(t)
    close(theta.grad[None], by_tape)
    close(by_tape, -(3 * 2.0**2 * 1.0 + 2 * (1 + 2 * 2.0 + 3 * 2.0**2)))
