"""What the page about differentiable programming of Taichi's documentation states, statement by statement, as far as
`test_taichi_derivatives.py` and `test_forward_mode.py` do not hold it."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import WeftError


def test_the_slope_of_a_function(ti, number):
    """A tape around one kernel, and `kernel.grad()` with a gradient that the user sets, give the same."""
    x, y = number(), number()

    @ti.kernel
    def f():
        y[None] = ti.sin(x[None]) * x[None]

    for at in (0.0, 0.4, -2.0):
        x[None] = at
        with ti.ad.Tape(y):
            f()
        by_tape = x.grad[None]
        x.grad[None], y.grad[None] = 0.0, 1.0
        f.grad()
        close([by_tape, x.grad[None]], np.sin(at) + at * np.cos(at))


def test_forces_are_slopes_of_an_energy(ti):
    """Bodies that attract one another: the energy is a sum over pairs, and a later kernel reads the gradient."""
    n, soft, step = 5, 2.0**-10, 2.0**-7  # exact in f32
    x, v = (ti.Vector.field(2, ti.f64, n, needs_grad=needs) for needs in (True, False))
    energy = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def measure():
        for i, j in ti.ndrange(n, n):
            energy[None] += -1 / (x[i] - x[j]).norm(soft)

    @ti.kernel
    def advance():
        for i in x:
            v[i] -= step * x.grad[i]
        for i in x:
            x[i] += step * v[i]

    at, speed = np.random.default_rng(2).uniform(size=(n, 2)), np.zeros((n, 2))
    x.from_numpy(at)
    for _ in range(2):
        with ti.ad.Tape(loss=energy):
            measure()
        apart = at[:, None] - at[None]
        force = -2 * (apart / (np.sum(apart**2, 2) + soft)[:, :, None] ** 1.5).sum(1)
        close(x.grad.to_numpy(), -force)
        close(energy[None], -np.sum(1 / np.sqrt(np.sum(apart**2, 2) + soft)))
        advance()
        speed += step * force
        at += step * speed
        close(x.to_numpy(), at)


def test_a_tape_begins_with_a_loss_of_0_and_needs_one_number(ti, number):
    loss, x, several = number(), number(), ti.field(ti.f64, 2, needs_grad=True)

    @ti.kernel
    def add():
        loss[None] += x[None] ** 2

    x[None], loss[None] = 3.0, 100.0
    with ti.ad.Tape(loss):
        add()
    assert (loss[None], x.grad[None]) == (9.0, 6.0)
    with pytest.raises(WeftError, match="must be one number, but it has 2"):
        ti.ad.Tape(several)


def test_several_outputs_of_one_kernel(ti, number):
    """Their gradients are set by the user, and are factors of the gradient of the input."""
    x, one, two = ti.field(ti.f64, 4, needs_grad=True), number(), number()

    @ti.kernel
    def f():
        for i in x:
            one[None] += x[i] ** 2
            two[None] += x[i]

    at = np.arange(4.0)
    x.from_numpy(at)
    one.grad[None], two.grad[None] = 1.0, 1.0
    f()
    f.grad()
    close(x.grad.to_numpy(), 2 * at + 1)
    x.grad.fill(0)
    one.grad[None], two.grad[None] = 0.5, -3.0
    f.grad()
    close(x.grad.to_numpy(), at - 3)


def test_a_checker_has_nothing_to_report(ti, number):
    """The rules that Taichi's checker enforces (`debug` with `validation`) are no rules here: values are kept."""
    ti.init(arch=ti.cfg.arch, debug=True)
    x, loss, b = ti.field(ti.f64, 3, needs_grad=True), number(), number()

    @ti.kernel
    def first():
        for i in x:
            loss[None] += x[i] * b[None]

    @ti.kernel
    def second():
        b[None] += 100.0

    x.from_numpy(np.array([1.0, 2.0, 3.0]))
    b[None] = 10.0
    with ti.ad.Tape(loss, validation=True):
        first()
        second()
        first()
    close(x.grad.to_numpy(), [120.0] * 3)
    close(b.grad[None], 12.0)


def test_statements_of_python_have_no_derivative(ti, number):
    """They take part in the values only. Python may change gradients."""
    x, loss = number(), number()

    @ti.kernel
    def once():
        loss[None] += ti.sin(x[None]) + 1.0

    @ti.kernel
    def thrice():
        for _ in range(3):
            loss[None] += ti.sin(x[None]) + 1.0

    x[None] = 0.0
    with ti.ad.Tape(loss=loss):
        loss[None] += ti.sin(x[None]) + 1.0
        once()
        thrice()
    assert (loss[None], x.grad[None]) == (5.0, 4.0)
    x.grad[None] = 0.0
    assert x.grad[None] == 0.0


def test_gradients_of_placed_fields_and_of_a_function_with_its_own(ti):
    """`lazy_grad` places gradients as their fields are. A user's gradient replaces that of all kernels in a function;
    `kernel.grad` and a tape both use it."""
    n = 6
    x, total = ti.field(ti.f64), ti.field(ti.f64)
    ti.root.dense(ti.i, n // 2).dense(ti.i, 2).place(x)
    ti.root.place(total)
    ti.root.lazy_grad()

    @ti.kernel
    def weigh(factor: ti.f64):
        for i in range(n):
            ti.atomic_add(total[None], x[i] * factor)

    @ti.ad.grad_replaced
    def forward(factor):
        weigh(factor)
        weigh(factor)

    @ti.ad.grad_for(forward)
    def backward(factor):
        weigh.grad(factor)

    x.fill(1.0)
    with ti.ad.Tape(loss=total):
        forward(4.0)
    assert total[None] == 8.0 * n
    assert x.grad.to_numpy().tolist() == [4.0] * n
    total.grad[None] = 2.0
    x.grad.fill(0)
    backward(1.5)
    assert x.grad.to_numpy().tolist() == [3.0] * n


def test_columns_of_a_jacobian(ti):
    """A seed chooses the parameters. A parameter with several numbers needs one. The duals of the loss are cleared."""
    x, y = ti.field(ti.f64, 2, needs_dual=True), ti.field(ti.f64, 5, needs_dual=True)
    alone, image = (ti.field(ti.f64, (), needs_dual=True) for _ in range(2))

    @ti.kernel
    def f():
        for i in y:
            for j in range(2):
                y[i] += i * ti.sin(x[j])

    @ti.kernel
    def g():
        image[None] = ti.sin(alone[None])

    at = np.array([0.3, 1.2])
    x.from_numpy(at)
    for column, seed in enumerate(([1.0, 0.0], [0.0, 1.0])):
        y.dual.fill(7.0)
        with ti.ad.FwdMode(loss=y, param=x, seed=seed):
            f()
        close(y.dual.to_numpy(), np.arange(5) * np.cos(at[column]))
    with pytest.raises(WeftError, match="seed"), ti.ad.FwdMode(loss=y, param=x):
        f()
    alone[None] = 0.5
    with ti.ad.FwdMode(loss=image, param=alone):
        g()
    close(image.dual[None], np.cos(0.5))
