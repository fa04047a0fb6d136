"""`mask_out_of_bounds`: outside of its shape a field or array reads 0, drops what is stored, and gives an atomic 0."""

import numpy as np
import pytest

from tests.lang.behaviour.masked import masked, told

__all__ = ["masked"]  # for all tests here


def test_a_box_that_is_too_large(ti):
    x = ti.field(ti.i32, 8)
    a = np.full(5, 7, np.int32)

    @ti.kernel
    def fill(a: ti.types.ndarray(ti.i32, 1), n: ti.i32):
        for i in range(n):
            x[i] = i + 1
            a[i] = x[i] + x[i + 2]

    assert not told(ti, lambda: fill(a, 5))
    (text,) = told(ti, lambda: fill(a, 12))
    assert "kernel 'fill'" in text
    assert "is out of bounds: its shape is (" in text
    assert x.to_numpy().tolist() == list(range(1, 9))
    assert not told(ti, lambda: fill(a, 12))  # once


def test_indices_from_memory(ti):
    n = 200
    index, x, y = ti.field(ti.i32, n), ti.field(ti.i32, 40, offset=-3), ti.field(ti.i32, n)
    numbers = np.random.default_rng(1).integers(-60, 90, n).astype(np.int32)
    index.from_numpy(numbers)
    start = np.arange(1, 41).astype(np.int32)
    x.from_numpy(start)

    @ti.kernel
    def gather():
        for i in y:
            y[i] = x[index[i]]

    @ti.kernel
    def scatter():
        for i in y:
            x[index[i]] += 1

    (text,) = told(ti, gather)
    assert "its shape is (40,), from index (-3,)" in text
    inside = (numbers >= -3) & (numbers < 37)
    assert y.to_numpy().tolist() == np.where(inside, start[np.clip(numbers + 3, 0, 39)], 0).tolist()
    assert told(ti, scatter)
    expected = start.copy()
    np.add.at(expected, numbers[inside] + 3, 1)
    assert x.to_numpy().tolist() == expected.tolist()


def test_the_old_value_of_an_atomic_is_0(ti):
    x = ti.field(ti.i32, 4)
    x.fill(5)

    @ti.kernel
    def add(k: ti.i32) -> ti.i32:
        return ti.atomic_add(x[k], 2)

    assert [add(k) for k in (3, 4, -1)] == [5, 0, 0]
    assert x.to_numpy().tolist() == [5, 5, 5, 7]


def test_masked_stores_are_not_forwarded_to_loads(ti):
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def there_and_back(k: ti.i32) -> ti.i32:
        x[k] = 9
        return x[k]

    assert [there_and_back(k) for k in (2, 4, -4)] == [9, 0, 0]


def test_neighbours_are_asked_for_together(ti):
    grid, result = ti.Vector.field(2, ti.i32, (6, 6)), ti.field(ti.i32, 9)
    places = ti.Vector.field(2, ti.i32, 9)
    places.from_numpy(np.array([(i, j) for i in (-2, 2, 5) for j in (0, 4, 7)], np.int32))
    values = np.arange(72).reshape(6, 6, 2).astype(np.int32)
    grid.from_numpy(values)

    @ti.kernel
    def total():
        for k in result:
            base, sum = places[k], 0
            for i, j in ti.static(ti.ndrange(3, 3)):
                sum += (i + 2 * j + 1) * grid[base + ti.Vector([i - 1, j - 1])].y
            result[k] = sum

    assert told(ti, total)
    padded = np.zeros((20, 20), np.int64)
    padded[7:13, 7:13] = values[:, :, 1]
    weights = np.array([[i + 2 * j + 1 for j in range(3)] for i in range(3)])
    expected = [int((padded[i + 6 : i + 9, j + 6 : j + 9] * weights).sum()) for i in (-2, 2, 5) for j in (0, 4, 7)]
    assert result.to_numpy().tolist() == expected


