"""Sparse fields: what is active, what reads 0, what loops visit, on every arch. The expected values are Taichi's, or
stand in the list of differences."""

import numpy as np
import pytest

from weft.lang.errors import CapacityFault


def test_writes_activate_and_reads_do_not(ti):
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    blocks = ti.root.pointer(ti.ij, (4, 4))
    blocks.dense(ti.ij, (2, 2)).place(x, y)
    seen, cells = ti.field(ti.i32, (8, 8)), ti.field(ti.i32, (4, 4))

    @ti.kernel
    def write():
        x[2, 3] = 2
        y[5, 6] += 3.0
        seen[0, 0] = x[7, 7]

    @ti.kernel
    def look():
        for i, j in y:
            seen[i, j] += 1
        for place in ti.grouped(blocks):
            cells[place] += 1 + ti.is_active(blocks, place)

    write()
    look()
    expected = np.zeros((8, 8), np.int32)
    expected[2:4, 2:4] = expected[4:6, 6:8] = 1
    assert (seen.to_numpy() == expected).all()
    assert (cells.to_numpy() == 2 * expected[::2, ::2]).all()
    assert (x[2, 3], x[3, 3], x[0, 0], y[5, 6], y[5, 7]) == (2, 0, 0, 3.0, 0.0)
    x[0, 0] = 0  # from Python: a write activates, whatever is written
    look()
    expected *= 2
    expected[:2, :2] = 1
    assert (seen.to_numpy() == expected).all()


def test_a_deactivated_cell_reads_0_at_once_and_again_after_it_was_activated(ti):
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.dense(ti.i, 2).place(x)
    bits = ti.field(ti.i32)
    ti.root.bitmasked(ti.i, 4).place(bits)
    seen = ti.field(ti.i32, 9)

    @ti.kernel
    def turn():
        x[2] = 5
        x[3] = 6
        bits[1] = 7
        ti.deactivate(blocks, 1)
        ti.deactivate(bits.parent(), 1)
        ti.deactivate(blocks, 1)
        seen[0] = x[2]
        seen[1] = x[3]
        seen[2] = ti.is_active(blocks, 1)
        seen[3] = bits[1]
        x[3] = 9
        bits[1] += 1
        seen[4] = x[2]
        seen[5] = x[3]
        seen[6] = ti.is_active(blocks, [1])
        seen[7] = bits[1]
        ti.activate(blocks, ti.Vector([3]))
        seen[8] = ti.is_active(blocks, 3) * 10 + ti.is_active(blocks, 2)

    turn()
    assert seen.to_numpy().tolist() == [0, 0, 0, 0, 0, 9, 1, 1, 10]
    assert x.to_numpy().tolist() == [0, 0, 0, 9, 0, 0, 0, 0]
    for _ in range(20):  # freed cells are used again, and are 0
        turn()
    assert x.to_numpy().tolist() == [0, 0, 0, 9, 0, 0, 0, 0]


def test_nested_nodes_and_their_parents(ti):
    x = ti.field(ti.i32)
    a = ti.root.pointer(ti.i, 4)
    b = a.pointer(ti.i, 2)
    c = b.bitmasked(ti.i, 3)
    c.place(x)
    numbers = ti.field(ti.i32, 4)

    @ti.kernel
    def count():
        for _ in a:
            numbers[0] += 1
        for _ in x.parent(2):
            numbers[1] += 1
        for _ in c:
            numbers[2] += 1
        for i in x:
            numbers[3] += i

    @ti.kernel
    def write():
        x[7] = 1
        x[13] = 1

    @ti.kernel
    def off(node: ti.template(), cell: ti.i32):
        ti.deactivate(node, cell)

    def counted():
        numbers.fill(0)
        count()
        return numbers.to_numpy().tolist()

    assert counted() == [0, 0, 0, 0]
    write()
    assert counted() == [2, 2, 2, 20]
    off(b, 2)
    assert counted() == [2, 1, 1, 13]  # the cell above stays
    off(a, 2)
    assert counted() == [1, 0, 0, 0]  # so do other cells; below, nothing is left
    x[7] = 0
    assert counted() == [1, 1, 1, 7]
    b.deactivate_all()
    assert counted() == [1, 0, 0, 0]
    x[7] = 3
    ti.root.deactivate_all()
    assert counted() == [0, 0, 0, 0]
    write()
    ti.deactivate_all_snodes()
    assert counted() == [0, 0, 0, 0]
    assert not x.to_numpy().any()


def test_a_loop_visits_what_was_active_when_it_began(ti):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 64).dense(ti.i, 1).place(x)

    @ti.kernel
    def grow():
        for i in x:
            x[i + 1] = x[i] + 1

    x[0] = 1
    grow()
    assert x.to_numpy()[:4].tolist() == [1, 2, 0, 0]
    grow()
    assert x.active()[0].ravel().tolist() == [0, 1, 2]


