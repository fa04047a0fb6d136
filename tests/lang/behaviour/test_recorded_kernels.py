"""Kernels whose gradient needs values that are gone after the launch: a tape runs a kernel that records them."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.autodiff import records
from weft.lang.autodiff.cutting import Derivatives
from weft.lang.errors import CompilationError, KernelFault
from weft.lang.program.init import program

N = 6
START = np.linspace(0.3, 1.4, N)
ORDER = np.array([3, 0, 5, 1, 4, 2], np.int32)  # of elements: no index of a loop, and each once


class Memory:
    """Fields for a kernel, with their first values, and a loss of all that it leaves in `x`, `y` and `total`."""

    def __init__(self, ti):
        self.ti = ti
        self.x, self.y = (ti.field(ti.f64, N, needs_grad=True, name=name) for name in "xy")
        self.total = ti.field(ti.f64, (), needs_grad=True, name="total")
        self.at, self.count = ti.field(ti.i32, N, name="at"), ti.field(ti.i32, (), name="count")
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        x, y, total, loss = self.x, self.y, self.total, self.loss

        @ti.kernel
        def add_up():
            for i in x:
                loss[None] += (i + 1) * x[i] + (2 * i - 3) * y[i] * y[i]
            loss[None] += 5 * total[None]

        self.add_up = add_up

    def fill(self, start):
        self.x.from_numpy(start)
        self.y.fill(0.7)
        self.total[None] = 0.2
        self.at.from_numpy(ORDER)
        self.count[None] = 0

    def loss_at(self, start, kernel, *args):
        self.fill(start)
        self.loss[None] = 0
        kernel(*args)
        self.add_up()
        return self.loss[None]

    def hold(self, kernel, *args):
        """The gradient by a tape agrees with differences, twice, and the tape leaves what the kernel leaves."""
        step = 1e-6
        moves = [self.loss_at(START + step * unit, kernel, *args) for unit in (*np.eye(N), *-np.eye(N))]
        wanted = (np.array(moves[:N]) - np.array(moves[N:])) / (2 * step)
        value = self.loss_at(START, kernel, *args)
        left = [one.to_numpy() for one in (self.x, self.y, self.total, self.count)]
        for _ in range(2):
            self.fill(START)
            with self.ti.ad.Tape(self.loss):
                kernel(*args)
                self.add_up()
            close(self.loss[None], value)
            np.testing.assert_allclose(self.x.grad.to_numpy(), wanted, rtol=1e-6, atol=1e-7)
            for one, numbers in zip((self.x, self.y, self.total, self.count), left, strict=True):
                close(one.to_numpy(), numbers)
        assert np.abs(wanted).max() > 0.1


@pytest.fixture
def memory(ti):
    return Memory(ti)


def test_an_element_that_data_chooses_is_overwritten_twice(ti, memory):
    x, y, at = memory.x, memory.y, memory.at

    @ti.kernel
    def twice():
        for i in x:
            j = at[i]
            y[i] = x[j] ** 2
            if x[j] > 0.5:
                x[j] = ti.sin(x[j]) * y[i]
            x[j] = x[j] * x[j]

    memory.hold(twice)
    with pytest.raises(CompilationError, match="neither the value from before the kernel nor"):
        twice.grad()
    memory.fill(START)
    assert ti.ad.check(twice)
    memory.fill(START)
    memory.loss[None] = 0

    def program():
        twice()
        memory.add_up()

    found = ti.ad.grad(program, x, memory.loss)()
    close(found, memory.x.grad.to_numpy())


def test_an_array_two_axes_and_a_loop_inside(ti, memory):
    x, at = memory.x, memory.at

    @ti.kernel
    def inside(a: ti.types.ndarray(), first: ti.i32, n: ti.i32):
        for i, j in ti.ndrange((first, first + 2), (-1, 2)):
            for k in range(n, -2, -2):
                p = at[(i - first) * 3 + j + 1]
                a[p] = ti.sin(a[p]) * (k + 0.5)
                a[p] = a[p] * a[p] + x[p] * a[p]
        for i in x:
            x[i] = a[i]

    a = ti.ndarray(ti.f64, N, needs_grad=True)

    def run(n):
        a.fill(0.4)
        inside(a, 3, n)

    memory.hold(run, 2)


def test_the_number_of_records_depends_on_memory(ti, memory):
    x, at = memory.x, memory.at
    limits = ti.field(ti.i32, 2)

    @ti.kernel
    def some():
        for i in range(limits[0], limits[1]):
            x[at[i]] = x[at[i]] ** 2
            x[at[i]] = ti.sin(x[at[i]])

    for first, last in ((1, 5), (0, 6), (2, 3)):
        limits[0], limits[1] = first, last
        memory.hold(some)
    limits[0], limits[1] = 4, 2  # no iteration
    memory.hold(some)


def test_loops_whose_length_is_not_known_before(ti, memory):
    """Their values are in chunks: the first ones of 12 and 48 words, here up to 96 words of an iteration."""
    x, y, at = memory.x, memory.y, memory.at

    @ti.kernel
    def until(most: ti.i32):
        for i in x:
            j = at[i]
            n = 0
            while n < most * (i + 1) and x[j] < 1.45:
                n += 1
                for k in range(j % 3):
                    x[j] = ti.sin(x[j]) * 1.4
                    if k == 1:
                        continue
                    x[j] += 0.01 * y[i] * x[j]
                if x[j] < 0.2:
                    break
            y[i] += x[j] ** 2

    memory.hold(until, 4)
    memory.hold(until, 0)


def test_the_kernel_computes_the_bounds_of_its_loop(ti, memory):
    x, y, at, count = memory.x, memory.y, memory.at, memory.count

    @ti.kernel
    def later(first: ti.i32):
        for i in x:
            if x[i] > 0.6:
                count[None] += 1
        last = count[None]
        for i, k in ti.ndrange((first, last), (last - 1, last)):
            for _ in range(k):
                x[at[i]] = ti.sin(x[at[i]]) * 1.4
            x[at[i]] += y[i] * x[at[i]]
        count[None] += 1

    memory.hold(later, 0)
    memory.hold(later, 2)
    memory.hold(later, 5)


def test_a_loop_in_serial_code(ti, memory):
    x, at, total = memory.x, memory.at, memory.total

    @ti.kernel
    def walk(steps: ti.i32):
        place = 0
        n = 0
        while n < steps:
            n += 1
            place = (place + at[place]) % N
            x[place] = ti.sin(x[place]) + 0.1 * x[at[place]] ** 2
            if x[place] > 0.9:
                total[None] += x[place] * x[at[place]]
        for i in x:
            x[at[i]] = x[at[i]] ** 2
            x[at[i]] = x[at[i]] ** 2

    memory.hold(walk, 40)


def test_values_of_every_type(ti, memory):
    """Integers that choose and scale, vectors, matrices and structs are recorded, with all their bits."""
    x, at = memory.x, memory.at
    pair = ti.types.struct(v=ti.types.vector(2, ti.f32), k=ti.u8)
    v, m = ti.Vector.field(3, ti.f64, N, needs_grad=True), ti.Matrix.field(2, 2, ti.f64, N, needs_grad=True)
    s = pair.field(N)
    wide, byte, flag, half = (ti.field(type, N) for type in (ti.u64, ti.i8, ti.u1, ti.f16))

    @ti.kernel
    def fill():
        for i in x:
            wide[i] = ti.u64(1) << 63 | ti.u64(i)
            byte[i] = ti.i8(-3 - i)
            flag[i] = i % 2 == 0
            half[i] = 0.5
            v[i] = x[i] * ti.Vector([1.0, 2.0, 3.0])
            m[i] = x[i] * ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
            s[i] = pair(v=ti.Vector([1.5, -2.0]), k=255)

    @ti.kernel
    def change():
        for i in x:
            j = at[i]
            for _ in ti.static(range(2)):
                scale = ti.f64(wide[j] >> 62) + ti.f64(byte[j]) + half[j] + s[j].v[0] * ti.f64(s[j].k) * 0.01
                if flag[j]:
                    x[j] = x[j] * x[j] * scale + v[j].dot(v[j])
                v[j] = v[j] * v[j] * 0.5
                m[j] = m[j] @ m[j] * 0.1
                x[j] += m[j].trace() ** 2
                wide[j] = wide[j] >> 1
                byte[j] += 1
                flag[j] = not flag[j]
                half[j] = ti.f16(half[j] * 0.5)
                s[j] = pair(v=s[j].v * 2, k=s[j].k - 1)

    def run():
        fill()
        change()

    memory.hold(run)


def test_the_old_value_of_an_atomic_is_a_slot(ti, memory):
    x, y, count = memory.x, memory.y, memory.count

    @ti.kernel
    def append() -> ti.i32:
        taken = 0
        for i in x:
            if x[i] > 0.5:
                slot = ti.atomic_add(count[None], 1)
                taken += 1
                if slot < N:
                    y[slot] = x[i] * x[i]
        return taken

    memory.fill(START)
    with ti.ad.Tape(memory.loss):
        assert append() == 5
        memory.add_up()
    found, slots = memory.x.grad.to_numpy(), memory.y.to_numpy()[:5]
    weights = {number: 2 * k - 3 for k, number in enumerate(slots)}
    for i, number in enumerate(START):
        own = min(weights, key=lambda square: abs(square - number**2))
        close(found[i], i + 1 + (4 * weights[own] * number**3 if number > 0.5 else 0))


def test_a_local_counts_slots(ti, memory):
    x, y = memory.x, memory.y

    @ti.kernel
    def append():
        count = 0
        for i in x:
            slot = ti.atomic_add(count, 1)
            y[slot] = x[i] * x[i]
        memory.total[None] = y[0] * count

    memory.fill(START)
    with ti.ad.Tape(memory.loss):
        append()
        memory.add_up()
    found, order = memory.x.grad.to_numpy(), np.argsort(np.argsort(memory.y.to_numpy()))
    for i, number in enumerate(START):  # the squares are as ordered as the numbers
        slot = int(np.flatnonzero(order == i)[0])
        weight = 2 * (2 * slot - 3) * number**2 + 5 * N * (slot == 0)
        close(found[i], i + 1 + 2 * number * weight)


@pytest.mark.parametrize("kind", ["atomic_max", "atomic_min"])
def test_extremes_of_computed_values(ti, memory, kind):
    x, y, total, atomic = memory.x, memory.y, memory.total, getattr(ti, kind)

    @ti.kernel
    def extreme():
        for i in x:
            atomic(total[None], ti.sin(3 * x[i]) * ti.exp(x[i]) / 3 + y[i] * 0.1)

    memory.hold(extreme)


def test_results_early_returns_and_random_numbers(ti, memory):
    x, at = memory.x, memory.at

    @ti.kernel
    def returns(n: ti.i32) -> ti.types.vector(2, ti.f64):
        if n < 0:
            return ti.Vector([x[0], 1.0])
        for i in x:
            noise = ti.random(ti.f64)
            x[at[i]] = x[at[i]] ** 2 * (1 + noise)
            x[at[i]] = x[at[i]] ** 2
        return ti.Vector([x[1], 2.0])

    memory.fill(START)
    with ti.ad.Tape(memory.loss):
        result = returns(1)
        memory.add_up()
    close(result, [memory.x[1], 2.0])
    close(memory.x.grad.to_numpy(), np.arange(1, N + 1) * 4 * memory.x.to_numpy() / START)
    memory.fill(START)
    with ti.ad.Tape(memory.loss):
        close(returns(-1), [START[0], 1.0])
        memory.add_up()
    close(memory.x.grad.to_numpy(), np.arange(1, N + 1))


def test_what_is_not_recorded_is_refused(ti, memory):
    x, at, loss = memory.x, memory.at, memory.loss

    @ti.kernel
    def twice():
        for i in x:
            x[at[i]] = x[at[i]] ** 2
            x[at[i]] = x[at[i]] ** 2

    memory.fill(START)
    with pytest.raises(CompilationError, match="another block is around"), ti.ad.Tape(loss), ti.ad.Tape(loss):
        [twice() for _ in ti.ad.steps(3)]
    with pytest.raises(CompilationError, match="another block is around"):
        ti.ad.jvp(ti.ad.grad(twice, x, loss), x)(np.ones(N))
    memory.hold(twice)

    @ti.real_func
    def power(n: ti.i32, a: ti.f64) -> ti.f64:
        result = a
        if n > 0:
            result = x[n] * power(n - 1, a)
        return result

    @ti.kernel
    def after():
        ti.loop_config(serialize=True)
        for i in x:
            x[at[i]] = power(i, x[at[i]])
            x[at[i]] = x[at[i]] ** 2

    for _ in range(2):  # (what a function reads that calls itself is no value of the kernel)
        with pytest.raises(CompilationError, match="Here it does not: the launch cannot record them"), ti.ad.Tape(loss):
            after()


def test_the_kernels_have_names_of_their_own(ti, memory):
    x = memory.x

    @ti.kernel
    def step():
        for i in x:
            x[i] = x[i] ** 2

    names = [Derivatives().of(step, kind).__name__ for kind in ("", "reading", "recording", "counting")]
    assert names == ["step.grad", "step.grad", "step.recording", "step.counting"]


def test_records_that_do_not_fit_raise_an_error(ti, memory, monkeypatch):
    x, at, loss = memory.x, memory.at, memory.loss

    @ti.kernel
    def until():
        for i in x:
            for _ in range(i):
                x[at[i]] = ti.sin(x[at[i]])
                x[at[i]] = ti.sin(x[at[i]]) * 1.5

    room = records._room
    monkeypatch.setattr(records, "_room", lambda count, grows: room(count + 20, grows=False))
    memory.fill(START)
    with pytest.raises(KernelFault, match="need more memory than there is"), ti.ad.Tape(loss):
        until()
    monkeypatch.undo()
    memory.hold(until)


def test_memory_for_records_that_is_too_small_is_not_used_again(ti, memory):
    """What was free when it was made says nothing about later launches. It has places for the chunks of all iterations,
    but not for their words."""
    x, at = memory.x, memory.at

    @ti.kernel
    def until():
        for i in x:
            for _ in range(i):
                x[at[i]] = ti.sin(x[at[i]])
                x[at[i]] = ti.sin(x[at[i]]) * 1.5

    program().arena = ti.ndarray(ti.i64, 100)
    memory.hold(until)


def test_memory_for_records_counts_as_used_where_it_was_touched(ti, memory):
    """Half of what is free is reserved. The default memory of later loops of `ti.ad.steps` is not less for that."""
    x, at = memory.x, memory.at

    @ti.kernel
    def until():
        for i in x:
            for _ in range(i):
                x[at[i]] = ti.sin(x[at[i]])
                x[at[i]] = ti.sin(x[at[i]]) * 1.5

    memory.fill(START)
    free = program().device.memory.free
    with ti.ad.Tape(memory.loss):
        until()
    assert free - program().device.memory.free < 1 << 20
    memory.hold(until)


def test_a_number_of_a_kernel_that_a_tape_runs_in_pieces(ti, memory):
    """The pieces do not have its derivative, so the launch records, also if a tape has cut the kernel before."""
    x, y, total = memory.x, memory.y, memory.total

    @ti.kernel
    def scale(factor: ti.f64):
        for i in x:
            y[i] = x[i] * factor
        for i in x:
            x[i] = ti.sin(y[(i + 1) % N]) * y[i]
        for i in x:
            y[i] = x[(i + 2) % N] * y[i] * factor
        for i in x:
            total[None] += x[i] * y[i]

    def value(factor):
        memory.fill(START)
        scale(factor)
        return total[None]

    memory.hold(scale, 0.7)
    assert scale.bind((0.7,), {}).instance.pieces
    memory.fill(START)
    slope = ti.ad.grad(scale, "factor", total)(0.7)
    np.testing.assert_allclose(slope, (value(0.7 + 1e-6) - value(0.7 - 1e-6)) / 2e-6, rtol=1e-6)


def test_old_values_of_an_extreme_on_a_local_are_refused(ti, memory):
    """Its gradient needs what the local holds after the loop, and the old value, by one name."""
    x, y, total, loss = memory.x, memory.y, memory.total, memory.loss

    @ti.kernel
    def steps():
        most = ti.cast(0, ti.f64)
        for i in x:
            if ti.atomic_max(most, x[i]) < 0.9:
                y[i] = x[i] ** 2
        total[None] = most

    memory.fill(START)
    with pytest.raises(CompilationError, match="needs the old value of an atomic max"), ti.ad.Tape(loss):
        steps()
