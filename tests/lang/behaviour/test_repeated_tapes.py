"""Tapes that record what the last tape with the same loss recorded: native code runs these launches, Python others."""

import random
import signal
import threading
from contextvars import copy_context

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from tests.sampling import every
from weft.lang.autodiff import repeats
from weft.lang.autodiff.repeats import Repeat
from weft.lang.autodiff.tape import Tape
from weft.lang.measure import watching
from weft.runtime.launch import CpuKernel
from weft.runtime.repeats import Repeats

STEPS = 6


class Orbit:
    """A program with time as an axis. `by_python` are the launches that a tape recorded through Python."""

    def __init__(self, ti, monkeypatch):
        self.ti, self.by_python = ti, []
        n = 4
        self.x, self.loss = ti.field(ti.f64, (STEPS + 1, n), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
        self.scale, self.other = ti.field(ti.f64, n, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
        self.is_native = True

        @ti.kernel
        def move(t: ti.i32, rate: ti.f64 = 0.5):
            for i in range(n):
                self.x[t + 1, i] = self.x[t, i] - rate * self.scale[i] * self.x[t, i] ** 2

        @ti.kernel
        def total(weight: ti.f64) -> ti.i32:
            for i in range(n):
                self.loss[None] += weight * self.x[STEPS, i] ** 2
            return 7

        @ti.kernel
        def double():
            for i in range(n):
                self.scale[i] *= 2.0

        self.move, self.total, self.double = move, total, double
        launch = Tape.launch

        def counted(tape, kernel, *given):
            self.by_python.append(kernel.__name__)
            return launch(tape, kernel, *given)

        monkeypatch.setattr(Tape, "launch", counted)
        self.reset()
        move(0)
        self.is_native = move._is_native and not move._interpreted

    def reset(self):
        self.x.fill(0.5)
        self.scale.from_numpy(np.array([0.1, 0.2, 0.3, 0.4]))

    def run(self, change=lambda t: None, steps=STEPS, weight=1.0, first=0):
        for t in range(first, steps):
            change(t)
            self.move(t)
        assert self.total(weight) == 7

    def gradient(self, *given, clear=False, **named):
        """The gradients of a run, the loss, and which launches went through Python."""
        if clear:
            self.forget()
        self.reset()
        self.by_python.clear()
        with self.ti.ad.Tape(self.loss):
            self.run(*given, **named)
        found = [one.grad.to_numpy().copy() for one in (self.x, self.scale)], self.loss[None]
        return [*found[0], found[1]], list(self.by_python)

    def forget(self):
        repeats._known.clear()

    def same(self, *given, **named):
        """Whether a run gives what it gives if nothing is expected. Returns what Python recorded."""
        got, by_python = self.gradient(*given, **named)
        wanted, every = self.gradient(*given, clear=True, **named)
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        return by_python if self.is_native else [], every


@pytest.fixture
def orbit(ti, monkeypatch):
    made = Orbit(ti, monkeypatch)
    made.gradient(), made.gradient()
    yield made
    assert Repeats._now is None
    assert not watching.watches


def test_the_same_launches_are_native(orbit):
    by_python, every = orbit.same()
    assert by_python == []
    assert len(every) == STEPS + 1


def runs_series(orbit):
    """Whether one call of native code may make launches of several kernels here."""
    (instance,) = orbit.move._instances.values()
    return orbit.is_native and getattr(instance.run, "in_series", None) is not None


@pytest.mark.parametrize(("steps", "sizes"), [(0, []), (1, [1]), (5, [5])])
def test_native_code_runs_the_gradients(orbit, monkeypatch, steps, sizes):
    """Those of the launches that came, by one call."""
    if not runs_series(orbit):
        pytest.skip("native code launches several kernels at once")
    found, right = list[int](), CpuKernel.replay_all

    def counted(self, items, kernels):
        found.append(len(items) // 3)
        return right(self, items, kernels)

    def gradient():
        orbit.reset()
        orbit.x.grad.fill(1.0)
        orbit.scale.grad.fill(0.0)
        with orbit.ti.ad.Tape(orbit.loss, clear_gradients=False):
            for t in range(steps):
                orbit.move(t)
        return orbit.scale.grad.to_numpy()

    orbit.gradient(clear=True)
    monkeypatch.setattr(CpuKernel, "replay_all", counted)
    expected = gradient()
    assert found == sizes
    orbit.forget()
    np.testing.assert_array_equal(expected, gradient())
    assert expected.any() == (steps > 0)
    assert found == sizes


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no such timer")
def test_a_signal_between_the_gradients(orbit, monkeypatch):
    """Its handler does not wait for the launches behind it, and the next tape gives right gradients."""
    if not runs_series(orbit):
        pytest.skip("native code launches several kernels at once")
    ti, steps, many, right = orbit.ti, 100, 1000, CpuKernel.replay_all
    x, loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(2))

    @ti.kernel
    def add():
        loss[None] += x[None]

    def gradient():
        with ti.ad.Tape(loss):
            for _ in range(steps):
                add()
        return x.grad[None]

    def late(self, items, kernels):
        more = items * many
        signal.setitimer(signal.ITIMER_REAL, 2e-3)
        right(self, more, kernels)

    def handle(number, frame):
        raise TimeoutError

    gradient(), gradient()
    before = signal.signal(signal.SIGALRM, handle)
    with monkeypatch.context() as patch:
        patch.setattr(CpuKernel, "replay_all", late)
        with pytest.raises(TimeoutError):
            gradient()
    signal.signal(signal.SIGALRM, before)
    assert x.grad[None] < steps * many
    assert gradient() == steps


def test_values_may_differ(orbit):
    """Only what selects memory is compared: values of fields are not."""
    results = []
    for scale in (0.1, 0.7):
        orbit.by_python.clear()
        orbit.x.fill(0.5)
        orbit.scale.fill(scale)
        with orbit.ti.ad.Tape(orbit.loss):
            orbit.run()
        results.append(orbit.scale.grad.to_numpy()[0])
        assert not orbit.is_native or orbit.by_python == []
    step = 1e-6
    for scale, found in zip((0.1, 0.7), results, strict=True):
        ends = []
        for at in (scale - step, scale + step):
            orbit.x.fill(0.5)
            orbit.scale.fill(at)
            orbit.loss[None] = 0
            orbit.run()
            ends.append(orbit.loss[None] / 4)
        close(found, (ends[1] - ends[0]) / (2 * step), 1e-6)


@pytest.mark.parametrize("weight", [2.0, float("nan")])
def test_another_argument(orbit, weight):
    by_python, _ = orbit.same(weight=weight)
    assert by_python in ([], ["total"])


def test_less_and_more_launches(orbit):
    assert orbit.same(first=3)[0] == (["move"] * 3 + ["total"] if orbit.is_native else [])
    orbit.gradient(first=3)
    assert orbit.same(first=3)[0] == []
    more, _ = orbit.same(lambda t: orbit.move(t) if t == 5 else None)
    assert more[:1] == ["move"] or not orbit.is_native


def test_a_block_that_ends_early(orbit):
    """Its gradients are those of what came."""
    for _ in range(2):
        orbit.reset()
        with orbit.ti.ad.Tape(orbit.loss):
            orbit.move(0)
        assert not orbit.scale.grad.to_numpy().any()
        with orbit.ti.ad.Tape():
            pass
        assert orbit.same()[0] == []
        orbit.gradient()


EVENTS = {
    "an element": lambda o: o.x.__setitem__((3, 0), 0.25),
    "all elements": lambda o: o.scale.fill(0.3),
    "a copy": lambda o: o.scale.copy_from(o.scale),
    "an overwriting kernel": lambda o: o.double(),
    "names": lambda o: o.move(t=2),
    "a name behind the expected argument": lambda o: o.move(3, rate=0.25),
    "a gradient": lambda o: o.move.grad(1),
    "another tape": lambda o: _inner(o),
    "an unrecorded kernel": lambda o: o.ti.ad.no_grad(o.double)(),
    "the expected kernel, unrecorded": lambda o: o.ti.ad.no_grad(lambda: o.move(3))(),
    "a kernel in another context": lambda o: _elsewhere(o),
    "steps": lambda o: [o.move(4) for _ in o.ti.ad.steps(2)],
}


def _inner(orbit):
    with orbit.ti.ad.Tape(orbit.other, clear_gradients=False):
        orbit.move(1)


def _elsewhere(orbit):
    thread = threading.Thread(target=lambda: orbit.move(3))
    thread.start()
    thread.join()


@pytest.mark.parametrize("name", EVENTS)
def test_what_else_happens(orbit, name):
    """What comes between expected launches is recorded, and so is what comes after it."""

    def change(t):
        if t == 3:
            EVENTS[name](orbit)

    by_python, _ = orbit.same(change)
    if orbit.is_native and name not in ("a kernel in another context", "a gradient"):
        assert by_python
    for _ in range(3):
        orbit.same(change)
        orbit.gradient(change)


ACTIONS = [*EVENTS.values(), *[lambda o, t=t: o.move(t) for t in range(STEPS)] * 3, lambda o: o.total(1.0)]


@pytest.mark.parametrize("seed", every(3, range(9)))
def test_random_blocks(orbit, seed):
    """Blocks that change a little from round to round, with all that can happen between launches."""
    draw = random.Random(seed)
    actions = [draw.choice(ACTIONS) for _ in range(draw.randint(2, 12))]

    def run(**_):
        for action in actions:
            action(orbit)
        orbit.total(0.5)

    orbit.run = run
    for _ in range(5):
        orbit.same()
        if draw.random() < 0.6:
            actions[draw.randrange(len(actions))] = draw.choice(ACTIONS)
        elif draw.random() < 0.3:
            actions.append(draw.choice(ACTIONS))


def test_another_watch(orbit):
    """A watch of launches sees each of them."""
    seen = []

    def watch(kernel, call, args, keywords):
        seen.append(kernel.__name__)
        return call(*args, **keywords)

    watching.begin(watch)
    try:
        orbit.gradient()
    finally:
        watching.end(watch)
    assert seen.count("move") == STEPS
    assert seen.count("move.grad") == STEPS


def test_two_threads(orbit):
    """Each has its tape, and one of them expects launches."""
    wanted, _ = orbit.gradient(clear=True)
    orbit.gradient()
    x, loss = orbit.ti.field(orbit.ti.f64, 3, needs_grad=True), orbit.ti.field(orbit.ti.f64, (), needs_grad=True)

    @orbit.ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    x.fill(1.0)
    for _ in range(2):
        with orbit.ti.ad.Tape(loss):
            total()
    found = []

    def other():
        with orbit.ti.ad.Tape(loss, clear_gradients=False):
            total()
        found.append(x.grad.to_numpy())

    def change(t):
        if t == 2:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

    x.grad.fill(0)
    got, _ = orbit.gradient(change)
    for one, two in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, two)
    close(found[0], np.full(3, 2.0))


def test_threads_in_copies_of_the_context(ti):
    """They launch at the same time, and each launch counts."""
    n = 100_000 if ti.cfg.arch == ti.cpu else 8
    x, y, loss = (ti.field(ti.f64, shape, needs_grad=True) for shape in ((), n, ()))

    @ti.kernel
    def grow():
        for i in y:
            y[i] += ti.sin(x[None] * i) / n

    @ti.kernel
    def total():
        ti.loop_config(serialize=True)
        for i in y:
            loss[None] += y[i]

    def launch():
        for _ in range(4):
            grow()

    found = []
    for _ in range(5):
        y.fill(0.0)
        x[None] = 0.5
        with ti.ad.Tape(loss):
            threads = [threading.Thread(target=copy_context().run, args=(launch,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            total()
        found.append(x.grad[None])
    close(found, [8 * float((np.arange(n) * np.cos(0.5 * np.arange(n))).sum() / n)] * 5, rtol=1e-8)


def test_expected_launches_that_no_tape_sees(orbit):
    """In another thread, and in a function whose launches are not recorded."""

    def run(**_):
        for t in range(STEPS):
            orbit.move(t)
        thread = threading.Thread(target=lambda: orbit.total(1.0))
        thread.start()
        thread.join()
        orbit.ti.ad.no_grad(lambda: orbit.total(1.0))()
        orbit.total(1.0)

    orbit.run = run
    for _ in range(3):
        orbit.same()


def test_a_watch_that_begins_in_the_block(orbit):
    """It sees the launches from then on."""
    seen = []

    def watch(kernel, call, args, keywords):
        seen.append(kernel.__name__)
        return call(*args, **keywords)

    with orbit.ti.ad.Tape(orbit.loss):
        orbit.move(0)
        watching.begin(watch)
        try:
            orbit.move(1)
            orbit.move(2)
        finally:
            watching.end(watch)
        orbit.move(3)
    assert seen == ["move", "move"]


def test_an_exception_in_the_block(orbit):
    """No gradient runs, and the next block works."""
    orbit.reset()

    def fail(t):
        if t == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), orbit.ti.ad.Tape(orbit.loss):
        orbit.run(fail)
    assert orbit.same()[0] == []


def test_gradients_twice(orbit):
    """`grad` in the block, and after it."""
    orbit.reset()
    wanted = orbit.gradient(clear=True)[0]
    orbit.gradient()
    orbit.reset()
    with orbit.ti.ad.Tape(orbit.loss) as tape:
        orbit.run()
    orbit.loss.grad[None] = 1.0
    orbit.x.grad.fill(0)
    tape.grad()
    close(orbit.scale.grad.to_numpy(), 2 * wanted[1])


def test_nothing_expected_is_a_repeat_of_the_loss(orbit):
    """A tape of another loss expects nothing."""
    orbit.reset()
    with orbit.ti.ad.Tape(orbit.other) as tape:
        assert tape._repeat is None
    with orbit.ti.ad.Tape(orbit.loss) as tape:
        assert isinstance(tape._repeat, Repeat) or not orbit.is_native
        orbit.run()
    with orbit.ti.ad.Tape(orbit.loss, save=False, validation=True):
        orbit.run()
