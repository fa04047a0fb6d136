"""Parts of cells that an iteration stores to more than once: LLVM's vectorizer must not store them together, at the
end, nor load them together before. On every instruction set, since lanes are taken on some only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.codegen.llvm.instruction_sets import levels_here

N = 1000


@pytest.fixture(params=[*((level, {}) for level in levels_here()), ("native", {"simd": 1})], ids=str)
def simd(request: pytest.FixtureRequest) -> Iterator[dict[str, int]]:
    level, config = request.param
    ti.init(arch=ti.cpu, cpu_features=level)
    yield config
    ti.reset()


def stored_twice(simd: dict[str, int]) -> tuple[Any, Any]:
    x, w, v = ti.Vector.field(2, ti.i32, N), ti.field(ti.i32, N), ti.field(ti.i32, N)

    @ti.kernel
    def run():
        ti.loop_config(**simd)
        for i in x:
            a = w[i]
            x[i][0] = a
            v[i] = a * 2
            if a > 300:
                x[i][0] = a * 3
            x[i][1] = a + 1

    given = np.random.default_rng(0).integers(0, 1000, N).astype(np.int32)
    w.from_numpy(given)
    run()
    return x.to_numpy(), np.stack([np.where(given > 300, given * 3, given), given + 1], axis=1)


def loaded_behind(simd: dict[str, int]) -> tuple[Any, Any]:
    x, w, v, u = ti.Vector.field(2, ti.i32, N), ti.field(ti.i32, N), ti.field(ti.i32, N), ti.field(ti.i32, N)

    @ti.kernel
    def run():
        ti.loop_config(**simd)
        for i in x:
            a = x[i][1]
            if a > 300:
                x[i][0] = w[i]
            v[i] = a * 2
            if a > 500:
                u[i] = a
            v[i] += x[i][0]

    random = np.random.default_rng(1)
    given, cells = random.integers(0, 1000, N).astype(np.int32), random.integers(0, 1000, (N, 2)).astype(np.int32)
    w.from_numpy(given)
    x.from_numpy(cells)
    run()
    return v.to_numpy(), cells[:, 1] * 2 + np.where(cells[:, 1] > 300, given, cells[:, 0])


def two_fields(simd: dict[str, int]) -> tuple[Any, Any]:
    x, y, w, v = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32, N), ti.field(ti.i32, N)
    ti.root.dense(ti.i, N).place(x, y)

    @ti.kernel
    def run():
        ti.loop_config(**simd)
        for i in x:
            a = w[i]
            x[i] = a
            v[i] = a * 2
            if a > 300:
                x[i] = a * 3
            y[i] = a + 1

    given = np.random.default_rng(2).integers(0, 1000, N).astype(np.int32)
    w.from_numpy(given)
    run()
    return np.stack([x.to_numpy(), y.to_numpy()]), np.stack([np.where(given > 300, given * 3, given), given + 1])


def in_a_function(simd: dict[str, int]) -> tuple[Any, Any]:
    x, w = ti.Vector.field(2, ti.i32, N), ti.field(ti.i32, N)

    @ti.real_func
    def correct(i: ti.i32, a: ti.i32):
        if a > 300:
            x[i][0] = a * 3
        x[i][1] = a + 1

    @ti.kernel
    def run():
        ti.loop_config(**simd)
        for i in x:
            x[i][0] = w[i]
            correct(i, w[i])

    given = np.random.default_rng(3).integers(0, 1000, N).astype(np.int32)
    w.from_numpy(given)
    run()
    return x.to_numpy(), np.stack([np.where(given > 300, given * 3, given), given + 1], axis=1)


def of_an_array(simd: dict[str, int]) -> tuple[Any, Any]:
    x = ti.Vector.ndarray(2, ti.i32, N)

    @ti.kernel
    def run(x: ti.types.ndarray(ti.types.vector(2, ti.i32), 1), w: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(**simd)
        for i in x:
            a = w[i]
            x[i][0] = a
            if a > 300:
                x[i][0] = a * 3
            x[i][1] = a + 1

    given = np.random.default_rng(4).integers(0, 1000, N).astype(np.int32)
    run(x, given)
    return x.to_numpy(), np.stack([np.where(given > 300, given * 3, given), given + 1], axis=1)


def in_serial_loops(simd: dict[str, int]) -> tuple[Any, Any]:
    x, w, v = ti.Vector.field(2, ti.i32, N), ti.field(ti.i32, N), ti.field(ti.i32, N)

    @ti.kernel
    def run(once: ti.i32):
        if once:
            for i in range(N):
                a = w[i]
                x[i][0] = a
                v[i] = a * 2
                if a > 300:
                    x[i][0] = a * 3
                x[i][1] = a + 1

    given = np.random.default_rng(5).integers(0, 1000, N).astype(np.int32)
    w.from_numpy(given)
    run(1)
    return x.to_numpy(), np.stack([np.where(given > 300, given * 3, given), given + 1], axis=1)


ALL = [stored_twice, loaded_behind, two_fields, in_a_function, of_an_array, in_serial_loops]


@pytest.mark.parametrize("made", ALL)
def test_each_store_is_where_it_stands(simd: dict[str, int], made: Callable[[dict[str, int]], tuple[Any, Any]]) -> None:
    got, expected = made(simd)
    np.testing.assert_array_equal(got, expected)
