"""Programs whose parallel loops hold loops, jumps, gathers and atomics: in lanes and one by one they give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as ti

N = 45  # not a multiple of any vector


@pytest.fixture(autouse=True)
def exact() -> None:
    ti.init(arch=ti.cpu, fast_math=False)


def made(kernel_of: Callable[[int], tuple[Any, Any]]) -> None:
    """Run what `kernel_of(lanes)` makes, one by one and in lanes, and compare its field."""
    results: list[Any] = []
    for lanes in (1, 4, 16, 32, 64, 0):
        kernel, out = kernel_of(lanes)
        kernel()
        results.append(out.to_numpy())
    for found in results[1:]:
        np.testing.assert_array_equal(found, results[0])
    assert np.any(results[0] != 0)


def test_while_with_break_and_continue() -> None:
    def make(lanes: int) -> tuple[Any, Any]:
        out = ti.field(ti.i32, N)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in out:
                x, steps = i * 7 + 1, 0
                while True:
                    steps += 1
                    if x % 3 == 0:
                        x = x // 3
                        continue
                    if x == 1 or steps > 60:
                        break
                    x = 3 * x + 1 if x % 2 == 1 else x // 2
                out[i] = 100 * steps + x % 100

        return run, out

    made(make)


def test_loops_of_different_lengths() -> None:
    def make(lanes: int) -> tuple[Any, Any]:
        out = ti.field(ti.i64, (3, N))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i, j in out:
                total = ti.i64(0)
                for a in range(j % 5, j):
                    for b in range(a, -1, -2):
                        if (a + b) % 4 == 3:
                            continue
                        if a * b > 300 + i:
                            break
                        total += a * 100 + b
                out[i, j] = total

        return run, out

    made(make)


def test_gathers_clamps_and_wraps() -> None:
    def make(lanes: int) -> tuple[Any, Any]:
        x, where = ti.Vector.field(3, ti.f32, N), ti.field(ti.i32, N)
        out = ti.Vector.field(3, ti.f32, N)
        x.from_numpy(np.arange(3 * N, dtype=np.float32).reshape(N, 3) ** 0.5)
        where.from_numpy((np.arange(N) * 17 % N).astype(np.int32))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in out:
                total = ti.Vector([0.0, 0.0, 0.0])
                for k in range(-3, 4):
                    total += x[ti.max(0, ti.min(N - 1, i + k))] - 0.5 * x[(i + k) % N] + x[where[i]].zxy
                    if i % 3 == 0:
                        total += x[i]
                out[i] = total

        return run, out

    made(make)


def test_local_arrays_and_nested_branches() -> None:
    def make(lanes: int) -> tuple[Any, Any]:
        out = ti.field(ti.i32, N)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in out:
                stack = ti.Vector([0] * 8)
                top, total, item = 0, 0, i
                for _ in range(12):
                    if item % 2 == 0 and top < 8:
                        stack[top] = item
                        top += 1
                    elif top > 0:
                        top -= 1
                        if stack[top] > 9:
                            total += stack[top]
                        else:
                            total -= item
                    item = (item * 5 + 3) % 23
                out[i] = total * 10 + top

        return run, out

    made(make)


def test_atomics_and_sums() -> None:
    def make(lanes: int) -> tuple[Any, Any]:
        out = ti.field(ti.i32, 16)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N * N):
                k = i
                while k > 0:
                    out[k % 11] += 1
                    if k % 7 == 2:
                        ti.atomic_max(out[12], k)
                    out[13] += k % 3
                    k = k // 3
                out[14 + i % 2] -= 1

        return run, out

    made(make)


def test_integer_division_where_lanes_are_idle() -> None:
    def make(lanes: int) -> tuple[Any, Any]:
        out = ti.field(ti.i32, N)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in out:
                total, k = 0, i % 9
                while k > 0:
                    total += 1000 // k + 1000 % (k - 3)
                    k -= 1
                out[i] = total + 1

        return run, out

    made(make)


def test_inverse_roots_keep_their_ends() -> None:
    ti.init(arch=ti.cpu)
    values = np.array([0.0, 1e-45, 1e-38, 1.0, 2.0, 3e38, np.inf, -1.0, np.nan, 4.0] * 4, np.float32)
    x, y = ti.field(ti.f32, len(values)), ti.field(ti.f32, len(values))
    x.from_numpy(values)

    @ti.kernel
    def run():
        ti.loop_config(simd=16)
        for i in x:
            y[i] = 1.0 / ti.sqrt(x[i])

    run()
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(y.to_numpy(), 1 / np.sqrt(values), rtol=4e-7)


def test_each_lane_draws_its_own_random_numbers() -> None:
    def make(lanes: int) -> tuple[Any, Any]:
        ti.init(arch=ti.cpu, fast_math=False, random_seed=7)
        out = ti.field(ti.f32, (3, N))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i, j in out:
                total, k = 0.0, 0
                while k < 9:
                    if j % 3 == 1:
                        total += ti.random()
                    total += ti.random() * ti.cast(ti.random(ti.i32) % 5, ti.f32)
                    if total > 7.0:
                        break
                    k += 1
                out[i, j] = total

        return run, out

    made(make)


def test_products_of_matrices_in_several_vectors() -> None:
    """64 lanes of which the last are empty, 32, and whatever is chosen: rows of b side by side, a shared by all."""
    n = 126

    def make(lanes: int) -> tuple[Any, Any]:
        a, b, out = ti.field(ti.i32, (9, n)), ti.field(ti.i32, (n, n)), ti.field(ti.i32, (9, n))
        a.from_numpy(np.arange(9 * n, dtype=np.int32).reshape(9, n) % 89)
        b.from_numpy(np.arange(n * n, dtype=np.int32).reshape(n, n) % 97)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i, j in out:
                total = i
                for k in range(n):
                    total += a[i, k] * b[k, j]
                out[i, j] = total

        return run, out

    made(make)


def test_values_that_are_equal_in_all_lanes_of_a_loop() -> None:
    """The number of a round, which lanes that have left keep; but not where they count in different rounds."""

    def make(lanes: int) -> tuple[Any, Any]:
        table, out = ti.field(ti.i32, 64), ti.field(ti.i32, (6, N))
        table.from_numpy(np.arange(64, dtype=np.int32)[::-1].copy())

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                rounds, total, later = 0, 0, 5
                while rounds < i % 23:  # common: they read the same of the table
                    total += table[rounds]
                    rounds += 1
                    if total > 600:
                        break
                out[0, i], out[1, i] = rounds, total
                while later < 40 + i % 3:  # stored to in two loops
                    later += 1
                while later < 60 + i % 7:
                    later += table[later] % 2 + 1
                out[2, i] = later
                even, first = 0, 0
                while even + first < 20 + i % 5:  # some lanes count elsewhere
                    if i % 2 == 0:
                        even += 1
                    else:
                        first += 2
                    if (first + even) % 4 == 3:
                        break
                out[3, i] = 100 * even + first
                skipped, number = 0, 0
                while number < 9 + i % 4:  # lanes start the next round early
                    number += 1
                    if (number + i) % 3 == 0:
                        continue
                    skipped += 1
                out[4, i] = 100 * skipped + number
                steps = 1 if i % 3 == 0 else 0  # not the same from the start
                while steps < 9 + i % 2:
                    steps += 2
                out[5, i] = steps + table[steps]

        return run, out

    made(make)


def test_local_arrays_and_parts_of_cells_by_computed_index() -> None:
    """Of each vector of several: two arrays, neither of which may reach into the other, and the cells of a field."""

    def make(lanes: int) -> tuple[Any, Any]:
        out = ti.Vector.field(3, ti.i32, 2 * N)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in out:
                a, b, k = ti.Vector([0] * 7), ti.Vector([0] * 5), 0
                while k < 5 + i % 4:
                    a[(i + k) % 7] += 10 * k + i
                    b[(i * k) % 5] -= k
                    out[i][(i + k) % 3] += a[k % 7] - b[(i + 1) % 5]
                    k += 1
                out[i][1] += a[i % 7] * b[i % 5]

        return run, out

    made(make)


def test_a_local_array_by_the_index_of_the_loop() -> None:
    def make(lanes: int) -> tuple[Any, Any]:
        out = ti.field(ti.i32, 8)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(8):
                a = ti.Vector([0] * 8)
                for k in range(8):
                    a[k] = k * i
                a[i] += 5
                for k in range(8):
                    out[i] += a[k] * (k + 1)
                out[i] += a[i]

        return run, out

    made(make)


def test_a_local_that_only_an_inner_loop_reads_lives_through_the_loop_around() -> None:
    """Lanes that have left the inner loop need their own values in its next run."""

    def make(lanes: int) -> tuple[Any, Any]:
        out = ti.field(ti.i32, N)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in out:
                x = i
                for _ in range(3):
                    k = 0
                    while k < i % 5:
                        x = x * 3 + 1
                        out[i] += x % 1000
                        k += 1

        return run, out

    made(make)


def test_an_address_whose_index_does_not_move_evenly() -> None:
    """The casts could wrap, but not where the condition holds: the address moves evenly, its index is one for each."""

    def make(lanes: int) -> tuple[Any, Any]:
        out = ti.field(ti.f64, N)
        out.from_numpy(np.arange(1.0, N + 1))
        drawn = ti.field(ti.f64, N)

        @ti.kernel
        def run(count: ti.i32):
            ti.loop_config(simd=lanes)
            for i in range(count):
                found = ti.f64(0.0)
                if i > 4:
                    found = out[ti.cast(ti.cast(i, ti.u32) - ti.u32(5), ti.i32)]
                drawn[i] = found

        return lambda: run(N), drawn

    made(make)


@pytest.mark.parametrize("moved", [False, True])
def test_indices_of_64_bits_where_inactive_lanes_wrap_in_32(moved: bool) -> None:
    """The first active lane has index -2**31. The lanes before it wrapped, and lie 2**32 elements away."""

    def make(lanes: int) -> tuple[Any, Any]:
        low = -(2**31)
        out = ti.field(ti.i32, N) if moved else ti.field(ti.i32, N, offset=low)

        @ti.kernel
        def run(first: ti.i32, distance: ti.i64):
            ti.loop_config(simd=lanes)
            for i in range(N):
                if i > 4:
                    out[ti.cast(i - 5 + first, ti.i64) + distance] = i + 1

        return lambda: run(low, -low if moved else 0), out

    made(make)


def test_indices_that_fall_where_inactive_lanes_wrap_in_32() -> None:
    """Index 2**31 - 2 is the last one. The lanes before the first active one wrapped, and lie 2**32 elements away."""
    last = 2**31 - 2
    z = np.zeros(last + 1, np.uint8)  # the system gives pages to those elements that are written

    @ti.kernel
    def run(z: ti.types.ndarray(ti.u8, 1), last: ti.i32):
        ti.loop_config(simd=8)
        for i in range(N):
            if i > 4:
                z[ti.cast(last - i + 5, ti.i64)] = 1

    run(z, last)
    assert z[-N:].sum() == N - 5


@pytest.mark.parametrize("order", ["ij", "ji"])
def test_two_clamped_indices_of_one_address(order: str) -> None:
    """The lanes stand in a row only where both indices are even: behind index 3 one of them no longer grows."""

    def make(lanes: int) -> tuple[Any, Any]:
        shape = (4, 64) if order == "ji" else (64, 4)
        x, out = ti.field(ti.f32, shape, order=order), ti.field(ti.f32, (2, N))
        x.from_numpy(np.arange(256, dtype=np.float32).reshape(shape))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N):
                near, far = ti.min(i, 3), ti.min(i, 40)
                if ti.static(order == "ji"):
                    out[0, i] = x[near, far]
                else:
                    out[0, i] = x[far, near]
                out[1, i] = 1

        return run, out

    made(make)
