"""How many blocks a launch has, and of which shape."""

from __future__ import annotations

from typing import Any

import pytest

from weft.lang.program.init import program


@pytest.mark.parametrize("resident", [1, 3, 8])
def test_blocks_with_copies_are_those_that_run_at_once(ti: Any, resident: int) -> None:
    driver = program().device.gpu.driver
    if not hasattr(driver, "launches"):
        pytest.skip("a GPU does not say how many blocks it was given")
    driver.resident = resident
    n = 50_000
    x, total = ti.field(ti.i32, 16), ti.field(ti.i32, ())

    @ti.kernel
    def histogram():
        for i in range(n):
            x[i % 16] += 1

    @ti.kernel
    def add():
        for i in range(n):
            total[None] += i % 3

    histogram()
    *_, launched = driver.launches
    assert launched[1:4] == (resident * program().device.gpu.processors, 1, 1)
    assert driver.asked[-1] == (launched[0], 256, 0)
    assert (x.to_numpy() == n // 16).all()
    add()
    assert driver.launches[-1][1] == 8 * program().device.gpu.processors
    assert total[None] == sum(i % 3 for i in range(n))


@pytest.mark.parametrize("resident", [8, 3, 32])
def test_blocks_over_the_cells_of_sparse_fields(ti: Any, resident: int) -> None:
    """The number of cells is known to the device only. A block covers the axes of a cell, and no block is idle. All
    blocks run at once."""
    driver = program().device.gpu.driver
    if not hasattr(driver, "launches"):
        pytest.skip("a GPU does not say how many blocks it was given")
    driver.resident = resident
    x, y, flat = ti.field(ti.f32), ti.field(ti.u8), ti.field(ti.f32)
    ti.root.pointer(ti.ijk, 4).dense(ti.ijk, 8).place(x)
    ti.root.pointer(ti.ijk, 4).dense(ti.ijk, (3, 5, 40)).place(y)
    ti.root.pointer(ti.ij, 4).dense(ti.ij, (1, 16)).place(flat)

    @ti.kernel
    def fill():
        x[1, 2, 3] = 1.0
        y[1, 2, 3] = 1
        flat[2, 40] = 1.0

    @ti.kernel
    def move():
        for i, j, k in x:
            x[i, j, k] += 1.0

    @ti.kernel
    def test():
        for i, j, k in y:
            if (i + j + k) % 2 == 0:
                y[i, j, k] += 1

    @ti.kernel
    def line():
        for i, j in flat:
            flat[i, j] += 1.0

    fill()
    found = []
    for kernel in (move, test, line):
        kernel()
        found.append(driver.launches[-1][1:])
    most = min(resident, 8) * program().device.gpu.processors
    assert found == [(1, 1, most, 2, 8, 16), (2, 1, most // 2, 32, 8, 1), (1, most, 1, 4, 64, 1)]
    assert (x[1, 2, 3], x[7, 7, 7], x[8, 0, 0], y[1, 2, 3], y[2, 4, 39]) == (2, 1, 0, 2, 0)
    assert (y[2, 4, 38], flat[2, 40], flat[2, 47], flat[2, 48]) == (1, 2, 1, 0)
