"""Kernels whose gradient needs values between two of their loops: a tape runs them piece by piece."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.autodiff.cutting import pieces_for
from weft.lang.errors import CompilationError

CELLS, POINTS = 5, 12


class Grid:
    """Points that scatter to cells, and gather from them, in one kernel: its loops overwrite the cells twice."""

    def __init__(self, ti):
        self.x, self.v = (ti.field(ti.f64, POINTS, needs_grad=True, name=name) for name in "xv")
        self.m = ti.field(ti.f64, CELLS, needs_grad=True, name="m")
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        x, v, m, loss = self.x, self.v, self.m, self.loss

        @ti.kernel
        def step(dt: ti.f64) -> ti.f64:
            twice = 2 * dt
            for j in m:
                m[j] = 0.1
            for i in x:
                m[i % CELLS] += v[i] * x[i]
            for j in m:
                m[j] = m[j] * m[j] / (m[j] + 1)
            total = ti.cast(0, ti.f64)
            for i in x:
                v[i] += twice * m[i % CELLS]
                x[i] += dt * v[i] * v[i]
                total += x[i]
            return total

        @ti.kernel
        def energy():
            for i in x:
                loss[None] += x[i] * v[i]

        self.step, self.energy = step, energy

    def fill(self):
        random = np.random.default_rng(0)
        self.x.from_numpy(random.uniform(0.5, 1.5, POINTS))
        self.v.from_numpy(random.uniform(0.5, 1.0, POINTS))


def test_a_tape_runs_a_torn_kernel_in_pieces(ti):
    grid = Grid(ti)
    grid.fill()
    with pytest.raises(CompilationError, match=r"overwrites it in lines \d+ and \d+: .*A tape keeps such values"):
        grid.step.grad(0.01)
    alone = [grid.step(0.01) for _ in range(3)]
    end = grid.x.to_numpy()
    grid.fill()
    with ti.ad.Tape(grid.loss, grad_check=[grid.x, grid.v]):
        found = [grid.step(0.01) for _ in range(3)]
        grid.energy()
    close(found, alone)
    close(grid.x.to_numpy(), end)


def test_tapes_around_a_tape_see_the_pieces(ti):
    grid = Grid(ti)
    found = []
    for nested in (False, True):
        grid.fill()
        outer, inner = ti.ad.Tape(grid.loss), ti.ad.Tape()
        with outer:
            if nested:
                with inner:
                    grid.step(0.01)
            else:
                grid.step(0.01)
            grid.energy()
        found.append(grid.x.grad.to_numpy())
    close(found[1], found[0])
    assert np.abs(found[0]).min() > 0


def test_check_takes_the_pieces(ti):
    grid = Grid(ti)
    grid.fill()
    assert ti.ad.check(grid.step, 0.01)


def test_kernels_whose_loops_share_a_variable_are_recorded_and_not_cut(ti):
    x, y = (ti.field(ti.f64, 4, needs_grad=True, name=name) for name in "xy")

    @ti.kernel
    def shared():
        total = ti.cast(0, ti.f64)
        for i in x:
            x[i] = x[i] * x[i]
            total += x[i]
        for i in x:
            x[i] = x[i] * x[i] * total

    @ti.kernel
    def read_before():
        first = x[0]
        for i in x:
            x[i] = x[i] * x[i]
        for i in x:
            x[i] = x[i] * x[i] * first

    @ti.kernel
    def constant():
        first = y[0] * 2
        for i in x:
            x[i] = x[i] * x[i]
        for i in x:
            x[i] = x[i] * x[i] * first

    at = np.array([1.5, 0.5, 1.25, 0.75])
    for kernel in (shared, read_before):
        assert pieces_for(kernel, (), {}) == []
        with pytest.raises(CompilationError, match="the kernel overwrites it"):
            kernel.grad()
        x.from_numpy(at)
        tape = ti.ad.Tape()
        with tape:
            kernel()
        x.grad.fill(1)
        tape.grad()
        if kernel is shared:
            close(x.grad.to_numpy(), 4 * at**3 * (at**2).sum() + 2 * at * (at**4).sum())
        else:
            close(x.grad.to_numpy(), 4 * at**3 * at[0] + [(at**4).sum(), 0, 0, 0])
    x.fill(1.5)
    y.fill(0.5)
    assert len(pieces_for(constant, (), {})) == 2
    tape = ti.ad.Tape()
    with tape:
        constant()
    x.grad.fill(1)
    tape.grad()
    close(x.grad.to_numpy(), 4 * 1.5**3)
    close(y.grad.to_numpy(), [4 * 2 * 1.5**4, 0, 0, 0])


def test_what_must_run_once_is_not_cut(ti):
    x = ti.field(ti.f64, 4)

    @ti.kernel
    def random():
        for i in x:
            x[i] = ti.random()
        for i in x:
            x[i] *= 2

    @ti.kernel
    def returns() -> ti.i32:
        if x[0] > 1:
            return 1
        for i in x:
            x[i] = 1
        for i in x:
            x[i] *= 2
        return 2

    @ti.kernel
    def counts():
        old = ti.atomic_add(x[0], 1)
        for i in x:
            x[i] = 1
        for i in x:
            x[i] *= old

    for kernel in (random, returns, counts):
        assert pieces_for(kernel, (), {}) == []


def test_pieces_compute_what_the_kernel_computes(ti):
    x = ti.field(ti.i32, 6)

    @ti.kernel
    def several(n: ti.i32) -> ti.i32:
        k = n + 1
        double = 2 * k
        x[5] = k
        for i in range(n):
            x[i] = i * double
        x[0] += x[5]
        for i in range(n):
            x[i] += x[i] * k
        for i in range(n):
            x[i] -= double
        return x[4] + double

    result = several(5)
    wanted = x.to_numpy()
    x.fill(0)
    pieces = pieces_for(several, (5,), {})
    assert len(pieces) == 6
    assert [piece(5) for piece in pieces] == [None] * 5 + [result]
    assert (x.to_numpy() == wanted).all()


def test_a_return_before_parallel_loops(ti):
    x, n = ti.field(ti.f64, 6, needs_grad=True), ti.field(ti.i32, ())
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def energy(limit: ti.f64) -> ti.i32:
        if x[0] > limit:
            loss[None] += x[0] * x[0]
            return -1
        count = n[None]
        scale = x[1]
        for i in range(count):
            loss[None] += scale * x[i] * x[i]
        if count > 4:
            return count
        for i in x:
            loss[None] += x[i]
        return 0

    at = np.arange(1.0, 7.0)
    for limit, count, wanted in (
        (0.5, 3, [2, 0, 0, 0, 0, 0]),
        (9.0, 3, [1 + 4, 1 + 14 + 8, 1 + 12, 1, 1, 1]),
        (9.0, 5, [4, 55 + 8, 12, 16, 20, 0]),
    ):
        x.from_numpy(at)
        n[None] = count
        with ti.ad.Tape(loss):
            result = energy(limit)
        assert result == (-1 if limit < 1 else count if count > 4 else 0)
        close(x.grad.to_numpy(), wanted)
