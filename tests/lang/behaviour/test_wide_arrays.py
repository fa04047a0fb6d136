"""Arrays with more elements along an axis than an i32 counts: they get a kernel of their own, with i64 indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

N = (1 << 31) + 77


def repeated(n: int, *rest: int) -> Any:
    """An array of so many elements that all lie in one place."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (n, *rest), (0,) * (1 + len(rest)))


def empty(n: int) -> Any:
    """Zeros; what nobody touches takes no memory."""
    return np.zeros(n, np.uint8)


@pytest.fixture
def compiled(ti: Any) -> Any:
    """`ti` where kernels are compiled, and numpy's arrays are not copied."""
    if ti.cfg.arch != "cpu":
        pytest.skip("a GPU has a test of its own (in tests/cuda); Python loops so far for minutes")
    return ti


def test_each_launch_has_the_indices_that_it_needs(compiled: Any) -> None:
    ti = compiled

    @ti.kernel
    def last(a: ti.types.ndarray(ti.u8, 1), value: ti.i32) -> ti.i64:
        n = a.shape[0]
        for i in range(n - 3, n):
            a[i] = ti.cast(value + (i >> 31), ti.u8)
        return n

    small, huge = empty(100), empty(N)
    for _ in range(3):  # through Python, then natively
        assert last(small, 5) == 100
        assert last(huge, 7) == N
        assert small[-4:].tolist() == [0, 5, 5, 5]
        assert huge[-4:].tolist() == [0, 8, 8, 8]
        assert huge[: N - 2**31].max() == 0
    assert len(last._instances) == 2


def test_loops_over_a_wide_array(compiled: Any) -> None:
    ti = compiled

    @ti.kernel
    def beyond(a: ti.types.ndarray()) -> ti.i64:
        count = ti.i64(0)
        for i in a:
            count += i >> 31
        return count

    assert beyond(repeated(N)) == 77
    assert beyond(repeated(1000)) == 0


def test_grouped_loops_and_shapes_in_expressions(compiled: Any) -> None:
    ti = compiled

    @ti.kernel
    def run(a: ti.types.ndarray()) -> ti.i64:
        most = ti.i64(0)
        for I in ti.grouped(a):
            ti.atomic_max(most, I[0] * 2 + I[1])
        return most + a.shape[0] * a.shape[1]

    assert run(repeated(2, N)) == N + 1 + 2 * N
    assert run(repeated(2, 3)) == 10


def test_bounds_are_checked_with_64_bits(compiled: Any) -> None:
    ti = compiled
    ti.init(arch=ti.cpu, debug=True)

    @ti.kernel
    def put(a: ti.types.ndarray(), i: ti.i64, j: ti.i32):
        a[i] = 1
        a[j] = 2

    huge = empty(N)
    put(huge, N - 1, 3)
    assert (huge[N - 1], huge[3]) == (1, 2)
    with pytest.raises(IndexError, match=rf"a\[{N}\] is out of bounds: its shape is \({N},\)"):
        put(huge, N, 0)
    with pytest.raises(IndexError, match=r"a\[-1\] is out of bounds"):
        put(huge, 0, -1)
    with pytest.raises(IndexError, match=r"a\[2147483648\] is out of bounds: its shape is \(9,\)"):
        put(empty(9), 1 << 31, 0)


def test_clamped_indices(compiled: Any) -> None:
    ti = compiled

    @ti.kernel
    def put(a: ti.types.ndarray(boundary="clamp"), i: ti.i64):
        a[i] = 1

    huge, small = empty(N), empty(9)
    put(huge, 1 << 40)
    put(small, 1 << 20)
    assert huge[-2:].tolist() == small[-2:].tolist() == [0, 1]


def test_ndarrays(compiled: Any) -> None:
    ti = compiled

    @ti.kernel
    def mark(a: ti.types.ndarray(), b: ti.types.ndarray()) -> ti.i64:
        for i in range(a.shape[0] - 2, a.shape[0]):
            a[i] = 3
        for i in b:
            b[i] = 4
        return a.shape[0] + b.shape[0]

    huge, small = ti.ndarray(ti.u8, N), ti.ndarray(ti.u8, 5)
    for _ in range(3):
        assert mark(huge, small) == N + 5
        assert mark(small, small) == 10
    assert (huge[N - 1], huge[N - 3], small[4]) == (3, 0, 4)
