"""Recorded launches: what is found once for each instance, and what each launch has for itself."""

import threading
import warnings

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.autodiff import sites
from weft.lang.errors import GradientWarning, WeftError
from weft.lang.kernels.kernel import Kernel
from weft.lang.measure import watching


def watched_sites(monkeypatch):
    """The names of the kernels whose sites are made from now on, and of those that Python binds."""
    made, slow, site, bind = [], [], sites.Site, Kernel.bind
    monkeypatch.setattr(sites, "Site", lambda *given: made.append(given[1]) or site(*given))
    monkeypatch.setattr(Kernel, "bind", lambda self, *given: slow.append(self.__name__) or bind(self, *given))
    return made, slow


def test_a_long_simulation_finds_everything_once(ti, monkeypatch):
    """Four kernels, launched again and again. Each has one site, and binds its arguments in Python once."""
    made, slow = watched_sites(monkeypatch)
    steps = 60
    x, loss = ti.field(ti.f64, (steps + 1, 2), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    a = ti.ndarray(ti.f64, 2, needs_grad=True)

    @ti.kernel
    def begin(a: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        for i in a:
            x[0, i] = a[i]

    @ti.kernel
    def even(t: ti.i32):
        for i in range(2):
            x[t + 1, i] = 0.9 * x[t, i] + 0.1 * x[t, i] * x[t, 1 - i]

    @ti.kernel
    def odd(t: ti.i32, rate: ti.f64 = 0.5):
        for i in range(2):
            x[t + 1, i] = x[t, i] - rate * x[t, i] ** 3

    @ti.kernel
    def total():
        for i in range(2):
            loss[None] += x[steps, i]

    def run():
        begin(a)
        for t in range(0, steps, 2):
            even(t)
            odd(t=t + 1)
        total()

    start, gradients = np.array([0.7, 0.4]), []
    for _ in range(2):
        a.from_numpy(start)
        a.grad.fill(0.0)
        made.clear()
        with ti.ad.Tape(loss):
            run()
        assert sorted(made) == ["begin", "even", "odd", "total"]
        gradients.append(a.grad.to_numpy())
    if begin._is_native:
        assert len(slow) <= 8  # each kernel once, and once more where a plan was made for other classes
    close(*gradients)

    def value(at):
        a.from_numpy(at)
        loss[None] = 0.0
        run()
        return loss[None]

    for k, step in enumerate(1e-6 * np.eye(2)):
        close(gradients[0][k], (value(start + step) - value(start - step)) / 2e-6, 1e-6)


def test_nothing_watches_after_the_block(ti):
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    x.fill(1.0)
    total()
    with ti.ad.Tape(loss):
        assert len(watching.watches) == 1
        with ti.ad.Tape():
            total()
            assert len(watching.watches) == 1
        total()
    assert not watching.watches
    with pytest.raises(ZeroDivisionError), ti.ad.Tape(loss):
        _ = 1 // 0
    with pytest.raises(WeftError, match="already entered"), (tape := ti.ad.Tape(loss)), tape:
        pass
    assert not watching.watches
    if total._is_native and not total._interpreted:
        assert [plan.good for plan in total._callers.plans] == [True]  # no call has to find its code anew


def test_each_launch_has_its_own_arguments(ti):
    """Numbers by position, by name and left out; vectors and packs that the program changes; arrays in turns."""
    loss = ti.field(ti.f64, (), needs_grad=True)
    arrays = [ti.ndarray(ti.f64, 2, needs_grad=True) for _ in range(2)]
    kind = ti.types.argpack(scale=ti.f64, offset=ti.types.vector(2, ti.f64))

    @ti.kernel
    def add(
        a: ti.types.ndarray(dtype=ti.f64, ndim=1), v: ti.types.vector(2, ti.f64), p: kind, k: ti.u8, f: ti.f64 = 2.0
    ):
        for i in a:
            loss[None] += f * a[i] * (v[i] + p.scale * p.offset[i]) * k

    vector, pack = ti.Vector([0.0, 0.0], ti.f64), kind(scale=0.0, offset=ti.Vector([1.0, 1.0], ti.f64))
    wanted = np.zeros((2, 2))
    for one in arrays:
        one.fill(3.0)
    with ti.ad.Tape(loss):
        for k in range(1, 9):
            vector[0], vector[1], pack.scale = 1.0 * k, 2.0 * k, 0.5 * k
            if k % 2:
                add(arrays[k % 4 // 2], vector, pack, k)
            else:
                add(a=arrays[k % 4 // 2], v=vector, p=pack, f=float(k), k=k)
            wanted[k % 4 // 2] += (2.0 if k % 2 else k) * np.array([1.5 * k, 2.5 * k]) * k
        vector[0], pack.scale = 100.0, 100.0
    for one, gradient in zip(arrays, wanted):
        close(one.grad.to_numpy(), gradient)


@pytest.mark.parametrize("kind", ["u8", "i8", "u32", "i64", "u64"])
def test_indices_of_any_type_tell_elements_apart(ti, kind):
    """A launch keeps only the elements that it overwrites. An index that divides by 0, or is no index, keeps all."""
    x, loss = ti.field(ti.f64, 8, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def put(t: getattr(ti, kind), by: ti.i32, value: ti.f64):
        if by != 0:
            x[t // by] = value

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    x.fill(2.0)
    with ti.ad.Tape(loss) as tape:
        total()
        put(6, 2, 5.0)
        total()
        put(6, 0, 5.0)
    copies = [[copy.index for copy in record.after] for record in tape._records]
    assert copies == [[], [(3,)], [], [()]]
    close(x.grad.to_numpy(), np.where(np.arange(8) == 3, 4.0, 8.0))


def test_launches_of_other_threads_are_not_recorded(ti):
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    x.fill(1.0)
    with ti.ad.Tape(loss) as tape:
        total()
        other = threading.Thread(target=total)
        other.start()
        other.join()
    assert len(tape._records) == 1
    assert loss[None] == 6.0
    close(x.grad.to_numpy(), np.full(3, 2.0))


def test_a_field_that_is_gone(ti):
    """Its memory is not touched: the end of the block raises an error."""
    loss, builder = ti.field(ti.f64, (), needs_grad=True), ti.FieldsBuilder()
    x = ti.field(ti.f64, needs_grad=True)
    builder.dense(ti.i, 4).place(x, x.grad)
    tree = builder.finalize()

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    tape = ti.ad.Tape()
    with tape:
        total()
        total()
    tree.destroy()
    with pytest.raises(WeftError, match="destroyed"):
        tape.grad()


def test_a_gradient_that_a_tape_has_bound_still_warns(ti):
    """A direct call of it needs old values, which nobody keeps."""
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square_once():
        for i in x:
            x[i] = x[i] * x[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    x.fill(0.5)
    with ti.ad.Tape(loss):
        square_once()
        square_once()
        total()
    with pytest.warns(GradientWarning, match="square_once"):
        square_once.grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        square_once.grad()  # once is enough


def test_a_profile_sees_launches_and_their_gradients(ti):
    x, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    seen = []

    def watch(kernel, call, args, keywords):
        seen.append(kernel.__name__)
        return call(*args, **keywords)

    watching.begin(watch)
    try:
        with ti.ad.Tape(loss):
            total()
            total()
    finally:
        watching.end(watch)
    assert seen == ["total", "total", "total.grad", "total.grad"]
