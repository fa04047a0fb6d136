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
