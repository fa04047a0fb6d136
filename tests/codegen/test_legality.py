"""Loops that look as if they could be transformed, and almost can: every arch and option gives what Python gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft as ti
from tests.codegen.folding import folding
from tests.sampling import draws

LENGTHS = np.array([0, 1, 2, 7, 16, 40, 100, 300], np.int32)
NUMBERS = np.random.default_rng(1).integers(-9, 9, 400)
ROWS = len(LENGTHS)

# How a kernel runs: arch, whether inner loops run in lanes wherever they may, options. The first is the reference.
WAYS = ((ti.python, False, {}), (ti.cpu, False, {}), (ti.cpu, False, {"opt_level": 0}), (ti.cpu, True, {}))


def same(make: Callable[[], tuple[Any, Any]]) -> Any:
    """Run what `make` makes in all ways: they agree. Gives what is left in its field."""
    found: list[Any] = []
    for arch, fold, options in WAYS:
        ti.init(arch=arch, offline_cache=False, **options)
        with folding() if fold else nullcontext():
            kernel, out = make()
            kernel()
            found.append(out.to_numpy())
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    return found[0]


def data(dtype: Any) -> tuple[Any, Any, Any]:
    """Numbers, how many of them each row takes, and room for what comes out."""
    x, count, out = ti.field(dtype, len(NUMBERS)), ti.field(ti.i32, ROWS), ti.field(dtype, (ROWS, 2))
    x.from_numpy(NUMBERS.astype(x.to_numpy().dtype))
    count.from_numpy(LENGTHS)
    return x, count, out


@pytest.mark.parametrize("dtype", [ti.f32, ti.i32, ti.f64, ti.u8, ti.i64])
def test_a_sum_that_another_sum_reads(dtype: Any) -> None:
    def make() -> tuple[Any, Any]:
        x, count, out = data(dtype)

        @ti.kernel
        def run():
            for i in range(ROWS):
                s, t = ti.cast(0, dtype), ti.cast(0, dtype)
                for k in range(count[i]):
                    if x[k] > 3:
                        s += x[k]
                    t += s
                out[i, 0], out[i, 1] = s, t

        return run, out

    same(make)


@pytest.mark.parametrize("dtype", [ti.f32, ti.i32])
def test_a_sum_of_what_the_sum_was_before(dtype: Any) -> None:
    def make() -> tuple[Any, Any]:
        x, count, out = data(dtype)

        @ti.kernel
        def run():
            for i in range(ROWS):
                s, t = ti.cast(0, dtype), ti.cast(0, dtype)
                for k in range(count[i]):
                    before = s
                    for m in range(3):
                        s += x[k + m]
                    if x[k] > 0:
                        s = before + x[k]
                    else:
                        t += s
                    if s > 1000:
                        s = 0
                out[i, 0], out[i, 1] = s, t

        return run, out

    same(make)


@pytest.mark.parametrize("sign", [-1, 1])
def test_signs_of_zero_that_nothing_is_taken_from(sign: int) -> None:
    def make() -> tuple[Any, Any]:
        x, count, out = data(ti.f32)

        @ti.kernel
        def run():
            for i in range(ROWS):
                s, t = 0.0 * sign, 0.0 * sign
                for k in range(count[i]):
                    if x[k] > 100:
                        s -= x[k]
                    if x[k] > 200:
                        t *= x[k]
                out[i, 0], out[i, 1] = 1.0 / s, 1.0 / t

        return run, out

    assert (same(make) == sign * math.inf).all()


def test_extremes_of_nothing_and_of_not_a_number() -> None:
    def make() -> tuple[Any, Any]:
        x, count, out = data(ti.f32)

        @ti.kernel
        def run():
            for i in range(ROWS):
                low = high = ti.math.nan
                for k in range(count[i]):
                    if x[k] > 0:
                        low = ti.min(low, x[k])
                        high = ti.max(x[k], high)
                out[i, 0], out[i, 1] = low, high

        return run, out

    found = same(make)
    assert np.isnan(found[0]).all()
    assert not np.isnan(found[-1]).any()


@pytest.mark.parametrize("lanes", [1, 16, 0])
def test_extremes_over_all_iterations(lanes: int) -> None:
    ti.init(arch=ti.cpu, offline_cache=False)
    x, ends = ti.field(ti.f32, 100), ti.field(ti.f32, 4)

    @ti.kernel
    def run(n: int):
        ti.loop_config(simd=lanes)
        for i in range(n):
            ti.atomic_min(ends[0], x[i])
            ti.atomic_max(ends[1], x[i])
            if x[i] > 5:
                ti.atomic_min(ends[2 + i % 2], x[i])

    x.fill(math.nan)
    ends.from_numpy(np.array([math.nan, 7, math.nan, math.nan], np.float32))
    run(0)
    run(100)
    np.testing.assert_array_equal(ends.to_numpy(), [math.nan, 7, math.nan, math.nan])
    x.from_numpy(np.where(np.arange(100) % 3, math.nan, np.arange(100)).astype(np.float32))
    run(100)
    np.testing.assert_array_equal(ends.to_numpy(), [0, 99, 6, 9])


@pytest.mark.parametrize("lanes", [1, 16, 0])
def test_unsigned_indices_wrap_where_no_lane_is(lanes: int) -> None:
    ti.init(arch=ti.cpu, offline_cache=False)
    x, out = ti.field(ti.i32, 64), ti.field(ti.i32, 64)
    x.from_numpy(np.arange(64, dtype=np.int32))

    @ti.kernel
    def run():
        ti.loop_config(simd=lanes)
        for i in range(64):
            if i >= 5:
                out[i] = x[ti.cast(i, ti.u32) - ti.u32(5)]

    run()
    np.testing.assert_array_equal(out.to_numpy()[5:], np.arange(59))


@pytest.mark.parametrize("lanes", [1, 16, 0])
def test_an_array_given_twice(lanes: int) -> None:
    """Its cells are written by one name between two reads by the other."""
    ti.init(arch=ti.cpu, offline_cache=False)
    pair = ti.types.vector(2, ti.f32)
    cells, out = ti.Vector.ndarray(2, ti.f32, 64), ti.ndarray(ti.f32, 64)
    numbers = np.arange(128, dtype=np.float32).reshape(64, 2)
    cells.from_numpy(numbers)

    @ti.kernel
    def run(
        a: ti.types.ndarray(dtype=pair, ndim=1),
        b: ti.types.ndarray(dtype=pair, ndim=1),
        c: ti.types.ndarray(dtype=ti.f32, ndim=1),
    ):
        ti.loop_config(simd=lanes)
        for i in a:
            first = a[i].x
            b[i].y = first * 2
            c[i] = a[i].y + first

    run(cells, cells, out)
    np.testing.assert_array_equal(out.to_numpy(), 3 * numbers[:, 0])


LOCALS = ("s", "t", "u")
NAMES = st.sampled_from(LOCALS)
PLAIN = ("x[k]", "x[(k * 7 + i) % 400]", "1", "k % 5")
CONDITIONS = st.builds("{} {} {}".format, st.sampled_from(PLAIN), st.sampled_from(["<", ">", "=="]), st.integers(-4, 4))


def blocks(values: Any) -> Any:
    """Blocks of statements: a line, (condition, side, other side) or (rounds, body)."""
    lines = st.one_of(
        st.builds("{} {} {}".format, NAMES, st.sampled_from(["+=", "+=", "-=", "="]), values),
        st.builds("{0} = ti.{1}({0}, {2})".format, NAMES, st.sampled_from(["min", "max"]), values),
        st.builds("{} = {} + {}".format, NAMES, NAMES, values),
    )
    block = st.deferred(lambda: st.lists(st.one_of(lines, branches, rounds), min_size=1, max_size=3))
    branches = st.tuples(CONDITIONS, block, st.one_of(st.none(), block, st.sampled_from(["continue", "break"])))
    rounds = st.tuples(st.integers(0, 3), block)
    return block


# Sums that could be made in any order, and perhaps a line that minds.
SUM = st.builds("{} {} {}".format, NAMES, st.sampled_from(["+=", "-="]), st.sampled_from(PLAIN))
MINDS = st.sampled_from([[], ["t += s"], ["u -= t"], ["s = u + x[k]"], ["u = s"], [("x[k] > 2", ["t = s + 1"], None)]])
SUMS = st.tuples(st.lists(st.tuples(CONDITIONS, st.lists(SUM, min_size=1, max_size=1), st.none()), min_size=1), MINDS)
SUMS = SUMS.flatmap(lambda parts: st.permutations([*parts[0][:3], *parts[1]]))


def written(block: Any, indent: int = 4) -> list[str]:
    """The lines of a block."""
    pad, lines = "    " * indent, list[str]()
    for one in block:
        if isinstance(one, str):
            lines.append(pad + one)
        elif len(one) == 2:
            lines += [f"{pad}for _ in range({one[0]}):", *written(one[1], indent + 1)]
        else:
            lines += [f"{pad}if {one[0]}:", *written(one[1], indent + 1)]
            lines += [f"{pad}    {one[2]}"] if isinstance(one[2], str) else []
            lines += [f"{pad}else:", *written(one[2], indent + 1)] if isinstance(one[2], list) else []
    return lines


@settings(max_examples=draws(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from([ti.i32, ti.f32, ti.u8, ti.f64]), st.sampled_from(["count[i]", "i, 5 * i", "40"]))
def test_random_rounds(tmp_path_factory: pytest.TempPathFactory, drawn: Any, dtype: Any, bounds: str) -> None:
    """Sums, extremes and assignments of locals, in branches. Floats get whole numbers and stay small, to be exact."""
    values = PLAIN if dtype in (ti.f32, ti.f64) else [*PLAIN, *LOCALS]
    block = drawn.draw(st.one_of(blocks(st.sampled_from(values)), SUMS))
    head = "import weft as ti\n\ndef make(x, count, out, dtype, ROWS):\n    @ti.kernel\n    def run():\n"
    start = "".join(f"            {name} = ti.cast(0, dtype)\n" for name in LOCALS)
    lines = "\n".join(written(block))
    text = f"{head}        for i in range(ROWS):\n{start}            for k in range({bounds}):\n{lines}\n"
    text += "            out[i, 0], out[i, 1] = s + u, t - u\n    return run\n"
    path = tmp_path_factory.mktemp("rounds") / "rounds.py"
    path.write_text(text)
    scope: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), scope)

    def make() -> tuple[Any, Any]:
        x, count, out = data(dtype)
        return scope["make"](x, count, out, dtype, ROWS), out

    same(make)
