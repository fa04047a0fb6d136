"""Gradients by what comes before a branch that uses it: iterations that do not take the branch add nothing."""

import math

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.ir.ops import Atomic, If, Kernel, StructFor
from weft.ir.parse import parse

VALUES = np.arange(6) - 1.0  # of the input


def fields(ti):
    """An input and two outputs."""
    x, y = (ti.field(ti.f64, len(VALUES), needs_grad=True) for _ in range(2))
    x.from_numpy(VALUES)
    return x, y, ti.field(ti.f64, (), needs_grad=True)


def hold(ti, kernel, x, loss, expected):
    """The gradient of the loss by x is the expected one."""
    with ti.ad.Tape(loss):
        kernel()
    close(x.grad.to_numpy(), expected)


def test_pairs_that_do_not_touch_add_nothing(ti):
    x, _, loss = fields(ti)

    @ti.kernel
    def energy():
        for i, j in ti.ndrange(6, 6):
            d = ti.abs(x[i] - x[j])
            if d < 1.5:
                loss[None] += d * d

    apart = VALUES[:, None] - VALUES[None, :]
    hold(ti, energy, x, loss, 4 * np.where(np.abs(apart) < 1.5, apart, 0).sum(axis=1))
    atomics = parse(str(energy.grad.stages().chi)).all_of(Atomic)
    assert atomics
    for atomic in atomics:
        assert any(isinstance(outer, If) for outer in atomic.around())


@pytest.mark.parametrize("other", [False, True])
def test_derivatives_that_are_infinite_where_the_branch_is_not_taken(ti, other):
    """The gradient by numbers that the other side does not use is 0, not 0 * inf."""
    x, y, loss = fields(ti)

    @ti.kernel
    def energy():
        for i in x:
            root = ti.sqrt(x[i]) + ti.log(x[i])
            if (x[i] > 0) != ti.static(other):
                if ti.static(not other):
                    loss[None] += root
            elif ti.static(other):
                loss[None] += root

    hold(ti, energy, x, loss, [0, 0, *(0.5 / math.sqrt(v) + 1 / v for v in (1.0, 2.0, 3.0, 4.0))])


def test_a_store_before_the_branch(ti):
    """Its adjoint comes from memory, also where the branch is not taken."""
    x, y, loss = fields(ti)

    @ti.kernel
    def energy():
        for i in x:
            square = x[i] * x[i]
            y[i] = square
            if x[i] > 2:
                loss[None] += square
        for i in y:
            loss[None] += 3 * y[i]

    hold(ti, energy, x, loss, 6 * VALUES + 2 * np.where(VALUES > 2, VALUES, 0))


def test_a_local_of_the_block_around(ti):
    """`last` has an adjoint from after the loop."""
    x, _, loss = fields(ti)

    @ti.kernel
    def energy():
        for i in x:
            last, total = ti.cast(0.0, ti.f64), ti.cast(0.0, ti.f64)
            for k in range(4):
                last = x[i] * (k + 1)
                if k == 1:
                    total += last * last
            loss[None] += total + last

    hold(ti, energy, x, loss, 8 * VALUES + 4)


def test_what_follows_the_branch(ti):
    x, _, loss = fields(ti)

    @ti.kernel
    def energy():
        for i in x:
            square = x[i] * x[i]
            if x[i] > 2:
                loss[None] += square
            loss[None] += 5 * square

    hold(ti, energy, x, loss, 10 * VALUES + 2 * np.where(VALUES > 2, VALUES, 0))


def test_both_sides(ti):
    x, _, loss = fields(ti)

    @ti.kernel
    def energy():
        for i in x:
            square = x[i] * x[i]
            if x[i] > 2:
                loss[None] += square
            else:
                loss[None] -= square

    hold(ti, energy, x, loss, np.where(VALUES > 2, 2, -2) * VALUES)


def test_branches_in_branches_and_loops_before_them(ti):
    x, _, loss = fields(ti)

    @ti.kernel
    def energy():
        for i in x:
            power = ti.cast(1.0, ti.f64)
            for _ in range(3):
                power *= x[i]
            if x[i] > 0:
                twice = 2 * power
                for k in range(2):
                    part = twice * (k + 1)
                    if k == 1:
                        loss[None] += part

    hold(ti, energy, x, loss, np.where(VALUES > 0, 12 * VALUES**2, 0))


def test_a_parallel_loop_before_the_branch_stays_parallel(ti):
    x, _, loss = fields(ti)

    @ti.kernel
    def energy(limit: ti.f64):
        total = ti.cast(0.0, ti.f64)
        for i in x:
            total += x[i] * x[i]
        if total < limit:
            loss[None] += total

    for limit in (1.0, 100.0):
        with ti.ad.Tape(loss):
            energy(limit)
        close(x.grad.to_numpy(), 2 * VALUES * (limit > 1))
    loops = parse(str(energy.grad.stages(1.0).chi)).all_of(StructFor)
    assert loops
    assert all(isinstance(loop.parent, Kernel) for loop in loops)


def test_a_real_function(ti):
    x, _, loss = fields(ti)

    @ti.real_func
    def part(v: ti.f64) -> ti.f64:
        found, square = ti.cast(0.0, ti.f64), v * v
        if v > 1:
            found = 3 * square
        return found

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += part(x[i])

    hold(ti, energy, x, loss, np.where(VALUES > 1, 6 * VALUES, 0))
