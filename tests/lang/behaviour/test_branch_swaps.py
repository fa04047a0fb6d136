"""A branch reads an element, overwrites it, and hands the old value on. LLVM 22 reads the element after the store,
where it makes masked vector accesses of the branch (see `codegen/llvm/late_loads.py`)."""

import numpy as np
import pytest

N = 203
TYPES = ("f64", "f32", "i32", "i64", "u8", "i16", "f16")
SOME = ("f64", "i16")


def _check(ti, type, swap):
    x, y = ti.field(getattr(ti, type), N), ti.field(getattr(ti, type), N)
    a, b = ((np.arange(N) * step % 50).astype(x.to_numpy().dtype) for step in (3, 7))
    x.from_numpy(a)
    y.from_numpy(b)
    swap(x, y)
    np.testing.assert_array_equal(y.to_numpy(), np.where(b > 20, a, b))
    np.testing.assert_array_equal(x.to_numpy(), np.where(b > 20, 5, a).astype(a.dtype))


@pytest.mark.parametrize("type", TYPES)
def test_in_a_parallel_loop(ti, type):
    @ti.kernel
    def swap(x: ti.template(), y: ti.template()):
        for i in x:
            new = y[i]
            if y[i] > 20:
                old = x[i]
                x[i] = 5
                new = old
            y[i] = new

    _check(ti, type, swap)


@pytest.mark.parametrize("type", TYPES)
def test_in_a_serial_loop(ti, type):
    @ti.kernel
    def swap(x: ti.template(), y: ti.template()):
        ti.loop_config(serialize=True)
        for i in range(N):
            new = y[i]
            if y[i] > 20:
                old = x[i]
                x[i] = 5
                new = old
            y[i] = new

    _check(ti, type, swap)


@pytest.mark.parametrize("type", SOME)
def test_by_two_branches_with_one_condition(ti, type):
    @ti.kernel
    def swap(x: ti.template(), y: ti.template()):
        ti.loop_config(serialize=True)
        for i in range(N):
            new, old, big = y[i], y[i], y[i] > 20
            if big:
                old = x[i]
            if big:
                x[i] = 5
            if big:
                new = old
            y[i] = new

    _check(ti, type, swap)


@pytest.mark.parametrize("serial", [False, True])
def test_by_an_atomic(ti, serial):
    @ti.kernel
    def swap(x: ti.template(), y: ti.template()):
        ti.loop_config(serialize=serial)
        for i in range(N):
            new = y[i]
            if y[i] > 20:
                new = ti.atomic_sub(x[i], x[i] - 5)
            y[i] = new

    _check(ti, "i32", swap)


def test_in_a_local_array(ti):
    @ti.kernel
    def swap(x: ti.template(), y: ti.template()):
        ti.loop_config(serialize=True)
        for _ in range(1):
            part = ti.Vector([0] * N)
            for i in range(N):
                part[i] = x[i]
            for i in range(N):
                new = y[i]
                if y[i] > 20:
                    old = part[i]
                    part[i] = 5
                    new = old
                y[i] = new
            for i in range(N):
                x[i] = part[i]

    _check(ti, "i32", swap)


def test_by_a_function_that_may_write_everything(ti):
    @ti.real_func
    def put(x: ti.template(), i: ti.i32):
        x[i] = 5

    @ti.kernel
    def swap(x: ti.template(), y: ti.template()):
        ti.loop_config(serialize=True)
        for i in range(N):
            new = y[i]
            if y[i] > 20:
                old = x[i]
                put(x, i)
                new = old
            y[i] = new

    _check(ti, "i32", swap)
