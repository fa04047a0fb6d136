"""Ndarrays of structs: layout, kernels over them, members as arrays of their own, copies."""

import copy
import ctypes
import pickle

import numpy as np
import pytest

from weft.ir.errors import WeftError
from weft.lang.data.struct_ndarray import current_layout


@pytest.fixture
def particle(ti):
    inner = ti.types.struct(a=ti.u8, b=ti.f64)
    return ti.types.struct(tag=ti.u8, pos=ti.math.vec3, inner=inner, m=ti.types.matrix(2, 2, ti.i16), on=ti.u1)


def test_the_layout_is_that_of_c(ti, particle):
    class Inner(ctypes.Structure):
        _fields_ = (("a", ctypes.c_uint8), ("b", ctypes.c_double))

    class Particle(ctypes.Structure):
        _fields_ = (
            ("tag", ctypes.c_uint8),
            ("pos", ctypes.c_float * 3),
            ("inner", Inner),
            ("m", ctypes.c_int16 * 4),
            ("on", ctypes.c_uint8),
        )

    layout = current_layout(particle)
    assert layout.size == ctypes.sizeof(Particle)
    inner = Particle.inner.offset
    assert dict(layout.offsets) == {
        "tag": 0,
        "pos": Particle.pos.offset,
        "inner.a": inner,
        "inner.b": inner + Inner.b.offset,
        "m": Particle.m.offset,
        "on": Particle.on.offset,
    }


def test_kernels_read_and_write_members(ti, particle):
    s = ti.ndarray(particle, (2, 3))

    @ti.kernel
    def fill(s: ti.types.ndarray()):
        for i, j in s:
            s[i, j].tag = ti.cast(i * 3 + j, ti.u8)
            s[i, j].pos = [i, j, 0.5]
            s[i, j].pos.y += 10
            s[i, j].inner.b = 2.5 * i
            s[i, j].inner.a += 3
            s[i, j].m[1, 0] = 7
            s[i, j].on = 1

    @ti.kernel
    def total(s: ti.types.ndarray(dtype=particle, ndim=2)) -> ti.f64:
        t = ti.f64(0)
        for i, j in ti.ndrange(s.shape[0], s.shape[1]):
            e = s[i, j]
            t += e.pos.sum() + e.inner.b + e.tag + e.m[1, 0]
        return t

    fill(s)
    i, j = np.indices((2, 3))
    assert s.to_numpy()["tag"].tolist() == (i * 3 + j).tolist()
    assert s.pos.to_numpy().tolist() == np.stack([i, j + 10, 0 * i + 0.5], -1).tolist()
    assert s.inner.b.to_numpy().tolist() == (2.5 * i).tolist()
    assert s.to_numpy()["inner"]["a"].tolist() == (0 * i + 3).tolist()
    assert s.m.to_numpy()[..., 1, 0].tolist() == (0 * i + 7).tolist()
    assert s.on.to_numpy().all()
    assert total(s) == (i * 3 + j + i + j + 10.5 + 2.5 * i + 7).sum()


def test_whole_structs(ti, particle):
    s, t = ti.ndarray(particle, 5), ti.ndarray(particle, 5)

    @ti.kernel
    def spread(s: ti.types.ndarray(dtype=particle, ndim=1), t: ti.types.ndarray(), value: particle):
        for i in s:
            s[i] = value
            s[i].inner.b += i
            t[4 - i] = s[i]

    value = particle(tag=9, pos=[1, 2, 3])
    value.inner.b = 4
    spread(s, t, value)
    assert t[0].to_dict() == {
        "tag": 9,
        "pos": [1, 2, 3],
        "inner": {"a": 0, "b": 8},
        "m": [[0, 0], [0, 0]],
        "on": 0,
    }
    assert t.inner.b.to_numpy().tolist() == [8, 7, 6, 5, 4]


