"""Derivatives of real functions: each is a function that is called beside the derivative of the kernel."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import CompilationError


def fields(ti, count=4):
    x = ti.field(ti.f64, count, needs_grad=True, needs_dual=True, name="x")
    return x, ti.field(ti.f64, (), needs_grad=True, needs_dual=True)


def test_a_function_that_calls_itself(ti):
    x, loss = fields(ti)

    @ti.real_func
    def power(v: ti.f64, n: ti.i32) -> ti.f64:
        if n == 0:
            return 1.0
        return v * power(v, n - 1)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += power(x[i], i + 1) * x[0]

    at = np.array([0.7, -1.2, 1.5, 0.4])
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        total()
    n = np.arange(1, 5)
    wanted = n * at ** (n - 1) * at[0]
    wanted[0] += (at**n).sum()
    close(x.grad.to_numpy(), wanted)
    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0, 2.0, 3.0, 4.0]):
        total()
    close(loss.dual[None], (wanted * n).sum())


def test_a_determinant_by_minors(ti):
    x, loss = fields(ti, 9)
    three, two = ti.types.matrix(3, 3, ti.f64), ti.types.matrix(2, 2, ti.f64)

    @ti.real_func
    def small(m: two) -> ti.f64:
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]

    @ti.real_func
    def minors(m: three, column: ti.i32) -> ti.f64:
        result = ti.cast(0, ti.f64)
        if column < 3:
            a, b = (column + 1) % 3, (column + 2) % 3
            part = small(two(m[1, a], m[1, b], m[2, a], m[2, b]))
            result = m[0, column] * part + minors(m, column + 1)
        return result

    @ti.kernel
    def determinant():
        m = three(0)
        for i, j in ti.static(ti.ndrange(3, 3)):
            m[i, j] = x[3 * i + j]
        loss[None] = minors(m, 0)

    at = np.random.default_rng(1).uniform(-1, 1, (3, 3))
    x.from_numpy(at.reshape(-1))
    with ti.ad.Tape(loss):
        determinant()
    close(loss[None], np.linalg.det(at))
    close(x.grad.to_numpy().reshape(3, 3), np.linalg.det(at) * np.linalg.inv(at).T)


def test_several_results_structs_and_variables(ti):
    x, loss = fields(ti, 3)
    ball = ti.types.struct(v=ti.types.vector(2, ti.f64), k=ti.i32, r=ti.f64)
    vector = ti.types.vector(2, ti.f64)

    @ti.real_func
    def grow(b: ball, s: ti.f64) -> (ball, ti.i32, ti.f64):
        if s > 0.5:
            return ball(v=b.v * s, k=b.k, r=b.r * b.r), b.k, s * s
        return ball(v=b.v + s, k=b.k + 1, r=s), 0, b.v[0]

    @ti.real_func
    def turn(v: ti.ref(ti.f64), s: ti.f64):
        v = v * s + ti.sin(v)

    @ti.kernel
    def total():
        for i in x:
            b, k, t = grow(ball(v=vector(x[i], 2 * x[i]), k=i, r=x[i] + 1), x[i] * x[i])
            y = b.r + t
            turn(y, x[i])
            loss[None] += (b.v[0] * b.v[1] + y) * (k + 2)

    x.from_numpy(np.array([0.4, 0.9, -1.3]))
    assert ti.ad.check(total)
    with ti.ad.Tape(loss):
        total()
    assert np.abs(x.grad.to_numpy()).min() > 0.1


def test_a_function_without_a_derivative_stays(ti):
    x, loss = fields(ti)

    @ti.real_func
    def place(i: ti.i32) -> ti.i32:
        return (i * 3 + 1) % 4

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[place(i)] * (i + 1)

    with ti.ad.Tape(loss):
        total()
    close(x.grad.to_numpy()[[1, 0, 3, 2]], [1, 2, 3, 4])


def test_second_derivatives(ti):
    x, loss = fields(ti, 2)

    @ti.real_func
    def cube(v: ti.f64) -> ti.f64:
        return v * v * v

    @ti.kernel
    def total():
        for i in x:
            loss[None] += cube(x[i]) * x[0]

    a, b = 0.5, 2.0
    x.from_numpy(np.array([a, b]))
    found = ti.ad.hvp(total, x, loss)(np.array([1.0, -2.0]))
    close(found, [12 * a * a - 2 * 3 * b * b, 3 * b * b - 2 * 6 * a * b])


def test_forward_mode_of_a_function_that_uses_fields(ti):
    x, loss = fields(ti)

    @ti.real_func
    def add(i: ti.i32, s: ti.f64) -> ti.f64:
        loss[None] += s * x[i]
        return x[i] * x[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += add(i, x[i] * 2)

    at = np.array([0.7, -1.2, 1.5, 0.4])
    x.from_numpy(at)
    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0, 2.0, 3.0, 4.0]):
        total()
    close(loss.dual[None], (6 * at * np.arange(1, 5)).sum())
    with ti.ad.Tape(loss):
        total()
    close(x.grad.to_numpy(), 6 * at)


def test_recursive_functions_with_effects_are_refused(ti):
    x, loss = fields(ti)

    @ti.real_func
    def noise(n: ti.i32, v: ti.f64) -> ti.f64:
        result = v
        if n > 0:
            result = noise(n - 1, v * ti.random(ti.f64))
        return result

    @ti.real_func
    def add(n: ti.i32, v: ti.f64):
        loss[None] *= v
        if n > 0:
            add(n - 1, v * v)

    @ti.kernel
    def shaken():
        for i in x:
            loss[None] += noise(2, x[i])

    @ti.kernel
    def total():
        for i in x:
            add(2, x[i])

    with pytest.raises(CompilationError, match="a real function that draws random numbers"), ti.ad.Tape(loss):
        shaken()
    with pytest.raises(CompilationError, match=r"'add_0', which .* write 'loss' and use"), ti.ad.Tape(loss):
        total()


def test_functions_that_write_what_they_and_others_read(ti):
    """They overwrite an element, return early, change a variable of the caller and its array, and call one another."""
    x, loss = fields(ti)
    y = ti.field(ti.f64, 4, needs_grad=True, needs_dual=True, name="y")
    a = ti.ndarray(ti.f64, 4, needs_grad=True)

    @ti.real_func
    def put(i: ti.i32, v: ti.f64) -> ti.f64:
        if v > 2.0:
            return 0.0
        y[i] = v * v
        y[i] *= ti.sin(y[i])
        for k in range(5):
            y[i] += v * k
            if y[i] > 3.0:
                break
        return y[i] + v

    @ti.real_func
    def turn(i: ti.i32, total: ti.ref(ti.f64), a: ti.types.ndarray()):
        first = put(i, a[i])
        a[i] = put(i, first * 0.1) * a[i]
        total += first * y[i]

    @ti.kernel
    def run(a: ti.types.ndarray()):
        for i in x:
            sum = x[i]
            turn(i, sum, a)
            turn(i, sum, a)
            loss[None] += sum * a[i]

    start = np.array([0.7, -1.2, 1.5, 0.4])
    x.from_numpy(start)

    def at(values):
        a.from_numpy(values)
        y.fill(0)
        loss[None] = 0
        run(a)
        return loss[None]

    values = np.array([0.5, 1.3, -0.8, 2.5])
    wanted = [(at(values + 1e-6 * d) - at(values - 1e-6 * d)) / 2e-6 for d in np.eye(4)]
    a.from_numpy(values)
    y.fill(0)
    found = ti.ad.grad(run, [a, x], loss)(a)
    close(found[0], wanted, rtol=1e-6)
    at(values)
    close(found[1], a.to_numpy())


def test_a_function_that_draws_random_numbers(ti):
    x, loss = fields(ti)
    drawn = ti.field(ti.f64, 4)

    @ti.real_func
    def noise(i: ti.i32, v: ti.f64) -> ti.f64:
        drawn[i] = ti.random(ti.f64) + ti.random(ti.f64)
        return v * v * drawn[i]

    @ti.kernel
    def total():
        for i in x:
            first = ti.random(ti.f64)
            loss[None] += noise(i, x[i]) + first * x[i] - first * x[i]

    at = np.array([0.7, -1.2, 1.5, 0.4])
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        total()
    close(x.grad.to_numpy(), 2 * at * drawn.to_numpy())
    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0, 2.0, 3.0, 4.0]):
        total()
    close(loss.dual[None], 2 * at * drawn.to_numpy() @ np.arange(1, 5))


def test_functions_that_read_fields_and_arrays(ti):
    """The function reads memory that the kernel itself does not use, and calls itself with its arrays exchanged."""
    x, loss = fields(ti)
    a, b, c = (ti.ndarray(ti.f64, 4, needs_grad=True) for _ in range(3))
    scale = ti.field(ti.f64, (), needs_grad=True, needs_dual=True)

    @ti.real_func
    def mixed(i: ti.i32, s: ti.f64, a: ti.types.ndarray(), b: ti.types.ndarray()) -> ti.f64:
        result = scale[None] * x[i % 4] * s
        if i > 0:
            result += a[i % 4] ** 2 * b[i % 4] * mixed(i - 1, s * x[3], b, a)
        return result

    @ti.kernel
    def total(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray()):
        for i in range(6):
            loss[None] += mixed(i, a[i % 4], a, b) + mixed(i, 1.0, a, c)

    random = np.random.default_rng(3)
    scale[None] = 1.5
    for one in (x, a, b, c):
        one.from_numpy(random.uniform(-1, 1, 4))
    wanted = [x, scale, a, b, c]
    found = ti.ad.grad(total, wanted, loss)(a, b, c)
    directions = [random.uniform(-1, 1, np.shape(one)) for one in found]
    _, along = ti.ad.jvp(total, wanted, loss)(directions, a, b, c)
    close(along, sum((one * direction).sum() for one, direction in zip(found, directions)))
    assert min(np.abs(one).max() for one in found) > 0.01

    def at(step):
        for one, direction in zip(wanted, directions):
            one.from_numpy(one.to_numpy() + step * direction)
        gradient = ti.ad.grad(total, wanted, loss)(a, b, c)
        return np.concatenate([np.ravel(one) for one in gradient])

    second = ti.ad.hvp(total, wanted, loss)(directions, a, b, c)
    differences = (at(1e-5) - at(-2e-5)) / 2e-5
    close(np.concatenate([np.ravel(one) for one in second]), differences, rtol=1e-4)


def test_a_determinant_by_recursion(ti):
    x, loss = ti.field(ti.f64, (4, 4), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.real_func
    def minor(row: ti.i32, used: ti.i32) -> ti.f64:
        result = ti.cast(0, ti.f64)
        if row == 4:
            result = 1.0
        else:
            sign = ti.cast(1, ti.f64)
            for column in range(4):
                if used >> column & 1 == 0:
                    result += sign * x[row, column] * minor(row + 1, used | 1 << column)
                    sign = -sign
        return result

    @ti.kernel
    def determinant():
        loss[None] = minor(0, 0)

    at = np.random.default_rng(1).uniform(-1, 1, (4, 4))
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        determinant()
    close(loss[None], np.linalg.det(at))
    close(x.grad.to_numpy(), np.linalg.det(at) * np.linalg.inv(at).T)


def test_what_a_function_has_read_is_overwritten(ti):
    """In the same kernel, in a later one, and between two calls of it."""
    x, loss = fields(ti)
    y = ti.field(ti.f64, 4, needs_grad=True)

    @ti.real_func
    def square(i: ti.i32) -> ti.f64:
        return x[i] * x[i]

    @ti.kernel
    def move():
        for i in x:
            y[i] = square(i)
        for i in x:
            x[i] = 7.0

    @ti.kernel
    def total():
        for i in x:
            loss[None] += y[i] * (i + 1) + square(i)

    @ti.kernel
    def repeat():
        ti.loop_config(serialize=True)
        for _ in range(3):
            loss[None] += square(0)
            x[0] = 0.5 * x[1]

    at = np.array([0.7, -1.2, 1.5, 0.4])
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        move()
        total()
    close(loss[None], (at**2 * np.arange(1, 5)).sum() + 4 * 49)
    close(x.grad.to_numpy(), 2 * at * np.arange(1, 5))
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        repeat()
    close(loss[None], at[0] ** 2 + 2 * (at[1] / 2) ** 2)
    close(x.grad.to_numpy(), [2 * at[0], at[1], 0, 0])


def test_derivatives_that_end_in_a_function_or_before_its_call(ti):
    x, loss = fields(ti)

    @ti.real_func
    def inside(i: ti.i32) -> ti.f64:
        return ti.stop_grad(x[i]) * x[i]

    @ti.real_func
    def square(i: ti.i32) -> ti.f64:
        return x[i] * x[i]

    @ti.kernel
    def total(outside: ti.template()):
        for i in x:
            if ti.static(outside):
                loss[None] += square(i)
                ti.stop_grad(x)
                loss[None] += square(i)
            else:
                loss[None] += inside(i)

    at = np.array([0.7, -1.2, 1.5, 0.4])
    x.from_numpy(at)
    for outside, wanted in ((False, at), (True, 2 * at)):
        with ti.ad.Tape(loss):
            total(outside)
        close(x.grad.to_numpy(), wanted)
        with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0, 2.0, 3.0, 4.0]):
            total(outside)
        close(loss.dual[None], wanted @ np.arange(1, 5))


def test_truth_values_beside_a_gradient(ti):
    """A function that returns a truth value, and an early return of a struct that has one: their adjoints are no
    numbers."""
    ti.init(arch=ti.cfg.arch, verify=True)
    x, loss = fields(ti)
    flags = ti.field(ti.u1, 4)
    pair = ti.types.struct(found=ti.u1, value=ti.f64)

    @ti.real_func
    def large(v: ti.f64) -> ti.u1:
        return v > 0.5

    @ti.kernel
    def total() -> pair:
        if flags[0]:
            return pair(found=True, value=1.0)
        for i in x:
            if large(x[i]):
                loss[None] += x[i] * x[i]
        return pair(found=False, value=0.0)

    at = np.array([0.25, 0.75, 1.5, 0.5])
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        total()
    close(x.grad.to_numpy(), np.where(at > 0.5, 2 * at, 0))


def test_a_function_that_calls_one_that_draws_and_one_that_reads_a_written_array(ti):
    x, loss = fields(ti)
    drawn = ti.field(ti.f64, 4)
    a = ti.ndarray(ti.f64, 4, needs_grad=True)

    @ti.real_func
    def noise() -> ti.f64:
        return ti.random(ti.f64)

    @ti.real_func
    def scaled(v: ti.f64) -> ti.f64:
        return v * noise()

    @ti.real_func
    def square(a: ti.types.ndarray(), i: ti.i32) -> ti.f64:
        return a[i] * a[i]

    @ti.kernel
    def total(a: ti.types.ndarray()):
        for i in x:
            one = scaled(1.0)
            drawn[i] = one
            a[i] = square(a, i) * one
            a[i] = square(a, i) + x[i]
            loss[None] += square(a, i) * scaled(x[i])

    at, values = np.array([0.7, -1.2, 1.5, 0.4]), np.array([0.5, 1.1, -0.6, 0.9])
    x.from_numpy(at)
    a.from_numpy(values)
    with ti.ad.Tape(loss):
        total(a)
    one, left = drawn.to_numpy(), a.to_numpy()
    close(left, (values**2 * one) ** 2 + at)
    second = x.grad.to_numpy() / (2 * left * at + left**2)  # the second number of an iteration
    assert ((second > 0) & (second < 1)).all()
    close(a.grad.to_numpy(), 2 * left * at * second * 2 * (values**2 * one) * one * 2 * values)
