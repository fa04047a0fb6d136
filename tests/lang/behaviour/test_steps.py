"""`ti.ad.steps`: the gradients of long loops in a bounded memory are those without `steps`, bit by bit."""

import numpy as np
import pytest

from tests.lang.behaviour.pendulums import START, STATE, Pendulums
from weft.ir.errors import TypeMismatch
from weft.lang.autodiff import series
from weft.lang.autodiff.series import MemoryTooSmall
from weft.lang.errors import ArgumentError


@pytest.fixture
def swing(ti):
    return Pendulums(ti)


@pytest.fixture
def most(monkeypatch):
    """The most bytes that a loop used."""
    used = [0]
    hold = series.Budget.hold

    def held(budget, copies):
        hold(budget, copies)
        used[0] = max(used[0], budget.used)

    monkeypatch.setattr(series.Budget, "hold", held)
    return used


def test_each_memory_gives_the_same_gradients(swing, most):
    def body(steps):
        for t in steps:
            swing.step(0.1 + 0.01 * t)
        swing.add()

    for memory in ("1GB", 20 * STATE, 8 * STATE, 5 * STATE, 4 * STATE, 3.2 * STATE):
        most[0] = 0
        swing.compare(body, [memory if isinstance(memory, str) else int(memory)])
        if not isinstance(memory, str):
            assert most[0] + STATE <= memory  # the values at the end of the loop take the rest


def test_what_happens_before_and_after_the_loop(swing):
    def body(steps):
        swing.step(0.3)
        swing.add()
        for t in steps:
            swing.step(0.1)
            if t % 3 == 0:
                swing.add()
        swing.k.fill(1.0)
        swing.step(0.2)
        swing.add()

    swing.compare(body, [None, 6 * STATE, 4 * STATE])


def test_python_in_the_body(swing):
    """Inputs of each step, elements that Python writes, arguments and branches that depend on values."""

    def body(steps):
        for t in steps:
            swing.u.from_numpy(0.01 * t * START)
            if t % 4 == 1:
                swing.u[3] = 0.5 + swing.x[2]
            if t == 7:
                swing.x[5] = 1.0
            if t == 12:
                swing.v.copy_from(swing.x)
            swing.step(0.1 + 0.1 * abs(swing.x[0]))

        swing.add()

    swing.compare(body, [6 * STATE, 4 * STATE])


def test_what_is_read_only_when_it_is_made_again(swing):
    """After the loop, memory changes that no gradient reads, but that launches and copies read."""

    def body(steps):
        swing.shift.fill(0.01)
        swing.r.fill(0.3)
        for t in steps:
            swing.step(0.1)
            swing.push()
            if t % 4 == 2:
                swing.u.copy_from(swing.r)
        swing.add()
        swing.shift.fill(5.0)
        swing.r.fill(7.0)

    swing.compare(body, [7 * STATE, 5 * STATE])


def test_random_numbers(swing):
    def body(steps):
        for _ in steps:
            swing.shake()
            swing.step(0.1)
        swing.add()
        swing.shake()

    swing.compare(body, [9 * STATE, 6 * STATE])


def test_kernels_that_draw_and_kernels_that_run_in_pieces(swing):
    """A gradient that needs random numbers, and one that needs values between two loops of its kernel."""
    ti, x, v = swing.ti, swing.x, swing.v

    @ti.kernel
    def draw(scale: ti.f64):
        for i in x:
            x[i] += scale * ti.random(ti.f64) * ti.sin(x[i])

    @ti.kernel
    def two_loops():
        for i in x:
            x[i] = 0.9 * x[i] + 0.1 * ti.sin(x[i])
        for i in x:
            v[i] += x[i] * x[i]

    @ti.kernel
    def largest() -> ti.f64:
        found = ti.cast(0.0, ti.f64)
        for i in x:
            ti.atomic_max(found, ti.stop_grad(x[i]))
        return found

    def body(steps):
        for t in steps:
            draw(scale=0.01 * t)
            two_loops()
            if largest() > 1.2:
                swing.step(0.1)
        swing.add()

    swing.compare(body, [8 * STATE, 5 * STATE])


