"""Hash nodes: cells without bounds, on every arch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sampling import every
from weft.ir.errors import TypeMismatch
from weft.lang.data.elements import FieldIndexError
from weft.lang.data.field_tree import FieldError
from weft.runtime.errors import OutOfMemory


def reference(points):
    """What `scatter` leaves: the sum of the numbers of the points, by place."""
    found = {}
    for number, point in enumerate(points):
        found[tuple(point)] = found.get(tuple(point), 0) + number + 1
    return found


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_sums_by_place_far_from_the_origin(ti, axes):
    x = ti.field(ti.i32)
    names = (ti.i, ti.ij, ti.ijk)[axes - 1]
    blocks = ti.root.hash(names, (600, 24, 8)[axes - 1])
    blocks.dense(names, 3).place(x)
    rng = np.random.default_rng(axes)
    points = rng.integers(-6, 6, (90, axes)) * np.array([100_000_000, 7, 1])[:axes] // 1
    points = np.clip(points + rng.integers(-3, 3, points.shape), -(2**28), 2**28).astype(np.int32)

    @ti.kernel
    def scatter(at: ti.types.ndarray(ti.i32, 2)):
        for n in range(at.shape[0]):
            place = ti.Vector([at[n, k] for k in ti.static(range(axes))])
            x[place] += n + 1

    @ti.kernel
    def gather(at: ti.types.ndarray(ti.i32, 2), out: ti.types.ndarray(ti.i32, 1)):
        for n in range(at.shape[0]):
            out[n] = x[ti.Vector([at[n, k] for k in ti.static(range(axes))])]

    wanted = reference(points.tolist())
    scatter(points)
    indices, values = x.active()
    assert indices.tolist() == sorted(indices.tolist())
    assert {tuple(at): v for at, v in zip(indices.tolist(), values.tolist(), strict=True) if v} == wanted
    cells = {tuple(part // 3 for part in at) for at in wanted}
    assert {tuple(part // 3 for part in at) for at in indices.tolist()} == cells
    out = np.zeros(len(points), np.int32)
    gather(points, out)
    assert out.tolist() == [wanted[tuple(at)] for at in points.tolist()]
    gather(points + 1, out)
    assert out.tolist() == [wanted.get(tuple(at), 0) for at in (points + 1).tolist()]


def test_a_loop_in_the_order_of_the_indices(ti):
    x, seen = ti.field(ti.f32), ti.field(ti.i32, (64, 2))
    blocks = ti.root.hash(ti.ij, 8)
    blocks.dense(ti.ij, 4).place(x)
    cells = [(5, -2), (-7, 3), (0, 0), (-7, -9), (100_000_000, 1), (5, -1), (-1, 0)]
    for i, j in cells:
        x[i * 4 + 1, j * 4 + 3] = 1

    @ti.kernel
    def visit():
        place = 0
        ti.loop_config(serialize=True)
        for I in ti.grouped(blocks):
            seen[place, 0], seen[place, 1] = I[0], I[1]
            place += ti.is_active(blocks, I)

    visit()
    assert seen.to_numpy()[: len(cells)].tolist() == [list(cell) for cell in sorted(cells)]


def test_cells_come_and_go(ti):
    x, sums = ti.field(ti.i32), ti.field(ti.i32, 3)
    blocks = ti.root.hash(ti.ij, 24)
    blocks.dense(ti.ij, 2).place(x)

    @ti.kernel
    def fill(shift: ti.i32):
        for i, j in ti.ndrange(14, 14):
            x[(i - 7) * 2 + shift, (j - 7) * 2] += i + 1

    @ti.kernel
    def drop(shift: ti.i32):
        for I in ti.grouped(blocks):
            if (I[0] + I[1] + shift) % 2 == 0:
                ti.deactivate(blocks, I)

    @ti.kernel
    def add():
        sums.fill(0)
        for i, j in x:
            sums[0] += 1
            sums[1] += x[i, j]
            sums[2] += i

    expected = {}
    for round in range(12):  # more cells come than there are entries in the hash table
        shift = 200 * (round % 3)
        fill(shift)
        for i in range(14):
            for j in range(14):
                cell = (i - 7 + shift // 2, j - 7)
                expected[cell] = expected.get(cell, 0) + i + 1
        drop(round)
        expected = {cell: value for cell, value in expected.items() if (sum(cell) + round) % 2}
        add()
        assert sums.to_numpy().tolist() == [
            4 * len(expected),
            sum(expected.values()),
            sum(4 * 2 * i + 2 for i, _ in expected),
        ]
        if round % 3 == 2:
            blocks.deactivate_all()
            assert len(x.active()[0]) == 0
            expected = {}


def test_nodes_below_a_hash_node(ti):
    x, m, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    outer = ti.root.hash(ti.ij, 8)
    inner = outer.pointer(ti.ij, 4)
    inner.dense(ti.ij, 2).place(x)
    outer.bitmasked(ti.ij, 8).place(m)
    lists = outer.dynamic(ti.k, 20, chunk_size=4)
    lists.place(z)
    out = ti.field(ti.i32, 8)

    @ti.kernel
    def write():
        for i in range(10):
            x[-i * 3, i] += i
            m[-50 + i, 7] = 1
            z[-2, i % 2].append(i)

    @ti.kernel
    def look():
        out.fill(0)
        for i, j in inner:
            out[0] += 1
            out[1] += i
            out[2] += ti.is_active(inner, [i, j])
        for _ in ti.grouped(m):
            out[3] += 1
        for i, j, k in z:
            out[4] += z[i, j, k] * (i + 3)
        for _ in range(1):
            out[5] = z[-2, 1].length() * 10 + ti.length(lists, [-2, 0])
            out[6] = ti.is_active(inner, ti.rescale_index(x, inner, ti.Vector([-27, 9])))
            out[7] = ti.is_active(outer, [-1_000_000, 3]) + x[5, 5]

    write()
    look()
    cells = {(-i * 3 // 2, i // 2) for i in range(10)}
    assert out.to_numpy().tolist() == [len(cells), sum(i for i, _ in cells), len(cells), 10, 45, 55, 1, 0]
    lists.deactivate_all()
    look()
    assert out.to_numpy().tolist()[3:6] == [10, 0, 0]
    outer.deactivate_all()
    look()
    assert not out.to_numpy().any()


def test_a_node_that_is_full_names_its_line(ti):
    x = ti.field(ti.f32, name="x")
    ti.root.hash(ti.ij, 4).dense(ti.ij, 2).place(x)

    @ti.kernel
    def fill(n: ti.i32):
        for i in range(n):
            x[-2 * i, 6] = 1

    fill(16)

    def fill_all():
        fill(17)
        ti.sync()

    told = r"x\[-2 \* i, 6\] = 1(.|\n)*no memory for cell \[-16, 3\] of 'x.hash': its pool has 16 cells"
    with pytest.raises(OutOfMemory, match=told):
        fill_all()


def test_from_python(ti):
    x, y = ti.Vector.field(2, ti.f32), ti.field(ti.f64)
    node = ti.root.hash(ti.i, 50)
    node.place(x)
    node.place(y, offset=10)
    x[-123456] = [1, 2]
    y[-7] = 3.5
    assert (x.shape, x.offset, y.offset) == ((2**30,), (-(2**29),), (10 - 2**29,))
    assert x[-123456].to_numpy().tolist() == [1, 2]
    assert (x[5].to_numpy().any(), y[-7], y[-17]) == (False, 3.5, 0)
    assert x.active()[0].tolist() == [[-123456], [-17]]
    assert [part.tolist() for part in y.active()] == [[[-123446], [-7]], [0, 3.5]]
    y.fill(2)
    assert y.active()[1].tolist() == [2, 2]
    y.from_active(np.array([[-7], [1000]]), [4, 5])
    assert y.active()[1].tolist() == [2, 4, 5]
    assert "3 of 50 cells are active" in str(node.tree)
    for refused in (x.to_numpy, lambda: ti.sparse.usage(x)):
        with pytest.raises(FieldError, match=r"x.active\(\)"):
            refused()


ABOVE = {
    "pointer": lambda ti: ti.root.pointer(ti.ij, (6, 4)),
    "bitmasked": lambda ti: ti.root.bitmasked(ti.ij, (6, 4)),
    "dense": lambda ti: ti.root.dense(ti.ij, (6, 4)),
    "hash": lambda ti: ti.root.hash(ti.ij, 5),
    "two": lambda ti: ti.root.pointer(ti.ij, (3, 2)).hash(ti.ij, 2),
}


def divided(ti, upper, kind):
    """What a program sees of a node of that kind that divides the cells of another one."""
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    blocks = getattr(upper, kind)(ti.ij, (2, 3))
    blocks.dense(ti.i, 2).place(x)
    blocks.place(y)
    top = blocks if upper.node.kind == "dense" else upper

    @ti.kernel
    def scatter():
        for n in range(20):
            x[n * 7 % 24, n * 5 % 12] += n
            y[n % 12, n % 3] += 1

    @ti.kernel
    def total() -> ti.i32:
        found = 0
        for i, j in x:
            found += x[i, j] * (i + 3) + (j + 1) + x[ti.max(i - 1, 0), j] * 100
        for i, j in blocks:
            found += y[i, j] * (i - j) + 1
        return found

    @ti.kernel
    def drop():
        for i, j in blocks:
            if (i + j) % 2 == 0:
                ti.deactivate(blocks, [i, j])

    @ti.kernel
    def drop_above():
        for i, j in top:
            if i % 2 == 1:
                ti.deactivate(top, [i, j])

    for step in (drop, drop_above):
        scatter()
        yield total(), len(x.active()[0])
        step()
        yield total(), x.active()[0].tolist(), y.active()[1].tolist(), int(x[7, 5]), int(y[4, 1])
    blocks.deactivate_all()
    yield len(x.active()[0])


@pytest.mark.parametrize("above", every(2, list(ABOVE)))
def test_a_hash_node_divides_the_cells_above(ti, above):
    """It does what a pointer node does there. Cells above take its cells with them."""
    told, wanted = (list(divided(ti, ABOVE[above](ti), kind)) for kind in ("hash", "pointer"))
    assert told == wanted
    assert told[0][1] > len(told[1][1]) > told[-1] == 0


def length_of(ti, node):
    @ti.kernel
    def look() -> ti.i32:
        return ti.length(node, [3])

    return look()


def test_what_a_bounded_hash_node_is_called(ti):
    x, y = ti.field(ti.i32, name="x"), ti.field(ti.i32, name="y")
    ti.root.hash(ti.ij, 2).hash(ti.ij, (2, 4)).hash(ti.i, 2).dense(ti.ij, 2).place(x)
    ti.root.pointer(ti.i, 4).hash(ti.i, 8).place(y)
    assert (x.shape, y.shape, x.offset) == ((2**30, 2**30), (32,), (-(2**29), -(2**29)))
    x[-1, 1] = 3
    y[31] = 2
    assert x.active()[0].tolist() == [[-2, 0], [-2, 1], [-1, 0], [-1, 1]]
    tree = str(x.snode.tree)
    assert "hash without bounds, 1 of 4 cells are active" in tree
    assert "hash [2, 4], 1 of" in tree
    assert "hash [8], 1 of 32 cells are active" in tree
    assert str(y.parent()) == "ti.root => pointer [4] => hash [32]"
    with pytest.raises(TypeMismatch, match="not on a hash node"):
        length_of(ti, y.parent())
    with pytest.raises(FieldIndexError):
        y[32] = 1


def test_several_domains(ti):
    """A hash node below dense nodes: a domain for each of their cells, and one limit for all of them."""
    x, y = ti.field(ti.i32, name="x"), ti.field(ti.i32, name="y")
    rooms = ti.root.dense(ti.k, 2).dense(ti.i, 3)
    blocks = rooms.hash(ti.j, 4)
    blocks.dense(ti.j, 4).place(x)
    rooms.place(y)
    assert (x.shape, x.offset) == ((3, 2**30, 2), (0, -(2**29), 0))

    @ti.kernel
    def scatter(far: ti.i32, count: ti.i32):
        for room, n in ti.ndrange(3, count):
            x[room, n * far - 1, n % 2] += room + 1
            y[room, n % 2] += 1

    @ti.kernel
    def total() -> ti.i32:
        found = 0
        for i, j, k in x:
            found += x[i, j, k] * (1 + k) + x[i, j - 1, k] * 100
        return found

    @ti.kernel
    def drop(room: ti.i32):
        for k in range(2):
            ti.deactivate(blocks, [room, -1, k])

    def far_too_many():
        scatter(8, 20)
        ti.sync()

    scatter(-1000, 4)
    places, values = x.active()
    held = {tuple(at): v for at, v in zip(places.tolist(), values.tolist(), strict=True) if v}
    assert held == {(room, n * -1000 - 1, n % 2): room + 1 for room in range(3) for n in range(4)}
    assert places.tolist() == sorted(places.tolist())
    assert total() == sum(v * (1 + k) for (_, _, k), v in held.items()) + sum(
        v * 100 for (i, j, k), v in held.items() if (i, j + 1, k) in {tuple(at) for at in places.tolist()}
    )
    assert y.to_numpy().sum() == 12
    with pytest.raises(OutOfMemory, match=r"of 'x\.hash': its pool has 24 cells"):
        far_too_many()
    blocks.deactivate_all()
    scatter(1, 2)
    drop(1)
    assert [int(x[room, -1, 0]) for room in range(3)] == [1, 0, 3]
    assert [int(x[room, 0, 1]) for room in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("together", every(2, [True, False]))
def test_elements_around_the_own_one(ti, together):
    """Reads beside the own element, also where a condition is around them, and while the loop makes cells elsewhere."""
    x, y, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    cell = ti.root.hash(ti.ij, 8).dense(ti.ij, (4, 8))
    cell.place(x)
    (cell if together else ti.root.hash(ti.ij, 8).dense(ti.ij, (4, 8))).place(y)
    ti.root.hash(ti.ij, 16).dense(ti.ij, 4).place(z)

    @ti.kernel
    def around():
        for i, j in y:
            s = 0
            for a, b in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                s += x[i + a, j + b] * (10 + 3 * a + b)
            if j % 3 == 0:
                s += x[i - 5, j] + x[i, j + 9]
            y[i, j] = s

    @ti.kernel
    def moving():
        for i, j in x:
            if x[i, j] > 0:
                z[i + 1, j - 1] += x[i, j] + z[i + 2, j] * 0

    rng = np.random.default_rng(7)
    places = np.unique(rng.integers(-12, 12, (60, 2)), axis=0)
    values = rng.integers(1, 50, len(places))
    x.from_active(places, values.astype(np.int32))
    y.from_active(x.active()[0] if not together else places[:1], 0)
    held = {tuple(at): int(v) for at, v in zip(places.tolist(), values.tolist(), strict=True)}
    around()
    for (i, j), found in zip(y.active()[0].tolist(), y.active()[1].tolist(), strict=True):
        steps = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
        wanted = sum(held.get((i + a, j + b), 0) * (10 + 3 * a + b) for a, b in steps)
        assert found == wanted + (held.get((i - 5, j), 0) + held.get((i, j + 9), 0)) * (j % 3 == 0)
    moving()
    moved = {tuple(at): v for at, v in zip(z.active()[0].tolist(), z.active()[1].tolist(), strict=True) if v}
    assert moved == {(i + 1, j - 1): v for (i, j), v in held.items()}
