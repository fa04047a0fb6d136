"""A kernel that stores a value that carries a derivative to memory without one, and reads it back itself. The
derivative ends there, whatever the compiler makes of the load, and the tape says so."""

import warnings

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close

AT = np.array([1.5, 2.0, 3.0])


def pairs(ti):
    return ti.types.struct(a=ti.f64, v=ti.types.vector(2, ti.f64))


def same_element(ti, x, z, p, loss):
    @ti.kernel
    def run():
        for i in x:
            z[i] = x[i] * x[i]
            loss[None] += z[i] * x[i]

    return run, AT**2


def overwritten(ti, x, z, p, loss):
    """No store would be left, if its value took the place of the load."""

    @ti.kernel
    def run():
        for i in x:
            z[i] = x[i] * x[i]
            loss[None] += z[i] * x[i]
            z[i] = 0.0

    return run, AT**2


def a_local_in_its_place(ti, x, z, p, loss):
    """The gradient needs both values of the element, so that it becomes a local."""

    @ti.kernel
    def run():
        for i in x:
            z[i] = x[i] * x[i]
            loss[None] += z[i] * z[i] * x[i]
            z[i] = x[i] * 3
            loss[None] += z[i] * x[i]

    return run, AT**4 + 3 * AT


def an_old_value(ti, x, z, p, loss):
    @ti.kernel
    def run():
        for i in x:
            z[i] = x[i] * x[i]
            old = ti.atomic_add(z[i], x[i])
            loss[None] += old * x[i] + z[i] * x[i]

    return run, 2 * AT**2 + AT


def a_struct(ti, x, z, p, loss):
    pair = pairs(ti)

    @ti.kernel
    def run():
        for i in x:
            p[i] = pair(x[i] * x[i], ti.Vector([x[i], 2 * x[i]]))
            q = p[i]
            loss[None] += q.a * x[i] + q.v.sum() * x[i]

    return run, AT**2 + 3 * AT


def one_without_a_derivative(ti, x, z, p, loss):
    """What else goes through such memory is a constant anyway."""

    @ti.kernel
    def run():
        for i in x:
            z[i] = 2.0
            loss[None] += z[i] * x[i]

    return run, None


PROGRAMS = [same_element, overwritten, a_local_in_its_place, an_old_value, a_struct, one_without_a_derivative]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_derivative_ends(ti, program):
    for advanced in (True, False):
        ti.init(arch=ti.cfg.arch, advanced_optimization=advanced)
        x, loss = (ti.field(ti.f64, shape, needs_grad=True, needs_dual=True) for shape in (3, ()))
        z = ti.field(ti.f64, 3, name="z")
        p = pairs(ti).field(3)
        run, wanted = program(ti, x, z, p, loss)
        x.from_numpy(AT)
        with warnings.catch_warnings(record=True) as given, ti.ad.Tape(loss):
            warnings.simplefilter("always")
            run()
        assert {one.category for one in given} == (set() if wanted is None else {ti.GradientWarning})
        wanted = np.full(3, 2.0) if wanted is None else wanted
        close(x.grad.to_numpy(), wanted)
        with ti.ad.FwdMode(loss, x, seed=[1.0, 0.0, 0.0]):
            run()
        close(loss.dual[None], wanted[0])