def test_inner_loops(ti):
    start, x, y = ti.field(ti.i32, 7), ti.field(ti.i32, 20), ti.field(ti.i32, 6)
    start.from_numpy(np.array([-3, 2, 9, 9, 18, 25, 31], np.int32))
    x.from_numpy(np.arange(1, 21).astype(np.int32))

    @ti.kernel
    def sums():
        for i in y:
            total = 0
            for k in range(start[i], start[i + 1]):
                total += x[k]
            y[i] = total

    assert told(ti, sums)
    bounds = start.to_numpy()
    expected = [sum(k + 1 for k in range(bounds[i], bounds[i + 1]) if 0 <= k < 20) for i in range(6)]
    assert y.to_numpy().tolist() == expected


def test_elements_of_local_vectors(ti):
    y = ti.field(ti.i32, 6)

    @ti.kernel
    def pick(shift: ti.i32):
        for i in y:
            v = ti.Vector([10, 20, 30])
            v[i + shift] += 1
            y[i] = v[i - 1] + v[i + shift]

    assert told(ti, lambda: pick(1))
    expected = []
    for i in range(6):
        v = {0: 10, 1: 20, 2: 30}
        if i + 1 in v:
            v[i + 1] += 1
        expected.append(v.get(i - 1, 0) + v.get(i + 1, 0))
    assert y.to_numpy().tolist() == expected


def test_whole_structs(ti):
    cell = ti.types.struct(n=ti.i32, v=ti.types.vector(2, ti.f32))
    cells, y = ti.ndarray(cell, 3), ti.field(ti.f32, 5)

    @ti.kernel
    def fill(cells: ti.types.ndarray(cell, 1)):
        for i in cells:
            cells[i] = cell(n=i + 1, v=ti.Vector([i + 0.5, 0.25]))

    @ti.kernel
    def gather(cells: ti.types.ndarray(cell, 1)):
        for i in y:
            one = cells[i]
            y[i] = one.n + one.v.x + one.v.y

    fill(cells)
    assert told(ti, lambda: gather(cells))
    assert y.to_numpy().tolist() == [1.75, 3.75, 5.75, 0, 0]


def test_real_functions(ti):
    x = ti.field(ti.f32, 4)
    x.fill(2.0)

    @ti.real_func
    def at(k: ti.i32) -> ti.f32:
        return x[k]

    @ti.kernel
    def call(k: ti.i32) -> ti.f32:
        return at(k)

    assert [call(k) for k in (3, 4, -1)] == [2.0, 0.0, 0.0]


def test_sums_into_an_element_that_is_not_there(ti):
    x, s = ti.field(ti.i32, 100), ti.field(ti.i32, 3)
    x.fill(1)

    @ti.kernel
    def total(k: ti.i32, least: ti.i32):
        for i in x:
            if k >= least:
                s[k] += x[i]

    for k in (1, 3, -1, 2**30):
        total(k, -5)
    assert s.to_numpy().tolist() == [0, 100, 0]


def test_an_index_that_wraps_around(ti):
    x = ti.field(ti.i32, 4)
    x.fill(3)

    @ti.kernel
    def far(a: ti.i32, b: ti.i32) -> ti.i32:
        return x[a + b]

    assert far(-(2**31), -(2**31)) == 3  # the sum is 0
    assert far(2**31 - 1, 1) == 0
    assert far(2**31 - 1, 2**31 - 1) == 0


def test_indices_that_come_all_the_way_round(ti):
    x, y, z = ti.field(ti.i32, 4), ti.field(ti.i8, 64), ti.field(ti.i32, 2**18)

    @ti.kernel
    def count(n: ti.i32):
        for i in range(100000):
            x[i * -(2**31)] += 1  # of every other iteration the first
        for i in range(n):
            x[(i * 2 + 1) * -(2**31)] += 1  # of none
        for i in range(5000):
            for j in range(4):
                z[(i * 65536 + j) * 65536] += 1

    @ti.kernel
    def mark():
        ti.loop_config(simd=8)
        for i in range(64):
            y[i * 2**30] = 7

    assert told(ti, lambda: count(64))
    assert x.to_numpy().tolist() == [50000, 0, 0, 0]
    assert z.to_numpy()[::65536].tolist() == [5000] * 4
    mark()
    assert y.to_numpy().tolist() == [7] + [0] * 63