def test_gradients_in_the_loop(swing):
    """What Python writes into gradients is not made again, and launches that use them are refused."""
    ti, x = swing.ti, swing.x
    a = ti.ndarray(ti.f64, len(START), needs_grad=True)

    @ti.kernel
    def move(a: ti.types.ndarray()):
        for i in a:
            a[i] = ti.sin(a[i]) + x[i]
        for i in a:
            x[i] += 0.1 * a[i]

    def body(steps):
        a.from_numpy(START)
        for _ in steps:
            x.grad.fill(3.0)
            x.grad[2] = 5.0
            a.grad.fill(1.0)
            move(a)
            with ti.ad.Tape():
                swing.step(0.1)
        a.grad.fill(0.0)
        ti.ad.clear_all_gradients()
        swing.add()

    swing.compare(body, [8 * STATE, 6 * STATE])

    @ti.kernel
    def descend():
        for i in x:
            x[i] -= x.grad[i]

    def refused():
        with ti.ad.Tape(swing.loss):
            for _ in ti.ad.steps(3):
                ti.ad.no_grad(descend)()

    with pytest.raises(ArgumentError, match=r"kernel 'descend' uses .*, which is a gradient or a dual"):
        refused()


def test_two_loops_and_loops_in_loops(swing):
    ti = swing.ti

    def body(steps, memory=None):
        for t in steps:
            swing.step(0.1)
            for _ in range(t % 4) if memory is None else ti.ad.steps(t % 4, memory=memory):
                swing.step(0.05)
            swing.add()
        for _ in range(9) if memory is None else ti.ad.steps(9, memory=memory):
            swing.step(0.2)
        swing.add()

    wanted = swing.gradients(body, range(8))
    for memory in (10 * STATE, 5 * STATE):
        found = swing.gradients(lambda m=memory: body(ti.ad.steps(8), m))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_loops_that_end_early(swing):
    def ends(steps):
        for t in steps:
            swing.step(0.1)
            if t == 13:
                break
        swing.step(0.2)
        swing.add()

    def fails(steps):
        try:
            for t in steps:
                swing.step(0.1)
                if t == 13:
                    raise KeyError
        except KeyError:
            swing.step(0.2)
        swing.add()

    for body in (ends, fails):
        swing.compare(body, [8 * STATE, 4 * STATE])


def test_a_loop_that_somebody_keeps(swing):
    """Its end is not seen. What comes after it belongs to its last step."""
    ti = swing.ti

    def body(steps):
        steps = iter(steps)
        for t in steps:
            swing.step(0.1)
            if t == 9:
                break
        swing.step(0.3)
        for _ in steps:
            swing.step(0.1)
        swing.add()

    swing.compare(body, [8 * STATE, 4 * STATE], count=15)
    assert ti.ad.steps(3) is not None


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_steps(swing, count):
    def body(steps):
        for _ in steps:
            swing.step(0.1)
        swing.add()

    swing.compare(body, [None, 4 * STATE], count)


def test_gradients_run_twice(swing):
    def body(steps):
        for _ in steps:
            swing.step(0.1)
        swing.add()

    for steps in (range(20), swing.ti.ad.steps(20, memory=4 * STATE)):
        once = swing.gradients(body, steps)
        swing.ti.ad.clear_all_gradients()
        swing.loss.grad.fill(1.0)
        swing.tape.grad()
        np.testing.assert_array_equal(swing.k.grad.to_numpy(), once[5])
        np.testing.assert_array_equal(swing.x.to_numpy(), once[0])


def test_too_little_memory(swing):
    def body():
        for _ in swing.ti.ad.steps(20, memory=2 * STATE):
            swing.step(0.1)

    with pytest.raises(MemoryTooSmall, match=r"a step of this loop needs 640 B: 256 B for the values at its begin, 2"):
        swing.gradients(body)


