"""Gradients of steps that share memory: when they may, and that the gradients are the same."""

import gc
import random
import weakref

import numpy as np
import pytest

from tests.lang.autodiff.test_known_zeros import STEPS, Chain, N, Steps, known, ti  # noqa: F401
from tests.sampling import every
from weft.lang.autodiff import folding, repeats
from weft.lang.autodiff.folding import window_of, windows


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Gradients of any size have windows."""
    monkeypatch.setattr(folding, "_LARGE", 0)


def found(loss):
    """The windows of the tapes with that loss. None: they have none."""
    return repeats._known[id(loss)][1]._folded[1]


@pytest.mark.parametrize("seed", every(15, range(60)))
@pytest.mark.filterwarnings("ignore")
def test_random_programs(ti, seed, monkeypatch):  # noqa: F811
    chain = Chain(ti, seed)
    wanted = chain.gradient()
    for _ in range(3):
        np.testing.assert_array_equal(chain.gradient(), wanted)
        known()
    monkeypatch.setattr(folding, "_LARGE", 1 << 60)
    repeats._known.clear()
    for _ in range(3):
        np.testing.assert_array_equal(chain.gradient(), wanted)


class Waves(Steps):
    """Steps that read those of one and two steps before."""

    def __init__(self, ti, steps=12):  # noqa: F811
        super().__init__(ti)
        a = ti.field(ti.f64, (steps, N), needs_grad=True)
        self.fields, start, loss = (a, a), self.start, self.loss

        @ti.kernel
        def begin():
            for i in start:
                a[0, i] = start[i]

        @ti.kernel
        def move(t: ti.i32):
            for i in start:
                around = ti.cast(0.0, ti.f64)
                if 0 < i < N - 1:
                    around = a[t - 1, i - 1] + a[t - 1, i + 1] - 2 * a[t - 1, i]
                before = a[t - 1, i]
                if t > 1:
                    before = a[t - 2, i]
                a[t, i] = 2 * a[t - 1, i] + 0.1 * around - before

        @ti.kernel
        def total():
            for i in start:
                loss[None] += a[steps - 1, i] ** 2

        self.begin, self.total = begin, total
        self.run = lambda: (begin(), [move(t) for t in range(1, steps)], total())


@pytest.fixture
def waves(ti):  # noqa: F811
    made = Waves(ti)
    made.wanted = made.gradient()  # its launches are bound by Python
    made.gradient()
    return made


def test_a_window_of_three_steps(waves):
    for _ in range(3):
        np.testing.assert_array_equal(waves.gradient(), waves.wanted)
        assert [boxes for _, boxes in known()] == [[]] * len(known())
    assert len(found(waves.loss).fields) == 1


def test_too_small_a_window_is_wrong(waves, monkeypatch):
    """So the results show that windows are used, and that their size matters."""
    monkeypatch.setattr(folding, "window_of", lambda apart: 1)
    repeats._known.clear()
    waves.gradient()
    assert (waves.gradient() != waves.wanted).any()


def test_the_program_may_ask_for_the_gradient(waves):
    """It is all 0 after the tape, as it is without a window. Then it is the program's."""
    a = waves.fields[0]
    for _ in range(2):
        waves.gradient()
    assert found(waves.loss) is not None
    assert not a.grad.to_numpy().any()
    np.testing.assert_array_equal(waves.gradient(), waves.wanted)
    assert not found(waves.loss).is_right


def test_the_program_may_write_the_gradient_in_the_block(waves, ti):  # noqa: F811
    a = waves.fields[0]
    for _ in range(2):
        waves.gradient()
    assert found(waves.loss).is_right
    for _ in range(2):
        waves.start.from_numpy(np.arange(1.0, N + 1))
        with ti.ad.Tape(waves.loss):
            waves.run()
            a.grad._window()[9, 2] = 1.0
        more = waves.start.grad.to_numpy() - waves.wanted
        assert (more != 0).any()
    repeats._known.clear()
    waves.start.from_numpy(np.arange(1.0, N + 1))
    with ti.ad.Tape(waves.loss):
        waves.run()
        a.grad._window()[9, 2] = 1.0
    np.testing.assert_allclose(waves.start.grad.to_numpy() - waves.wanted, more, rtol=1e-12)


def test_gradients_that_are_not_0_before(waves, ti):  # noqa: F811
    """Another loss gives the second step a gradient, which the tape adds to."""
    a, other = waves.fields[0], ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def middle():
        for i in range(N):
            other[None] += a[2, i]

    def gradient():
        waves.start.from_numpy(np.arange(1.0, N + 1))
        with ti.ad.Tape(other):
            middle()
        with ti.ad.Tape(waves.loss, clear_gradients=False):
            waves.run()
        return waves.start.grad.to_numpy()

    waves.gradient()
    assert found(waves.loss).is_right
    repeated = gradient()
    repeats._known.clear()
    np.testing.assert_array_equal(repeated, gradient())
    assert (repeated != waves.wanted).any()


