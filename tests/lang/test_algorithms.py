"""Sorting and prefix sums, against numpy, on every arch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.algorithms import PrefixSumExecutor, parallel_sort

ARCHS = ("cpu", "python")
TYPES = (ti.i8, ti.u16, ti.i32, ti.u64, ti.f16, ti.f32, ti.f64)


def _numbers(prim: Any, length: int) -> Any:
    generator = np.random.default_rng(length)
    if prim.is_float:
        return (generator.integers(-50, 50, length) / 4).astype(prim.np)
    low, high = (0, 100) if prim.text[0] == "u" else (-100, 100)
    return generator.integers(low, high, length).astype(prim.np)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("prim", TYPES, ids=str)
def test_sorting_every_type(arch: str, prim: Any) -> None:
    ti.init(arch=arch)
    for length in (1, 2, 3, 7, 16, 33):
        numbers = _numbers(prim, length)
        keys, values = ti.field(prim, length), ti.Vector.field(2, ti.i32, length)
        keys.from_numpy(numbers)
        values.from_numpy(np.stack([np.arange(length), -np.arange(length)], 1))
        parallel_sort(keys, values)
        assert (keys.to_numpy() == np.sort(numbers)).all()
        places = values.to_numpy()[:, 0]
        assert (numbers[places] == np.sort(numbers)).all()
        assert (values.to_numpy()[:, 1] == -places).all()
        array = ti.ndarray(prim, length)
        array.from_numpy(numbers)
        parallel_sort(array)
        assert (array.to_numpy() == np.sort(numbers)).all()
    parallel_sort(ti.ndarray(prim, 1))


@pytest.mark.parametrize("arch", ARCHS)
def test_sorting_by_other_layouts(arch: str) -> None:
    ti.init(arch=arch)
    keys, values = ti.field(ti.f32, 20, offset=-7), ti.Struct.field({"a": ti.i32, "b": ti.f32}, shape=20, offset=3)
    numbers = _numbers(ti.f32, 20)
    keys.from_numpy(numbers)
    values.a.from_numpy(np.arange(20))
    ti.algorithms.parallel_sort(keys, values)
    assert (numbers[values.a.to_numpy()] == keys.to_numpy()).all()
    plain, order = numbers.copy(), np.arange(20)
    parallel_sort(plain, order)
    assert (plain == np.sort(numbers)).all()
    assert (numbers[order] == plain).all()


def test_sorting_many() -> None:
    ti.init(arch=ti.cpu)
    n = 100_003
    keys, values = ti.field(ti.f32, n), ti.field(ti.i32, n)
    numbers = np.random.default_rng(0).random(n, np.float32)
    keys.from_numpy(numbers)
    values.from_numpy(np.arange(n))
    parallel_sort(keys=keys, values=values)
    assert (keys.to_numpy() == np.sort(numbers)).all()
    assert (numbers[values.to_numpy()] == keys.to_numpy()).all()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("prim", [ti.i32, ti.i64, ti.u8, ti.f32, ti.f64], ids=str)
def test_prefix_sums(arch: str, prim: Any) -> None:
    ti.init(arch=arch)
    for length in (0, 1, 5, 512, 513, 1500) if arch == "cpu" else (1, 520):
        numbers = _numbers(prim, max(length, 1))
        x, y = ti.field(prim, max(length, 1), offset=4), ti.ndarray(prim, max(length, 1))
        executor = PrefixSumExecutor(length)
        for array in (x, y, x):
            array.from_numpy(numbers)
            executor.run(array)
            expected = np.cumsum(numbers, dtype=prim.np) if length else numbers
            assert (array.to_numpy() == expected).all()


def test_long_prefix_sums() -> None:
    ti.init(arch=ti.cpu)
    n = 700_001  # three levels
    x = ti.field(ti.i32, n)
    x.fill(3)
    executor = ti.algorithms.PrefixSumExecutor(n)
    executor.run(x)
    assert (x.to_numpy() == 3 * np.arange(1, n + 1)).all()
    ti.init(arch=ti.cpu)
    x = ti.field(ti.i32, n)
    x.fill(1)
    executor.run(x)
    assert x[n - 1] == n


def test_what_cannot_be_sorted() -> None:
    ti.init(arch=ti.cpu)
    line, box = ti.field(ti.i32, 4), ti.field(ti.i32, (2, 2))
    for keys, values, message in (
        (box, None, "one-dimensional"),
        (ti.Vector.field(2, ti.f32, 4), None, "numbers"),
        ([3, 1], None, "not \\[3, 1\\]"),
        (line, ti.field(ti.i32, 3), "at least 4 long"),
        (line, ti.ndarray(ti.i32, 4), "values must be one too"),
    ):
        with pytest.raises(ti.TaichiTypeError, match=message):
            parallel_sort(keys, values)
    with pytest.raises(ti.TaichiTypeError, match="has fewer"):
        PrefixSumExecutor(5).run(line)
