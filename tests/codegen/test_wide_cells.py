"""Which loops LLVM's vectorizer leaves alone since it would gather."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import weft as ti

SCALAR = '!"llvm.loop.vectorize.enable", i1 false'


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


@pytest.mark.parametrize(("width", "scalar"), [(1, False), (3, False), (8, False), (9, True), (12, True)])
def test_by_the_width_of_the_cells(width: int, scalar: bool) -> None:
    x, v = ti.Vector.field(width, ti.f32, 100), ti.Vector.field(width, ti.f32, 100)

    @ti.kernel
    def step(dt: ti.f32):
        for i in x:
            x[i] += v[i] * dt

    step(0.5)
    assert (SCALAR in str(step.last.llvm)) is scalar
    values = np.arange(100.0 * width, dtype=np.float32).reshape(100, width)
    x.from_numpy(values)
    v.fill(3)
    step(0.5)
    np.testing.assert_array_equal(x.to_numpy(), values + 1.5)


def test_by_the_stride_of_arrays_of_cells() -> None:
    """The third of three, of four numbers each: every twelfth is read; and one number beside each other."""
    x, y = ti.Vector.field(4, ti.f32, (60, 3)), ti.field(ti.f32, 60)

    @ti.kernel
    def wide():
        for i in y:
            x[i, 2][0] = x[i, 1][0] + x[i, 0][3]

    @ti.kernel
    def mixed():
        for i in y:
            y[i] = y[i] * 0.5 + x[i, 0][0]

    wide()
    mixed()
    assert SCALAR in str(wide.last.llvm)
    assert SCALAR not in str(mixed.last.llvm)


def test_vectors_of_sines_are_worth_gathers() -> None:
    x = ti.Vector.field(12, ti.f32, 100)

    @ti.kernel
    def turn():
        for i in x:
            x[i][0] = ti.sin(x[i][0])

    turn()
    assert SCALAR not in str(turn.last.llvm)


@pytest.mark.parametrize(("dtype", "n"), [(ti.f32, 1), (ti.f32, 16), (ti.f32, 47), (ti.f64, 17), (ti.i32, 15)])
def test_matrices_of_neighbours_move_as_rows(dtype: type, n: int) -> None:
    """Nine numbers for each lane: read, written as a whole and in part, cleared; and none beside them."""
    x, y = (ti.Matrix.field(3, 3, dtype, (3, n)) for _ in range(2))

    @ti.kernel
    def step():
        ti.loop_config(simd=16)
        for i in range(n):
            m = x[1, i]
            y[1, i] = m @ m + m.transpose()
            y[2, i][1, 2] = m[2, 1]
            x[1, i] = ti.Matrix.zero(dtype, 3, 3)

    values = np.random.default_rng(n).integers(-9, 9, (3, n, 3, 3)).astype(x.to_numpy().dtype)
    x.from_numpy(values)
    y.from_numpy(values[::-1].copy())
    step()
    wanted = values[::-1].copy()
    wanted[1] = values[1] @ values[1] + values[1].swapaxes(1, 2)
    wanted[2, :, 1, 2] = values[1, :, 2, 1]
    np.testing.assert_array_equal(y.to_numpy(), wanted)
    values[1] = 0
    np.testing.assert_array_equal(x.to_numpy(), values)
