"""`Tape(validation=True)` finds races that depend on data, of which a gradient says nothing."""

import numpy as np
import pytest

from weft.ir.errors import WeftError
from weft.runtime.errors import DataRace


class Scatter:
    """`put` stores x[i] to y[k[i]], in one loop or in the second one of two."""

    def __init__(self, ti, k):
        self.x, self.y = (ti.field(ti.f64, 8, needs_grad=True, name=name) for name in "xy")
        self.loss, self.k = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.i32, 8)
        self.x.from_numpy(np.arange(1.0, 9.0))
        self.k.from_numpy(np.array(k, np.int32))
        x, y, k, loss = self.x, self.y, self.k, self.loss

        @ti.kernel
        def put():
            for i in x:
                y[k[i]] = x[i]

        @ti.kernel
        def put_twice():
            for i in x:
                y[i] = x[i]
            for i in x:
                y[k[i]] = x[i] * y[k[i]]  # reads what the first loop has stored

        @ti.kernel
        def total(weights: ti.types.ndarray(ti.f64, 1)):
            for i in y:
                loss[None] += y[i] * weights[i] * ti.random(ti.f64)

        self.put, self.put_twice, self.total = put, put_twice, total


REPEATED = [3, 1, 2, 0, 5, 1, 7, 6]


@pytest.mark.parametrize("which", ["put", "put_twice"])
def test_a_race_that_depends_on_data_is_named(ti, which):
    made = Scatter(ti, REPEATED)
    put = getattr(made, which)

    def differentiate():
        with ti.ad.Tape(made.loss, validation=True):
            put()
            made.total(np.ones(8))

    with pytest.raises(DataRace, match=r"(?s)y\[k\[i\]\] = x\[i\].*iteration i = 5 (writes|reads) y\[1\], and"):
        differentiate()
    with ti.ad.Tape(made.loss):  # nothing is said
        put()


def test_races_in_tapes_in_tapes_and_in_steps(ti):
    made = Scatter(ti, REPEATED)

    def inside():
        with ti.ad.Tape(None), ti.ad.Tape(made.loss, validation=True):
            made.put()

    def around():
        with ti.ad.Tape(made.loss, validation=True), ti.ad.Tape(None):
            made.put()

    def repeated():
        with ti.ad.Tape(made.loss, validation=True):
            for _ in ti.ad.steps(3):
                made.put()

    for one in (inside, around, repeated):
        with pytest.raises(DataRace, match="writes y"):
            one()


def test_gradients_of_programs_without_a_race_are_the_same(ti):
    made, found = Scatter(ti, [3, 1, 2, 0, 5, 4, 7, 6]), []
    for validation in (False, True, True):
        ti.ad.clear_all_gradients()
        with ti.ad.Tape(made.loss, validation=validation):
            made.put()
            made.put_twice()
            made.total(np.arange(8.0))
        slopes = made.x.grad.to_numpy()  # of x[i]^2 times what was drawn
        assert made.loss[None] == pytest.approx((slopes * made.x.to_numpy()).sum() / 2)
        found.append(made.loss[None])
    assert len(set(found)) == 3  # each launch draws anew


def test_numbers_that_functions_draw_are_refused(ti):
    x, loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.real_func
    def drawn() -> ti.f64:
        return ti.random(ti.f64)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * drawn()

    x.fill(1.0)
    with ti.ad.Tape(loss):
        total()
    assert x.grad.to_numpy().sum() == pytest.approx(loss[None])

    def differentiate():
        with ti.ad.Tape(loss, validation=True):
            total()

    with pytest.raises(WeftError, match=r"(?s)return ti.random.*cannot draw the numbers of a @real_func again"):
        differentiate()


def test_the_check_of_races_draws_the_same_numbers(ti):
    """As a program with `check_races=True` does, and its gradients."""
    shape = (3, 4)
    x, drawn = ti.field(ti.f64, shape, needs_grad=True), ti.field(ti.f64, shape)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total():
        for i, j in x:
            skipped = ti.random(ti.f64)
            drawn[i, j] = ti.random(ti.f64)
            loss[None] += x[i, j] * drawn[i, j] + 0 * skipped

    for validation in (True, False):
        with ti.ad.Tape(loss, validation=validation):
            total()
        np.testing.assert_array_equal(x.grad.to_numpy(), drawn.to_numpy())
