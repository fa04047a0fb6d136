"""Gradients of loops whose iterations keep values, and of loops and branches that may have no part in the result."""

import numpy as np

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
