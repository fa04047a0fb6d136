"""Sums and other reductions over loops, and sums into small fields: every type, every kind, lengths around a warp's and
a block's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.sampling import every, only

LENGTHS = [0, 1, 31, 32, 33, 255, 256, 257, 65_537]
MOST = max(LENGTHS)
FOLDS: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.fmin,
    "max": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
INTEGERS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]


def numpy_type(dtype: str) -> Any:
    name = {"i": "int", "u": "uint", "f": "float"}[dtype[0]]
    return getattr(np, name + dtype[1:])


def folded(kind: str, values: Any, start: Any) -> Any:
    """The reduction of `values` that begins with `start`, in their own type."""
    every = np.concatenate([np.array([start], values.dtype), values])
    return FOLDS[kind].reduce(every, dtype=values.dtype if kind in ("add", "mul") else None)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(ti: Any, dtype: str) -> None:
    """All kinds in one loop, and under a condition."""
    prim, native = getattr(ti, dtype), numpy_type(dtype)
    x, all_of, some_of = ti.field(prim, MOST), ti.field(prim, len(FOLDS)), ti.field(prim, len(FOLDS))
    reduce = [getattr(ti, f"atomic_{kind}") for kind in FOLDS]

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            for k in ti.static(range(len(reduce))):
                reduce[k](all_of[k], x[i])
                if i % 3 == 1:
                    reduce[k](some_of[k], x[i])

    limits = np.iinfo(native)
    values = np.random.default_rng(1).integers(limits.min, limits.max, MOST, native, endpoint=True)
    values[values % 2 == 0] += 1  # products of odd numbers are not 0
    x.from_numpy(values)
    for n in LENGTHS:
        all_of.fill(5)
        some_of.fill(5)
        run(n)
        assert all_of.to_numpy().tolist() == [folded(kind, values[:n], 5) for kind in FOLDS]
        assert some_of.to_numpy().tolist() == [folded(kind, values[1:n:3], 5) for kind in FOLDS]


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_sums_and_products_of_floats(ti: Any, dtype: str) -> None:
    prim, native = getattr(ti, dtype), numpy_type(dtype)
    x, total, product = ti.field(prim, MOST), ti.field(prim, ()), ti.field(prim, ())

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            total[None] += x[i]
            total[None] -= x[i] * 3
            ti.atomic_mul(product[None], x[i])

    for n in (n for n in LENGTHS if n < 300 or dtype != "f16"):  # more would not be exact
        values = np.where(np.arange(MOST) % 5 < 3, 1, -1).astype(native)
        values[n // 9 * 8 :: 2] *= -1
        x.from_numpy(values)
        total[None], product[None] = -0.0, 0.5
        run(n)
        assert total[None] == -2 * values[:n].sum(dtype=np.float64)
        assert product[None] == 0.5 * values[:n].prod()


def test_nothing_added_leaves_a_negative_zero(ti: Any) -> None:
    total, part = ti.field(ti.f32, ()), ti.field(ti.f32, 8)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            if i < 0:
                total[None] += 1.0
                part[i % 8] += 1.0

    total[None] = -0.0
    part.fill(-0.0)
    run(1000)
    assert np.signbit(total[None])
    assert np.signbit(part.to_numpy()).all()


@pytest.mark.parametrize("begin", [np.nan, -np.nan, 0.25, -0.25, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_extremes_where_there_are_nans(ti: Any, dtype: str, begin: float) -> None:
    """A NaN gives way to any number, whether it is added or there at first, and whatever its sign."""
    n, cells = 10_000, 97
    prim, native = getattr(ti, dtype), numpy_type(dtype)
    x, low, high = ti.field(prim, n), ti.field(prim, cells), ti.field(prim, cells)
    least, greatest = ti.field(prim, ()), ti.field(prim, ())

    @ti.kernel
    def scatter():
        for i in x:
            ti.atomic_min(low[i % cells], x[i])
            ti.atomic_max(high[i % cells], x[i])

    @ti.kernel
    def reduce(m: ti.i32):
        for i in range(m):
            ti.atomic_min(least[None], x[i])
            ti.atomic_max(greatest[None], x[i])

    values = np.random.default_rng(2).standard_normal(n).astype(native)
    values[::7], values[5::cells], values[6::cells] = np.nan, np.nan, -np.nan
    values[3::cells], values[4::cells] = -np.inf, np.inf
    x.from_numpy(values)
    low.fill(begin)
    high.fill(begin)
    scatter()
    lows, highs = np.full(cells, begin, native), np.full(cells, begin, native)
    np.fmin.at(lows, np.arange(n) % cells, values)
    np.fmax.at(highs, np.arange(n) % cells, values)
    np.testing.assert_array_equal(low.to_numpy(), lows)
    np.testing.assert_array_equal(high.to_numpy(), highs)
    for m in (0, 1, 2, 33, 300, n):
        least[None] = greatest[None] = begin
        reduce(m)
        assert np.array_equal(least[None], folded("min", values[:m], begin), equal_nan=True)
        assert np.array_equal(greatest[None], folded("max", values[:m], begin), equal_nan=True)


def test_what_an_extreme_was_before(ti: Any) -> None:
    n = 4096
    top, seen = ti.field(ti.f32, 3), ti.field(ti.f32, n)

    @ti.kernel
    def run():
        for i in range(n):
            seen[i] = ti.atomic_max(top[i % 3], float(i // 3))

    top.from_numpy(np.array([np.nan, -np.inf, n], np.float32))
    run()
    assert top.to_numpy().tolist() == [(n - 1) // 3, (n - 2) // 3, n]
    found = seen.to_numpy()
    assert (found[2::3] == n).all()
    assert np.isnan(found[0::3]).sum() == 1  # one finds what was there first
    assert np.isneginf(found[1::3]).sum() == 1


def test_extremes_of_what_changed_meanwhile(ti: Any) -> None:
    """What was there may be looked at in a cache: not as it was before this thread, or its block, changed it."""
    n = 6400
    x, y, seen = ti.field(ti.f32, n), ti.field(ti.f32, n), ti.field(ti.f32, n)

    @ti.kernel
    def alone(at: ti.types.ndarray(ti.i32, 1)):
        for i in at:
            j = at[i]
            seen[i] = x[j]
            ti.atomic_max(x[j], 10.0)
            ti.atomic_min(x[j], -5.0)
            ti.atomic_max(x[j], 7.0)
            ti.atomic_min(x[j], 6.0)
            x[j] = -20.0
            ti.atomic_max(x[j], -10.0)

    @ti.kernel
    def together():
        ti.loop_config(block_dim=64)
        for i in range(n):
            first = i // 64 * 64
            seen[i] += y[i]
            ti.atomic_max(y[i], 10.0)
            ti.simt.block.sync()
            ti.atomic_min(y[first + (i + 1) % 64], -5.0)
            ti.simt.block.sync()
            ti.atomic_max(y[first + (i + 40) % 64], 7.0)
            ti.simt.block.sync()
            y[first + (i + 7) % 64] = -20.0
            ti.simt.block.sync()
            ti.atomic_max(y[first + (i + 33) % 64], -10.0)

    x.fill(5)
    y.fill(5)
    alone(np.random.default_rng(0).permutation(n).astype(np.int32))
    together()
    assert (seen.to_numpy() == 10).all()
    assert (x.to_numpy() == -10).all()
    assert (y.to_numpy() == -10).all()


HISTOGRAMS = [
    *itertools.product(("i32", "u32", "i64"), ("add", "sub", "min", "max", "and", "or", "xor")),
    *itertools.product(("f32", "f64"), ("add", "sub")),
]


@pytest.mark.parametrize(("dtype", "kind"), every(4, HISTOGRAMS))
@pytest.mark.parametrize("words", [3, 4097])
def test_histograms(ti: Any, words: int, dtype: str, kind: str) -> None:
    """Half of all values go to one place."""
    n, prim, native = 20_011, getattr(ti, dtype), numpy_type(dtype)
    bins, x, weight = ti.field(prim, words), ti.field(ti.i32, n), ti.field(prim, n)
    reduce = getattr(ti, f"atomic_{kind}")

    @ti.kernel
    def run():
        for i in x:
            reduce(bins[x[i]], weight[i])

    numbers = np.random.default_rng(3)
    places, weights = numbers.integers(0, words, n).astype(np.int32), numbers.integers(0, 100, n).astype(native)
    places[: n // 2] = words // 2
    x.from_numpy(places)
    weight.from_numpy(weights)
    bins.fill(5)
    run()
    expected = np.full(words, 5, native)
    (np.subtract if kind == "sub" else FOLDS[kind]).at(expected, places, weights)
    assert (bins.to_numpy() == expected).all()


def test_several_histograms_under_conditions(ti: Any) -> None:
    n = 30_000
    counts, table, vectors = ti.field(ti.i32, 64), ti.field(ti.f32, (8, 8)), ti.Vector.field(3, ti.f32, 16)
    total, seen = ti.field(ti.i64, ()), ti.field(ti.i32, 64)

    @ti.kernel
    def run():
        for i in range(n):
            a = i * 7919 % 6400
            if a % 5 == 0:
                continue
            if a % 3 == 0:
                counts[a % 64] += 1
                table[a % 8, a // 8 % 8] += 2.0
            else:
                vectors[a % 16] += ti.Vector([1.0, 2.0, a % 7])
            total[None] += a
            before = ti.atomic_add(seen[a % 64], 1)  # who wants to know what was there gets no copy
            if before < 0:
                counts[0] += 1000

    run()
    a = np.arange(n) * 7919 % 6400
    a = a[a % 5 != 0]
    b, c = a[a % 3 == 0], a[a % 3 != 0]
    each, cells, sums = np.zeros(64, np.int32), np.zeros((8, 8), np.float32), np.zeros((16, 3), np.float32)
    np.add.at(each, b % 64, 1)
    np.add.at(cells, (b % 8, b // 8 % 8), 2)
    np.add.at(sums, c % 16, np.stack([np.ones_like(c), np.full_like(c, 2), c % 7], 1))
    assert (counts.to_numpy() == each).all()
    assert (table.to_numpy() == cells).all()
    assert (vectors.to_numpy() == sums).all()
    assert total[None] == a.sum()
    assert (seen.to_numpy() == np.bincount(a % 64)).all()


def test_more_histograms_than_there_is_room_for_many_copies_of(ti: Any) -> None:
    """All of one name, too: a field of a list has that of the variable that it goes by in the kernel."""
    n, sizes = 20_000, [3000, 3000, *[25] * 8]
    targets = [ti.field(ti.i32, size) for size in sizes]

    @ti.kernel
    def run():
        for i in range(n):
            for target in ti.static(targets):
                target[i * 7919 % target.shape[0]] += 1

    run()
    for target, size in zip(targets, sizes, strict=True):
        assert (target.to_numpy() == np.bincount(np.arange(n) * 7919 % size)).all()


@pytest.mark.parametrize("components", [2, 3, 4, 5])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_vectors_that_begin_anywhere(ti: Any, components: int, before: int) -> None:
    """Neighbours that one instruction adds to are only those whose place is a multiple of their size."""
    n, cells = 20_000, 3000
    one, vector = ti.field(ti.f32), ti.Vector.field(components, ti.f32)
    block = ti.root.dense(ti.i, cells)
    for _ in range(before):
        block.place(ti.field(ti.f32))
    block.place(vector)
    block.place(one)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            k = i * 7919 % cells
            vector[k] += ti.Vector([i % 3 + c for c in range(components)])
            one[k] += 1
            if i % 2 == 0:
                vector[k // 2][1] -= 1
                vector[k // 2][0] -= 2

    run(n)
    i = np.arange(n)
    k, sums = i * 7919 % cells, np.zeros((cells, components), np.float32)
    np.add.at(sums, k, i[:, None] % 3 + np.arange(components))
    np.add.at(sums[:, 1], k[::2] // 2, -1)
    np.add.at(sums[:, 0], k[::2] // 2, -2)
    assert (vector.to_numpy() == sums).all()
    assert (one.to_numpy() == np.bincount(k, minlength=cells)).all()


@pytest.mark.parametrize("cells", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("width", only([1, 3], [1, 2, 3, 4]))
def test_sums_into_rows_of_cells(ti: Any, cells: int, width: int) -> None:
    """They are added two or four at once, however the row lies, and nothing beside it changes."""
    n, rows = 500, 7
    x = ti.field(ti.f32, (rows, 900)) if width == 1 else ti.Vector.field(width, ti.f32, (rows, 900))
    part = ti.types.struct(gap=ti.f32, value=ti.f32).field(shape=(rows, 900))

    @ti.kernel
    def scatter(at: ti.types.ndarray(ti.i32, 1), flat: ti.types.ndarray(ti.f32, 2)):
        for k in at:
            row, column = at[k] // 32, at[k] % 32
            for i, j in ti.static(ti.ndrange(2, cells)):
                x[row + i, column + j + 1] += k % 8 + 10 * j + 100 * i
                flat[row + i, column + j] += k % 8 + j
                part[row + i, column + j].value += j + 1
                x[row + i, column + j] += 1  # some of the same places once more

    at = np.random.default_rng(cells).integers(0, 32 * (rows - 1), n).astype(np.int32)
    flat = np.zeros((rows, 900), np.float32)
    scatter(at, flat)
    wanted, other, one = (np.zeros((rows, 900)) for _ in range(3))
    for k, place in enumerate(at):
        row, column = divmod(int(place), 32)
        for i in range(2):
            for j in range(cells):
                wanted[row + i, column + j + 1] += k % 8 + 10 * j + 100 * i
                wanted[row + i, column + j] += 1
                other[row + i, column + j] += k % 8 + j
                one[row + i, column + j] += j + 1
    found = x.to_numpy().reshape(rows, 900, width)
    assert (found == wanted[:, :, None]).all()
    assert (flat == other).all()
    assert (part.value.to_numpy() == one).all()
    assert (part.gap.to_numpy() == 0).all()


@pytest.mark.parametrize("matrix_first", [True, False])
def test_sums_into_neighbours_of_which_a_block_copies_some(ti: Any, matrix_first: bool) -> None:
    """After as many scalars as a thread may accumulate: a matrix, which is copied, beside scalars, which are not."""
    s, m, u = [ti.field(ti.f32) for _ in range(64)], ti.Matrix.field(3, 3, ti.f32), [ti.field(ti.f32) for _ in range(7)]
    ti.root.place(*s, *([m, *u] if matrix_first else [*u, m]))
    x = ti.field(ti.f32, 1000)

    @ti.kernel
    def run():
        for k in x:
            for q in ti.static(range(64)):
                s[q][None] += x[k]
            if ti.static(matrix_first):
                for p, q in ti.static(ti.ndrange(3, 3)):
                    m[None][p, q] += x[k]
            for q in ti.static(range(7)):
                u[q][None] += x[k] * q
            if ti.static(not matrix_first):
                for p, q in ti.static(ti.ndrange(3, 3)):
                    m[None][p, q] += x[k]

    x.fill(1)
    run()
    assert (m.to_numpy() == 1000).all()
    assert [one[None] for one in s] == [1000] * 64
    assert [one[None] for one in u] == [1000 * q for q in range(7)]
