"""Gradients of stencils, which run as gathers, against the transposed stencil."""

import numpy as np
import pytest


def count_atomics(kernel, *args):
    return str(kernel.grad.stages(*args).lowered).count(" = atomic ")


@pytest.mark.parametrize("n", [3, 16, 37])
def test_heat(ti, n):
    x, y = ti.field(ti.f64, (n, n), needs_grad=True), ti.field(ti.f64, (n, n), needs_grad=True)

    @ti.kernel
    def step(rows: ti.i32):
        for i, j in ti.ndrange((1, rows), (1, n - 1)):
            y[i, j] = x[i, j] + 0.125 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j])

    w = np.random.default_rng(1).random((n, n))
    for rows in (1, 2, n - 1):
        x.grad.fill(1.0)
        y.grad.from_numpy(w)
        step.grad(rows)
        v = np.zeros((n, n))
        v[1:rows, 1 : n - 1] = w[1:rows, 1 : n - 1]
        wanted = 1 + 0.5 * v
        wanted[:-1] += 0.125 * v[1:]
        wanted[1:] += 0.125 * v[:-1]
        wanted[:, :-1] += 0.125 * v[:, 1:]
        wanted[:, 1:] += 0.125 * v[:, :-1]
        np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-12)
        np.testing.assert_array_equal(y.grad.to_numpy(), np.where(v != 0, 0, w))  # what was stored has no gradient
    assert count_atomics(step, n - 1) == 0


@pytest.mark.parametrize("t", [1, 2, 4])
def test_steps_of_a_wave_in_one_field(ti, t):
    """The rows of time are apart: `t`, `t - 1` and, under a condition, `t - 2`."""
    n = 19
    p, start = ti.field(ti.f64, (5, n), needs_grad=True), ti.field(ti.f64, n)

    @ti.kernel
    def move(t: ti.i32):
        for i in start:
            around = ti.cast(0.0, ti.f64)
            if 0 < i < n - 1:
                around = p[t - 1, i - 1] + p[t - 1, i + 1] - 2 * p[t - 1, i]
            before = p[t - 1, i]
            if t > 1:
                before = p[t - 2, i]
            p[t, i] = 2 * p[t - 1, i] + 0.25 * around - before

    g = np.random.default_rng(t).random((5, n))
    p.grad.from_numpy(g)
    move.grad(t)
    wanted, v = g.copy(), g[t]
    inner = np.where((np.arange(n) > 0) & (np.arange(n) < n - 1), v, 0)
    wanted[t] = 0
    wanted[t - 1] += 2 * v - 0.5 * inner
    wanted[t - 1, :-1] += 0.25 * inner[1:]
    wanted[t - 1, 1:] += 0.25 * inner[:-1]
    wanted[t - 2 if t > 1 else t - 1] -= v
    np.testing.assert_allclose(p.grad.to_numpy(), wanted, rtol=1e-12)
    assert count_atomics(move, t) == 0


def test_vectors_and_an_array_at_odd_offsets(ti):
    n = 23
    x, y = ti.Vector.field(2, ti.f64, n, needs_grad=True), ti.field(ti.f64, n, needs_grad=True)
    a = ti.ndarray(ti.f64, n, needs_grad=True)

    @ti.kernel
    def differ(a: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in range(3, n - 5):
            y[i] = x[i - 3][0] * a[i] + x[i + 5][1] * a[i + 2] - x[i + 5][0] * x[i - 3][1]

    random = np.random.default_rng(2)
    at, w, factors = random.random((n, 2)), random.random(n), random.random(n)
    x.from_numpy(at)
    a.from_numpy(factors)
    y.grad.from_numpy(w)
    differ.grad(a)
    wanted, sums = np.zeros((n, 2)), np.zeros(n)
    for i in range(3, n - 5):
        wanted[i - 3] += w[i] * np.array([factors[i], -at[i + 5, 0]])
        wanted[i + 5] += w[i] * np.array([-at[i - 3, 1], factors[i + 2]])
        sums[i] += w[i] * at[i - 3, 0]
        sums[i + 2] += w[i] * at[i + 5, 1]
    np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-12)
    np.testing.assert_allclose(a.grad.to_numpy(), sums, rtol=1e-12)
    assert count_atomics(differ, a) == 0
