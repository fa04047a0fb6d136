"""Gradients of loops whose iterations keep values, and of loops and branches that may have no part in the result."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close

POINT = np.array([0.3, 0.9, 0.2, 0.7])


def hold_differences(kernel, x, loss):
    """The gradient of a kernel is the difference quotient of its loss."""

    def value(point):
        x.from_numpy(point)
        loss[None] = 0
        kernel()
        return float(loss[None])

    steps = 1e-6 * np.eye(4)
    expected = [(value(POINT + step) - value(POINT - step)) / 2e-6 for step in steps]
    value(POINT)
    loss.grad[None] = 1
    kernel.grad()
    np.testing.assert_allclose(x.grad.to_numpy(), expected, rtol=1e-4, atol=1e-6)


def test_many_iterations_in_serial_code(ti):
    """More than fit on a stack."""
    x, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def recurrence():
        s = ti.Vector([x[0], x[1], x[2], x[3]])
        ti.loop_config(serialize=True)
        for _ in range(550):
            s = ti.tanh(s * x[1]) + x[2] * ti.sin(s)
        loss[None] = s.sum()

    hold_differences(recurrence, x, loss)


def test_the_least_of_sums_in_a_branch(ti):
    x, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def least():
        for i in x:
            least = ti.cast(1e9, ti.f64)
            for k in range(5):
                apart = ti.cast(0.0, ti.f64)
                for j in range(3):
                    apart += (x[i] - 0.1 * k - 0.01 * j) ** 2
                least = ti.min(least, apart)
            root = ti.sqrt(least + 1.0)
            if least < 0.05:
                loss[None] += root

    hold_differences(least, x, loss)


@pytest.mark.parametrize("optimized", [False, True])
def test_a_local_that_only_the_reversed_branch_reads(ti, optimized):
    """The branch has a loop in it, so that an iteration does not compute the branch again before it is reversed."""
    ti.init(arch=ti.cfg.arch, advanced_optimization=optimized, default_fp=ti.f64)
    x, y, loss = (ti.field(ti.f64, shape, needs_grad=True) for shape in (4, 8, ()))
    taken, count = ti.field(ti.i32, 8), ti.field(ti.i32, ())

    @ti.kernel
    def run():
        for i in x:
            t = x[i]
            for k in range(7):
                p = ti.sin(t) * y[k]
                if taken[k] == 1:
                    loss[None] += p * p
                else:
                    p = p * p
                    w = 0
                    while w < taken[k + 1]:
                        w += 1
                        count[None] += 1
                t = ti.cos(t) + 0.1 * t

    start, factors = np.linspace(0.3, 1.2, 4), np.linspace(0.5, 1.5, 8)
    branch = np.array([1, 0, 1, 1, 0, 1, 0, 1], np.int32)

    def python(t):
        total = 0.0
        for k in range(7):
            total += branch[k] * ((np.sin(t) * factors[k]) ** 2).sum()
            t = np.cos(t) + 0.1 * t
        return total

    taken.from_numpy(branch)
    x.from_numpy(start)
    y.from_numpy(factors)
    with ti.ad.Tape(loss):
        run()
    close(loss[None], python(start))
    wanted = [(python(start + 1e-6 * d) - python(start - 1e-6 * d)) / 2e-6 for d in np.eye(4)]
    np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_loops_whose_bounds_are_wide_integers(ti, kind):
    """Nothing is known of the bounds, so the largest number of iterations is larger than any length in Python."""
    x, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    first, last = (ti.field(getattr(ti, kind), 4) for _ in range(2))
    first.from_numpy(np.array([1, 5, 3, 7], kind))
    last.from_numpy(np.array([4, 2, 3, 12], kind))

    @ti.kernel
    def run():
        for i in x:
            a = x[i]
            for _ in range(first[i], last[i]):
                a = ti.sin(a) * x[(i + 1) % 4]
            loss[None] += a

    hold_differences(run, x, loss)
