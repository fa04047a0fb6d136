"""Array arguments: numpy's of every stride and type, ndarrays, vectors as elements, and what is refused."""

import numpy as np
import pytest

from weft.ir.errors import WeftError

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")  # values are cut short on purpose

NUMPY_TYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)


@pytest.fixture
def numbering(ti):
    """A kernel that writes 10 i + j and doubles it in a second loop."""

    @ti.kernel
    def run(a: ti.types.ndarray(ndim=2)):
        for i, j in a:
            a[i, j] = i * 10 + j
        for i, j in ti.ndrange(a.shape[0], a.shape[1]):
            a[i, j] *= 2

    return run


def views(whole):
    """Many views of an 8 by 8 array."""
    return {
        "whole": whole,
        "every other": whole[::2, 1::3],
        "reversed": whole[::-1, ::-1],
        "transposed": whole.T,
        "column": whole[:, 3:4],
        "corner": whole[2:5, 4:],
        "reversed rows": whole[5:1:-2],
        "broad": whole[:3].T[::2],
    }


@pytest.mark.parametrize("view", [*views(np.zeros((8, 8)))])
def test_strides(ti, numbering, view):
    whole, same = np.full((8, 8), -1, np.int32), np.full((8, 8), -1, np.int32)
    numbering(views(whole)[view])
    target = views(same)[view]
    i, j = np.indices(target.shape)
    target[...] = 2 * (i * 10 + j)
    assert whole.tolist() == same.tolist()


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders(ti, numbering, dtype, order):
    a = np.zeros((3, 5), dtype, order)
    numbering(a)
    i, j = np.indices(a.shape)
    assert a.tolist() == (2 * (i * 10 + j)).tolist()


def test_empty_arrays(ti, numbering):
    for shape in ((0, 3), (3, 0), (0, 0)):
        numbering(np.zeros(shape, np.float32))


def test_wrong_arrays_are_refused(ti):
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i, j in a:
            a[i, j] = 1

    good = np.zeros((2, 2), np.float32)
    bad = [good.astype(np.float64), good[0], good.astype(complex), good.astype(">f4"), [[1.0]], 3, None, "a"]
    for value in bad:
        with pytest.raises((WeftError, TypeError)):
            run(value)
    run(good)
    assert good.tolist() == [[1, 1], [1, 1]]


def test_read_only_arrays(ti):
    @ti.kernel
    def total(a: ti.types.ndarray()) -> ti.f32:
        s = 0.0
        for i in a:
            s += a[i]
        return s

    @ti.kernel
    def clear(a: ti.types.ndarray()):
        for i in a:
            a[i] = 0

    a = np.arange(5, dtype=np.float32)
    a.flags.writeable = False
    assert total(a) == 10
    with pytest.raises((WeftError, ValueError), match="read-only"):
        clear(a)
    assert a.tolist() == [0, 1, 2, 3, 4]


def test_aliased_arrays(ti):
    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray()):
        ti.loop_config(serialize=True)
        for i in range(1, a.shape[0]):
            a[i] = b[i - 1] + 1

    a = np.zeros(10, np.int32)
    run(a, a)
    assert a.tolist() == list(range(10))
    b = np.zeros(11, np.int32)
    run(b[2:], b[1:])  # b[i + 2] = b[i] + 1
    same = np.zeros(11, np.int32)
    for i in range(1, 9):
        same[2:][i] = same[1:][i - 1] + 1
    assert b.tolist() == same.tolist()


def test_vectors_and_matrices_as_elements(ti):
    @ti.kernel
    def run(v: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), m: ti.types.ndarray(dtype=ti.math.mat2, ndim=2)):
        for i in v:
            v[i] += ti.Vector([i, 1.0, v[i].z])
            v[i].y *= 2
            v[i][2] = 7
        for i, j in m:
            m[i, j] = m[i, j] @ m[i, j] + ti.Matrix([[i, j], [0, 0]])

    v, m = np.ones((4, 3), np.float32), np.ones((2, 3, 2, 2), np.float32)
    run(v, m)
    assert v.tolist() == [[1 + i, 4, 7] for i in range(4)]
    assert m.tolist() == [[[[2 + i, 2 + j], [2, 2]] for j in range(3)] for i in range(2)]


