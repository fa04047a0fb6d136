"""`ti.reduce` on a GPU: teams of threads, one launch or two, for all shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft.lang.arrays.team_reduction import stage_of


def add(a: Any, b: Any) -> Any:
    return a + b


def mul(a: Any, b: Any) -> Any:
    return a * b


SHAPES = [(1,), (5,), (255,), (17_001,), (3, 700), (40, 33, 2), (9, 5, 66)]


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_along_axes(ti: Any, shape: tuple[int, ...]) -> None:
    total, greatest = ti.reduce(add, 0), ti.reduce(ti.max, None)
    x = np.random.default_rng(1).integers(-50, 50, shape).astype(np.int32)
    for axis in (None, *range(x.ndim)):
        assert np.array_equal(total(x, axis=axis), x.sum(axis))
        assert np.array_equal(greatest(x, axis=axis), x.max(axis))


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float32, np.float64])
def test_types_of_elements(ti: Any, dtype: Any) -> None:
    def either(a: Any, b: Any) -> Any:
        return a or b if ti.static(dtype is np.bool_) else ti.max(a, b)

    x = (np.arange(300) % 3).astype(dtype)
    assert ti.reduce(add, 0)(x) == x.sum()
    assert ti.reduce(either, None)(x) == x.max()
    assert ti.reduce(either, None)(x).dtype == dtype


@pytest.mark.parametrize("shape", [(1 << 20, 3), (1 << 20, 100), (9000, 64, 3), (1 << 22,)])
def test_much_to_reduce(gpu: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).integers(-50, 50, shape).astype(np.int32)
    for axis in (None, *range(x.ndim)):
        assert np.array_equal(gpu.reduce(add, 0)(x, axis=axis), x.sum(axis))


def test_equal_calls_give_equal_bits(gpu: Any) -> None:
    x = np.random.default_rng(3).random((300, 1000), np.float32)
    total = gpu.reduce(add, 0)
    for axis in (None, 0, 1):
        first = total(x, axis=axis)
        np.testing.assert_allclose(first, x.sum(axis), rtol=1e-5)
        assert all(np.array_equal(total(x, axis=axis), first) for _ in range(3))


def test_what_is_mapped(ti: Any) -> None:
    x, y = np.random.default_rng(4).random((2, 6, 90), np.float32)
    dot = ti.reduce(add, 0, map=mul)
    np.testing.assert_allclose(dot(x, y), (x * y).sum(), rtol=1e-5)
    np.testing.assert_allclose(dot(x, y[0], axis=1), x @ y[0], rtol=1e-5)
    np.testing.assert_allclose(dot(x, 2.0, axis=0), 2 * x.sum(0), rtol=1e-5)


@pytest.mark.parametrize("inner", [1, 2, 3, 64, 65, 1000, 1 << 20])
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000, 10_000_000])
@pytest.mark.parametrize("outer", [1, 7, 100_000])
def test_two_launches_are_enough(outer: int, n: int, inner: int) -> None:
    launches, left = 0, n
    while left > 1 or not launches:
        stage = stage_of(outer, left, inner)
        assert stage.size * (stage.runs - 1) < left <= stage.size * stage.runs
        assert 0 <= stage.lanes * stage.width <= 256
        launches, left = launches + 1, stage.runs
    assert launches <= 2
