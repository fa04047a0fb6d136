"""Lists whose order does not depend on threads, on every arch."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft.ir.errors import CompilationError
from weft.runtime.errors import CapacityFault


def listed(keys, values, count):
    """The values of each list, in the order of the loop."""
    return [[int(v) for k, v in zip(keys, values, strict=True) if k == number] for number in range(count)]


def in_parallel(ti):
    """Skip where one iteration runs after the other, so that every loop appends in order."""
    if ti.cfg.arch == "python":
        pytest.skip("arch=python runs loops in order")


def held(x, lengths):
    array = x.to_numpy()
    return [array[number, :length].tolist() for number, length in enumerate(lengths)]


def test_the_order_is_that_of_the_loop(ti):
    n, lists = 1500, 7
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    ti.root.dense(ti.i, lists).dynamic(ti.j, 4096, chunk_size=16, ordered=True).place(x, offset=(0, -5))
    ti.root.dense(ti.i, lists).dynamic(ti.j, 4096, ordered=True).place(y)
    keys, got = ti.field(ti.i32, n), ti.field(ti.i32, n)
    lengths = ti.field(ti.i32, lists)
    rng = np.random.default_rng(0)

    @ti.kernel
    def append(start: ti.i32):
        for k in keys:
            if k % 5 < 4:
                got[k] = x[keys[k]].append(k + start)
            for r in range(k % 3):
                y[keys[(k + r) % n]].append(k + 0.25 * r)

    @ti.kernel
    def measure():
        for i in lengths:
            lengths[i] = x[i].length()

    wanted = [[] for _ in range(lists)]
    for start in (0, 10000):
        numbers = rng.integers(0, lists, n).astype(np.int32)
        keys.from_numpy(numbers)
        append(start)
        kept = np.arange(n) % 5 < 4
        before = [len(one) for one in wanted]
        fresh = listed(numbers[kept], np.arange(n)[kept] + start, lists)
        wanted = [one + more for one, more in zip(wanted, fresh, strict=True)]
        measure()
        assert held(x, lengths.to_numpy()) == wanted
        places = got.to_numpy()
        for number in range(lists):
            own = places[kept & (numbers == number)]
            assert own.tolist() == list(range(before[number], before[number] + len(own)))
    reals = [(numbers[(k + r) % n], k + 0.25 * r) for k in range(n) for r in range(k % 3)]
    last = [[value for key, value in reals if key == number] for number in range(lists)]
    array = y.to_numpy()
    for number, values in enumerate(last):
        whole = array[number, : y_length(ti, y, number)].tolist()
        assert whole[-len(values) :] == values


def y_length(ti, y, number):
    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return y[i].length()

    return length(number)


def test_loops_over_fields_and_structs(ti):
    point = ti.types.struct(a=ti.i32, v=ti.types.vector(2, ti.f32))
    x, source = point.field(), ti.field(ti.i32)
    ti.root.dense(ti.ij, (2, 3)).dynamic(ti.k, 256, chunk_size=4, ordered=True).place(x)
    ti.root.pointer(ti.ij, 4).dense(ti.ij, 8).place(source)
    rng = np.random.default_rng(1)
    places = np.unique(rng.integers(0, 32, (200, 2)), axis=0)
    source.from_active(places, np.arange(1, len(places) + 1).astype(np.int32))

    @ti.kernel
    def append():
        for i, j in source:
            x[i % 2, j % 3].append(point(i * 100 + j, [source[i, j], j]))

    append()
    indices, values = source.active()
    array = x.to_numpy()
    for a in range(2):
        for b in range(3):
            inside = [(i, j) for i, j in indices.tolist() if (i % 2, j % 3) == (a, b)]
            # a loop over cells visits one cell after another
            inside.sort(key=lambda at: (at[0] // 8, at[1] // 8, at))
            assert array["a"][a, b, : len(inside)].tolist() == [i * 100 + j for i, j in inside]
            assert array["v"][a, b, : len(inside), 1].tolist() == [j for _, j in inside]
    assert len(values)


def test_the_checks_of_debug_mode_change_nothing(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x, keys = ti.field(ti.i32), ti.field(ti.i32, 500)
    ti.root.dense(ti.i, 7).dynamic(ti.j, 200, ordered=True).place(x, offset=(0, -5))

    @ti.kernel
    def append():
        for k in keys:
            keys[k] += x[k * k % 7].append(k)
            assert keys[k] < 200

    append()
    wanted = [[k for k in range(500) if k * k % 7 == number] for number in range(7)]
    assert held(x, [len(one) for one in wanted]) == wanted
    assert keys.to_numpy().tolist() == [wanted[k * k % 7].index(k) for k in range(500)]


def test_what_is_refused_says_why(ti):
    in_parallel(ti)
    x, flag = ti.field(ti.i32, name="x"), ti.field(ti.i32, 2000)
    ti.root.dense(ti.i, 4).dynamic(ti.j, 4000, ordered=True).place(x)

    @ti.kernel
    def append():
        for k in range(2000):
            if flag[(k * 7) % 2000] == 0:
                flag[k] = 1
                x[k % 4].append(k)

    @ti.kernel
    def alone():
        ti.loop_config(serialize=True)
        for k in range(2000):
            if flag[(k * 7) % 2000] == 0:
                flag[k] = 1
                x[k % 4].append(k)

    with pytest.raises(CompilationError, match=r"the order of 'x.dynamic' would depend on threads: .*memory") as caught:
        append()
    assert "flag[(k * 7) % 2000] == 0" in str(caught.value)
    assert "serialize=True" in str(caught.value)
    alone()
    taken = np.zeros(2000, np.int32)
    wanted = [[] for _ in range(4)]
    for k in range(2000):
        if taken[k * 7 % 2000] == 0:
            taken[k] = 1
            wanted[k % 4].append(k)
    assert held(x, [len(one) for one in wanted]) == wanted


def test_a_full_list_is_known_before_anything_is_appended(ti):
    in_parallel(ti)
    x = ti.field(ti.i32, name="x")
    ti.root.dense(ti.i, 3).dynamic(ti.j, 100, chunk_size=8, ordered=True).place(x)

    @ti.kernel
    def fill(n: ti.i32):
        for k in range(n):
            x[1 + k % 2].append(k)

    fill(150)

    def more():
        fill(60)
        ti.sync()

    with pytest.raises(CapacityFault, match=r"list \[1\] of 'x\.dynamic' is full: it has 100 elements") as caught:
        more()
    assert "x[1 + k % 2].append(k)" in str(caught.value)
    assert x.to_numpy()[1:, 74:77].tolist() == [[148, 0, 0], [149, 0, 0]]


def test_if_one_of_two_nodes_is_full_the_lists_of_both_keep_their_lengths(ti):
    in_parallel(ti)
    x, y = ti.field(ti.i32, name="x"), ti.field(ti.i32, name="y")
    ti.root.dense(ti.i, 3).dynamic(ti.j, 5000, chunk_size=8, ordered=True).place(x)
    ti.root.dense(ti.i, 2).dynamic(ti.j, 100, chunk_size=8, ordered=True).place(y)

    @ti.kernel
    def fill(n: ti.i32):
        for k in range(n):
            x[k % 3].append(k)
            if k % 10 == 0:
                y[1].append(k)

    def more():
        fill(1500)
        ti.sync()

    fill(30)
    before = x.to_numpy(), x.active()[0], y.to_numpy(), y.active()[0]
    with pytest.raises(CapacityFault, match=r"list \[1\] of 'y\.dynamic' is full: it has 100 elements"):
        more()
    after = x.to_numpy(), x.active()[0], y.to_numpy(), y.active()[0]
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    fill(900)  # with as many as fit
    assert held(x, [310] * 3)[1] == [*range(1, 30, 3), *range(1, 900, 3)]
    assert held(y, [0, 93])[1] == [*range(0, 30, 10), *range(0, 900, 10)]


def test_the_same_for_any_number_of_threads(ti):
    if ti.cfg.arch != ti.cpu:
        pytest.skip("threads are those of a CPU")
    found = []
    for threads in (1, 2, 4, 8):
        weft.init(arch=weft.cpu, cpu_max_num_threads=threads, offline_cache=False)
        x = weft.field(weft.i32)
        weft.root.dense(weft.i, 50).dynamic(weft.j, 4000, chunk_size=4, ordered=True).place(x)

        @weft.kernel
        def append():
            for k in range(6000):
                x[(k * k) % 50].append(k)  # noqa: B023 - called in this round

        append()
        append()
        indices, values = x.active()
        found.append((indices.tolist(), values.tolist()))
    assert found[0] == found[1] == found[2] == found[3]
    lists = [[k for k in range(6000) if k * k % 50 == number] * 2 for number in range(50)]
    assert found[0][1] == [k for one in lists for k in one]


def test_a_loop_runs_twice_and_rounds_alike(ti):
    """Without the condition, several quotients by one number become products, in the loop but not in its copy."""
    n, rng = 3000, np.random.default_rng(0)
    x, inner, out = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.f32, n)
    ti.root.dense(ti.i, 5).dynamic(ti.j, 4096, chunk_size=8).place(x)
    ti.root.pointer(ti.i, 4096).dense(ti.i, 4).place(inner)
    over, by, cells = ti.field(ti.f32, n), ti.field(ti.f32, n), ti.field(ti.i32, n)
    numbers = (rng.random(n) + 0.1).astype(np.float32)
    by.from_numpy(numbers)
    over.from_numpy((np.arange(n) % 300 * 32 * numbers).astype(np.float32))

    @ti.kernel
    def sort():
        for i in over:
            cell = ti.cast(ti.floor(over[i] / by[i]), ti.i32)
            out[i] = (over[i] + 1.0) / by[i] + ti.sin((over[i] + 2.0) / by[i]) + 3.0 / by[i]
            cells[i] = cell
            inner[cell] = 1
            if cell % 32 == 0:
                x[i % 5].append(i + 1)

    sort()
    places = cells.to_numpy()
    for number in range(5):
        values = x.to_numpy()[number]
        kept = [i + 1 for i in range(number, n, 5) if places[i] % 32 == 0]
        assert sorted(values[: y_length(ti, x, number)].tolist()) == kept
    indices, values = inner.active()
    assert set(indices[:, 0][values == 1].tolist()) == set(places.tolist())
    assert inner.to_numpy().sum() == len(set(places.tolist()))


def test_lists_of_cells_of_points(ti):
    x, points = ti.field(ti.i32), ti.Vector.field(2, ti.f32, 2000)
    ti.root.dense(ti.ij, (8, 8)).dynamic(ti.k, 256, chunk_size=8, ordered=True).place(x)
    numbers = np.random.default_rng(2).random((2000, 2)).astype(np.float32)
    points.from_numpy(numbers)

    @ti.kernel
    def sort():
        for i in points:
            x[ti.floor(points[i] * 8.0, ti.i32)].append(i + 1)

    @ti.kernel
    def shifted():
        for i in points:
            x[ti.floor(points[i] * 7.0 + 0.5, ti.i32)].append(i + 1)

    sort()
    cells, array = np.floor(numbers * 8), x.to_numpy()
    for a, b in np.ndindex(8, 8):
        wanted = np.flatnonzero((cells == [a, b]).all(1)) + 1
        assert array[a, b, : len(wanted) + 1].tolist() == [*wanted, 0]
    if ti.cfg.arch != "python":
        with pytest.raises(CompilationError, match=r"float arithmetic .*\. Use ti\.init\(fast_math=False\)"):
            shifted()


@pytest.mark.parametrize("name", ["u8", "i64", "u32"])
def test_lists_whose_index_has_another_type(ti, name):
    x, keys = ti.field(ti.i32), ti.field(getattr(ti, name), 1500)
    ti.root.dense(ti.i, 5).dynamic(ti.j, 1024, ordered=True).place(x)
    numbers = np.arange(1500) ** 2 % 5
    keys.from_numpy(numbers.astype(name.replace("u", "uint") if name[0] == "u" else "int64"))

    @ti.kernel
    def append():
        for k in keys:
            x[keys[k]].append(k + 1)

    append()
    array = x.to_numpy()
    for number in range(5):
        wanted = np.flatnonzero(numbers == number) + 1
        assert array[number, : len(wanted)].tolist() == wanted.tolist()
