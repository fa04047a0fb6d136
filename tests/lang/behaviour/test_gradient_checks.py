"""`Tape(grad_check=[...])` and `ti.ad.check`: they accept right gradients, and find wrong ones."""

import re

import numpy as np
import pytest

from weft.lang.autodiff.tape_check import WrongGradient
from weft.lang.errors import ArgumentError


def test_a_tape_checks_its_gradients(ti):
    x, y = ti.Vector.field(2, ti.f64, 3, needs_grad=True, name="x"), ti.field(ti.f64, 3, needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step():
        for i in x:
            y[i] = x[i].norm() * y[i]
            x[i] = ti.sin(x[i]) + 1.0

    @ti.kernel
    def total(weight: ti.f64):
        for i in x:
            loss[None] += weight * y[i] * x[i].x

    x.from_numpy(np.arange(1.0, 7.0).reshape(3, 2))
    y.fill(1.0)
    with ti.ad.Tape(loss, grad_check=[x, y]):
        for _ in range(3):
            step()
        total(2.0)
    value, gradient, now = loss[None], x.grad.to_numpy(), x.to_numpy()
    x.from_numpy(np.arange(1.0, 7.0).reshape(3, 2))
    y.fill(1.0)
    for _ in range(3):
        step()
    loss[None] = 0.0
    total(2.0)
    assert loss[None] == value
    np.testing.assert_array_equal(x.to_numpy(), now)  # the check has put back the latest values
    assert gradient.any()


def test_a_tape_finds_a_wrong_gradient(ti):
    x = ti.field(ti.f64, (2, 2), needs_grad=True, name="x")
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add():
        for i, j in x:
            loss[None] += x[i, j] ** 2

    @ti.ad.grad_replaced
    def wrong():
        add()

    @ti.ad.grad_for(wrong)
    def gradient():
        add.grad()
        x.grad[1, 0] = 100.0

    x.fill(3.0)
    said = r"x\[1, 0\]: the gradient is 100, differences give (6\.0|5\.9)"
    with pytest.raises(WrongGradient, match=said) as error, ti.ad.Tape(loss, grad_check=[x]):
        wrong()
    assert "x[0, 0]" not in str(error.value)
    assert loss[None] == 36.0
    with pytest.raises(ArgumentError, match="grad_check needs a loss"):
        ti.ad.Tape(grad_check=[x])


def test_the_check_of_a_kernel(ti, capsys):
    x = ti.field(ti.f64, (3, 2), needs_grad=True, needs_dual=True, name="x")
    y = ti.Vector.field(2, ti.f64, 3, needs_grad=True, needs_dual=True, name="y")

    @ti.kernel
    def right(scale: ti.f64):
        for i in range(3):
            x[i, 0] = ti.sin(x[i, 0]) * x[i, 1] * scale
            y[i] += ti.Vector([x[i, 1] ** 3, x[i, 1]])

    x.fill(0.5)
    x.grad.fill(7.0)
    found = ti.ad.check(right, 2.0)
    assert found
    assert capsys.readouterr().out == f"{found}\n"
    lines = str(found).split("\n")
    assert lines[0] == "check of 'right': the derivatives agree"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "forward and reverse mode",
        "'x', gradient and differences",
        "'y', gradient and differences",
    ]
    assert (x.to_numpy() == 0.5).all()
    assert (x.grad.to_numpy() == 7.0).all()
    assert not x.dual.to_numpy().any()

    @ti.kernel
    def wrong(a: ti.types.ndarray()):
        for i in range(3):
            a[i] += ti.stop_grad(x[i, 0]) ** 2 + x[i, 1]

    found = ti.ad.check(wrong, ti.ndarray(ti.f64, 3, needs_grad=True))
    assert not found
    text = str(found)
    assert "check of 'wrong': THE DERIVATIVES DIFFER" in text
    assert "no dot-product test: 'a' has no dual" in text
    assert re.findall(r"x\[(\d), (\d)\]", text) == [("0", "0"), ("1", "0"), ("2", "0")]


def test_methods_and_single_precision(ti):
    @ti.data_oriented
    class Model:
        def __init__(self):
            self.x = ti.field(ti.f32, 5, needs_grad=True, needs_dual=True)

        @ti.kernel
        def grow(self):
            for i in self.x:
                self.x[i] = ti.exp(self.x[i])

    assert ti.ad.check(Model().grow)


def test_what_it_refuses(ti):
    plain = ti.field(ti.f64, 3)

    @ti.kernel
    def f():
        plain[0] = plain[1]

    with pytest.raises(ArgumentError, match="kernel 'f' uses no memory that has a gradient"):
        ti.ad.check(f)
    with pytest.raises(ArgumentError, match="check takes a kernel"):
        ti.ad.check(3)


def test_a_gradient_that_is_not_0_cannot_be_checked(ti):
    """A block does not set the gradients of ndarrays to 0."""
    x, loss = ti.ndarray(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total(x: ti.types.ndarray()):
        for i in range(x.shape[0]):
            loss[None] += x[i] ** 2

    x.fill(2.0)
    with ti.ad.Tape(loss, grad_check=[x]):
        total(x)
    with pytest.raises(ArgumentError, match="its gradient is not 0 yet"):
        ti.ad.Tape(loss, grad_check=[x]).__enter__()
    x.grad.fill(0)
    with ti.ad.Tape(loss, grad_check=[x]):
        total(x)
