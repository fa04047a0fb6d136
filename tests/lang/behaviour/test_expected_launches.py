"""What a tape may expect of the next one with the same loss, and what looks like it but differs."""

import gc
import weakref

import numpy as np
import pytest

import weft
from tests.lang.behaviour.derivatives import close
from weft.lang.autodiff.lost import LostDerivative
from weft.lang.errors import GradientWarning


def test_random_numbers(ti):
    """Each launch draws its own. What comes before it is expected."""
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add(weight: ti.f64):
        for i in x:
            loss[None] += weight * x[i]

    @ti.kernel
    def draw():
        for i in x:
            loss[None] += ti.random(ti.f64) * x[i]

    x.fill(2.0)
    losses = set()
    for _ in range(4):
        with ti.ad.Tape(loss):
            add(1.5)
            draw()
            add(0.5)
        close((x.grad.to_numpy() * 2.0).sum(), loss[None])
        losses.add(loss[None])
    assert len(losses) == 4


def test_a_name_that_means_something_else(ti, monkeypatch):
    """The kernel is compiled anew, and so is its gradient."""
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    factor = 2.0

    @ti.kernel
    def total():
        for i in x:
            loss[None] += factor * x[i] * x[i]

    x.fill(1.0)
    for factor in (2.0, 2.0, 2.0, 5.0, 5.0, 2.0):
        with ti.ad.Tape(loss):
            total()
        close(x.grad.to_numpy(), np.full(3, 2 * factor))


def test_a_field_that_is_gone(ti):
    """What a tape keeps for the next one keeps no field. A field that is dropped in the block keeps its memory."""
    loss = ti.field(ti.f64, (), needs_grad=True)
    held = {"x": ti.field(ti.f64, 3, needs_grad=True)}

    def make(x):
        @ti.kernel
        def total():
            for i in x:
                loss[None] += x[i] * x[i]

        return total

    total = make(held["x"])
    held["x"].fill(3.0)
    for _ in range(3):
        with ti.ad.Tape(loss):
            total()
    assert loss[None] == 27.0
    lost = weakref.ref(held["x"])
    with ti.ad.Tape(loss):
        total()
        held.clear()
        del total
        gc.collect()
    gc.collect()
    assert lost() is None
    y = ti.field(ti.f64, 3, needs_grad=True)
    y.fill(2.0)
    other = make(y)
    for _ in range(3):
        with ti.ad.Tape(loss):
            other()
        close(y.grad.to_numpy(), np.full(3, 4.0))


def test_a_new_program():
    """Nothing of the last one is expected, also if its fields are still there."""
    losses = []
    for _ in range(2):
        weft.init(arch=weft.cpu)
        x, loss = weft.field(weft.f64, 3, needs_grad=True), weft.field(weft.f64, (), needs_grad=True)
        losses.append(loss)
        _learn(x, loss)
    weft.reset()


@weft.kernel
def _total(x: weft.template(), loss: weft.template()):
    for i in x:
        loss[None] += x[i] * x[i]


def _learn(x, loss):
    x.fill(1.0)
    for _ in range(3):
        with weft.ad.Tape(loss):
            _total(x, loss)
        close(x.grad.to_numpy(), np.full(3, 2.0))


def test_what_looks_like_the_expected_launch(ti):
    """Another kernel with equal arguments, and another instance of the kernel with an equal context."""
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square(weight: ti.f64):
        for i in x:
            loss[None] += weight * x[i] ** 2

    @ti.kernel
    def cube(weight: ti.f64):
        for i in x:
            loss[None] += weight * x[i] ** 3

    @ti.kernel
    def power(number: ti.template()):
        for i in x:
            loss[None] += x[i] ** number

    @ti.kernel
    def scale(weight: ti.f64, factor: ti.f64 = 1.0):
        for i in x:
            loss[None] += weight * factor * x[i]

    x.fill(2.0)
    for named in ({}, {}, {"factor": 3.0}, {}, {"factor": 3.0}):
        with ti.ad.Tape(loss):
            scale(2.0, **named)
        close(x.grad.to_numpy(), np.full(3, 2.0 * named.get("factor", 1.0)))
    slopes = {square: 8.0, cube: 24.0}
    for kernel in (square, square, cube, square, cube, cube):
        with ti.ad.Tape(loss):
            kernel(2.0)
        close(x.grad.to_numpy(), np.full(3, slopes[kernel]))
    for number in (2, 2, 3, 2, 3, 3):
        with ti.ad.Tape(loss):
            power(number)
        close(x.grad.to_numpy(), np.full(3, number * 2.0 ** (number - 1)))


def test_arrays_of_indices(ti):
    """They have no gradient, and may be dropped in the block: the tape keeps them."""
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def pick(at: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in at:
            loss[None] += x[at[i]]

    for number in (0, 1, 2, 2, 1):
        with ti.ad.Tape(loss):
            at = ti.ndarray(ti.i32, 4)
            at.fill(number)
            pick(at)
            del at
            others = [ti.ndarray(ti.i32, 4) for _ in range(4)]
            for other in others:
                other.fill((number + 1) % 3)
        close(x.grad.to_numpy(), 4.0 * np.eye(3)[number])


def test_derivatives_that_end_are_told_each_time(ti):
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    half = ti.field(ti.f64, 3)

    @ti.kernel
    def halve():
        for i in x:
            half[i] = x[i] / 2

    @ti.kernel
    def total():
        for i in x:
            loss[None] += half[i]

    def run(**options):
        with ti.ad.Tape(loss, **options):
            halve()
            total()

    for _ in range(2):
        with pytest.warns(GradientWarning):
            run()
    with pytest.raises(LostDerivative):
        run(validation=True)


def test_arrays_are_not_expected(ti):
    """An array may be dropped in the block, and another one have its address."""
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total(a: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in a:
            loss[None] += a[i] * a[i]

    for number in range(5):
        a = ti.ndarray(ti.f64, 3, needs_grad=True)
        a.fill(float(number))
        with ti.ad.Tape(loss):
            total(a)
        close(a.grad.to_numpy(), np.full(3, 2.0 * number))
