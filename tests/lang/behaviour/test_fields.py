"""Fields of every layout: what kernels write is what Python reads, wherever the bytes lie; and how fields end."""

import itertools

import numpy as np
import pytest

from weft.ir.errors import WeftError

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")  # values are cut short on purpose

DTYPES = ("u1", "i8", "u8", "i16", "u16", "f16", "i32", "u32", "f32", "i64", "u64", "f64")


def numbered(shape):
    """An array whose element at (i, j, ...) is i * 100 + j * 10 + ..."""
    return sum((axis * 10 ** (len(shape) - k - 1) for k, axis in enumerate(np.indices(shape))), np.zeros(shape, int))


@pytest.mark.parametrize("name", DTYPES)
def test_element_types(ti, name):
    x = ti.field(getattr(ti, name), 8)

    @ti.kernel
    def run():
        for i in x:
            x[i] = i
        for i in x:
            x[i] += 1

    run()
    wanted = [1] * 8 if name == "u1" else list(range(1, 9))
    if name != "u1":
        assert x.to_numpy().tolist() == wanted
        assert x[3] == 4


def placed(ti, layout, x, shape):
    """Put `x` of two axes into memory in one of many ways."""
    n, m = shape
    layouts = {
        "row": lambda: ti.root.dense(ti.ij, shape).place(x),
        "column": lambda: ti.root.dense(ti.j, m).dense(ti.i, n).place(x),
        "rows": lambda: ti.root.dense(ti.i, n).dense(ti.j, m).place(x),
        "blocks": lambda: ti.root.dense(ti.ij, (n // 2, m // 3)).dense(ti.ij, (2, 3)).place(x),
        "twice": lambda: ti.root.dense(ti.i, n // 2).dense(ti.j, m).dense(ti.i, 2).place(x),
        "padded": lambda: ti.root.dense(ti.ij, shape).place(x, ti.field(ti.i8), ti.field(ti.f64)),
    }
    layouts[layout]()


_NESTS = {
    "wide": (((4, 4), (1, 2)),), "high": (((4, 4), (2, 1)),), "cells": (((3, 5), (1, 1)),),
    "one outer row": (((1, 4), (4, 1)),), "one outer column": (((4, 1), (1, 4)),), "one block": (((1, 1), (4, 3)),),
    "one element": (((1, 1), (1, 1)),), "thrice": (((2, 3), (1, 1)), ((2, 1),)), "a line": (((5,), (1,)), ((3,),)),
    "1 between": (((2,), (1,)), ((3,), (1,))), "space": (((2, 1, 3), (1, 2, 1)), ((1, 3, 1),)),
}  # fmt: skip


@pytest.mark.parametrize("name", _NESTS)
def test_nested_blocks_of_extent_one(ti, name):
    """An axis that a block does not cut, or that only a block cuts, is read and written in order on all ways."""
    extents = [one for pair in _NESTS[name] for one in pair]
    shape = tuple(np.prod(extents, axis=0).tolist())
    axes = (ti.i, ti.ij, ti.ijk)[len(shape) - 1]
    x, v = ti.field(ti.i32), ti.Vector.field(2, ti.i16)
    node = ti.root
    for one in extents:
        node = node.dense(axes, one)
    node.place(x, v)

    @ti.kernel
    def write():
        for I in ti.grouped(x):
            number = 0
            for axis in ti.static(range(len(shape))):
                number = 10 * number + I[axis]
            x[I] = number
            v[I] = [number, -number]

    @ti.kernel
    def weighted() -> ti.i32:
        total = 0
        for I in ti.grouped(ti.ndrange(*shape)):
            total += x[I] * (1 + I[0]) - v[I].y
        return total

    write()
    places = np.indices(shape)
    want = sum(places[axis] * 10 ** (len(shape) - 1 - axis) for axis in range(len(shape)))
    assert (x.to_numpy() == want).all()
    assert (v.to_numpy() == np.stack((want, -want), -1)).all()
    assert all(x[index] == want[index] and v[index].x == want[index] for index in np.ndindex(shape))
    assert weighted() == (want * (2 + places[0])).sum()
    x.from_numpy(want + 7)
    x[(0,) * len(shape)] += 1
    assert x[(0,) * len(shape)] == 8
    assert weighted() == ((want + 7) * (1 + places[0])).sum() + 1 + want.sum()


@pytest.mark.parametrize("layout", ["row", "column", "rows", "blocks", "twice", "padded"])
def test_layouts(ti, layout):
    shape = (4, 6)
    x, y = ti.field(ti.i32), ti.field(ti.i32, shape)
    placed(ti, layout, x, shape)

    @ti.kernel
    def run():
        for i, j in x:
            x[i, j] = i * 10 + j
        for i, j in ti.ndrange(4, 6):
            y[i, j] = x[3 - i, 5 - j]
        for I in ti.grouped(x):
            x[I] += 1000

    run()
    assert x.shape == shape
    assert x.to_numpy().tolist() == (numbered(shape) + 1000).tolist()
    assert y.to_numpy().tolist() == numbered(shape)[::-1, ::-1].tolist()
    x.from_numpy(np.arange(24, dtype=np.int32).reshape(shape))
    assert [x[1, 2], x[3, 5]] == [8, 23]


@pytest.mark.parametrize("order", ["".join(p) for p in itertools.permutations("ijk")])
def test_orders(ti, order):
    x = ti.field(ti.i32, (2, 3, 4), order=order)

    @ti.kernel
    def run():
        for i, j, k in x:
            x[i, j, k] = (i * 10 + j) * 10 + k

    run()
    assert x.to_numpy().tolist() == numbered((2, 3, 4)).tolist()


@pytest.mark.parametrize("layout", ["AOS", "SOA"])
def test_layouts_of_vectors(ti, layout):
    v = ti.Vector.field(3, ti.f32, (4, 2), layout=getattr(ti.Layout, layout))
    m = ti.Matrix.field(2, 2, ti.i64, 5, layout=getattr(ti.Layout, layout))

    @ti.kernel
    def run():
        for i, j in v:
            v[i, j] = [i, j, i * j]
            v[i, j][2] += 100
        for i in m:
            m[i] = ti.Matrix([[i, 1], [2, 3]]) @ ti.Matrix([[1, 0], [i, 1]])

    run()
    i, j = np.indices((4, 2))
    assert v.to_numpy().tolist() == np.stack([i, j, i * j + 100], -1).tolist()
    assert m.to_numpy().tolist() == [[[2 * i, 1], [2 + 3 * i, 3]] for i in range(5)]


@pytest.mark.parametrize("first", [2**31 - 4, 2**33, -(2**31) - 4])
def test_offsets_that_an_i32_does_not_hold(ti, first):
    x = ti.field(ti.i64, (8, 2), offset=(first, 1))

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = i * 10 + j

    @ti.kernel
    def add():
        ti.loop_config(serialize=True)
        for i, j in x:
            x[i, j] += 1

    @ti.kernel
    def at(i: ti.i64) -> ti.i64:
        return x[i, 1]

    fill()
    add()
    i, j = np.mgrid[first : first + 8, 1:3]
    np.testing.assert_array_equal(x.to_numpy(), i * 10 + j + 1)
    assert at(first + 5) == (first + 5) * 10 + 2


def test_indices_of_32_bits_are_checked_against_offsets_that_have_more(ti):
    if ti.cfg.arch != ti.python:
        ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, 8, offset=2**31 - 4)
    y = ti.field(ti.i32, 8, offset=-(2**33))
    x.fill(3)

    @ti.kernel
    def at(i: ti.i32) -> ti.i32:
        return x[i]

    @ti.kernel
    def beyond(i: ti.i32) -> ti.i32:
        return y[i]

    assert at(2**31 - 1) == 3
    with pytest.raises(IndexError):
        at(-(2**31))
    with pytest.raises(IndexError):
        beyond(0)


def test_offsets(ti):
    x = ti.field(ti.i32, (4, 3), offset=(-2, 10))
    v = ti.Vector.field(2, ti.i32, 3, offset=5)

    @ti.kernel
    def run() -> ti.i32:
        for i, j in x:
            x[i, j] = i * 100 + j
        for i in v:
            v[i] = [i, -i]
        return x[-2, 10] + x[1, 12]

    assert run() == -190 + 112
    assert x.to_numpy().tolist() == [[i * 100 + j for j in range(10, 13)] for i in range(-2, 2)]
    assert v.to_numpy().tolist() == [[i, -i] for i in range(5, 8)]
    assert x[-1, 11] == -89


def test_several_fields_in_one_cell(ti):
    a, b, c = ti.field(ti.i8), ti.field(ti.f64), ti.Vector.field(3, ti.i16)
    ti.root.dense(ti.i, 10).place(a, b, c)
    d = ti.field(ti.i32, ())

    @ti.kernel
    def run():
        for i in a:
            a[i] = i
            b[i] = i * 0.5
            c[i] = [i, 2 * i, 3 * i]
            d[None] += a[i]

    run()
    assert a.to_numpy().tolist() == list(range(10))
    assert b.to_numpy().tolist() == [i * 0.5 for i in range(10)]
    assert c.to_numpy().tolist() == [[i, 2 * i, 3 * i] for i in range(10)]
    assert d[None] == 45


def test_python_reads_and_writes(ti):
    x, v = ti.field(ti.f32, (2, 3)), ti.Vector.field(2, ti.i32, 3)
    x[1, 2] = 7
    x.fill(2)
    x[0, 0] = 5
    v[1] = [3, 4]
    v[2][0] = 9

    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for I in ti.grouped(x):
            s += x[I]
        for i in v:
            s += v[i].sum() * 100
        return s

    assert total() == 15 + 1600
    y = ti.field(ti.f32, (2, 3))
    y.copy_from(x)
    assert y.to_numpy().tolist() == [[5, 2, 2], [2, 2, 2]]


def test_destroyed_trees(ti):
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    builder.dense(ti.i, 4).place(x)
    tree = builder.finalize()

    @ti.kernel
    def run():
        for i in x:
            x[i] += 1

    run()
    assert x[2] == 1
    tree.destroy()
    with pytest.raises(WeftError, match="destroy"):
        run()
    with pytest.raises(WeftError, match="destroy"):
        x[0]


def test_fields_end_with_reset(ti):
    arch = ti.cfg.arch
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def run():
        for i in x:
            x[i] += 1

    run()
    ti.reset()
    ti.init(arch=arch)
    with pytest.raises(WeftError, match="reset"):
        x[0]
    with pytest.raises(WeftError, match="reset"):
        run()
    x = ti.field(ti.i32, 4)
    run()
    assert x.to_numpy().tolist() == [1] * 4


def test_huge_fields_are_refused(ti):
    with pytest.raises(Exception, match=r"TiB|GiB|memory") as caught:
        ti.field(ti.f64, (1 << 20, 1 << 20, 8)).fill(1)
    assert not isinstance(caught.value, (OverflowError, IndexError))
    x = ti.field(ti.i32, 3)
    x.fill(4)
    assert x.to_numpy().tolist() == [4, 4, 4]


def test_fields_made_after_a_kernel_ran(ti):
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def add(f: ti.template()):
        for i in f:
            f[i] += 1

    add(x)
    y = ti.field(ti.i32, 5)
    add(y)
    add(x)
    assert x.to_numpy().tolist() == [2] * 3
    assert y.to_numpy().tolist() == [1] * 5


def test_shapes_in_kernels(ti):
    x, v = ti.field(ti.i32, (3, 5)), ti.Vector.field(4, ti.f32, 7)

    @ti.kernel
    def run() -> ti.i32:
        total = x.shape[0] * 100 + x.shape[1] * 10 + v.shape[0]
        for _ in ti.static(range(v.n)):
            total += 1000
        return total

    assert run() == 357 + 4000


def test_fields_in_containers(ti):
    levels = [ti.field(ti.i32, 4 >> k) for k in range(3)]

    @ti.kernel
    def run():
        for k in ti.static(range(3)):
            for i in levels[k]:
                levels[k][i] = i + 10 * k

    run()
    assert [x.to_numpy().tolist() for x in levels] == [[0, 1, 2, 3], [10, 11], [20]]


def test_indices_of_every_kind(ti):
    x = ti.field(ti.i32, (4, 5))

    @ti.kernel
    def run(a: ti.i64, b: ti.u8) -> ti.i32:
        x[a, b] = 1
        I = ti.Vector([1, 2])
        x[I] += 2
        x[I + ti.Vector([1, 0])] += 3
        J = ti.Vector([0, 1])
        x[J.y, J.x] += 4
        return x[int(a), int(b)] + x[1, 2]

    assert run(3, 4) == 1 + 2
    wanted = np.zeros((4, 5), int)
    wanted[3, 4], wanted[1, 2], wanted[2, 2], wanted[1, 0] = 1, 2, 3, 4
    assert x.to_numpy().tolist() == wanted.tolist()


@pytest.mark.unverified
def test_fields_of_more_elements_than_an_i32_counts(ti, request):
    """On a GPU the whole of it is touched; elsewhere, and on one in software, that would take its time."""
    n = (1 << 31) + 77
    x = ti.field(ti.u8, n)

    @ti.kernel
    def put(i: ti.i64, value: ti.u8):
        x[i] = value

    @ti.kernel
    def count(first: ti.i64) -> ti.i64:
        total = ti.i64(0)
        for i in range(first, ti.i64(n)):
            total += x[i]
        return total

    @ti.kernel
    def all_of_it():
        for i in x:
            x[i] = ti.u8(1 if i >= ti.i64(n - 3) else 0)

    for i in (0, 2**31 - 1, 2**31, n - 1):
        put(i, 3)
        assert x[i] == 3
    assert count(2**31 - 1) == 9
    if ti.cfg.arch == ti.cuda and request.node.get_closest_marker("emulated") is None:
        all_of_it()
        assert count(0) == 3


def test_an_index_that_overflows_and_comes_back_is_checked_as_it_is(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, 8)
    x.from_numpy(np.arange(8, dtype=np.int32))

    @ti.kernel
    def around(i: ti.i32, most: ti.i32) -> ti.i32:
        total = 0
        for k in range(4):
            total += x[k * 1073741824 * 4 + i]
        return total * 10 + x[i + most + most + 2]

    assert around(2, 2147483647) == 82
    with pytest.raises(IndexError, match=r"x\[-2147483646\] is out of bounds"):
        around(2, 1073741823)


def test_a_hash_is_an_index(ti):
    x = ti.field(ti.i32, 8)
    x.from_numpy(np.arange(8, dtype=np.int32))

    @ti.kernel
    def find(i: ti.i32, j: ti.i32) -> ti.i32:
        k = i * 73856093 ^ j * 19349663
        return x[k % 8] * 100 + x[k & 7] * 10 + x[ti.cast(k >> 28, ti.i32) & 7]

    for i, j in ((1000, -77), (-123456, 3), (2**30, 2**31 - 1)):
        k = np.array([i], np.int32) * np.int32(73856093) ^ np.array([j], np.int32) * np.int32(19349663)
        assert find(i, j) == k[0] % 8 * 100 + (k[0] & 7) * 10 + (k[0] >> 28 & 7)


def test_a_field_of_a_component_is_the_same_memory(ti):
    v = ti.Vector.field(2, ti.i32, 64)
    first, again = v.get_scalar_field(0), v.get_scalar_field(0)

    @ti.kernel
    def back_and_forth(k: ti.i32) -> ti.types.vector(4, ti.i32):
        v[k][0] = 1
        a = first[k]
        first[k] = 7
        b = v[k][0]
        again[k] += 1
        c = first[k]
        v[k] = ti.Vector([9, 9])
        return ti.Vector([a, b, c, first[k]])

    @ti.real_func
    def write(k: ti.i32):
        first[k] = 5

    @ti.kernel
    def called(k: ti.i32) -> ti.i32:
        v[k] = ti.Vector([1, 1])
        write(k)
        return v[k][0]

    @ti.kernel
    def shift():
        for _ in range(1):
            for k in range(63):
                v[k + 1][0] = first[k] + 1

    assert back_and_forth(3).to_numpy().tolist() == [1, 7, 8, 9]
    assert called(4) == 5
    v.fill(0)
    shift()
    assert v.to_numpy()[:, 0].tolist() == list(range(64))


def test_names_of_any_characters(ti):
    """`x#1` is no component of x, of which threads add to copies."""
    x, y = ti.Vector.field(2, ti.i32, 64, name="x"), ti.field(ti.i32, 64, name="x#1")
    z = [ti.field(ti.i32, 4, name=name) for name in ("scope}:!{", 'a"b', "a\\b", "a\nb", "é", "%s {0}")]
    n = 3000 if ti.cfg.arch == "python" else 100_000

    @ti.kernel
    def run():
        for i in range(n):
            x[i % 64] += 1
            y[i % 64] += 2
        for i in range(4):
            for one in ti.static(z):
                one[i] = one[i] * 2 + y[i] + x[i].y

    run()
    counts = np.bincount(np.arange(n) % 64)
    assert (x.to_numpy() == counts[:, None]).all()
    assert (y.to_numpy() == 2 * counts).all()
    for one in z:
        assert (one.to_numpy() == 3 * counts[:4]).all()
