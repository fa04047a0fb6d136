"""Gradients of atomic products in parallel loops."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import CompilationError

FACTORS = np.array([1.5, -0.5, 2.0, 0.8, 1.25, -3.0])


def product(ti):
    """A product of functions of `x`, in two cells."""
    x, m = ti.field(ti.f64, 6, needs_grad=True), ti.field(ti.f64, 2, needs_grad=True)

    @ti.kernel
    def multiply():
        for i in x:
            m[i % 2] *= x[i] * x[i] + 1

    x.from_numpy(FACTORS)
    return multiply, x, m


def test_the_gradient_of_a_product(ti):
    multiply, x, m = product(ti)
    tape = ti.ad.Tape()
    m.fill(0.5)
    with tape:
        multiply()
        multiply()
    total = m.to_numpy()
    m.grad.from_numpy(np.array([1.0, 10.0]))
    tape.grad()
    weights = np.array([1.0, 10.0])
    at = np.arange(6) % 2
    close(x.grad.to_numpy(), 2 * (weights * total)[at] * 2 * FACTORS / (FACTORS**2 + 1))
    close(m.grad.to_numpy(), weights * total / 0.5)


def test_a_factor_of_zero_is_an_error_if_it_has_a_derivative(ti):
    x, m, loss = (ti.field(ti.f64, shape, needs_grad=True) for shape in (3, (), ()))

    @ti.kernel
    def multiply():
        for i in x:
            m[None] *= x[i]

    @ti.kernel
    def constant():
        for i in x:
            m[None] *= i

    x.from_numpy(np.array([2.0, 0.0, 3.0]))
    m.grad[None] = 1.0
    m[None] = 1.0
    multiply()

    def fail():
        multiply.grad()
        ti.sync()

    with pytest.raises(Exception, match="an atomic product with a factor of 0"):
        fail()
    x.grad.fill(0)
    m.grad[None] = 0.0
    multiply.grad()  # nothing depends on it
    close(x.grad.to_numpy(), 0)
    m.grad[None] = 1.0
    constant.grad()
    assert m.grad[None] == 0.0
    assert loss[None] == 0.0


def test_a_shared_variable_that_iterations_multiply(ti):
    x, loss = ti.field(ti.f64, 6, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def multiply():
        total = ti.cast(2, ti.f64)
        for i in x:
            total *= x[i]
        loss[None] = total * total

    x.from_numpy(FACTORS)
    with ti.ad.Tape(loss):
        multiply()
    close(x.grad.to_numpy(), 2 * loss[None] / FACTORS)


def test_slots_of_a_list_are_known_in_a_loop_that_runs_in_order(ti):
    x, out = ti.field(ti.f64, 6, needs_grad=True), ti.field(ti.f64, 6, needs_grad=True)
    count, loss = ti.field(ti.i32, ()), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def append(in_order: ti.template()):
        count[None] = 0
        ti.loop_config(serialize=in_order)
        for i in range(6):
            if x[i] > 0:
                slot = ti.atomic_add(count[None], 1)
                out[slot] = x[i] * x[i]
        for i in out:
            loss[None] += out[i] * (i + 1)

    x.from_numpy(FACTORS)
    with ti.ad.Tape(loss):
        append(True)
    close(x.grad.to_numpy(), 2 * FACTORS * [1, 0, 2, 3, 4, 0])
    with pytest.raises(CompilationError, match=r"run the loop in order with ti.loop_config\(serialize=True\)"):
        append.grad(False)
