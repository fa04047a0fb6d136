"""Neighbours and rounds at once, where numbers are narrow, without sign, no integers, or at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

N = 40_000  # more than threads


@pytest.mark.parametrize("kind", ["u8", "i8", "u16", "i16", "u32", "i32", "i64", "f32", "f64"])
@pytest.mark.parametrize("first", [-300, 0])
def test_clamps_of_other_types(ti: Any, kind: str, first: int) -> None:
    dtype, number = getattr(ti, kind), np.dtype({"u": "uint", "i": "int", "f": "float"}[kind[0]] + kind[1:])
    low, high = (10, 100) if kind != "u32" else (3_000_000_000, 4_000_000_000)
    x, y = ti.field(dtype, N), ti.field(dtype, N)

    @ti.kernel
    def run(a: dtype, b: dtype):
        for i in range(first, first + N):
            x[i - first] = ti.max(ti.cast(i, dtype), ti.cast(low, dtype))
            y[i - first] = ti.min(ti.max(ti.cast(i, dtype) + ti.cast(3, dtype), a), b)

    run(low, high)
    i = np.arange(first, first + N).astype(number)
    assert (x.to_numpy() == np.maximum(i, number.type(low))).all()
    assert (y.to_numpy() == np.clip(i + number.type(3), number.type(low), number.type(high))).all()


@pytest.mark.parametrize(("first", "by"), [(2**31 - 1 - N, 7), (-(2**31), -7), (-N // 2, 7), (0, -7)])
def test_clamps_where_sums_begin_again(ti: Any, first: int, by: int) -> None:
    x, y, z = (ti.field(ti.i32, N) for _ in range(3))

    @ti.kernel
    def run(begin: ti.i32):
        for i in range(begin, begin + N):
            x[i - begin] = ti.max(i + by, -5)
            y[i - begin] = ti.min(i + by, 5)
            z[i - begin] = ti.max(ti.min(i - by, 2**31 - 9), -(2**31) + 9)

    run(first)
    i = np.arange(first, first + N, dtype=np.int64)
    there, back = (i + by).astype(np.int32), (i - by).astype(np.int32)
    assert (x.to_numpy() == np.maximum(there, -5)).all()
    assert (y.to_numpy() == np.minimum(there, 5)).all()
    assert (z.to_numpy() == np.clip(back, -(2**31) + 9, 2**31 - 9)).all()


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("low", [-1, -9, -48, 0, 7])  # from the end of the type, if negative
@pytest.mark.parametrize("count", [9, 47, 0, -1])
def test_rounds_between_far_ends(ti: Any, bits: int, low: int, count: int) -> None:
    """Where there is no round at all, the distance of the ends may look like one of some rounds."""
    x, y = ti.field(ti.i32, 1024), ti.field(ti.i32, 2048)
    kind = ti.i32 if bits == 32 else ti.i64

    @ti.kernel
    def run(begin: kind, end: kind, by: kind):
        for i in y:
            total = 0
            for j in range(begin, end):
                total += x[ti.cast((j * by) & 1023, ti.i32)]
            y[i] = total

    values = np.arange(1024, dtype=np.int32)
    x.from_numpy(values)
    begin = low if low >= 0 else low + 2 ** (bits - 1)
    end = begin + count
    if end >= 2 ** (bits - 1):
        end -= 2**bits
    run(begin, end, 3)
    assert (y.to_numpy() == sum(int(values[j * 3 & 1023]) for j in range(begin, end))).all()
