"""Parallel loops whose derivative depends on the order of iterations: a tape runs them in order, and forward mode
too."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import CompilationError

N = 6
START = np.linspace(0.3, 1.4, N)


class Program:
    """Fields for a kernel, and the same steps in Python, one iteration after the other."""

    def __init__(self, ti):
        self.ti = ti
        self.x, self.y = (ti.field(ti.f64, N, needs_grad=True, needs_dual=True, name=name) for name in "xy")
        self.m = ti.field(ti.f64, 2, needs_grad=True, needs_dual=True, name="m")
        self.loss = ti.field(ti.f64, (), needs_grad=True, needs_dual=True)
        x, y, m, loss = self.x, self.y, self.m, self.loss

        @ti.kernel
        def add_up():
            for i in x:
                loss[None] += (i + 1) * x[i] + (2 * i - 3) * y[i] * y[i]
            for i in m:
                loss[None] += (5 - 3 * i) * m[i]

        self.add_up = add_up

    def fill(self, start):
        self.x.from_numpy(start)
        self.y.fill(0.7)
        self.m.from_numpy(np.array([1.1, 0.8]))

    def hold(self, kernel, step):
        """`step(i, x, y, m)` is an iteration. The tape, forward mode and differences of Python agree."""

        def python(start):
            x, y, m = start.copy(), np.full(N, 0.7), np.array([1.1, 0.8])
            for i in range(N):
                step(i, x, y, m)
            n = np.arange(N)
            return ((n + 1) * x + (2 * n - 3) * y * y).sum() + 5 * m[0] + 2 * m[1]

        wanted = np.array([(python(START + 1e-6 * d) - python(START - 1e-6 * d)) / 2e-6 for d in np.eye(N)])
        for _ in range(2):
            self.fill(START)
            with self.ti.ad.Tape(self.loss):
                kernel()
                self.add_up()
            close(self.loss[None], python(START))
            np.testing.assert_allclose(self.x.grad.to_numpy(), wanted, rtol=1e-6, atol=1e-7)
        self.fill(START)
        self.loss[None] = 0
        direction = np.linspace(-1, 1, N)
        with self.ti.ad.FwdMode(self.loss, self.x, seed=[*direction]):
            kernel()
            self.add_up()
        np.testing.assert_allclose(self.loss.dual[None], wanted @ direction, rtol=1e-6)


@pytest.fixture
def program(ti):
    return Program(ti)


def test_products_beside_sums(ti, program):
    x, m = program.x, program.m

    @ti.kernel
    def mixed():
        for i in x:
            m[i % 2] *= x[i]
            m[i % 2] += ti.sin(x[i])

    def step(i, x, y, m):
        m[i % 2] = m[i % 2] * x[i] + np.sin(x[i])

    program.hold(mixed, step)
    program.fill(START)
    with pytest.raises(CompilationError, match=r"otherwise, too .*A tape does that.* Instead of mixed.grad"):
        mixed.grad()


def test_a_derivative_by_the_old_value_of_a_sum(ti, program):
    x, y, m = program.x, program.y, program.m

    @ti.kernel
    def running():
        for i in x:
            y[i] = ti.atomic_add(m[0], x[i] * x[i]) ** 2

    def step(i, x, y, m):
        y[i] = m[0] ** 2
        m[0] += x[i] * x[i]

    program.hold(running, step)
    with pytest.raises(CompilationError, match="needs the old value of an atomic add"):
        running.grad()


def test_a_product_of_elements_that_data_chooses(ti, program):
    """No analysis can tell that each element belongs to one iteration. One of the factors is 0."""
    x, y = program.x, program.y
    at = ti.field(ti.i32, N)

    @ti.kernel
    def scale():
        for i in x:
            y[at[i]] *= x[i] - x[3]
            y[at[i]] += y[at[i]] * x[i]

    at.from_numpy(np.array([3, 0, 5, 1, 4, 2], np.int32))

    def step(i, x, y, m):
        j = (3, 0, 5, 1, 4, 2)[i]
        y[j] *= x[i] - x[3]
        y[j] += y[j] * x[i]

    program.hold(scale, step)


def test_a_maximum_of_a_part_of_a_vector(ti, program):
    x, m = program.x, program.m

    @ti.kernel
    def largest():
        top = ti.Vector([0.0, 0.5], ti.f64)
        for i in x:
            ti.atomic_max(top[i % 2], x[i] * x[i])
        m[0] += top[0] * top[1]

    def step(i, x, y, m):
        if i == N - 1:
            m[0] += max(x[::2] ** 2) * max(0.5, *(x[1::2] ** 2))

    program.hold(largest, step)


def test_extremes_and_products_whose_result_is_overwritten(ti, program):
    """The loops share a variable, so that no tape can cut the kernel there."""
    x, m = program.x, program.m

    @ti.kernel
    def run():
        total = ti.f64(1)
        for i in x:
            ti.atomic_max(m[i % 2], 3 * x[i] * ti.sin(x[i]))
            total += x[i]
        for i in m:
            m[i] = m[i] * m[i] * total
        for i in x:
            m[i % 2] *= x[i]
        for i in m:
            m[i] = ti.sin(m[i])

    def step(i, x, y, m):
        m[i % 2] = max(m[i % 2], 3 * x[i] * np.sin(x[i]))
        if i == N - 1:
            for k in range(2):
                m[k] = np.sin(m[k] ** 2 * (1 + x.sum()) * x[k::2].prod())

    program.hold(run, step)


def test_random_numbers_stay_those_of_their_iteration(ti, program):
    x, y, m = program.x, program.y, program.m

    @ti.kernel
    def shaken():
        for i in x:
            y[i] = ti.random(ti.f64) + ti.random(ti.f64)
            m[0] *= x[i] * y[i]
            m[0] += x[i] * ti.random(ti.f64)

    @ti.kernel
    def drawn():
        for i in x:
            y[i] = ti.random(ti.f64) + ti.random(ti.f64)
            x[i] = ti.random(ti.f64)

    ti.init(arch=ti.cfg.arch, random_seed=7)
    program = Program(ti)
    x, y, m = program.x, program.y, program.m
    drawn()
    first, last = y.to_numpy(), x.to_numpy()
    ti.init(arch=ti.cfg.arch, random_seed=7)
    program = Program(ti)
    x, y, m = program.x, program.y, program.m
    program.fill(START)
    with ti.ad.Tape(program.loss):
        shaken()
        program.add_up()
    close(y.to_numpy(), first)

    def left(start):
        value = 1.1
        for i in range(N):
            value = value * start[i] * first[i] + start[i] * last[i]
        return ((np.arange(N) + 1) * start).sum() + 5 * value

    wanted = [(left(START + 1e-6 * d) - left(START - 1e-6 * d)) / 2e-6 for d in np.eye(N)]
    np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-6)


def test_a_loop_over_a_field_in_the_order_of_its_memory(ti, program):
    y, loss = program.y, program.loss
    grid = ti.field(ti.f64, (2, 3), order="ji", needs_grad=True)
    one = ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def over():
        for i, j in grid:
            y[0] *= grid[i, j]
            y[0] += ti.atomic_add(one[None], grid[i, j])

    program.fill(START)
    at = np.linspace(0.5, 1, 6).reshape(2, 3)
    grid.from_numpy(at)
    one[None] = 0.3
    with ti.ad.Tape(loss):
        over()
        program.add_up()

    def left(at):
        value, total = 0.7, 0.3
        for j in range(3):
            for i in range(2):
                value, total = value * at[i, j] + total, total + at[i, j]
        return -3 * value**2

    close(y[0], np.sqrt(left(at) / -3))
    moved = np.eye(6).reshape(6, 2, 3)
    wanted = [(left(at + 1e-6 * d) - left(at - 1e-6 * d)) / 2e-6 for d in moved]
    np.testing.assert_allclose(grid.grad.to_numpy().ravel(), wanted, rtol=1e-6)


def test_the_last_iteration_stores_a_variable(ti, program):
    """Any iteration may be the last one, so nothing but running in order tells which one was."""
    x, m = program.x, program.m

    @ti.kernel
    def latest():
        last = ti.f64(0)
        for i in x:
            if x[i] > 0.5:
                last = x[i] * x[i]
        m[0] += last

    @ti.kernel
    def index():
        last = 0
        for i in x:
            if x[i] < 1.0:
                last = i
        m[0] += x[last] ** 3

    def step(i, x, y, m):
        if i == N - 1:
            m[0] += x[-1] ** 2

    def with_index(i, x, y, m):
        if i == N - 1:
            m[0] += x[3] ** 3

    for kernel, same in ((latest, step), (index, with_index)):
        with pytest.warns(ti.RaceWarning):
            kernel()
        program.hold(kernel, same)
        with pytest.raises(CompilationError, match="that other iterations may overwrite"):
            kernel.grad()


def test_loops_whose_threads_cooperate_are_refused(ti, program):
    if ti.cfg.arch != ti.cuda:
        pytest.skip("only threads of a GPU cooperate")
    x, m = program.x, program.m

    @ti.kernel
    def mixed():
        ti.loop_config(block_dim=32)
        for i in range(32):
            shared = ti.simt.block.SharedArray((32,), ti.f64)
            shared[i] = 1.0
            ti.simt.block.sync()
            m[0] *= x[i % N]
            m[0] += shared[i]

    with pytest.raises(CompilationError, match="differentiate"), ti.ad.Tape(program.loss):
        mixed()


def test_sums_of_parts_of_a_vector_need_no_order(ti, program):
    x, m = program.x, program.m

    @ti.kernel
    def add():
        sums = ti.Vector([0.0, 0.5], ti.f64)
        for i in x:
            sums[i % 2] += x[i] * x[i]
        m[0] += sums[0] * sums[1]

    program.fill(START)
    x.grad.fill(0)
    m.grad.from_numpy(np.array([1.0, 0.0]))
    add.grad()
    even, odd = (START[::2] ** 2).sum(), 0.5 + (START[1::2] ** 2).sum()
    close(x.grad.to_numpy(), 2 * START * np.where(np.arange(N) % 2, even, odd))


def test_recursive_functions_that_draw_in_a_loop_that_forward_mode_runs_in_order(ti):
    """They count the numbers of the thread, and not those of the iteration."""
    x = ti.field(ti.f64, 4, needs_dual=True)
    most, total = (ti.field(ti.f64, (), needs_dual=True) for _ in range(2))

    @ti.real_func
    def noise(n: ti.i32) -> ti.f64:
        result = ti.f64(0.0)
        if n > 0:
            result = noise(n - 1) + ti.random(ti.f64)
        return result

    @ti.kernel
    def unordered():
        for i in x:
            total[None] += noise(2) * x[i]

    @ti.kernel
    def ordered():
        for i in x:
            total[None] += noise(2) * x[i]
            ti.atomic_max(most[None], x[i])

    x.from_numpy(np.array([0.7, -1.2, 1.5, 0.4]))
    with ti.ad.FwdMode(loss=total, param=x, seed=[0.7, -1.2, 1.5, 0.4]):
        unordered()
    assert total[None] != 0
    close(total.dual[None], total[None])
    with (
        pytest.raises(CompilationError, match="calls a real function that draws random numbers"),
        ti.ad.FwdMode(loss=most, param=x, seed=[1.0, 0.0, 0.0, 0.0]),
    ):
        ordered()
