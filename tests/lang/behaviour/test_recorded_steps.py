"""Launches that record values, in loops of `ti.ad.steps` and in blocks of several tapes."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.autodiff.records import RecordedLaunch
from weft.lang.errors import CompilationError

N, STEPS = 48, 9


class Simulation:
    """Steps that overwrite elements twice, fill a list in any order, and multiply in a loop of unknown length."""

    def __init__(self, ti):
        in_order = ti.cfg.arch == ti.cuda  # on which two tapes could see two orders of the list
        self.ti = ti
        self.x, self.y = (ti.field(ti.f64, N, needs_grad=True, name=name) for name in "xy")
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        at, count = ti.field(ti.i32, N), ti.field(ti.i32, ())
        x, y, loss = self.x, self.y, self.loss
        at.from_numpy(np.random.default_rng(2).permutation(N).astype(np.int32))

        @ti.kernel
        def twice(c: ti.f64):
            for i in x:
                j = at[i]
                x[j] = ti.sin(x[j]) * c
                x[j] = x[j] ** 2 + 0.3
            count[None] = 0

        @ti.kernel
        def collect():
            ti.loop_config(serialize=in_order)
            for i in x:
                slot = ti.atomic_add(count[None], 1)
                y[slot] = x[i] * (1 + slot % 3)

        @ti.kernel
        def back():
            for i in x:
                for _ in range(1 + i % 4):
                    x[at[i]] *= 1 + 0.1 * x[at[i]]
                x[at[i]] = 0.5 * x[at[i]] + 0.1 * ti.sin(y[at[i]])

        @ti.kernel
        def total():
            for i in x:
                loss[None] += x[i] * (i + 1)

        self.kernels = twice, collect, back, total

    def start(self, values):
        self.x.from_numpy(values)
        self.y.fill(0.0)

    def run(self, steps):
        twice, collect, back, total = self.kernels
        for t in steps:
            twice(1.0 + 0.01 * t)
            collect()
            back()
        total()

    def gradient(self, steps, values):
        self.start(values)
        with self.ti.ad.Tape(self.loss):
            self.run(steps())
        return self.x.grad.to_numpy()


START = np.random.default_rng(1).uniform(0.2, 1.0, N)


def test_steps_record_again_what_does_not_fit(ti, monkeypatch):
    simulation, again = Simulation(ti), []
    whole = RecordedLaunch.__call__
    monkeypatch.setattr(RecordedLaunch, "__call__", lambda self: again.append(self) or whole(self))
    wanted = simulation.gradient(lambda: ti.ad.steps(STEPS), START)
    assert not again
    for memory in (6000, 12_000):
        close(simulation.gradient(lambda memory=memory: ti.ad.steps(STEPS, memory=memory), START), wanted)
        assert again
        again.clear()
        simulation.start(START)
        close(
            ti.ad.grad(
                lambda memory=memory: simulation.run(ti.ad.steps(STEPS, memory=memory)), simulation.x, simulation.loss
            )(),
            wanted,
        )
        assert again
        again.clear()
    direction = np.random.default_rng(3).uniform(-1, 1, N)
    moved = []
    for sign in (1, -1):
        simulation.gradient(lambda: ti.ad.steps(STEPS), START + sign * 1e-6 * direction)
        moved.append(simulation.loss[None])
    np.testing.assert_allclose(wanted @ direction, (moved[0] - moved[1]) / 2e-6, rtol=1e-6)


def test_the_memory_of_steps_counts_records(ti):
    simulation = Simulation(ti)
    with pytest.raises(Exception, match="a step of this loop needs"):
        simulation.gradient(lambda: ti.ad.steps(STEPS, memory=2500), START)


def test_two_tapes_share_records(ti):
    simulation = Simulation(ti)
    wanted = simulation.gradient(lambda: range(3), START)
    other = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def second():
        for i in simulation.x:
            other[None] += simulation.x[i] ** 2

    simulation.start(START)
    with ti.ad.Tape(other):
        simulation.run(range(3))
        second()
    alone = simulation.x.grad.to_numpy()
    simulation.start(START)
    with ti.ad.Tape(simulation.loss):
        with ti.ad.Tape(other, clear_gradients=False):
            simulation.run(range(3))
            second()
        close(simulation.x.grad.to_numpy(), alone)
        ti.ad.clear_all_gradients()
    close(simulation.x.grad.to_numpy(), wanted)
    outer, inner = ti.ad.Tape(simulation.loss), ti.ad.Tape(other, clear_gradients=False)
    with pytest.raises(CompilationError, match="another block is around this one"), outer, inner:
        simulation.run(ti.ad.steps(3))