def test_ndarrays(ti):
    a = ti.ndarray(ti.f32, (3, 4))
    v = ti.Vector.ndarray(2, ti.i32, 5)
    m = ti.Matrix.ndarray(2, 2, ti.f64, (2,))

    @ti.kernel
    def run(a: ti.types.ndarray(), v: ti.types.ndarray(), m: ti.types.ndarray()):
        for i, j in a:
            a[i, j] += i * j
        for i in v:
            v[i] = [i, i * i]
        for i in m:
            m[i] = ti.Matrix([[1.0, 2.0], [3.0, 4.0]]) * i

    a.fill(1)
    run(a, v, m)
    assert a.to_numpy().tolist() == [[1 + i * j for j in range(4)] for i in range(3)]
    assert v.to_numpy().tolist() == [[i, i * i] for i in range(5)]
    assert m[1].to_list() == [[1, 2], [3, 4]]
    assert a[2, 3] == 7
    a[2, 3] = 0.5
    assert a.to_numpy()[2, 3] == 0.5


def test_arrays_of_many_axes(ti):
    @ti.kernel
    def run(a: ti.types.ndarray()):
        for I in ti.grouped(a):
            n = 0
            for k in ti.static(range(4)):
                n = n * 10 + I[k]
            a[I] = n

    a = np.zeros((2, 3, 2, 4), np.int64)[:, ::-1, :, ::2]
    run(a)
    assert a[1, 2, 1, 1] == 1211
    assert a[0, 1, 0, 0] == 100


def test_atomics_on_arrays(ti):
    @ti.kernel
    def histogram(values: ti.types.ndarray(), counts: ti.types.ndarray()):
        for i in values:
            counts[values[i] % 7] += 1

    values, counts = np.arange(1000, dtype=np.int32) ** 2 % 1013, np.zeros(7, np.int32)
    histogram(values, counts)
    assert counts.tolist() == np.bincount(values % 7, minlength=7).tolist()


def test_shapes_of_arguments(ti):
    @ti.kernel
    def run(a: ti.types.ndarray()) -> ti.i32:
        total = 0
        for i in ti.static(range(3)):
            total = total * 10 + a.shape[i]
        return total

    assert run(np.zeros((2, 3, 4), np.float32)) == 234
    assert run(np.zeros((0, 9, 1), np.int8)) == 91


def test_facts_of_an_array_are_known_at_compile_time(ti):
    @ti.kernel
    def run(a: ti.types.ndarray(), facts: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        if ti.static(a.element_shape() == [2]):
            facts[0] = 1
        if ti.static(len(a.element_shape()) == 2):
            facts[0] = a.n * 10 + a.m
        if ti.static(a.dtype == ti.f64):
            facts[1] = 1
        facts[2] = a.ndim

    for array, expected in (
        (ti.Vector.ndarray(2, ti.f64, 3), [1, 1, 1]),
        (ti.Matrix.ndarray(2, 3, ti.f32, (4, 5)), [23, 0, 2]),
        (ti.ndarray(ti.f32, 3), [0, 0, 1]),
        (np.zeros((2, 3, 4)), [0, 1, 3]),
    ):
        facts = np.zeros(3, np.int32)
        run(array, facts)
        assert facts.tolist() == expected


def test_elements_whose_parts_do_not_lie_side_by_side_are_refused(ti):
    @ti.kernel
    def second(a: ti.types.ndarray(dtype=ti.math.vec2, ndim=1)) -> ti.f32:
        total = 0.0
        for i in range(a.shape[0]):
            total += a[i][1]
        return total

    base = np.arange(16, dtype=np.float32).reshape(4, 4)
    for _ in range(2):
        assert second(base[:, :2]) == 28
        assert second(base[::-1, :2].copy()) == 28
        for apart in (base[:, ::2], base[:, 1::-1], base.T[:, :2]):
            with pytest.raises(ti.TaichiRuntimeError, match=r"'a'.*must be contiguous in memory; pass a copy"):
                second(apart)
