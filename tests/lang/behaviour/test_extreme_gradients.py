"""Atomic minima and maxima of memory that the program reads between two of them: the operand that each of them left
takes the adjoint, not only the one that is left in the end."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close

N = 4
START = np.array([0.3, 1.4, -0.6, 0.9])
ORDER = np.array([2, 0, 3, 1], np.int32)  # of elements: no index of a loop, and each once


class Program:
    """A field that kernels change, and a loss of what they leave."""

    def __init__(self, ti):
        self.ti, self.x = ti, ti.field(ti.f64, N, needs_grad=True, name="x")
        self.at, self.loss = ti.field(ti.i32, N), ti.field(ti.f64, (), needs_grad=True)
        self.at.from_numpy(ORDER)
        x, loss = self.x, self.loss

        @ti.kernel
        def add_up():
            for i in x:
                loss[None] += (i + 1) * x[i]

        self.add_up = add_up

    def hold(self, kernel, values, slopes):
        """A tape leaves these values, and gives these derivatives of each element by itself."""
        self.x.from_numpy(START)
        with self.ti.ad.Tape(self.loss):
            kernel()
            self.add_up()
        close(self.x.to_numpy(), values)
        close(self.x.grad.to_numpy(), np.arange(1, N + 1) * slopes)


@pytest.fixture
def program(ti):
    return Program(ti)


def test_extremes_of_two_loops_and_a_read_between(ti, program):
    x, at = program.x, program.at

    @ti.kernel
    def twice():
        scale = ti.f64(0)  # a tape cannot cut a kernel where a variable goes on
        for i in x:
            ti.atomic_max(x[at[i]], 2.0 * x[at[i]])
            scale += 1.0
        for i in x:
            ti.atomic_max(x[at[i]], (scale - 1.0) * x[at[i]] - 0.5)

    doubled = np.maximum(START, 2 * START)
    slopes = np.where(START > 0, 2, 1) * np.where(3 * doubled - 0.5 > doubled, 3, 1)
    program.hold(twice, np.maximum(doubled, 3 * doubled - 0.5), slopes)


def test_an_extreme_in_a_loop_that_reads_what_it_left(ti, program):
    x, at = program.x, program.at

    @ti.kernel
    def shrink():
        for i in x:
            for _ in range(3):
                ti.atomic_min(x[at[i]], x[at[i]] / 2 + 0.125)

    values, slopes = START.copy(), np.ones(N)
    for _ in range(3):
        slopes *= np.where(values / 2 + 0.125 < values, 0.5, 1)
        values = np.minimum(values, values / 2 + 0.125)
    program.hold(shrink, values, slopes)
    assert {0.125, 1.0} == set(slopes)


def test_extremes_with_no_read_between_need_no_order(ti, program):
    """What is left in the end tells which operand won, in both loops together."""
    x, at = program.x, program.at
    most, y = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.f64, N, needs_grad=True)

    @ti.kernel
    def largest():
        for i in x:
            ti.atomic_max(most[None], x[at[i]])
        for i in x:
            ti.atomic_max(most[None], y[i])

    most[None], most.grad[None] = 0.0, 3.0
    x.from_numpy(START)
    for field in (x, y):
        field.grad.fill(0)
    y[1] = 1.3
    largest()
    largest.grad()
    close(x.grad.to_numpy(), [0.0, 3.0, 0.0, 0.0])
    close(y.grad.to_numpy(), np.zeros(N))
