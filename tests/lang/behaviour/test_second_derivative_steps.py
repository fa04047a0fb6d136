"""`ti.ad.hvp` of long loops: in a bounded memory as without, bit by bit."""

import numpy as np
import pytest

from tests.lang.behaviour.pendulums import START, STATE, Pendulums
from weft.lang.autodiff import series


@pytest.fixture
def swing(ti):
    return Pendulums(ti)


@pytest.fixture
def again(monkeypatch):
    """How many launches were made again."""
    count = [0]
    right = series.Series._again

    def counted(self, record, versions):
        count[0] += 1
        right(self, record, versions)

    monkeypatch.setattr(series.Series, "_again", counted)
    return count


def products(swing, body, memories, wrt, direction, *args, count=20):
    """The product of the Hessian and a direction, without `steps` and with each memory."""

    def found(steps):
        def run(*given):
            swing.ti.seed(3)
            swing.x.from_numpy(START)
            swing.v.fill(0.0)
            swing.u.fill(0.1)
            swing.r.fill(0.0)
            body(steps(), *given)
            swing.add()

        swing.k.from_numpy(2.0 + START)
        return np.array(swing.ti.ad.hvp(run, wrt, swing.loss)(direction, *args))

    wanted = found(lambda: range(count))
    assert np.abs(wanted).max() > 1e-3
    for memory in memories:
        np.testing.assert_array_equal(found(lambda memory=memory: swing.ti.ad.steps(count, memory=memory)), wanted)


@pytest.mark.parametrize("memory", [20 * STATE, 9 * STATE, "1 GB"])
def test_each_memory_gives_the_same_product(swing, again, memory):
    def body(steps):
        for t in steps:
            swing.step(0.1 + 0.01 * t)

    products(swing, body, [memory], swing.k, np.linspace(-1.0, 1.0, len(START)))
    assert (again[0] > 0) == (memory != "1 GB")


def test_what_python_writes_and_random_numbers(swing, again):
    """The duals of what Python writes are set again, too."""
    saved = swing.ti.field(swing.ti.f64, len(START))

    def body(steps):
        for t in steps:
            if t == 3:
                saved.copy_from(swing.v)
            if t == 9:
                swing.v.copy_from(saved)
            if t == 12:
                swing.u.fill(0.2)
                swing.x[4] = 0.5
            swing.shake()
            swing.step(0.1)

    products(swing, body, [9 * STATE, 14 * STATE], swing.k, np.linspace(1.0, 2.0, len(START)))
    assert again[0] > 0


def test_functions_without_derivatives(swing, again):
    ti = swing.ti

    @ti.ad.no_grad
    def freeze():
        swing.shake()

    def body(steps):
        for _ in steps:
            freeze()
            swing.step(0.1)

    products(swing, body, [9 * STATE], swing.k, np.linspace(1.0, 2.0, len(START)))
    assert again[0] > 0


def test_what_is_overwritten_after_the_loop(ti, again):
    """And a parameter that is a number, in steps."""
    x, k, loss = ti.field(ti.f64, 8), ti.field(ti.f64, ()), ti.field(ti.f64, ())

    @ti.kernel
    def run(shift: ti.f64):
        for i in x:
            x[i] = ti.sin(k[None] * x[i]) + shift * k[None] * k[None]

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i] * x[i]

    @ti.kernel
    def change():
        k[None] = k[None] * k[None]

    def found(steps):
        def program():
            x.fill(0.7)
            for t in steps():
                run(0.1 * t)
            change()
            run(0.5)
            add()

        k[None] = 1.1
        return ti.ad.hvp(program, k, loss)(0.5)

    wanted = found(lambda: range(12))
    np.testing.assert_array_equal(found(lambda: ti.ad.steps(12, memory=14 * 64)), wanted)
    assert again[0] > 0