def test_a_member_is_an_array(ti, particle):
    s = ti.ndarray(particle, 4)

    @ti.kernel
    def count(x: ti.types.ndarray(dtype=ti.f64, ndim=1), v: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)):
        for i in x:
            x[i] = i
            v[i].z = i * 2

    count(s.inner.b, s.pos)
    assert [s[i].inner.b for i in range(4)] == [0, 1, 2, 3]
    assert [s[i].pos[2] for i in range(4)] == [0, 2, 4, 6]
    assert not s.tag.to_numpy().any()
    s.pos.fill([1, 2, 3])
    assert s.pos.to_numpy().tolist() == [[1, 2, 3]] * 4
    assert s.inner.b.to_numpy().tolist() == [0, 1, 2, 3]


def test_atomics(ti):
    kind = ti.types.struct(count=ti.i32, sum=ti.f32)
    s = ti.ndarray(kind, 3)

    @ti.kernel
    def run(s: ti.types.ndarray()):
        for i in range(300):
            s[i % 3].count += 1
            ti.atomic_add(s[i % 3].sum, 0.5)

    run(s)
    assert s.to_numpy()["count"].tolist() == [100] * 3
    assert s.to_numpy()["sum"].tolist() == [50] * 3


def test_copies(ti, particle):
    s = ti.ndarray(particle, 3)
    s.fill(2)
    s[1].inner.b = 5
    for same in (copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        s[1].inner.b = 6
        assert same[1].inner.b == 5
        assert same.pos.to_numpy().tolist() == [[2, 2, 2]] * 3
        s[1].inner.b = 5
    other = ti.ndarray(particle, 3)
    other.copy_from(s)
    assert other[1].inner.b == 5
    other.from_numpy({"tag": np.arange(3), "inner": {"b": np.ones(3)}})
    assert other[2].tag == 2
    assert other[1].inner.b == 1


def test_mistakes(ti, particle):
    s = ti.ndarray(particle, 3)

    @ti.kernel
    def run(s: ti.types.ndarray(dtype=particle, ndim=1)):
        for i in s:
            s[i].tag = 1

    with pytest.raises(WeftError, match="argument 's' must be an array of struct"):
        run(ti.ndarray(ti.types.struct(a=ti.f32), 3))
    with pytest.raises(WeftError, match="array of 1 axes"):
        run(ti.ndarray(particle, (3, 3)))
    with pytest.raises((WeftError, AttributeError), match="no member 'tags'"):
        s[0].tags = 1
    with pytest.raises(WeftError, match="same structs"):
        s.copy_from(ti.ndarray(ti.types.struct(a=ti.f32), 3))
    with pytest.raises(ValueError, match=r"shape \(3,\), but the array has shape \(4,\)"):
        s.from_numpy({"tag": np.zeros(4)})


def test_functions_take_them(ti, particle):
    @ti.func
    def by_reference(a: ti.template(), i):
        a[i].inner.b += 1

    @ti.func
    def plain(a, i):
        a[i].inner.b += 10

    @ti.real_func
    def called(a: ti.types.ndarray(dtype=particle, ndim=1), i: ti.i32) -> ti.f64:
        a[i].inner.b += 100
        return a[i].inner.b

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=particle, ndim=1)):
        for i in a:
            by_reference(a, i)
            plain(a, i)
            a[i].pos.x = ti.cast(called(a, i), ti.f32)

    s = ti.ndarray(particle, 4)
    run(s)
    assert s.inner.b.to_numpy().tolist() == [111] * 4
    assert s.pos.to_numpy()[:, 0].tolist() == [111] * 4


def test_indices_are_kept_inside(ti, particle):
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=particle, ndim=1, boundary="clamp")):
        a[7].inner.b = 2
        a[-3].inner.b = 1

    s = ti.ndarray(particle, 4)
    run(s)
    assert s.inner.b.to_numpy().tolist() == [1, 0, 0, 2]


def test_an_index_outside_is_a_fault(ti, particle):
    ti.init(arch=ti.cfg.arch, debug=True)

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=particle, ndim=1), i: ti.i32):
        a[i].inner.b = 2

    with pytest.raises(WeftError, match=r"a\[7\] is out of bounds: its shape is \(4,\)"):
        run(ti.ndarray(particle, 4), 7)