def test_differences_without_signs_are_never_negative(ti):
    x, y = ti.field(ti.i32, shape=16, offset=-4), ti.field(ti.i32, (4, 4))
    x.fill(7)

    @ti.kernel
    def read():
        for i, j in y:
            y[i, j] = x[ti.u32(i) - ti.u32(j)]

    assert "x[42949672" in told(ti, read)[0]
    assert (y.to_numpy() == 7 * np.tri(4)).all()


def test_either_of_two_conditions_proves_nothing(ti):
    x, y = ti.field(ti.i32, 8), ti.field(ti.i32, 2)
    x.fill(7)

    @ti.kernel
    def read(n: ti.u32, m: ti.u32):
        if n < 8 or m < 8:
            y[0] = x[n]
            y[1] = x[m]

    assert told(ti, lambda: read(3, 10**9))
    assert y.to_numpy().tolist() == [7, 0]


def test_bounds_of_64_bits_that_wrap_around(ti):
    x, s = ti.field(ti.i32, 8), ti.field(ti.i32, ())
    x.fill(1)

    @ti.kernel
    def total(k: ti.i64, n: ti.i32):
        for _ in range(1):
            for i in range(n):
                s[None] += x[k + i]

    assert told(ti, lambda: total(2**63 - 1, 2))
    assert s[None] == 0
    total(6, 4)
    assert s[None] == 2


def test_loops_that_count_down(ti):
    x, s = ti.field(ti.i32, 8), ti.field(ti.i32, ())
    x.fill(1)

    @ti.kernel
    def total(n: ti.i32, step: ti.i32):
        for _ in range(1):
            for i in range(n, -3, -1):
                s[None] += x[i]
            for i in range(n, 4, step):
                s[None] += x[i]

    for n, step, wanted in ((7, -1, 8 + 3), (9, -2, 8 + 2), (1, 1, 2 + 3), (-2, 3, 0 + 1)):
        s[None] = 0
        total(n, step)
        assert s[None] == wanted


def test_parts_of_locals_in_a_straight_body(ti):
    y = ti.field(ti.i32, 8)

    @ti.kernel
    def pick(shift: ti.i32):
        for i in y:
            v = ti.Vector([i, i + 10, i + 20])
            y[i] = v[i + shift]

    assert told(ti, lambda: pick(-2))
    assert y.to_numpy().tolist() == [0, 0, 2, 13, 24, 0, 0, 0]


def test_casts_that_cut_off(ti):
    x = ti.field(ti.i32, 8)
    x.from_numpy(np.arange(8, dtype=np.int32))

    @ti.kernel
    def at(k: ti.i64) -> ti.i32:
        return 10 * x[ti.i32(ti.min(k, 5))] + x[ti.i32(ti.max(k, 0))]

    assert at(3) == 33
    assert at(-(2**32) + 1) == 10
    assert at(2**32 + 1) == 51


@pytest.mark.parametrize("n", [0, 1, 3, 8])
def test_arrays_of_any_size(ti, n):
    a, b = np.arange(8, dtype=np.int32), np.zeros(n, np.int32)

    @ti.kernel
    def copy(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)):
        for i in range(a.shape[0]):
            b[i] = a[i] + 1

    told_of = told(ti, lambda: copy(a, b))
    assert b.tolist() == list(range(1, n + 1))
    assert bool(told_of) == (n < 8)
    if told_of:
        assert f"its shape is ({n},)" in told_of[0]


