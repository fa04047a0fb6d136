"""Derivatives of recursive functions that write memory: what they write, they do not use."""

import warnings

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import CompilationError


def fields(ti, *counts):
    return [ti.field(ti.f64, count, needs_grad=True, needs_dual=True, name=f"f{k}") for k, count in enumerate(counts)]


LEFT, RIGHT = [1, 3, 5, -1, -1, -1], [2, 4, -1, -1, -1, -1]


def walked(w):
    """The loss of the next test."""
    found = [0.0]

    def walk(node, scale):
        if node >= 0:
            own = np.sin(w[node]) * scale
            found[0] += own * own * (node + 1) + own * (node - 2)
            walk(LEFT[node], own)
            walk(RIGHT[node], own * own)

    walk(0, w[5])
    return found[0]


def test_a_tree_is_walked(ti):
    """Each node scales what comes from its parent, stores it, and adds it to a sum."""
    w, value, loss = fields(ti, 6, 6, ())
    left, right = ti.field(ti.i32, 6), ti.field(ti.i32, 6)
    visits = ti.field(ti.i32, ())
    left.from_numpy(np.array(LEFT, np.int32))
    right.from_numpy(np.array(RIGHT, np.int32))

    @ti.real_func
    def walk(node: ti.i32, scale: ti.f64):
        if node >= 0:
            own = ti.sin(w[node]) * scale
            value[node] = own
            loss[None] += own * own * (node + 1)
            visits[None] += 1
            walk(left[node], own)
            walk(right[node], own * own)

    @ti.kernel
    def run():
        walk(0, w[5])

    @ti.kernel
    def add():
        for i in value:
            loss[None] += value[i] * (i - 2)

    at = np.array([0.7, 1.2, -0.8, 0.4, 1.4, 0.9])
    w.from_numpy(at)
    for rounds in (1, 2):
        with ti.ad.Tape(loss):
            run()
            add()
        close(loss[None], walked(at))
        assert visits[None] == 6 * rounds
        wanted = np.array([(walked(at + 1e-6 * d) - walked(at - 1e-6 * d)) / 2e-6 for d in np.eye(6)])
        np.testing.assert_allclose(w.grad.to_numpy(), wanted, rtol=1e-7, atol=1e-9)
    direction = np.linspace(-1, 1, 6)

    def both():
        run()
        add()

    np.testing.assert_allclose(ti.ad.jvp(both, w, loss)(direction)[1], wanted @ direction, rtol=1e-7)
    numbers = np.array([ti.ad.grad(both, w, loss)() for w_ in (at + 1e-5 * direction, at - 1e-5 * direction)
                        if w.from_numpy(w_) is None])  # fmt: skip
    w.from_numpy(at)
    second = ti.ad.hvp(both, w, loss)(direction)
    np.testing.assert_allclose(second, (numbers[0] - numbers[1]) / 2e-5, rtol=1e-6, atol=1e-8)


def test_the_value_of_a_function_that_writes(ti):
    """The gradient needs the value, and computes it again without a second effect."""
    x, trace, loss = fields(ti, 4, 16, ())
    count = ti.field(ti.i32, ())

    @ti.real_func
    def power(i: ti.i32, n: ti.i32, v: ti.f64) -> ti.f64:
        result = ti.f64(1)
        if n > 0:
            trace[4 * i + n] = v * n
            count[None] += 1
            below = power(i, n - 1, v)
            result = ti.sin(v * below)
        return result

    @ti.kernel
    def run():
        for i in x:
            p = power(i, 3, x[i])
            loss[None] += p * p + power(i, 2, x[i]) * 0

    @ti.kernel
    def add():
        for k in trace:
            loss[None] += trace[k] ** 2

    def python(x):
        p = np.ones_like(x)
        for _ in range(3):
            p = np.sin(x * p)
        return (p * p).sum() + (14 * x * x).sum()

    at = np.array([0.3, -0.7, 1.1, 0.9])
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        run()
        add()
    assert count[None] == 4 * 5
    close(loss[None], python(at))
    wanted = np.array([(python(at + 1e-6 * d) - python(at - 1e-6 * d)) / 2e-6 for d in np.eye(4)])
    np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-7)
    assert count[None] == 4 * 5


def test_a_sum_that_overflows_in_a_function_that_runs_again(ti):
    """In debug mode, the check of the sum uses its old value. What computes the value again neither adds nor checks."""
    ti.init(arch=ti.cfg.arch, debug=True)
    x, loss = fields(ti, 2, ())
    count = ti.field(ti.i32, ())

    @ti.real_func
    def power(n: ti.i32, v: ti.f64) -> ti.f64:
        result = ti.f64(1)
        if n > 0:
            count[None] += 1
            below = power(n - 1, v)
            result = ti.sin(v * below)
        return result

    @ti.kernel
    def run():
        for i in x:
            p = power(2, x[i])
            loss[None] += p * p

    at = np.array([0.3, -0.7])
    x.from_numpy(at)
    count[None] = 2**31 - 2

    def launch(kernel):
        kernel()
        ti.sync()

    with pytest.warns(RuntimeWarning, match="does not fit into i32"):
        launch(run)
    loss.grad[None] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        launch(run.grad)
    assert count[None] == -(2**31) + 2
    inner = at * np.sin(at)
    close(x.grad.to_numpy(), 2 * np.sin(inner) * np.cos(inner) * (np.sin(at) + at * np.cos(at)))


