"""Scatters and gathers of lanes: what waits for others is done in the program's order, by the lanes that are here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import weft as ti

N = 45  # not a multiple of any vector


@pytest.fixture(autouse=True)
def exact() -> None:
    ti.init(arch=ti.cpu, fast_math=False, cpu_max_num_threads=1)


def made(kernel_of: Callable[[int], tuple[Any, ...]], ways: Sequence[int] = (1, 2, 4, 8, 16, 32, 0)) -> None:
    """Run what `kernel_of(lanes)` makes, one by one and in lanes, and compare its fields bit by bit: one lane after the
    other adds what iterations add one after the other."""
    results: list[list[Any]] = []
    for lanes in ways:
        kernel, *fields = kernel_of(lanes)
        kernel()
        results.append([field.to_numpy() for field in fields])
    for found in results[1:]:
        for mine, first in zip(found, results[0], strict=True):
            np.testing.assert_array_equal(mine, first)
    assert all(np.any(field != 0) for field in results[0])


def scattered(length: int) -> Any:
    """A field of places, some of them shared."""
    where = ti.field(ti.i32, length)
    where.from_numpy((np.arange(length) * 17 % 29).astype(np.int32))
    return where


def permuted() -> Any:
    """A field of places, one for each iteration."""
    where = ti.field(ti.i32, N)
    where.from_numpy(np.random.default_rng(1).permutation(N).astype(np.int32))
    return where


def test_cells_of_neighbours() -> None:
    def make(lanes: int) -> tuple[Any, ...]:
        where, grid, mass = scattered(N), ti.Vector.field(3, ti.f32, (32, 8)), ti.field(ti.f32, (32, 8))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for p in where:
                base = ti.Vector([where[p], p % 5])
                for i, j in ti.static(ti.ndrange(3, 3)):
                    weight = 1.0 / (1 + p + i * 2 + j)
                    grid[base + ti.Vector([i, j])] += weight * ti.Vector([1.0, p * 0.3, -0.7])
                    mass[base + ti.Vector([i, j])] += weight

        return run, grid, mass

    made(make)


def test_neighbours_of_lanes_that_are_here() -> None:
    """Others have indices far out of bounds."""

    def make(lanes: int) -> tuple[Any, ...]:
        grid, where, out = ti.Vector.field(3, ti.f32, (32, 8)), scattered(N), ti.Vector.field(3, ti.f32, N)
        grid.from_numpy(np.arange(32 * 8 * 3, dtype=np.float32).reshape(32, 8, 3) ** 0.5)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for p in where:
                place = where[p] if p % 3 == 1 else 1_000_000 * (p - 20)
                if p % 3 == 1:
                    for i, j in ti.static(ti.ndrange(3, 3)):
                        out[p] += grid[place + i, p % 5 + j] * (1.0 + i - j)

        return run, out

    made(make)


def test_loads_see_earlier_atomics() -> None:
    def make(lanes: int) -> tuple[Any, ...]:
        where, sums, out = permuted(), ti.field(ti.i32, N), ti.field(ti.i32, N)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in where:
                k = where[i]
                sums[k] += i
                sums[k] += 3
                seen = sums[k]
                sums[k] += seen
                while seen > 5:
                    sums[k] += 1
                    seen = seen // 2
                out[i] = sums[k]

        return run, sums, out

    made(make)


def test_a_cell_is_read_whole_after_what_was_added_to_a_part() -> None:
    def make(lanes: int) -> tuple[Any, ...]:
        where, sums, out = permuted(), ti.Vector.field(2, ti.i32, N), ti.Vector.field(2, ti.i32, N)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in where:
                sums[where[i]].y += 3
                out[i] = sums[where[i]]

        return run, sums, out

    made(make)


def test_each_lane_keeps_to_the_order_of_the_program() -> None:
    """Sums and maxima of one place do not commute."""

    def make(lanes: int) -> tuple[Any, ...]:
        where, out, others = permuted(), ti.field(ti.i32, N), ti.field(ti.i32, N + 1)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in where:
                k = where[i]
                out[k] += i
                ti.atomic_max(out[k], 20)
                out[k] -= 2 * k
                if k % 2 == 0:
                    ti.atomic_min(out[k], 9)
                    others[k + 1] += k
                others[k] += 2
                others[N] += 1

        return run, out, others

    made(make)


def test_whole_numbers_of_many_threads() -> None:
    ti.init(arch=ti.cpu)
    counts = ti.field(ti.i32, (1000, 3))

    @ti.kernel
    def run():
        ti.loop_config(simd=16)
        for i in range(300_000):
            k = (i * 79) % 1000
            for j in ti.static(range(3)):
                counts[k, j] += j + 1

    run()
    np.testing.assert_array_equal(counts.to_numpy(), np.tile([300, 600, 900], (1000, 1)))


def test_kinds_of_atomics_that_do_not_commute() -> None:
    """An atomic at one place for all lanes is made at once, but not before what came first and is of another kind."""

    def make(lanes: int) -> tuple[Any, ...]:
        where, x, count = ti.field(ti.i32, N), ti.field(ti.i32, N), ti.field(ti.i32, ())
        count[None] = 1  # with more iterations their order decides

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(count[None]):
                x[where[i]] += 5
                ti.atomic_max(x[0], 3)
                x[where[i] + 1] += 2
                if where[i] == 0:
                    ti.atomic_min(x[1], 1)

        return run, x

    made(make)


def test_atomics_that_do_not_wait() -> None:
    """On truth values, products, exchanges, unsigned extremes, old values; in one place and anywhere."""

    def make(lanes: int) -> tuple[Any, ...]:
        where, out = scattered(N), ti.field(ti.i32, (4, 32))
        some, seen = ti.field(ti.u1, 32), ti.field(ti.u1, 32)
        high, low, one = ti.field(ti.u32, 2), ti.field(ti.u32, 2), ti.field(ti.i32, 4)
        one.fill(1)
        low.fill(2**32 - 1)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in where:
                k = where[i]
                if i % 4 != 2:
                    ti.atomic_or(some[k], i % 3 == 0)
                    ti.atomic_mul(one[1 + i % 2 * 2], 2 * (i % 2) - 1)
                    for j in range(2):  # in one place each
                        ti.atomic_or(some[30 + j], i % 7 == 3 + j)
                        ti.atomic_mul(one[2 * j], 2 * (i % 3) - 1)
                        ti.atomic_max(high[j], ti.u32(i + j) * 95443717)
                        ti.atomic_min(low[j], ti.u32(i + 1 + j) * 95443717)
                    if ti.atomic_or(seen[k], i % 5 == 0):
                        out[3, k] += i
                    out[0, k] = ti.atomic_add(out[1, k % 7], i)
                out[2, i % 32] = ti.atomic_xor(out[1, 9], i)

        return run, out, some, seen, high, low, one

    made(make, (1, 8, 32))


@pytest.mark.parametrize("same", [False, True])
def test_arrays_that_may_be_one(same: bool) -> None:
    """What waits, and what is read, added and stored meanwhile: of arrays that may overlap nothing waits."""
    results: list[Any] = []
    for lanes in (1, 16):
        where = permuted()
        a, b = np.arange(2 * N, dtype=np.int32).reshape(2, N), np.arange(2 * N, dtype=np.int32).reshape(2, N) * 3

        @ti.kernel
        def run(a: ti.types.ndarray(ti.i32, 2), b: ti.types.ndarray(ti.i32, 2)):
            ti.loop_config(simd=lanes)  # noqa: B023
            for i in where:  # noqa: B023
                a[1, where[i]] += b[1, where[i]]  # noqa: B023
                b[0, i] += a[0, i] + b[1, where[i]]  # noqa: B023
                a[0, i] = a[1, where[i]] - b[0, i]  # noqa: B023

        run(a, a if same else b)
        results.append((a, b))
    for found in results[1:]:
        np.testing.assert_array_equal(found, results[0])


def test_a_place_that_all_store_one_value_to() -> None:
    def make(lanes: int) -> tuple[Any, ...]:
        where, equal, last = scattered(N), ti.field(ti.i32, N), ti.Vector.field(2, ti.i32, 4)
        equal.fill(7)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in where:
                last[2][0] = equal[i]
                last[1] = [equal[i] + 1, equal[N - 1 - i] + 2]
                if where[i] == 40:
                    last[3][1] = equal[i]
                if where[i] == 17:
                    last[0][1] = equal[i]

        return run, last

    made(make, (1, 8, 32))