def test_many_cells_at_once(ti):
    n = 4096
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, n // 4)
    blocks.dense(ti.i, 4).place(x)
    wanted = np.random.default_rng(1).permutation(n)[: n // 8].astype(np.int32)

    @ti.kernel
    def scatter(at: ti.types.ndarray(ti.i32, 1)):
        for k in at:
            x[at[k]] += 1
            x[at[k]] += at[k]

    @ti.kernel
    def total() -> ti.i64:
        sum = ti.i64(0)
        for i in x:
            sum += x[i]
        return sum

    @ti.kernel
    def halve():
        for i in blocks:
            if i % 2:
                ti.deactivate(blocks, i)

    expected = np.zeros(n, np.int64)
    for round in range(3):
        scatter(wanted)
        np.add.at(expected, wanted, wanted + 1)
        assert (x.to_numpy() == expected).all()
        assert total() == expected.sum()
        halve()
        expected.reshape(-1, 4)[1::2] = 0
        assert (x.to_numpy() == expected).all(), round
        assert total() == expected.sum()
    active = np.unique(wanted // 4)
    assert (x.active()[0].ravel()[::4] == 4 * active[active % 2 == 0]).all()


def test_lists(ti):
    x = ti.field(ti.i32)
    lists = ti.root.dense(ti.i, 3).dynamic(ti.j, 8, chunk_size=3)
    lists.place(x)
    flat = ti.Vector.field(2, ti.f32)
    ti.root.dynamic(ti.i, 8).place(flat)
    seen = ti.field(ti.i32, (4, 4))

    @ti.kernel
    def make():
        for i in range(3):
            for j in range(i):
                seen[i, j] = x[i].append(i * 10 + j)
            seen[3, i] = x[i].length() * 100 + ti.length(lists, i) * 10 + ti.length(x.parent(), [i])
        x[1].deactivate()
        flat.append(ti.Vector([5.0, 6.0]))
        x[0, 4] = 3
        seen[0, 0] = x[0].length()
        seen[0, 1] = ti.is_active(lists, [0, 4]) * 10 + ti.is_active(lists, [0, 5])
        seen[0, 2] = flat.length() * 10 + ti.append(lists, 2, 7)

    @ti.kernel
    def visit():
        for i, j in x:
            x[i, j] += 100
        for i, j in lists:
            x[i, j] += 1000

    make()
    assert seen.to_numpy().tolist() == [[5, 10, 12, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 111, 222, 0]]
    visit()
    assert x.to_numpy()[1:].tolist() == [[0] * 8, [1120, 1121, 1107, 0, 0, 0, 0, 0]]
    assert flat.to_numpy()[:2].tolist() == [[5, 6], [0, 0]]
    lists.deactivate_all()
    assert not x.to_numpy().any()
    assert flat[0][1] == 6


def test_many_appends_to_many_lists(ti):
    """Lists hold what was appended, also those that held something before. What does not fit is not appended."""
    lists, count = 1100, 2200
    x, keys = ti.field(ti.i32, name="x"), ti.field(ti.i32, count)
    ti.root.dense(ti.i, lists).dynamic(ti.j, 12, chunk_size=4).place(x)
    places = np.random.default_rng(0).integers(0, lists, count).astype(np.int32)
    keys.from_numpy(places)

    @ti.kernel
    def append(first: ti.i32):
        for k in keys:
            if k % 3 > 0:
                x[keys[k]].append(first + k)

    def held():
        return [sorted(row[row > 0]) for row in x.to_numpy()]

    wanted = [[] for _ in range(lists)]
    for first in (10, 5000):
        append(first)
        for k in range(count):
            if k % 3:
                wanted[places[k]].append(first + k)
        assert held() == wanted
    keys.fill(7)
    with pytest.raises(CapacityFault, match=r"list \[7\] of 'x\.dynamic' is full: it has 12 elements"):
        append(90000), ti.sync()
    assert [row for k, row in enumerate(held()) if k != 7] == [row for k, row in enumerate(wanted) if k != 7]


def test_lists_of_blocks_and_with_an_offset(ti):
    x, y, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    lists = ti.root.pointer(ti.k, 2).dynamic(ti.j, 9, chunk_size=4)
    lists.dense(ti.i, 3).place(x)
    shifted = ti.root.dense(ti.i, 2).dynamic(ti.j, 6)
    shifted.place(y, offset=(5, -3))
    ti.root.dense(ti.i, 2).dense(ti.j, 1).dynamic(ti.k, 5).dense(ti.i, 2).dense(ti.j, 3).place(z, offset=(1, 1, 1))

    @ti.kernel
    def write():
        x[1, 5, 1] = 3
        y[6, 0] = 4
        z[4, 2, 3] = 5

    write()
    assert "dynamic [9], 6 elements" in str(x.snode.tree)
    assert "dynamic [6], 4 elements" in str(y.snode.tree)
    assert "dynamic [5], 3 elements" in str(z.snode.tree)
    shifted.deactivate_all()
    assert y[6, 0] == 0
    assert len(y.active()[0]) == 0
    assert (x[1, 5, 1], z[4, 2, 3]) == (3, 5)
    ti.deactivate_all_snodes()
    assert not x.to_numpy().any()
    assert not z.to_numpy().any()
    assert "dynamic [5], 0 elements" in str(z.snode.tree)


def test_a_full_list_is_an_error(ti):
    x = ti.field(ti.i32, name="x")
    ti.root.dense(ti.i, 2).dynamic(ti.j, 4, chunk_size=4).place(x)

    @ti.kernel
    def fill(n: ti.i32):
        for k in range(n):
            x[1].append(k)

    fill(4)
    assert sorted(x.to_numpy()[1]) == [0, 1, 2, 3]

    def more():
        fill(1)
        ti.sync()

    with pytest.raises(CapacityFault, match=r"list \[1\] of 'x\.dynamic' is full: it has 4 elements") as caught:
        more()
    assert "x[1].append(k)" in str(caught.value)  # the line
    assert isinstance(caught.value, ti.OutOfMemory)


def test_structs_in_lists_and_cells(ti):
    point = ti.types.struct(a=ti.i32, v=ti.types.vector(2, ti.f32))
    x, y = point.field(), point.field()
    ti.root.pointer(ti.i, 2).dynamic(ti.j, 8, chunk_size=4).place(x)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(y)

    @ti.kernel
    def make():
        x[1].append(point(3, [1.0, 2.0]))
        for _ in range(1):
            y[5].v = [3.0, 4.0]
            y[5].a += x[1].append(point(4, [3.0, 4.0]))

    make()
    assert (x[1, 0].a, x[1, 1].a, list(x[1, 1].v), x[0, 0].a) == (3, 4, [3, 4], 0)
    indices, values = y.active()
    assert indices.tolist() == [[4], [5]]
    assert values["a"].tolist() == [0, 1]
    assert values["v"].tolist() == [[0, 0], [3, 4]]


def test_offsets_and_extents_that_are_no_powers_of_2(ti):
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.ij, (3, 5))
    blocks.dense(ti.ij, (5, 7)).place(x, offset=(-8, 3))
    found = ti.field(ti.i32, 5)

    @ti.kernel
    def look():
        for i, j in x:
            x[i, j] += 100 * i + j
        for i, j in blocks:
            found[0] += 10 * i + j
        cell = ti.rescale_index(x, blocks, [-3, 10])
        found[1] = cell[0] * 10 + cell[1]
        place = ti.rescale_index(blocks, x, ti.Vector([1, 1]))
        found[2] = place[0]
        found[3] = place[1]
        found[4] = ti.is_active(blocks, cell)

    x[-3, 10] = 1
    x[6, 37] = 1
    look()
    assert found.to_numpy().tolist() == [11 + 24, 11, -3, 10, 1]
    rows, columns = np.meshgrid(np.arange(-8, 7), np.arange(3, 38), indexing="ij")
    inside = np.zeros((15, 35), np.int32)
    inside[5:10, 7:14] = inside[10:, 28:] = 1
    expected = inside * (100 * rows + columns)
    expected[5, 7] += 1
    expected[14, 34] += 1
    assert (x.to_numpy() == expected).all()


def test_writes_that_do_not_activate(ti):
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.dense(ti.i, 2).place(x)

    @ti.kernel
    def write():
        ti.no_activate(blocks)
        for i in range(8):
            x[i] = i + 1
        for _ in range(1):
            x[7] += 1

    x[3] = 9
    write()
    assert x.to_numpy().tolist() == [0, 0, 3, 4, 0, 0, 0, 1]


def test_appends_where_writes_do_not_activate(ti):
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, 3)
    lists = blocks.dynamic(ti.j, 8, chunk_size=2)
    lists.place(x)

    @ti.kernel
    def append():
        ti.no_activate(x)
        for i in range(2):
            x[i, 5] = 1
            x[i].append(i + 3)
            x[i, 0] += 10
        for _ in range(1):
            x[2, 1] = 4

    append()
    assert x.to_numpy()[:, :2].tolist() == [[13, 0], [14, 0], [0, 4]]
    append()
    assert x.to_numpy()[:, :6].tolist() == [[23, 3, 0, 0, 0, 0], [24, 4, 0, 0, 0, 0], [0, 4, 0, 0, 0, 0]]


def test_loops_in_order(ti):
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.ij, (4, 4))
    blocks.bitmasked(ti.ij, (2, 2)).place(x)
    order, number = ti.field(ti.i32, 8), ti.field(ti.i32, ())

    @ti.kernel
    def walk():
        ti.loop_config(serialize=True)
        for i, j in x:
            order[number[None]] = 10 * i + j
            number[None] += 1
        ti.loop_config(serialize=True)
        for i, j in blocks:
            order[number[None]] = 10 * i + j
            number[None] += 1

    for place in ((7, 0), (1, 7), (0, 6), (7, 1), (0, 1)):
        x[place] = 1
    walk()
    assert order.to_numpy().tolist() == [1, 6, 17, 70, 71, 0, 3, 30]