def test_an_array_that_a_function_writes(ti):
    x, loss = fields(ti, 4, ())
    a = ti.ndarray(ti.f64, 8, needs_grad=True)

    @ti.real_func
    def spread(out: ti.types.ndarray(ti.f64, 1), i: ti.i32, n: ti.i32, v: ti.f64):
        if n > 0:
            out[i + n] += v * v
            spread(out, i, n - 1, v * 0.5)

    @ti.kernel
    def run(out: ti.types.ndarray(ti.f64, 1)):
        for i in x:
            spread(out, i, 3, x[i])

    @ti.kernel
    def add(out: ti.types.ndarray(ti.f64, 1)):
        for k in range(8):
            loss[None] += out[k] ** 2

    def python(x):
        out = np.zeros(8)
        for i in range(4):
            v = x[i]
            for n in (3, 2, 1):
                out[i + n] += v * v
                v *= 0.5
        return (out**2).sum()

    at = np.array([0.3, -0.7, 1.1, 0.9])
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        run(a)
        add(a)
    close(loss[None], python(at))
    wanted = np.array([(python(at + 1e-6 * d) - python(at - 1e-6 * d)) / 2e-6 for d in np.eye(4)])
    np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-7)


def test_what_a_kernel_reads_between_two_calls(ti):
    """The function overwrites what the kernel has read: the launch records it."""
    x, y, loss = fields(ti, 3, 3, ())

    @ti.real_func
    def put(i: ti.i32, n: ti.i32, v: ti.f64):
        y[i] = v
        if n > 0:
            put(i, n - 1, v * v)

    @ti.kernel
    def run():
        for i in x:
            put(i, 1, x[i])
            loss[None] += ti.sin(y[i])
            put(i, 2, x[i])
            loss[None] += y[i] * y[i]

    at = np.array([0.3, -0.7, 1.1])
    x.from_numpy(at)
    with ti.ad.Tape(loss):
        run()
    close(loss[None], np.sin(at**2).sum() + (at**8).sum())
    close(x.grad.to_numpy(), 2 * at * np.cos(at**2) + 8 * at**7)
    with pytest.raises(CompilationError, match="needs the value of 'f1' that is read here"):
        run.grad()


def test_functions_that_use_what_they_write_are_refused(ti):
    x, y, loss = fields(ti, 3, 3, ())

    @ti.real_func
    def double(n: ti.i32):
        if n >= 0:
            y[n] = y[n] * x[n]
            double(n - 1)

    @ti.real_func
    def top(n: ti.i32):
        if n >= 0:
            ti.atomic_max(loss[None], x[n])
            top(n - 1)

    @ti.kernel
    def product():
        double(2)

    @ti.kernel
    def extreme():
        top(2)

    for kernel, name in ((product, "f1"), (extreme, "f2")):
        with pytest.raises(CompilationError, match=f"may write '{name}' and use values of it"), ti.ad.Tape(loss):
            kernel()


def test_a_derivative_that_is_lost_in_a_function(ti):
    """It stores to a field without a gradient, which the kernel reads."""
    x, loss = fields(ti, 3, ())
    plain = ti.field(ti.f64, 3, name="plain")

    @ti.real_func
    def put(n: ti.i32, v: ti.f64):
        plain[n] = v
        if n > 0:
            put(n - 1, v * v)

    @ti.kernel
    def run():
        put(2, x[0])

    @ti.kernel
    def add():
        for i in plain:
            loss[None] += plain[i]

    x.fill(0.5)

    def taped():
        with ti.ad.Tape(loss):
            run()
            add()

    with pytest.warns(ti.GradientWarning, match="'add' reads 'plain', which has no gradient"):
        taped()


def waiting(number, x):
    """The loss of a kernel of the next test."""
    n, y = np.arange(3) + 2, (0.5 * x) ** 2
    if number == 0:
        return (y * np.sin(x) * np.sin(x * 0.5) * x * 0.25 + y * n).sum()
    if number == 1:
        return (y * x**3 + y * n).sum()
    return (sum((x + k) ** 3 * x[0] for k in range(3)) + (3 * x) ** 2 * n).sum()


def test_values_that_wait_for_calls(ti):
    """What needs the value of a call is not reversed behind one that takes the gradients of what it has written."""
    x, y, loss = fields(ti, 3, 3, ())

    @ti.real_func
    def put(i: ti.i32, n: ti.i32, v: ti.f64) -> ti.f64:
        result = ti.f64(v)
        if n > 0:
            y[i] = v * v
            result = ti.sin(v) * put(i, n - 1, v * 0.5)
        return result

    @ti.real_func
    def power(n: ti.i32, v: ti.f64) -> ti.f64:
        result = ti.f64(1)
        if n > 0:
            result = v * power(n - 1, v)
        return result

    @ti.kernel
    def one():
        for i in x:
            p = put(i, 2, x[i])
            loss[None] += y[i] * p

    @ti.kernel
    def two():
        for i in x:
            p = power(3, x[i])
            put(i, 2, x[i])
            loss[None] += y[i] * p

    @ti.kernel
    def loop():
        for i in x:
            s = ti.f64(0)
            for k in range(3):
                put(i, 1, x[i] * (k + 1))
                s += power(3, x[i] + k) * x[0]
            loss[None] += s

    @ti.kernel
    def add():
        for i in y:
            loss[None] += y[i] * (i + 2)

    at = np.array([0.7, -0.4, 1.1])
    for number, kernel in enumerate((one, two, loop)):
        x.from_numpy(at)
        with ti.ad.Tape(loss):
            kernel()
            add()
        close(loss[None], waiting(number, at))
        wanted = [(waiting(number, at + 1e-6 * d) - waiting(number, at - 1e-6 * d)) / 2e-6 for d in np.eye(3)]
        np.testing.assert_allclose(x.grad.to_numpy(), wanted, rtol=1e-7, err_msg=str(number))
