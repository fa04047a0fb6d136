"""Argument packs, array annotations and copies of ndarrays."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import TypeMismatch
from weft.lang.data.field_tree import FieldError
from weft.lang.errors import ArgumentError

vec2 = ti.types.vector(2, ti.f32)
inner = ti.types.argpack(k=ti.f64, v=vec2)
pack = ti.types.argpack(a=ti.i32, inner=inner, arr=ti.types.ndarray(dtype=ti.f32, ndim=1))


@pytest.fixture(params=["cpu", "python"], autouse=True)
def arch(request: pytest.FixtureRequest) -> None:
    ti.init(arch=getattr(ti, request.param))


def test_members_of_packs():
    @ti.kernel
    def k(p: pack, s: ti.f32) -> ti.f64:
        for i in range(p.arr.shape[0]):
            p.arr[i] = i + p.a + s
        return p.inner.k + p.inner.v.y + p.inner.v[0]

    array = np.zeros(3, np.float32)
    p = pack(a=3, inner=inner(k=1e-12, v=vec2(1, 2)), arr=array)
    assert k(p, 0.5) == 3 + 1e-12
    assert array.tolist() == [3.5, 4.5, 5.5]
    p.a = 10.7
    assert p.a == 10
    p.inner.k = 2.0
    p.arr = ti.ndarray(ti.f32, 2)
    assert k(p, s=0) == 5
    assert p.arr.to_numpy().tolist() == [10, 11]
    with pytest.raises(ArgumentError, match="argument 'p': expected argpack"):
        k(inner(1, [2, 3]), 1.0)


def test_copies_of_packs():
    @ti.kernel
    def k(p: pack):
        p.arr[0] += p.a + p.inner.k

    p = pack(a=1, inner=inner(k=10, v=[0, 0]), arr=np.zeros(3, np.float32))
    shallow, deep = copy.copy(p), copy.deepcopy(p)
    p.a, p.inner.k = 2, 20
    for one in (p, shallow, deep):
        k(one)
    assert (p.a, shallow.a, deep.a) == (2, 1, 1)
    assert (p.arr[0], shallow.arr[0], deep.arr[0]) == (43, 43, 11)


def test_values_in_order_or_by_name():
    assert repr(inner(2, v=[3, 4])) == repr(inner(k=2, v=vec2(3, 4)))
    with pytest.raises(TypeMismatch, match="'v' is missing"):
        inner(k=1)
    with pytest.raises(TypeMismatch, match="'k' is given twice"):
        inner(1, k=2)
    with pytest.raises(TypeMismatch, match="has 2 members, but got 3 values"):
        inner(1, [2, 3], 4)


def test_packs_are_checked():
    with pytest.raises(AttributeError, match="no member 'b'"):
        inner(b=1)
    with pytest.raises(TypeMismatch, match="'inner' is missing"):
        pack(a=1)
    with pytest.raises(TypeMismatch, match="member 'x' of an argument pack"):
        ti.types.argpack(x="f32")


def test_element_dim_and_shape():
    @ti.kernel
    def total(a: ti.types.ndarray(element_dim=1), b: ti.types.ndarray(dtype=ti.f32, element_shape=(2, 2))) -> ti.f32:
        r = 0.0
        for i in a:
            r += a[i].sum() * b[i].trace()
        return r

    assert total(np.ones((4, 3), np.float32), np.ones((4, 2, 2), np.float32)) == 24


def test_clamped_indices():
    @ti.kernel
    def k(a: ti.types.ndarray(dtype=ti.f32, ndim=2, boundary="clamp"), i: ti.i32) -> ti.f32:
        return a[i, 0] + a[100, i]

    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert k(a, -7) == a[0, 0] + a[1, 0]
    assert k(a, 9) == a[1, 0] + a[1, 2]


@pytest.mark.parametrize("dtype", [ti.i16, vec2])
def test_copies_of_ndarrays(dtype):
    a = ti.ndarray(dtype, (2, 3))
    a.fill(7)
    for other in (copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert type(other) is type(a)
        a.fill(8)
        assert (other.to_numpy() == 7).all()
        a.fill(7)


@pytest.mark.parametrize("dtype", [ti.f32, vec2])
def test_shallow_copies_of_ndarrays_share_memory(dtype):
    @ti.kernel
    def increase(a: ti.types.ndarray()):
        for i in ti.grouped(a):
            a[i] += 1

    a = ti.ndarray(dtype, (2, 3))
    other = copy.copy(a)
    increase(a)
    increase(other)
    assert other is not a
    assert (a.to_numpy() == 2).all()
    del a
    increase(other)
    assert (other.to_numpy() == 3).all()
    ti.reset()
    with pytest.raises(FieldError, match="no longer exists"):
        other.to_numpy()


def test_numpy_keeps_the_dimensions_of_vectors():
    assert ti.Vector.field(2, ti.f32, 3).to_numpy(keep_dims=True).shape == (3, 2, 1)
    assert ti.Matrix.field(2, 4, ti.f32, 3).to_numpy(keep_dims=True).shape == (3, 2, 4)
    assert ti.field(ti.f32, 3).to_numpy().shape == (3,)


def test_bits_that_leave_a_literal():
    @ti.kernel
    def k() -> ti.i32:
        return ti.bit_shr(-8, 1)

    assert k() == 0x7FFFFFFC


class Holder:
    """Memory of an array, known by one protocol only."""

    def __init__(self, array: np.ndarray, interface: bool) -> None:
        self.array = array
        if interface:
            self.__array_interface__ = array.__array_interface__
        else:
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def test_memory_of_other_libraries_is_not_copied():
    @ti.kernel
    def k(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in a:
            a[i] += 1

    a = np.zeros(3, np.float32)
    k(Holder(a, interface=True))
    k(Holder(a, interface=False))
    k(a[::-1])
    assert a.tolist() == [3, 3, 3]
    for wrong in (np.zeros(3, ">f4"), np.zeros(3, complex)):
        with pytest.raises(ArgumentError):
            k(wrong)


def test_ndarrays_lend_their_memory():
    x = ti.ndarray(ti.f32, 3)
    lent = np.from_dlpack(x)
    x[1] = 5
    assert lent.tolist() == [0, 5, 0]
    assert np.asarray(x, dtype=np.int32).tolist() == [0, 5, 0]


def test_nodes_say_how_large_they_are():
    x, y = ti.field(ti.f32), ti.field(ti.i64)
    node = ti.root.dense(ti.i, 4).place(x, y)
    assert (node._cell_size_bytes, y.snode._offset_bytes_in_parent_cell, x.snode._cell_size_bytes) == (16, 8, 4)
