"""Which loops LLVM's vectorizer leaves alone since it would gather."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import weft as ti
from weft.codegen.llvm.instruction_sets import levels_here
from weft.codegen.llvm.machine import host_cpu
from weft.lang.program.init import program

SCALAR = '!"llvm.loop.vectorize.enable", i1 false'


@pytest.fixture(autouse=True)
def started() -> Iterator[None]:
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


@pytest.mark.parametrize(("dtype", "n"), [(ti.f32, 1), (ti.f32, 37), (ti.f64, 8), (ti.f64, 23), (ti.f64, 0)])
@pytest.mark.parametrize("width", [10, 15, 24])
def test_rows_of_many_numbers_move_as_tiles(dtype: type, n: int, width: int) -> None:
    """The numbers of a row, far apart from lane to lane, with sines: they are read, changed in place, and stored."""
    x, y = ti.field(dtype, (n + 1, width)), ti.field(dtype, (n + 1, width))

    @ti.kernel
    def step():
        for i in range(n):
            total = ti.cast(0, dtype)
            for k in ti.static(range(width)):
                total += ti.sin(x[i, k]) * (k + 1)
            for k in ti.static(range(0, width, 2)):
                y[i, k] -= total * x[i, k]
                total = total * 0.5 + y[i, k]
            y[i, 1] = total
            y[i, width - 1] = x[i, 3]

    values, others = np.random.default_rng(n).uniform(-1, 1, (2, n + 1, width)).astype(x.to_numpy().dtype)
    x.from_numpy(values)
    y.from_numpy(others)
    step()
    wanted, total = others.astype("f8"), (np.sin(values) * np.arange(1, width + 1)).sum(axis=1)
    for k in range(0, width, 2):
        wanted[:, k] -= total * values[:, k]
        total = total * 0.5 + wanted[:, k]
    wanted[:, 1], wanted[:, width - 1] = total, values[:, 3]
    wanted[n] = others[n]
    np.testing.assert_allclose(y.to_numpy(), wanted, rtol=1e-4, atol=1e-4 if dtype is ti.f32 else 1e-12)
    np.testing.assert_array_equal(x.to_numpy(), values)
    if n > 8:
        masks = "avx512vl" in host_cpu(3, program().config.cpu_features).features
        assert ("in tiles" in str(step.last.facts)) is masks


@pytest.mark.parametrize(("level", "tiles"), [("x86-64-v4", 2), ("x86-64-v3", 0)])
def test_tiles_need_the_masks_of_avx512(level: str, tiles: int) -> None:
    """Masked stores of AVX2 are slower than stores lane by lane."""
    if level not in levels_here():
        pytest.skip(f"this processor is not of {level}")
    ti.init(arch=ti.cpu, cpu_features=level)
    x, y = ti.field(ti.f64, (40, 12)), ti.field(ti.f64, 40)

    @ti.kernel
    def read():
        for i in y:
            y[i] = ti.sin(x[i, 0]) * x[i, 3] + x[i, 11]

    @ti.kernel
    def write():
        for i in y:
            x[i, 0] = ti.sin(y[i])
            x[i, 4] = y[i] * 2.0

    found = 0
    for kernel in (read, write):
        kernel()
        found += "in tiles" in str(kernel.last.facts)
    assert found == tiles


def test_rows_of_locals_do_not_move_as_tiles() -> None:
    """Each lane has a local of its own, whose rows are in other places than those of one local."""
    x, y, odd = ti.field(ti.f32, (24, 12)), ti.field(ti.f32, 24), ti.field(ti.i32, 24)

    @ti.kernel
    def step():
        ti.loop_config(simd=8)
        for i in range(21):
            rows = ti.Matrix.zero(ti.f32, 24, 12)
            for k in range(3):
                rows[i, k] = x[i, k]
                rows[i, 4] = x[i, k + 1] + rows[i, 5]
                rows[i, 6] = rows[i, 4] * 2.0 + rows[i, k]
            y[i] = rows[i, 0] + rows[i, 4] + rows[i, 6] + rows[i + odd[i], 2]

    values = np.random.default_rng(1).integers(-9, 9, (24, 12)).astype("f4")
    x.from_numpy(values)
    odd.from_numpy(np.arange(24, dtype="i4") % 2)
    step()
    wanted = values[:, 0] + 3 * values[:, 3] + values[:, 2] + np.where(np.arange(24) % 2, 0, values[:, 2])
    wanted[21:] = 0
    np.testing.assert_array_equal(y.to_numpy(), wanted)
