"""Filters over rows that begin anywhere in a word: fields of any width, and arrays that lie in many ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sampling import only
from weft.lang.program.init import program

RADIUS = 2
WIDTHS = [128, 129, 130, 131, 135]


@pytest.fixture
def height(ti: Any) -> int:
    """Of images with pixels enough that each thread takes several."""
    return 36 * int(program().device.gpu.processors)


class Window:
    """Part of an ndarray's memory, from an element on, as an array of that shape."""

    def __init__(self, of: Any, first: int, shape: tuple[int, ...]) -> None:
        facts = of.__cuda_array_interface__
        place = facts["data"][0] + 4 * first, False
        self.of, self.__cuda_array_interface__ = of, {**facts, "data": place, "shape": shape, "strides": None}


def filtered(values: Any, radius: int = RADIUS) -> Any:
    """The sum of the square around each pixel of the inside."""
    n, m = values.shape[0] - 2 * radius, values.shape[1] - 2 * radius
    span = range(2 * radius + 1)
    return sum(values[a : a + n, b : b + m] * (a * 10 + b) for a in span for b in span)


def image(height: int, width: int, components: int, dtype: str) -> Any:
    rng = np.random.default_rng(width)
    return rng.integers(0, 3, (height, width, components)[: 2 + (components > 1)]).astype(dtype)


def made(ti: Any, components: int, dtype: str) -> Any:
    prim = getattr(ti, dtype)
    return ti.types.vector(components, prim) if components > 1 else prim


KINDS = [(1, "f32"), (3, "f32"), (2, "f32"), (4, "i32"), (1, "f64"), (3, "f64"), (1, "u8"), (1, "f16")]


@pytest.mark.parametrize("width", only([128, 131], WIDTHS))
@pytest.mark.parametrize(("components", "dtype"), KINDS)
def test_fields(ti: Any, height: int, components: int, dtype: str, width: int) -> None:
    kind = made(ti, components, dtype)
    x, y = ti.field(kind, (height, width)), ti.field(kind, (height, width))

    @ti.kernel
    def run():
        for i, j in ti.ndrange((RADIUS, height - RADIUS), (RADIUS, width - RADIUS)):
            total = x[i, j] * 0
            for p, q in ti.ndrange(2 * RADIUS + 1, 2 * RADIUS + 1):
                total += x[i + p - RADIUS, j + q - RADIUS] * (p * 10 + q)
            y[i, j] = total

    native = np.dtype({"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    values = image(height, width, components, native.name)
    x.from_numpy(values)
    run()
    got = y.to_numpy()
    assert (got[RADIUS:-RADIUS, RADIUS:-RADIUS] == filtered(values).astype(native)).all()
    assert (got[:RADIUS] == 0).all()
    assert (got[:, width - RADIUS :] == 0).all()


@pytest.mark.parametrize("begin", [0, 1, 2, 3])
@pytest.mark.parametrize(("width", "written"), [(128, 128), (129, 128), (130, 131), (131, 129), (132, 130)])
@pytest.mark.parametrize("components", [1, 3])
def test_arrays(ti: Any, height: int, components: int, width: int, written: int, begin: int) -> None:
    """Views that begin anywhere, of rows of two lengths; with indices clamped at the border as well."""
    kind = made(ti, components, "f32")

    @ti.kernel
    def inside(x: ti.types.ndarray(kind, 2), y: ti.types.ndarray(kind, 2), n: ti.i32, m: ti.i32):
        for i, j in ti.ndrange(n, m):
            total = x[i, j] * 0
            for p, q in ti.ndrange(2 * RADIUS + 1, 2 * RADIUS + 1):
                total += x[i + p, j + q] * (p * 10 + q)
            y[i, j] = total

    @ti.kernel
    def clamped(x: ti.types.ndarray(kind, 2), y: ti.types.ndarray(kind, 2), n: ti.i32, m: ti.i32):
        for i, j in ti.ndrange(n, m):
            total = x[i, j] * 0
            for p, q in ti.ndrange(2 * RADIUS + 1, 2 * RADIUS + 1):
                row, column = ti.max(0, ti.min(n + 2 * RADIUS - 1, i + p)), ti.max(0, ti.min(width - 1, j + q))
                total += x[row, column] * (p * 10 + q)
            y[i, j] = total

    values = image(height, width, components, "float32")
    n, m = height - 2 * RADIUS, min(width, written) - 2 * RADIUS
    shape = (n, written, *values.shape[2:])
    read, found = ti.ndarray(ti.f32, values.size + 4), ti.ndarray(ti.f32, int(np.prod(shape)) + 4)
    flat = np.zeros(values.size + 4, np.float32)
    flat[begin : begin + values.size] = values.ravel()
    read.from_numpy(flat)
    for run in (inside, clamped):
        found.fill(0)
        run(Window(read, begin, values.shape), Window(found, begin, shape), n, m)
        got = found.to_numpy()[begin : begin + int(np.prod(shape))].reshape(shape)
        assert (got[:, :m] == filtered(values)[:, :m]).all()
        assert (got[:, m:] == 0).all()


def test_a_line_that_begins_anywhere(ti: Any) -> None:
    n = 700_000

    @ti.kernel
    def run(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), by: ti.i32):
        for i in range(n):
            total = 0.0
            for q in range(9):
                total += x[i + q + by] * q
            y[i] = total

    values = np.random.default_rng(1).integers(0, 9, n + 40).astype(np.float32)
    x, y = ti.ndarray(ti.f32, n + 40), ti.ndarray(ti.f32, n)
    x.from_numpy(values)
    for first in range(4):
        for by in (0, 1, 6):
            run(Window(x, first, (n + 20,)), y, by)
            at = first + by
            assert (y.to_numpy() == sum(values[at + q : at + q + n] * q for q in range(9))).all()


@pytest.mark.parametrize("width", [128, 131])
def test_weights_of_its_own(ti: Any, height: int, width: int) -> None:
    """Of each iteration, in an array that it reads as often as the image."""
    x, y = ti.field(ti.f32, (height, width)), ti.field(ti.f32, (height, width))

    @ti.kernel
    def run(a: ti.f32):
        for i, j in ti.ndrange(height, width - 4):
            weights = ti.Vector([a, a + 1, a * j, a + 3, a * i])
            total = 0.0
            for q in range(5):
                total += weights[q] * x[i, j + q]
            y[i, j] = total

    values = image(height, width, 1, "float32")
    x.from_numpy(values)
    run(2.0)
    i, j = np.mgrid[:height, : width - 4].astype(np.float32)
    weights = [2, 3, 2 * j, 5, 2 * i]
    assert (y.to_numpy()[:, : width - 4] == sum(weights[q] * values[:, q : width - 4 + q] for q in range(5))).all()