def test_a_name_that_the_program_binds_anew(waves, ti):  # noqa: F811
    """A kernel with windows is translated again, but only if that gives the kernel of the launch."""
    a, start, loss, rate = waves.fields[0], waves.start, waves.loss, 0.5

    @ti.kernel
    def move(t: ti.i32):
        for i in start:
            a[t, i] = rate * a[t - 1, i]

    def gradient(after=0.5):
        nonlocal rate
        rate = 0.5
        start.from_numpy(np.arange(1.0, N + 1))
        with ti.ad.Tape(loss):
            waves.begin()
            for t in range(1, 12):
                move(t)
            waves.total()
            rate = after
        return start.grad.to_numpy()

    wanted = gradient()
    gradient()
    np.testing.assert_array_equal(gradient(after=7.0), wanted)  # the first one that comes as expected
    for _ in range(3):
        np.testing.assert_array_equal(gradient(), wanted)


def test_nothing_keeps_a_gradient_alive(ti):  # noqa: F811
    made = Waves(ti)
    for _ in range(3):
        made.gradient()
    gone = weakref.ref(made.fields[0]), weakref.ref(made.fields[0].hidden("grad"))
    del made
    gc.collect()
    assert [one() for one in gone] == [None, None]


class Rows:
    """Launches whose context is their accesses."""

    is_known = True

    def boxes(self, context):
        yield from context


@pytest.fixture
def pair(ti):  # noqa: F811
    """Two hidden gradients of 10 steps."""
    a, b = (ti.field(ti.f32, (10, 4), needs_grad=True) for _ in range(2))
    return a.hidden("grad"), b.hidden("grad")


def of(*launches):
    rows = Rows()
    return {key: steps for key, (_, steps) in windows((rows, one) for one in launches).items()}


def test_windows_of_accesses(pair):
    a, b = pair
    step = [[("write", a, (t - 1, None)), ("clear", a, (t, None))] for t in range(9, 0, -1)]
    end = [("clear", a, (0, None))]
    assert of([("write", a, (9, None))], *step, end) == {id(a): 2}
    assert of([("write", a, (9, None))], *step) == {}, "the first step is not 0 in the end"
    assert of([("write", a, (None, None))], *step, end) == {}, "an index is not known"
    assert of([("write", a, (9, None))], *step, [("read", a, (9, None))], end) == {id(a): 2}
    anywhere = [("read", a, (None, None))]
    assert of([("write", a, (9, None))], anywhere, *step, end) == {}, "it may read all steps"
    early = [("read", a, (7, None)), ("read", a, (9, None))]
    assert of([("write", a, (9, None))], early, *step, end) == {id(a): 3}, "a step that is read is no other one"
    late = [("write", a, (9, None))], [("write", a, (4, None))], *step, end
    assert of(*late) == {}, "two steps that are far apart are not 0 at one time"
    both = [("write", a, (9, None)), ("write", b, (3, None))], *step, end
    assert of(*both) == {id(a): 2}
    known = windows([(type("Unknown", (), {"is_known": False})(), [])])
    assert known == {}


def test_a_gradient_that_the_program_has(ti, pair):  # noqa: F811
    a, _ = pair
    launches = [("write", a, (9, None))], [("clear", a, (9, None))]
    assert of(*launches) == {id(a): 1}
    a.shown = True
    assert of(*launches) == {}


def test_gradients_that_share_memory_or_have_no_axis_of_steps(ti):  # noqa: F811
    """The gradient of a vector writes that of its component, and tiles have two digits for one index."""
    vectors = ti.Vector.field(2, ti.f32, (12, 4), needs_grad=True)
    tiles, rows = (ti.field(ti.f32, needs_grad=True) for _ in range(2))
    ti.root.dense(ti.ij, (6, 2)).dense(ti.ij, (2, 2)).place(tiles)
    ti.root.dense(ti.i, 6).dense(ti.i, 2).dense(ti.j, 4).place(rows)
    fields = vectors.get_scalar_field(1), tiles, rows
    gradients = [one.hidden("grad") for one in fields]
    windows = [of([("write", one, (9, None))], [("clear", one, (9, None))]) for one in gradients]
    assert windows == [{}, {}, {id(gradients[2]): 1}]


@pytest.mark.parametrize("seed", range(20))
def test_the_least_window(seed):
    rng = random.Random(seed)
    apart = {rng.randint(1, 12) for _ in range(rng.randint(0, 6))}
    least = window_of(apart)
    assert all(d % least for d in apart)
    assert all(any(d % w == 0 for d in apart) for w in range(1, least))