def test_steps_that_alternate(ti):
    """The state is in another field at every second step."""
    a, b = (ti.field(ti.f64, 3, needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(now: ti.template(), then: ti.template()):
        for i in now:
            then[i] = now[i] * now[(i + 1) % 3]

    @ti.kernel
    def total(x: ti.template()):
        for i in range(3):
            loss[None] += x[i]

    def gradient(steps):
        a.from_numpy(np.array([1.1, 0.9, -1.01]))
        b.fill(5.0)
        now, then = a, b
        with ti.ad.Tape(loss):
            for _ in steps:
                step(now, then)
                now, then = then, now
            total(now)
        return a.grad.to_numpy(), b.grad.to_numpy(), a.to_numpy(), b.to_numpy()

    for memory in (10000, 300, 150, 120):
        for found, wanted in zip(gradient(ti.ad.steps(9, memory=memory)), gradient(range(9)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)  # threads add up gradients in any order


def test_time_as_an_axis_copies_nothing_that_lasts(ti):
    """All old values stay in memory, so less memory than they take is enough."""
    x = ti.field(ti.f64, (41, 16), needs_grad=True)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(16):
            x[t + 1, i] = ti.sin(x[t, i]) * x[t, (i + 1) % 16]

    @ti.kernel
    def total():
        for i in range(16):
            loss[None] += x[40, i]

    def gradient(steps):
        x.from_numpy(np.tile(START, (41, 1)))
        with ti.ad.Tape(loss):
            for t in steps:
                step(t)
            total()
        return x.grad.to_numpy(), x.to_numpy()

    for memory in ("1 MiB", 10 * START.nbytes):
        for found, wanted in zip(gradient(ti.ad.steps(40, memory=memory)), gradient(range(40)), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_arrays_as_arguments(ti):
    a, w = ti.ndarray(ti.f64, 4, needs_grad=True), np.arange(4.0)
    loss = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def step(a: ti.types.ndarray(), w: ti.types.ndarray()):
        for i in a:
            a[i] = a[i] * a[i] * w[i] + 0.1

    @ti.kernel
    def total(a: ti.types.ndarray()):
        for i in a:
            loss[None] += a[i]

    def gradient(steps):
        a.from_numpy(np.array([0.1, 0.2, 0.3, 0.4]))
        a.grad.fill(0.0)
        with ti.ad.Tape(loss):
            for _ in steps:
                step(a, w)
            total(a)
        return a.grad.to_numpy()

    np.testing.assert_array_equal(gradient(ti.ad.steps(12, memory=200)), gradient(range(12)))

    def change():
        with ti.ad.Tape(loss):
            for _ in ti.ad.steps(3):
                step(a, w)
                w[2] += 1.0

    with pytest.raises(ArgumentError, match="Python has changed an array that kernel 'step' takes"):
        change()


def test_functions_with_gradients_of_their_own(swing):
    ti = swing.ti

    @ti.ad.grad_replaced
    def jump():
        swing.step(0.3)

    @ti.ad.grad_for(jump)
    def back():
        swing.x.grad[3] += 1.0

    @ti.ad.no_grad
    def hide():
        swing.u.fill(0.2)
        swing.shake()

    def body(steps):
        for t in steps:
            swing.step(0.1)
            if t % 3 == 1:
                jump()
            if t % 5 == 2:
                hide()
        swing.add()

    swing.compare(body, [9 * STATE, 6 * STATE])


def test_functions_that_are_differentiated(swing):
    """`ti.ad.grad` and `ti.ad.vjp` of a function with such a loop."""
    ti = swing.ti

    def function(memory):
        swing.v.fill(0.0)
        swing.u.fill(0.1)
        for t in range(20) if memory is None else ti.ad.steps(20, memory=memory):
            swing.step(0.1 + 0.01 * t)
            swing.u[3] = 0.1 * t
        swing.add()

    def at_start(differentiated, *args):
        swing.x.from_numpy(START)
        swing.k.from_numpy(2.0 + START)
        swing.loss.fill(0.0)
        return differentiated(*args)

    gradient = ti.ad.grad(function, swing.k, swing.loss)
    wanted = at_start(gradient, None)
    for memory in (8 * STATE, 4 * STATE):
        np.testing.assert_array_equal(at_start(gradient, memory), wanted)
        _, pull = at_start(ti.ad.vjp(function, swing.k, swing.loss), memory)
        for _ in range(2):
            np.testing.assert_array_equal(pull(1.0), wanted)


def test_tapes_that_keep_everything(swing):
    """With grad_check, and without a tape, it is a plain loop."""
    ti = swing.ti

    def body():
        for _ in ti.ad.steps(3):
            swing.step(0.1)
        swing.add()

    swing.gradients(body, grad_check=[swing.x])
    assert list(ti.ad.steps(4, memory="1 KB")) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((-1,), ValueError, "the number of steps"),
        ((2.5,), TypeMismatch, "the number of steps"),
        ((3, "much"), ArgumentError, "'2GB' or '500 MiB', not 'much'"),
        ((3, 1.5), TypeMismatch, "memory must be a number of bytes"),
        ((3, -5), ArgumentError, "memory must be a number of bytes"),
    ],
)
def test_wrong_arguments(ti, arguments, error, message):
    with pytest.raises(error, match=message):
        ti.ad.steps(*arguments)
