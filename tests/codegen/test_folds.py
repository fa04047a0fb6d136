"""Inner loops whose iterations run in lanes, and cells of vectors moved whole, give the results of serial loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft as ti
from tests.codegen.folding import Folded, folding, has_lanes
from tests.sampling import draws, only

N = 53
RNG = np.random.default_rng(0)
LENGTHS = np.concatenate([np.arange(20), [31, 32, 33, 64, 65, 150], RNG.integers(0, 90, N - 26)])


@pytest.fixture
def every_loop() -> Iterator[list[Folded]]:
    """`folding` for a whole test."""
    with folding() as plans:
        yield plans


def starts() -> Any:
    """Where each of N pieces of an array begins and the last one ends; some are empty, some long."""
    return np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int32)


def rows(dtype: Any) -> tuple[Any, Any, list[Any]]:
    """An array in pieces: (values, starts), both fields, and the pieces."""
    cuts = starts()
    numbers = RNG.integers(-50, 50, cuts[-1]).astype(dtype)
    x, start = ti.field(ti.i32 if dtype is np.int32 else ti.f32, len(numbers)), ti.field(ti.i32, N + 1)
    x.from_numpy(numbers)
    start.from_numpy(cuts)
    return x, start, [numbers[a:b] for a, b in pairwise(cuts)]


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_sums_and_extremes(every_loop: list[Folded], dtype: Any) -> None:
    ti.init(arch=ti.cpu)
    x, start, pieces = rows(dtype)
    total, some, low, high = (ti.field(x.dtype, N) for _ in range(4))

    @ti.kernel
    def run():
        for i in total:
            a, b, least, most = ti.cast(0, x.dtype), ti.cast(0, x.dtype), ti.cast(99, x.dtype), ti.cast(-99, x.dtype)
            for k in range(start[i], start[i + 1]):
                a -= x[k]
                least = ti.min(x[k], least)
                most = ti.max(most, x[k])
                if x[k] > 10:
                    if k % 3 == 0:
                        continue
                    b += x[k] * 2
            total[i], some[i], low[i], high[i] = a, b, least, most

    run()
    assert bool(every_loop) == has_lanes()
    cuts = starts()
    kept = [2 * p[(p > 10) & (np.arange(c, c + len(p)) % 3 != 0)].sum() for c, p in zip(cuts, pieces)]
    np.testing.assert_array_equal(total.to_numpy(), [-p.sum() for p in pieces])
    np.testing.assert_array_equal(some.to_numpy(), kept)
    np.testing.assert_array_equal(low.to_numpy(), [min([99, *p]) for p in pieces])
    np.testing.assert_array_equal(high.to_numpy(), [max([-99, *p]) for p in pieces])


def test_a_sum_through_several_loops_is_added_up_where_it_is_wanted(every_loop: list[Folded]) -> None:
    ti.init(arch=ti.cpu)
    x, start, pieces = rows(np.int32)
    out = ti.field(ti.i32, N - 2)

    @ti.kernel
    def run():
        for i in out:
            s = 1
            for row in range(3):
                for k in range(start[i + row], start[i + row + 1]):
                    s += x[k]
                if row == 1:
                    continue
            for row in range(2):
                for _ in range(start[i + row], start[i + row + 1]):
                    s += 1
                s = s % 1000
            out[i] = s

    run()
    assert bool(every_loop) == has_lanes()
    sums = [1 + sum(int(p.sum()) for p in pieces[i : i + 3]) for i in range(N - 2)]
    for i, value in enumerate(sums):
        for length in LENGTHS[i : i + 2]:
            value = (value + int(length)) % 1000
        sums[i] = value
    np.testing.assert_array_equal(out.to_numpy(), sums)


def test_what_does_not_only_sum_up_stays(every_loop: list[Folded]) -> None:
    ti.init(arch=ti.cpu)
    x, start, pieces = rows(np.int32)
    first, last, prefix = ti.field(ti.i32, N), ti.field(ti.i32, N), ti.field(ti.i32, x.shape)

    @ti.kernel
    def run():
        for i in first:
            found, seen, s = -1, 0, 0
            for k in range(start[i], start[i + 1]):
                if x[k] > 20:
                    found = k
                    break
            for k in range(start[i], start[i + 1]):
                seen = seen * 3 + x[k]
            for k in range(start[i], start[i + 1]):
                s += x[k]
                prefix[k] = s
            first[i], last[i] = found, seen

    run()
    assert not every_loop
    cuts = starts()
    expected = [next((c + k for k, value in enumerate(p) if value > 20), -1) for c, p in zip(cuts, pieces)]
    np.testing.assert_array_equal(first.to_numpy(), expected)
    np.testing.assert_array_equal(prefix.to_numpy(), np.concatenate([np.cumsum(p) for p in pieces]))


def test_a_local_of_two_operators_is_no_sum(every_loop: list[Folded]) -> None:
    ti.init(arch=ti.cpu)
    x, start, pieces = rows(np.int32)
    out = ti.field(ti.i32, N)

    @ti.kernel
    def run():
        for i in out:
            s = 0
            for k in range(start[i], start[i + 1]):
                if x[k] > 0:
                    s += x[k]
                else:
                    s = ti.min(s, -3 * x[k])
            out[i] = s

    run()
    assert not every_loop
    for found, piece in zip(out.to_numpy(), pieces):
        s = 0
        for value in piece:
            s = s + value if value > 0 else min(s, -3 * value)
        assert found == s


def test_floats_keep_their_order_without_fast_math(every_loop: list[Folded]) -> None:
    ti.init(arch=ti.cpu, fast_math=False)
    x, start, _ = rows(np.float32)
    out = ti.field(ti.f32, N)

    @ti.kernel
    def run():
        for i in out:
            s = 0.0
            for k in range(start[i], start[i + 1]):
                s += x[k] * 0.1
            out[i] = s

    run()
    assert not every_loop


def test_sums_spread_nan_that_is_added_and_none_that_is_not(every_loop: list[Folded]) -> None:
    ti.init(arch=ti.cpu)
    x, start, _ = rows(np.float32)
    x[int(starts()[30])] = float("nan")
    good, all_of = ti.field(ti.f32, N), ti.field(ti.f32, N)

    @ti.kernel
    def run():
        for i in good:
            a, b = 0.0, 0.0
            for k in range(start[i], start[i + 1]):
                b += x[k]
                if x[k] < 10:
                    a += x[k]
            good[i], all_of[i] = a, b

    run()
    assert bool(every_loop) == has_lanes()
    assert np.isnan(all_of.to_numpy()[30])
    assert np.isnan(all_of.to_numpy()).sum() == 1
    assert not np.isnan(good.to_numpy()).any()


SUMS = ("add", "sub", "min", "max", "xor", "or")


@settings(max_examples=draws(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kinds=st.lists(st.sampled_from(SUMS), min_size=1, max_size=3),
    when=st.integers(0, 4),
    index=st.integers(0, 2),
    depth=st.integers(0, 2),
    again=st.booleans(),
)
def test_random_sums(kinds: list[str], when: int, index: int, depth: int, again: bool) -> None:
    """Sums of several kinds, under conditions, of elements side by side and anywhere, in loops in loops."""
    results: list[Any] = []
    for fold in (True, False):
        ti.init(arch=ti.cpu)
        with folding() if fold else nullcontext([]) as plans:
            results.append(run_sums(kinds, when, index, depth, again))
        assert bool(plans) == (fold and has_lanes())
    np.testing.assert_array_equal(results[0], results[1])


def joining() -> Any:
    """The function that adds a value to a sum of some kind."""

    @ti.func
    def joined(kind: ti.template(), old, value):
        new = old
        if ti.static(kind == "add"):
            new = old + value
        elif ti.static(kind == "sub"):
            new = old - value
        elif ti.static(kind == "min"):
            new = ti.min(value, old)
        elif ti.static(kind == "max"):
            new = ti.max(old, value)
        elif ti.static(kind == "xor"):
            new = old ^ value
        else:
            new = value | old
        return new

    return joined


def run_sums(kinds: list[str], when: int, index: int, depth: int, again: bool) -> Any:
    count, rounds = len(kinds), (1, 2, 3)[depth]
    x, start, out = ti.field(ti.i32, 4000), ti.field(ti.i32, N + 3), ti.field(ti.i32, (N, count + 1))
    x.from_numpy(np.arange(4000, dtype=np.int32) * 7919 % 1000 - 400)
    start.from_numpy(np.concatenate([starts(), starts()[-1:] + [3, 9]]).astype(np.int32))

    joined = joining()

    @ti.func
    def meets(k, value):
        holds = True
        if ti.static(when == 1):
            holds = value % 3 == 0
        elif ti.static(when == 2):
            holds = k % 2 == 0 and value > 0
        elif ti.static(when == 3):
            holds = value > 990
        return holds

    @ti.kernel
    def run():
        ti.loop_config(simd=0)
        for i in range(N):
            sums = ti.Vector([3] * count)
            seen = 0
            for row in range(rounds):
                for k in range(start[i + row], start[i + row + 1]):
                    at = k
                    if ti.static(index == 1):
                        at = (k * 31 + i) % 4000
                    elif ti.static(index == 2):
                        at = k + row * 5
                    value = x[at]
                    if ti.static(when == 4) and value < 0:
                        continue
                    if meets(k, value):
                        for c in ti.static(range(count)):
                            sums[c] = joined(ti.static(kinds[c]), sums[c], value + c)
                if ti.static(again):
                    seen += sums[0]
            for c in ti.static(range(count)):
                out[i, c] = sums[c]
            out[i, count] = seen

    run()
    return out.to_numpy()


# ---- cells


def same_in_lanes(make: Callable[[int], tuple[Any, Any]]) -> None:
    """What a kernel leaves does not depend on how many lanes it runs in."""
    results: list[Any] = []
    for lanes in (1, 4, 16):
        kernel, out = make(lanes)
        kernel()
        results.append(out.to_numpy())
    for found in results[1:]:
        np.testing.assert_array_equal(found, results[0])
    assert np.any(results[0] != 0)


@pytest.mark.parametrize("layout", [ti.Layout.AOS, ti.Layout.SOA])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64, ti.u8])
@pytest.mark.parametrize("size", only([3], [2, 3, 7]))
def test_vectors(size: int, dtype: Any, layout: Any) -> None:
    ti.init(arch=ti.cpu, fast_math=False)
    numbers = RNG.integers(0, 100, (N, size))

    def make(lanes: int) -> tuple[Any, Any]:
        a, b = (ti.Vector.field(size, dtype, N, layout=layout) for _ in range(2))
        a.from_numpy(numbers.astype(b.to_numpy().dtype))
        b.fill(7)

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in range(N - 1):
                if a[i][0] > 30:
                    b[i + 1] = a[i] + a[i + 1]
                    b[i + 1][1] = a[i][0]
                elif a[i][1] > 50:
                    b[i + 1][size - 1] = a[(i + 3) % N][size - 1]

        return run, b

    same_in_lanes(make)


def test_parts_of_structs_keep_what_lies_between() -> None:
    ti.init(arch=ti.cpu, fast_math=False)
    Body = ti.types.struct(x=ti.types.vector(3, ti.f32), mass=ti.f32, v=ti.types.vector(2, ti.f32), tag=ti.i32)

    def make(lanes: int) -> tuple[Any, Any]:
        p, out = Body.field(shape=(3, N)), ti.field(ti.f32, (3, N, 7))
        for k, member in enumerate((p.x, p.mass, p.v, p.tag)):
            member.from_numpy((np.arange(member.to_numpy().size) * (k + 1) % 97).reshape(member.to_numpy().shape))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i, j in p:
                if p[i, j].mass > 20:
                    p[i, j].v += p[i, j].x.xy * p[i, j].mass
                    p[i, j].x.z = -p[i, j].v.x
                else:
                    p[i, j].tag += 1
            for i, j in p:
                for k in ti.static(range(3)):
                    out[i, j, k] = p[i, j].x[k]
                out[i, j, 3], out[i, j, 6] = p[i, j].mass, p[i, j].tag
                out[i, j, 4], out[i, j, 5] = p[i, j].v

        return run, out

    same_in_lanes(make)


@pytest.mark.parametrize(
    ("size", "dtype"),
    [(2, ti.f32), (3, ti.f32), (3, ti.u32), (4, ti.i32), (5, ti.f32), (2, ti.f64), (6, ti.i16), (8, ti.i8)],
)
def test_cells_anywhere(size: int, dtype: Any) -> None:
    """Loaded whole, loaded again once they may have changed, and not where nobody is."""
    ti.init(arch=ti.cpu, fast_math=False)
    numbers, places = RNG.integers(1, 100, (N, size)), RNG.integers(0, N, N).astype(np.int32)

    def make(lanes: int) -> tuple[Any, Any]:
        a, b = (ti.Vector.field(size, dtype, N) for _ in range(2))
        own, at = ti.Vector.field(size, dtype, N), ti.field(ti.i32, N)
        a.from_numpy(numbers.astype(b.to_numpy().dtype))
        at.from_numpy(np.where(np.arange(N) % 7 == 3, 2**30, places).astype(np.int32))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in b:
                k = at[i]
                if k < N:
                    s = a[k] + a[N - 1 - k] * 2
                    if s[0] > 100:
                        s += a[(k + 5) % N]
                    b[i] = s
                    own[i] = s
                    own[i] = own[i] + a[k]
                    b[i] += own[i]
                else:
                    b[i] = a[at[i - 1]]

        return run, b

    same_in_lanes(make)


def test_integers_of_any_floats() -> None:
    ti.init(arch=ti.cpu)
    sides = np.array([-1.0, 1.0])
    powers = (sides[:, None] * 2.0 ** np.array([7, 8, 15, 16, 31, 32, 63, 64, 70])).ravel()
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.99, -0.99, 1e-40, -7.5])
    numbers = np.concatenate([odd, powers, np.nextafter(powers, 0), powers * 1.01])

    targets = (ti.i8, ti.u8, ti.i16, ti.u16, ti.i32, ti.u32, ti.i64, ti.u64)
    for source in (ti.f32, ti.f64):
        found: list[Any] = []
        for lanes in (1, 16):
            x, outs = ti.field(source, len(numbers)), [ti.field(target, len(numbers)) for target in targets]
            x.from_numpy(numbers.astype(x.to_numpy().dtype))

            @ti.kernel
            def run():
                ti.loop_config(simd=lanes)  # noqa: B023 - the kernel runs at once
                for i in x:  # noqa: B023
                    for out in ti.static(outs):  # noqa: B023
                        out[i] = ti.cast(x[i], out.dtype)  # noqa: B023

            run()
            found.append([out.to_numpy().tolist() for out in outs])
        assert found[1] == found[0], source


def test_stores_keep_their_order() -> None:
    ti.init(arch=ti.cpu, fast_math=False)

    def make(lanes: int) -> tuple[Any, Any]:
        a = ti.Vector.field(3, ti.i32, N)
        a.from_numpy(np.arange(3 * N).reshape(N, 3).astype(np.int32))

        @ti.kernel
        def run():
            ti.loop_config(simd=lanes)
            for i in a:
                a[i].x = 5
                a[i].y = a[i].x + a[i].z
                a[i].x = a[i].y + 1
                k = a[i].z % 3
                a[i][k] += 100
                a[i].z = a[i][k]

        return run, a

    same_in_lanes(make)


def test_cells_are_moved_whole() -> None:
    """Vectors of three floats are loaded and stored without an access of one lane by itself."""
    text = (Path(__file__).parent / "golden" / "cells.ll").read_text()
    assert "masked.load.v8f32" in text
    assert "masked.store.v8f32" in text
    assert "gather" not in text
    assert "scatter" not in text


def test_cells_anywhere_are_loaded_whole_and_casts_stay_vectors() -> None:
    text = (Path(__file__).parent / "golden" / "places.ll").read_text()
    assert text.count("masked.load.v4f32.p0(ptr align 4") == 8  # a cell for each of eight lanes
    assert "fptosi <8 x float>" in text
    assert "gather" not in text
    assert "fptosi.sat" not in text


def test_rounds_up_to_the_last_of_all_numbers(every_loop: list[Folded]) -> None:
    ti.init(arch=ti.cpu)
    x, out = ti.field(ti.i64, 100), ti.field(ti.i64, N)
    x.from_numpy(np.arange(100))

    @ti.kernel
    def run(begin: ti.i64, end: ti.i64):
        for i in out:
            total = ti.i64(0)
            for k in range(begin, end):
                if (k - begin + i) % 3:
                    total += x[k - begin]
            out[i] = total

    last = 2**63 - 1
    for begin, end in (
        (last - 5, last),
        (last - 33, last),
        (last - 100, last - 1),
        (-last - 1, 64 - last),
        (last, -last),
    ):
        run(begin, end)
        rounds = range(begin, end)
        wanted = [sum(k - begin for k in rounds if (k - begin + i) % 3) for i in range(N)]
        assert out.to_numpy().tolist() == wanted
    assert bool(every_loop) == has_lanes()
