"""Gradients that are not cleared, because they are known to be 0: what is known is true of memory, and the gradients
are those of tapes that clear everything."""

import random
import threading

import numpy as np
import pytest

import weft
from tests.sampling import every
from weft.lang.arrays.op_derivatives import OpDerivatives
from weft.lang.autodiff import tape as tape_module
from weft.lang.autodiff import zeros
from weft.lang.autodiff.repeats import Repeat
from weft.lang.program.init import program

STEPS, N = 5, 6


@pytest.fixture
def ti(kept_kernels):
    """A program on the CPU. (On other arches, launches do not repeat by native code, and nothing is known.)"""
    weft.init(arch=weft.cpu)
    yield weft
    weft.reset()


class Chain:
    """A program that keeps its steps in fields. Its parts are drawn at random."""

    def __init__(self, ti, seed):
        self.ti, rng = ti, random.Random(seed)
        a, b = (ti.field(ti.f64, (STEPS + 1, N), needs_grad=True) for _ in range(2))
        self.start, self.loss = ti.field(ti.f64, N, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
        self.fields, start, loss = (a, b), self.start, self.loss
        low, high = rng.choice([(0, N), (0, N), (1, N), (0, N - 1)])
        self.kinds = [rng.choice(["store", "add", "branch", "shift", "twice", "ahead"]) for _ in range(2)]

        @ti.kernel
        def begin():
            for i in start:
                a[0, i] = start[i]
                b[0, i] = 2.0

        @ti.kernel
        def move(t: ti.i32, x: ti.template(), y: ti.template(), kind: ti.template()):
            for i in range(low, high):
                v = 0.5 * x[t, i] + 0.25 * y[t, i]
                if ti.static(kind == "store"):
                    x[t + 1, i] = v
                elif ti.static(kind == "add"):
                    x[t + 1, i] += v
                elif ti.static(kind == "branch"):
                    if i % 2 == 0:
                        x[t + 1, i] = v
                elif ti.static(kind == "shift"):
                    x[t + 1, (i + 1) % N] = v
                elif ti.static(kind == "twice"):
                    x[t + 1, i] = v
                    y[t + 1, i] = x[t + 1, i] * 3.0
                else:
                    x[t + 2, i] = v  # outside of the field at the end

        @ti.kernel
        def total(at: ti.i32):
            for i in range(N):
                loss[None] += (a[at, i] + b[at, i]) ** 2

        self.begin, self.move, self.total = begin, move, total
        self.steps, self.at = rng.randint(1, STEPS), rng.randint(0, STEPS)

    def run(self):
        a, b = self.fields
        self.begin()
        for t in range(self.steps):
            self.move(t, a, b, self.kinds[0])
            self.move(t, b, a, self.kinds[1])
        self.total(self.at)

    def gradient(self, forget=False):
        for one in self.fields:
            one.fill(0.0)
        self.start.from_numpy(np.arange(1.0, N + 1))
        if forget:
            program().zeros = None
        with self.ti.ad.Tape(self.loss):
            self.run()
        return self.start.grad.to_numpy()


def known():
    """What is known of hidden gradients: each with the boxes that may have other values. It is true of memory."""
    found = program().zeros
    found = (
        []
        if not isinstance(found, zeros.Zeros)
        else [(ref(), boxes) for ref, boxes in found._known.values() if not ref().shown]
    )
    for gradient, boxes in found:
        values = np.array(gradient._window())
        for box in boxes:
            values[tuple(slice(None) if number is None else number for number in box)] = 0
        assert not values.any()
    return found


@pytest.mark.parametrize("seed", every(15, range(60)))
@pytest.mark.filterwarnings("ignore")
def test_random_programs(ti, seed):
    chain = Chain(ti, seed)
    wanted = chain.gradient()
    for _ in range(4):
        np.testing.assert_array_equal(chain.gradient(), wanted)
        known()
    np.testing.assert_array_equal(chain.gradient(forget=True), wanted)


class Steps(Chain):
    """The same without chance: all but `start.grad` is 0 in the end."""

    def __init__(self, ti):
        super().__init__(ti, 0)
        a = ti.field(ti.f64, (STEPS + 1, N), needs_grad=True)
        self.fields, start, loss = (a, a), self.start, self.loss

        @ti.kernel
        def begin():
            for i in start:
                a[0, i] = start[i]

        @ti.kernel
        def move(t: ti.i32):
            for i in range(N):
                a[t + 1, i] = 0.5 * a[t, i] * a[t, i]

        @ti.kernel
        def total():
            for i in range(N):
                loss[None] += a[STEPS, i]

        self.begin, self.move, self.total = begin, move, total

    def run(self):
        self.begin()
        for t in range(STEPS):
            self.move(t)
        self.total()


@pytest.fixture
def steps(ti):
    made = Steps(ti)
    made.wanted = made.gradient()
    for _ in range(3):
        np.testing.assert_array_equal(made.gradient(), made.wanted)
    assert isinstance(program().zeros, zeros.Zeros)
    return made


def right(steps):
    """The next gradient is right, and so is the one behind it."""
    for _ in range(2):
        np.testing.assert_array_equal(steps.gradient(), steps.wanted)


def test_what_is_known(steps):
    assert [boxes for _, boxes in known()] == [[]]


def test_nothing_is_cleared(steps):
    hidden = known()[0][0]
    hidden._window()[...] = 1.0  # nobody can do that, so it shows whether the tape clears it
    assert (steps.gradient() != steps.wanted).any()


@pytest.mark.parametrize("how", ["python", "numpy", "kernel", "element", "component"])
def test_a_program_that_has_the_gradient_may_write_it(steps, ti, how):
    a = steps.fields[0]

    @ti.kernel
    def spoil():
        for t, i in a:
            a.grad[t, i] = 1.0

    if how == "python":
        a.grad.fill(1.0)
    elif how == "numpy":
        a.grad.from_numpy(np.ones(a.shape))
    elif how == "kernel":
        spoil()
    elif how == "element":
        a.grad[2, 3] = 1.0
    else:
        a.companions["grad"][1, 1] = 1.0
    right(steps)


def test_a_gradient_kernel_may_run_by_itself(steps):
    steps.total.grad()
    steps.loss.grad[None] = 1.0
    steps.total.grad()
    right(steps)


def test_a_gradient_kernel_that_was_asked_for_before(ti):
    made = Steps(ti)
    gradient = made.total.grad
    wanted = made.gradient()
    for _ in range(4):
        made.loss.grad[None] = 1.0
        gradient()
        np.testing.assert_array_equal(made.gradient(), wanted)


def test_a_gradient_kernel_of_an_earlier_program(ti):
    @ti.kernel
    def add(x: ti.template(), loss: ti.template()):
        for i in range(N):
            loss[None] += x[STEPS, i]

    gradient = add.grad
    ti.init(arch=program().config.arch)
    made = Steps(ti)
    a, loss = made.fields[0], made.loss
    made.total = lambda: add(a, loss)
    wanted = made.gradient()
    for _ in range(4):
        loss.grad[None] = 1.0
        gradient(a, loss)
        np.testing.assert_array_equal(made.gradient(), wanted)


@pytest.mark.parametrize("how", ["another loss", "other launches", "no end", "twice", "function", "uncleared"])
def test_other_tapes(steps, ti, how):
    other = ti.field(ti.f64, (), needs_grad=True)
    a = steps.fields[0]

    @ti.kernel
    def middle():
        for i in range(N):
            other[None] += a[2, i]

    if how == "another loss":
        with ti.ad.Tape(other):
            middle()
    elif how == "other launches":
        with ti.ad.Tape(steps.loss):
            steps.begin()
            steps.total()
    elif how == "no end":
        with pytest.raises(ZeroDivisionError), ti.ad.Tape(steps.loss):
            steps.begin() or steps.run() or 1 / 0
    elif how == "twice":
        with ti.ad.Tape(steps.loss) as tape:
            steps.run()
        steps.loss.grad[None] = 1.0
        tape.grad()
    elif how == "function":
        ti.ad.grad(middle, a, other)()
    else:
        with ti.ad.Tape(steps.loss, clear_gradients=False):
            steps.run()
    right(steps)


def test_a_tape_in_a_tape(steps, ti):
    other = ti.field(ti.f64, (), needs_grad=True)
    a = steps.fields[0]

    @ti.kernel
    def middle():
        for i in range(N):
            other[None] += a[2, i]

    for _ in range(3):
        with ti.ad.Tape(steps.loss):
            steps.run()
            with ti.ad.Tape(other):
                middle()
    right(steps)


def test_accesses_outside_are_not_masked(ti):
    arch = program().config.arch
    ti.init(arch=arch, mask_out_of_bounds=False)
    made = Steps(ti)
    wanted = made.gradient()
    for _ in range(3):
        np.testing.assert_array_equal(made.gradient(), wanted)
    assert not isinstance(program().zeros, zeros.Zeros)


def test_boxes_that_are_told_apart_are_few():
    class Rows:
        is_known = True

        def boxes(self, context):
            yield "write", self, (context, None)

    rows = Rows()
    found = zeros.other_values((rows, k) for k in range(1000))
    assert (None, None) in found[id(rows)]
    assert len(found[id(rows)]) < 100


def test_a_tape_of_another_thread(steps, ti):
    c, other = ti.field(ti.f64, N, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add():
        for i in range(N):
            other[None] += c[i]

    def differentiate():
        with ti.ad.Tape(other):
            add()

    differentiate()
    for _ in range(3):
        with ti.ad.Tape(steps.loss):
            steps.run()
            thread = threading.Thread(target=differentiate)
            thread.start()
            thread.join()
    known()
    differentiate()
    np.testing.assert_array_equal(c.grad.to_numpy(), np.ones(N))


def test_tapes_that_never_clear(ti):
    made = Steps(ti)
    one = made.gradient()
    ti.reset()
    ti.init(arch=ti.cpu)
    made = Steps(ti)
    for count in range(1, 5):
        made.start.from_numpy(np.arange(1.0, N + 1))
        with ti.ad.Tape(made.loss, clear_gradients=False):
            made.run()
        assert not isinstance(program().zeros, zeros.Zeros)
        np.testing.assert_allclose(made.start.grad.to_numpy(), count * one)


def test_gradients_that_run_while_another_tape_begins_and_ends(steps, ti, monkeypatch):
    """The other tape cannot know what these write behind its begin. So nothing is known afterwards."""
    other = ti.field(ti.f64, (), needs_grad=True)
    a = steps.fields[0]

    @ti.kernel
    def first():
        for i in range(N):
            other[None] += a[STEPS, i] * a[0, i]

    @ti.kernel
    def alone():
        other[None] += 1.0

    def differentiate():
        with ti.ad.Tape(other):
            alone()

    for _ in range(3):
        differentiate()
    with ti.ad.Tape(other) as tape:
        first()
    run_back = tape_module.run_back

    def interrupted(records):
        thread = threading.Thread(target=differentiate)
        thread.start()
        thread.join()
        run_back(records)

    other.grad[None] = 1.0
    monkeypatch.setattr(tape_module, "run_back", interrupted)
    tape.grad()
    monkeypatch.undo()
    known()
    right(steps)


def test_expected_gradients_that_run_while_another_tape_begins_and_ends(steps, ti, monkeypatch):
    c, other = ti.field(ti.f64, N, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    run_back = Repeat.run_back

    @ti.kernel
    def add():
        for i in range(N):
            other[None] += c[i]

    def differentiate():
        with ti.ad.Tape(other):
            add()

    def interrupted(repeat, folds):
        monkeypatch.undo()
        thread = threading.Thread(target=differentiate)
        thread.start()
        thread.join()
        return run_back(repeat, folds)

    differentiate()
    steps.gradient()
    monkeypatch.setattr(Repeat, "run_back", interrupted)
    steps.gradient()
    known()
    for _ in range(3):
        differentiate()
        known()
    np.testing.assert_array_equal(c.grad.to_numpy(), np.ones(N))


def test_an_index_that_wraps_around(ti):
    """It is in the field, though the sum of the parameter and the constant is not."""
    a, start = ti.field(ti.f64, (4, N), needs_grad=True), ti.field(ti.f64, N, needs_grad=True)
    one, other = (ti.field(ti.f64, (), needs_grad=True) for _ in range(2))

    @ti.kernel
    def move(t: ti.i32):
        for i in range(N):
            a[t - 2147483643 - 4, i] = 0.5 * a[t - 2147483644 - 4, i]

    @ti.kernel
    def total():
        for i in range(N):
            one[None] += a[1, i]

    @ti.kernel
    def begin():
        for i in range(N):
            a[0, i] = start[i]

    @ti.kernel
    def use():
        for i in range(N):
            other[None] += 3.0 * a[0, i]

    for _ in range(4):
        with ti.ad.Tape(one):
            move(-(2**31))
            total()
        known()
        with ti.ad.Tape(other):
            begin()
            use()
        np.testing.assert_array_equal(start.grad.to_numpy(), np.full(N, 3.0))


def test_an_operator_of_another_library(steps, ti):
    """It runs a derivative that adds to the gradients of fields."""
    a = steps.fields[0]

    @ti.kernel
    def product(x: ti.types.ndarray(ti.f64, 1), y: ti.types.ndarray(ti.f64, 1)):
        for i in range(N):
            y[i] = x[i] * a[2, i]

    made = OpDerivatives(product, ["x", "y"], np.zeros_like)
    given = {"x": np.ones(N), "y": np.ones(N)}
    made.gradient(given, lambda: {"y": np.zeros(N)}, {"y": np.ones(N)}, ["x"])
    right(steps)


def test_what_is_known_again(steps, ti):
    """The same object, until there is another gradient."""
    before = program().zeros
    steps.gradient()
    assert program().zeros is before
    c, other = ti.field(ti.f64, N, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def add():
        for i in range(N):
            other[None] += c[i]

    for _ in range(3):
        with ti.ad.Tape(other):
            add()
    for _ in range(3):
        right(steps)
        known()
    assert program().zeros is not before
    assert {id(one) for one, _ in known()} >= {id(c.hidden("grad"))}
