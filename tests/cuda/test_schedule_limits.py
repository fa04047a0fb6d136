"""Neighbours and rounds at once, where numbers are narrow, without sign, no integers, or at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sampling import only

N = 40_000  # more than threads


@pytest.mark.parametrize(
    "kind", only(["i8", "u16", "i32", "f32"], ["u8", "i8", "u16", "i16", "u32", "i32", "i64", "f32", "f64"])
)
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
@pytest.mark.parametrize("low", only([-9, 0], [-1, -9, -48, 0, 7]))  # from the end of the type, if negative
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


@pytest.mark.parametrize("count", [2, 5, 9, 64, 301])
def test_rounds_that_read_what_they_write_by_another_name(ti: Any, count: int) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for _ in range(1):
            for j in range(n - 1):
                a[j + 1] += b[j]

    x = np.arange(301, dtype=np.int32)
    want = np.concatenate([np.cumsum(x[:count]), x[count:]])
    run(x, x, count)
    assert (x == want).all()


@pytest.mark.parametrize("kind", ["u8", "i8", "u16", "i16", "u32", "i64", "f16", "f64"])
def test_neighbours_and_rounds_of_other_types(ti: Any, kind: str) -> None:
    dtype, number = getattr(ti, kind), np.dtype({"u": "uint", "i": "int", "f": "float"}[kind[0]] + kind[1:])
    x, y, z = ti.field(dtype, N + 2), ti.field(dtype, N), ti.Vector.field(3, dtype, N)

    @ti.kernel
    def run(n: ti.i32):
        for i in y:
            y[i] = x[i] + x[i + 1] * x[i + 2]
        for i in z:
            total = ti.cast(0, dtype)
            for j in range(n):
                total += x[j] * ti.cast(i % 3, dtype)
            z[i] = ti.Vector([x[i], total, x[i + 1]])

    v = (np.arange(N + 2) * 7 % 10).astype(number)
    x.from_numpy(v)
    run(37)
    assert (y.to_numpy() == v[:-2] + v[1:-1] * v[2:]).all()
    total = v[:37].sum(dtype=number) * (np.arange(N) % 3).astype(number)
    assert (z.to_numpy() == np.stack([v[:-2], total, v[1:-1]], -1)).all()


def test_loops_of_any_known_number_of_rounds(ti: Any) -> None:
    counts = (0, 1, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63)
    x, y = ti.field(ti.i32, 128), ti.field(ti.i32, N)

    @ti.kernel
    def run():
        for i in y:
            total = i % 2
            for n in ti.static(counts):
                for j in range(n):
                    total = total * 3 + x[j]
                for j in range(-n // 2, n // 2):
                    total = total * 5 + x[j + 64] + j
                for j in range(n, -1, -2):
                    total = total * 7 + x[j]
            y[i] = total

    v = np.arange(128, dtype=np.int32) * 37 % 64
    x.from_numpy(v)
    run()
    want = np.arange(2, dtype=np.int32)
    for n in counts:
        for j in range(n):
            want = want * np.int32(3) + v[j]
        for j in range(-n // 2, n // 2):
            want = want * np.int32(5) + v[j + 64] + np.int32(j)
        for j in range(n, -1, -2):
            want = want * np.int32(7) + v[j]
    assert (y.to_numpy() == want[np.arange(N) % 2]).all()


def test_differences_to_quotients(ti: Any) -> None:
    """In 64 bits, where the low word of what is subtracted is often 0 (docs/adr/0026)."""
    x, b, c, y = ti.field(ti.u32, N), ti.field(ti.u32, N), ti.field(ti.i64, N), ti.Vector.field(5, ti.i64, N)

    @ti.kernel
    def run():
        for i in y:
            y[i] = [
                ti.cast(i // 28, ti.i64) - ti.cast(b[i], ti.i64),
                ti.cast(i // 56, ti.i64) - c[i],
                ti.cast(x[i] // ti.u32(641), ti.i64) - c[i],
                ti.cast((x[i] >> 3) // ti.u32(28), ti.i64) + -ti.cast(b[i], ti.i64),
                ti.cast((ti.cast(x[i], ti.u64) * ti.u64(0x9E3779B9)) >> 32, ti.i64) - ti.cast(b[i], ti.i64),
            ]

    random, i = np.random.default_rng(0), np.arange(N)
    u, few, far = random.integers(0, 2**32, N), random.integers(0, 3, N), random.integers(0, 3, N) << 32
    x.from_numpy(u.astype(np.uint32))
    b.from_numpy(few.astype(np.uint32))
    c.from_numpy(far)
    run()
    high = (u.astype(np.uint64) * np.uint64(0x9E3779B9) >> np.uint64(32)).astype(np.int64)
    want = [i // 28 - few, i // 56 - far, u // 641 - far, (u >> 3) // 28 - few, high - few]
    assert (y.to_numpy() == np.stack(want, -1)).all()


@pytest.mark.parametrize("n", [3, 29])
def test_rounds_of_loops_that_count_in_other_ways(ti: Any, n: int) -> None:
    """By two, down, by a step known at run time, without signs; of neighbours that one thread takes."""
    x, w = ti.field(ti.i32, 64), ti.field(ti.i32, N)
    y = [ti.field(ti.i32, N) for _ in range(5)]

    @ti.kernel
    def run(n: ti.i32, step: ti.i32, u: ti.u32):
        for i in w:
            a, b, c, d, e = 0, 0, 0, 0, 0
            for k in range(0, n, 2):
                a += x[k] * w[i]
            for k in range(n, -1, -1):
                b = b * 3 + x[k] * w[i]
            for k in range(1, n, step):
                c += x[k] * w[i]
            for k in range(u):
                d += x[k] * w[i]
            for k in range(5, 32, 3):
                e += x[k + n] * w[i] - x[2] * k
            y[0][i], y[1][i], y[2][i], y[3][i], y[4][i] = a, b, c, d, e

    x.from_numpy(np.arange(64, dtype=np.int32) % 13)
    w.from_numpy(np.arange(N, dtype=np.int32) % 7 - 3)
    run(n, 3, n)
    v, u = (np.arange(64) % 13).tolist(), w.to_numpy().astype(np.int64)
    b = 0 * u
    for k in range(n, -1, -1):
        b = b * 3 + v[k] * u
    e = sum(v[k + n] * u - v[2] * k for k in range(5, 32, 3))
    want = [sum(v[0:n:2]) * u, b, sum(v[1:n:3]) * u, sum(v[:n]) * u, e]
    np.testing.assert_array_equal([one.to_numpy() for one in y], np.stack(want).astype(np.int32))