def test_an_index_beyond_i64(ti):
    x, y, a = ti.field(ti.i32, 8), ti.Vector.field(3, ti.i32, (4, 9), offset=(2, -3)), np.zeros(7, np.int32)

    @ti.kernel
    def store(i: ti.u64, j: ti.u64, a: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        x[i] = 1
        y[i, 0] += 1
        y[2, j] = [3, 4, 5]
        y[2, 0][i] = 7
        a[i] -= 1
        around = x[i - 1] + x[i] + x[i + 1] + x[i + 2]
        v = ti.Vector([0, 0, 0])
        v[i] = 5
        return around + v[i] + v.sum() + y[2, j][0]

    for i, j in ((2**63 + 2, 2**64 - 3), (2**64 - 7, 2**63), (2**62 + 2, 2**32)):
        first = (i, j) == (2**63 + 2, 2**64 - 3)
        texts = told(ti, lambda i=i, j=j: store(i, j, a))
        assert len(texts) == first
        assert not texts or "x[9223372036854775807 or more] is out of bounds" in texts[0]
        assert not x.to_numpy().any()
        assert not y.to_numpy().any()
        assert not a.any()
        assert store(i, j, a) == 0
    assert store(2, 0, a) == 1 + 5 + 5 + 3
    assert x[2] == 1
    assert y[2, 0].to_list() == [3, 4, 7]

    ti.init(arch=ti.cfg.arch, debug=True)
    z = ti.field(ti.i32, 12, offset=-4)

    @ti.kernel
    def checked(i: ti.u64, a: ti.types.ndarray(ti.i32, 1)):
        z[i] = 1
        a[i] = 1

    for i in (2**63 + 2, 2**63, 2**64 - 1, 2**64 - 4, 8, 7):
        with pytest.raises(IndexError, match=r"z\[\d+ or more\] is out of bounds" if i > 8 else "out of bounds"):
            checked(i, a)
    checked(6, a)
    assert z.to_numpy().tolist() == [0] * 10 + [1, 1]
    assert a.tolist() == [0, 0, -1, 0, 0, 0, 1]


def test_indices_of_64_bits(ti):
    x = ti.field(ti.i32, 8)
    x.from_numpy(np.arange(10, 18).astype(np.int32))

    @ti.kernel
    def unsigned(k: ti.u64) -> ti.i32:
        return x[k]

    @ti.kernel
    def sums(a: ti.i64, b: ti.i64) -> ti.i32:  # asked for together
        total = 0
        if a >= 0 and b >= 0:
            total = x[a + b] + x[a + b + 1] + x[a + b + 2]
        return total

    @ti.kernel
    def products(a: ti.i64) -> ti.i32:
        total = 0
        if a >= 0:
            total = x[3 * a] + x[3 * a + 1] + x[3 * a + 2]
        return total

    assert [unsigned(k) for k in (3, 8, 2**32 + 1, 2**63 + 1, 2**64 - 1)] == [13, 0, 0, 0, 0]
    assert [sums(1, 1), sums(3, 3), sums(2**62, 2**62)] == [39, 33, 0]
    assert [products(1), products(2), products(2**62)] == [42, 33, 0]


@pytest.mark.filterwarnings("ignore::weft.RaceWarning")
def test_a_race_for_an_index_stays_in_its_field(ti):
    n = 200
    x = ti.field(ti.i32, n)

    @ti.kernel
    def run() -> ti.i32:
        shift = ti.Vector([0, 0])
        for i in range(n):
            now = shift
            x[i + now[0]] = 1
            shift[0] = 2**28
            shift[1] += 1
        return shift[1]

    assert run() == n
    assert x.to_numpy().max() == 1


def test_an_index_is_not_read_again_where_several_accesses_are_asked_about_at_once(ti):
    n = 64
    index, x, y = ti.field(ti.i32, n), ti.field(ti.i32, 40), ti.field(ti.i32, n)
    numbers = np.random.default_rng(5).integers(-60, 90, n).astype(np.int32)
    index.from_numpy(numbers)
    start = np.arange(1, 41).astype(np.int32)
    x.from_numpy(start)

    @ti.kernel
    def gather():
        for i in y:
            j = index[i]
            index[i] = 10  # where `j` would not be out of bounds
            y[i] = x[j] + 100 * x[j + 1] + 10000 * x[j + 2]

    assert told(ti, gather)
    padded = np.zeros(400, np.int32)
    padded[100:140] = start
    at = numbers + 100
    assert y.to_numpy().tolist() == (padded[at] + 100 * padded[at + 1] + 10000 * padded[at + 2]).tolist()
