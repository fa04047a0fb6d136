"""Loops over cells that read around the own element and write other trees: the values, and what becomes active."""

import numpy as np
import pytest

from tests.sampling import only


def filled(ti, x, axes, shape, seed=0):
    """Give some blocks of 4 elements along each axis values; returns all values, and which elements are active."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 100, shape).astype(np.float32)
    blocks = rng.random([n // 4 for n in shape]) < 0.5
    active = np.kron(blocks, np.ones((4,) * len(shape))).astype(bool)
    values[~active] = 0
    x.from_numpy(values)
    return values, active


def reads_zero_out_of_range(ti):
    """Skip a test that needs it."""
    if ti.cfg.arch == "python":
        pytest.skip("with arch=python, an index out of range is an error")


@pytest.mark.filterwarnings("ignore::weft.OutOfBoundsWarning")
@pytest.mark.parametrize("size", only([8, 2], [8, 4, 12, 2]))
def test_a_stencil_into_another_tree(ti, size):
    """The cells of the other tree are as large as those of the loop, or larger, or smaller. Out of range is 0."""
    reads_zero_out_of_range(ti)
    shape = (24, 24)
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.pointer(ti.ij, 6).dense(ti.ij, 4).place(x)
    node = ti.root.pointer(ti.ij, 24 // size)
    node.dense(ti.ij, size).place(y)
    values, active = filled(ti, x, ti.ij, shape)
    cells = ti.field(ti.i32, (24 // size, 24 // size))

    @ti.kernel
    def run():
        for i, j in x:
            y[i, j] = x[i - 1, j] + 2 * x[i + 1, j] + 3 * x[i, j - 1] + 4 * x[i, j + 2] + 5 * x[i, j]

    @ti.kernel
    def look():
        for i, j in node:
            cells[i, j] = 1

    run()
    look()
    around = np.pad(values, 2)
    sums = around[1:-3, 2:-2] + 2 * around[3:-1, 2:-2] + 3 * around[2:-2, 1:-3] + 4 * around[2:-2, 4:] + 5 * values
    assert (y.to_numpy() == np.where(active, sums, 0)).all()
    wanted = active.reshape(24 // size, size, 24 // size, size).any(axis=(1, 3))
    assert (cells.to_numpy() == wanted).all()


@pytest.mark.filterwarnings("ignore::weft.OutOfBoundsWarning")
@pytest.mark.parametrize("chosen", [True, False])
def test_half_of_the_elements_from_the_others(ti, chosen):
    """As on a board of chess, where they are: by `select`, or by `if`."""
    reads_zero_out_of_range(ti)
    x = ti.field(ti.f32)
    ti.root.pointer(ti.ij, 6).dense(ti.ij, 4).place(x)
    values, active = filled(ti, x, ti.ij, (24, 24), 2)

    @ti.kernel
    def run(colour: ti.i32):
        for i, j in x:
            if ti.static(chosen):
                total = x[i - 1, j] + 2 * x[i + 1, j] + 3 * x[i, j - 1] + 4 * x[i, j + 1]
                x[i, j] = ti.select((i + j) % 2 == colour, total, x[i, j])
            elif (i + j) % 2 == colour:
                x[i, j] = x[i - 1, j] + 2 * x[i + 1, j] + 3 * x[i, j - 1] + 4 * x[i, j + 1]

    for colour in (0, 1):
        run(colour)
        around = np.pad(values, 1)
        sums = around[:-2, 1:-1] + 2 * around[2:, 1:-1] + 3 * around[1:-1, :-2] + 4 * around[1:-1, 2:]
        mine = active & (np.indices((24, 24)).sum(0) % 2 == colour)
        values = np.where(mine, sums, values)
    assert (x.to_numpy() == values).all()


def test_a_row_that_leaves_its_range_says_so(ti):
    """Also if only its first element does, and the row changes what it reads."""
    reads_zero_out_of_range(ti)
    x = ti.field(ti.f32)
    ti.root.pointer(ti.ij, 2).dense(ti.ij, 8).place(x)
    x[3, 3] = 1.0

    @ti.kernel
    def run():
        for i, j in x:
            x[i, j] = ti.select((i + j) % 2 == 0, x[i, j - 1], x[i, j])

    with pytest.warns(ti.OutOfBoundsWarning, match="-1"):
        run(), ti.sync()
    assert x[3, 3] == 0


def test_all_neighbours_in_three_dimensions(ti):
    """With indices that are kept in range, and a loop over the neighbours."""
    n = 16
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.pointer(ti.ijk, n // 4).dense(ti.ijk, 4).place(x, y)
    values, active = filled(ti, x, ti.ijk, (n, n, n), 1)

    @ti.kernel
    def run():
        for I in ti.grouped(x):
            total = 0.0
            for D in ti.static(ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2)))):
                J = ti.max(ti.min(I + D, n - 1), 0)
                total += x[J]
            y[I] = total

    run()
    around = np.pad(values, 1, mode="edge")
    sums = sum(around[a : a + n, b : b + n, c : c + n] for a in range(3) for b in range(3) for c in range(3))
    assert (y.to_numpy() == np.where(active, sums, 0)).all()


def test_a_copy_makes_exactly_the_cells_that_it_writes(ti):
    """A write below a condition activates only where the condition holds."""
    x, all_, some = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 8).place(x)
    copies, chosen = ti.root.pointer(ti.i, 8), ti.root.pointer(ti.i, 8)
    copies.dense(ti.i, 8).place(all_)
    chosen.dense(ti.i, 8).place(some)
    seen = ti.field(ti.i32, (2, 8))

    @ti.kernel
    def run():
        for i in x:
            all_[i] = x[i]
            if x[i] > 10:
                some[i] = x[i]

    @ti.kernel
    def look():
        for i in copies:
            seen[0, i] = 1
        for i in chosen:
            seen[1, i] = 1

    x[3], x[20], x[63] = 5, 30, 40
    run()
    look()
    assert seen.to_numpy().tolist() == [[1, 0, 1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0, 0, 1]]
    assert (all_[3], all_[20], some[3], some[20], some[63]) == (5, 30, 0, 30, 40)


def test_cells_whose_columns_run_in_one_iteration_on_gpus(ti):
    """A cell has 32 elements beside each other for each of its columns: into another tree, and in place by two
    colours."""
    shape = (6, 8, 16)
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    for field in (x, y):
        ti.root.pointer(ti.ijk, (2, 2, 2)).dense(ti.ijk, (3, 4, 8)).place(field, offset=(-1, 2, 0))
    values, active = np.zeros(shape, np.int32), np.zeros(shape, bool)
    rng = np.random.default_rng(3)
    for a, b, c in ((0, 0, 0), (1, 0, 1), (1, 1, 1)):
        part = np.s_[3 * a : 3 * a + 3, 4 * b : 4 * b + 4, 8 * c : 8 * c + 8]
        values[part], active[part] = rng.integers(1, 100, (3, 4, 8)), True
    x.from_numpy(values)

    @ti.func
    def around(i, j, k):
        before, behind = x[ti.max(i - 1, -1), j, k], x[ti.min(i + 1, 4), j, k]
        return before + 2 * behind + 3 * x[i, ti.max(j - 1, 2), k] + 4 * x[i, j, ti.min(k + 1, 15)]

    @ti.kernel
    def into():
        for i, j, k in x:
            y[i, j, k] = around(i, j, k)

    @ti.kernel
    def colour(odd: ti.i32):
        for i, j, k in x:
            if (i + j + k) % 2 == odd:
                x[i, j, k] = around(i, j, k) % 100 + x[i, j, k]

    def sums():
        near = np.pad(values, 1, mode="edge")
        before, behind = near[:-2, 1:-1, 1:-1], near[2:, 1:-1, 1:-1]
        return before + 2 * behind + 3 * near[1:-1, :-2, 1:-1] + 4 * near[1:-1, 1:-1, 2:]

    into()
    assert (y.to_numpy() == np.where(active, sums(), 0)).all()
    for odd in (0, 1):
        colour(odd)
        a, b, c = np.indices(shape)
        inside = active & ((a - 1 + b + 2 + c) % 2 == odd)
        # (at the border of the domain, an element reads itself)
        values = np.where(inside, sums() % 100 + values, values)
        assert (x.to_numpy() == values).all()
