"""Gradients of kernels that draw random numbers: they compute the numbers of the launch again."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import ArgumentError


def noisy(ti):
    """A kernel with random numbers on the way to the loss, what it drew for each element, and its fields."""
    x, drawn = ti.field(ti.f64, 5, needs_grad=True, needs_dual=True), ti.field(ti.f64, 5)
    loss = ti.field(ti.f64, (), needs_grad=True, needs_dual=True)

    @ti.kernel
    def energy(scale: ti.f64):
        for i in x:
            r = scale * ti.random(ti.f64)
            if ti.random() < 0.5:
                r += ti.random(ti.f64)
            for _ in range(i):
                r *= 0.5 + ti.random(ti.f64)
            drawn[i] = r
            loss[None] += r * x[i] * x[i]

    x.from_numpy(np.arange(1.0, 6.0))
    return energy, x, drawn, loss


def test_a_tape_draws_the_numbers_of_each_launch_again(ti):
    energy, x, drawn, loss = noisy(ti)
    found = []
    with ti.ad.Tape(loss):
        for scale in (1.0, 3.0):
            energy(scale)
            found.append(drawn.to_numpy())
    assert (found[0] != found[1]).all()
    close(x.grad.to_numpy(), 2 * (found[0] + found[1]) * np.arange(1.0, 6.0))


def test_a_gradient_by_itself_draws_the_numbers_of_the_last_launch(ti):
    energy, x, drawn, loss = noisy(ti)
    with pytest.raises(ArgumentError, match="there was no launch"):
        energy.grad(1.0)
    for _ in range(3):
        energy(1.0)
    wanted = drawn.to_numpy()
    before = x.to_numpy()
    loss.grad[None] = 1.0
    energy.grad(1.0)
    close(x.grad.to_numpy(), 2 * wanted * before)
    energy.grad(1.0)
    close(x.grad.to_numpy(), 4 * wanted * before)


def test_a_gradient_does_not_change_the_numbers_of_later_launches(ti):
    later = []
    for differentiate in (False, True):
        ti.init(arch=ti.cfg.arch, random_seed=5)
        energy, _, drawn, _ = noisy(ti)
        energy(1.0)
        if differentiate:
            energy.grad(1.0)
        energy(1.0)
        later.append(drawn.to_numpy())
    close(later[1], later[0])


def test_checks_of_gradients_draw_the_same_numbers_each_time(ti):
    energy, x, _, loss = noisy(ti)
    assert ti.ad.check(energy, 2.0)
    with ti.ad.Tape(loss, grad_check=[x]):
        energy(1.0)
        energy(0.5)


def test_numbers_of_serial_code_and_of_vectors(ti):
    a = ti.ndarray(ti.f64, 4, needs_grad=True)
    loss, drawn = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.f64, 4)

    @ti.kernel
    def blend(a: ti.types.ndarray(ti.f64, 1)):
        ti.random(ti.f64)
        factor = ti.random(ti.f64)
        for i in range(4):
            v = ti.Vector([ti.random(ti.f64), ti.random(ti.f64)])
            drawn[i] = factor * v.sum()
            loss[None] += factor * v.sum() * a[i]
        drawn[0] *= ti.random(ti.f64)

    with ti.ad.Tape(loss):
        blend(a)
    wanted = drawn.to_numpy()
    close(a.grad.to_numpy()[1:], wanted[1:])
    assert a.grad.to_numpy()[0] > wanted[0] > 0
