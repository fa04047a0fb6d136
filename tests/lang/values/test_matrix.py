import numpy as np
import pytest

import weft as ti
from weft.ir.errors import TypeMismatch

v = ti.Vector([1, 2, 3])
w = ti.Vector([1.5, 2.5, -3.5])
m = ti.Matrix([[1, 2], [3, 4]])


def test_construction():
    assert (v.n, v.m, v.shape, v.ndim, len(v)) == (3, 1, (3,), 1, 3)
    assert (m.n, m.m, m.shape, m.ndim, len(m)) == (2, 2, (2, 2), 2, 2)
    assert v.dtype is ti.i64
    assert w.dtype is ti.f64
    assert ti.Vector([1.7, 2], dt=ti.i32).to_list() == [1, 2]
    assert ti.Vector([1, 2], ti.f32).dtype is ti.f32
    assert ti.Matrix([1, 2, 3]).ndim == 1
    assert ti.Vector(np.array([1.0, 2])).dtype is ti.f64
    assert ti.Matrix.rows([v, w]).dtype is ti.f64
    assert ti.Matrix.cols([v, w]).shape == (3, 2)
    assert ti.Vector([ti.f32(1), 2]).dtype is ti.f32
    assert ti.Vector([ti.i32(1), ti.f32(2)]).dtype is ti.f32
    assert isinstance(v, ti.Matrix)
    assert isinstance(m.transpose(), ti.Matrix)


@pytest.mark.parametrize("wrong", [3, "ab", [[1, 2], [3]], [[[1]]], None])
def test_values_that_are_not_matrices(wrong):
    with pytest.raises(TypeMismatch):
        ti.Matrix(wrong)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (v + w, [2.5, 4.5, -0.5]),
        (v * 2, [2, 4, 6]),
        (2 - v, [1, 0, -1]),
        (v / 2, [0.5, 1.0, 1.5]),
        (v // 2, [0, 1, 1]),
        (-v % 2, [1, 0, 1]),
        (v**2, [1, 4, 9]),
        (2**v, [2, 4, 8]),
        (v // 0, [0, 0, 0]),
        (~v, [-2, -3, -4]),
        (v & 1, [1, 0, 1]),
        (v << 1, [2, 4, 6]),
        (v > 1, [False, True, True]),
        (v == w, [False, False, False]),
        (m @ m, [[7, 10], [15, 22]]),
        (m @ ti.Vector([1, 2]), [5, 11]),
        (m * m, [[1, 4], [9, 16]]),
        (m.transpose(), [[1, 3], [2, 4]]),
        (np.float32(2) * v, [2, 4, 6]),
        (v + np.array([1, 1, 1]), [2, 3, 4]),
        (ti.max(v, 2), [2, 2, 3]),
        (ti.select(v > 1, v, w), [1.5, 2, 3]),
        (ti.abs(w), [1.5, 2.5, 3.5]),
    ],
)
def test_operators(value, expected):
    assert value.to_list() == expected


def test_mixed_types_combine_by_the_kernel_rules():
    a, b = ti.Vector([1, 2], ti.i32), ti.Vector([1, 2], ti.f32)
    assert (a + b).dtype is ti.f32
    assert (a + 1).dtype is ti.i32
    assert (b * 0.1).dtype is ti.f32
    assert (a / 2).dtype is ti.f32
    assert (a * 0.5).to_list() == [0.5, 1.0]


def test_wrong_shapes():
    with pytest.raises(TypeMismatch, match=r"shapes \(3,\) and \(2,\)"):
        v + ti.Vector([1, 2])
    assert (ti.Vector([1, 2, 3]) @ ti.Matrix([[4, 5]])).to_list() == [[4, 5], [8, 10], [12, 15]]
    with pytest.raises(TypeMismatch, match="columns of the left"):
        ti.Matrix([[1, 2]]) @ ti.Matrix([[1, 2]])
    with pytest.raises(TypeMismatch, match="takes 2 indices, got 1"):
        m[0]
    with pytest.raises(IndexError):
        v[5]
    with pytest.raises(TypeMismatch, match="outer_product"):
        v.transpose()
    with pytest.raises(TypeMismatch, match="any"):
        bool(v == v)


def test_reductions():
    assert (m.sum(), m.max(), m.min()) == (10, 4, 1)
    assert (v > 1).any()
    assert not (v > 1).all()
    assert ti.Vector([100, 100, 100], ti.u8).sum() == 44


def test_swizzles():
    a = ti.Vector([1, 2, 3, 4])
    assert (a.x, a.w, a.r, a.a, a.s, a.q) == (1, 4, 1, 4, 1, 4)
    assert a.zyx.to_list() == [3, 2, 1]
    assert a.bgr.to_list() == [3, 2, 1]
    assert a.xx.to_list() == [1, 1]
    a.x = 9
    a.yz = [7, 8]
    a.w = 1.9
    assert a.to_list() == [9, 7, 8, 1]
    a.rgb = ti.Vector([0, 1, 2])
    assert a.to_list() == [0, 1, 2, 1]
    with pytest.raises(AttributeError, match="no element 'z'"):
        ti.Vector([1, 2]).z
    with pytest.raises(AttributeError, match="no attribute 'xr'"):
        a.xr
    with pytest.raises(AttributeError, match="twice"):
        a.xx = [1, 2]
    with pytest.raises(AttributeError, match="matrix of shape"):
        m.x


def test_elements_and_copies():
    a = v.copy()
    a[0] = 7
    assert (a[0], v[0]) == (7, 1)
    b = a
    a += 1
    assert b.to_list() == [7, 2, 3]
    a.fill(3)
    assert a.to_list() == [3, 3, 3]
    assert list(m) == [[1, 2], [3, 4]]
    assert list(v) == [1, 2, 3]
    assert m[0, 1] == 2
    assert m[:, 0].to_list() == [1, 3]
    assert w.cast(ti.i32).to_list() == [1, 2, -3]


def test_text():
    assert str(v) == "[1 2 3]"
    assert str(ti.Vector([1.0, 2.0])) == "[1. 2.]"
    assert f"{ti.Vector([1.0, 2.0]):.2f}" == "[1.00, 2.00]"


def test_makers():
    assert ti.Vector.zero(float, 2).to_list() == [0.0, 0.0]
    assert ti.Vector.one(ti.i32, 2).to_list() == [1, 1]
    assert ti.Vector.unit(3, 1).to_list() == [0, 1, 0]
    assert ti.Matrix.identity(float, 2).to_list() == [[1, 0], [0, 1]]
    assert ti.Matrix.zero(ti.f64, 2, 3).shape == (2, 3)
    assert ti.Matrix.diag(2, 1.5).to_list() == [[1.5, 0], [0, 1.5]]


def test_types_make_values():
    vec3, mat2 = ti.math.vec3, ti.math.mat2
    assert vec3(1).to_list() == [1, 1, 1]
    assert vec3(1, 2, 3).to_list() == vec3([1, 2, 3]).to_list() == vec3(ti.math.vec2(1, 2), 3).to_list()
    assert mat2(1, 2, 3, 4).to_list() == mat2([1, 2], [3, 4]).to_list() == mat2([[1, 2], [3, 4]]).to_list()
    assert mat2(ti.math.vec2(1, 2), ti.math.vec2(3, 4)).to_list() == [[1, 2], [3, 4]]
    assert ti.math.ivec2(1.7).to_list() == [1, 1]
    assert vec3(0.1).dtype is ti.f32
    with pytest.raises(TypeMismatch, match="takes 1 or 3 scalars, got 2"):
        vec3(1, 2)
    with pytest.raises(TypeMismatch, match="got 0"):
        vec3()
    assert ti.types.vector(3, float) == vec3
    assert ti.types.matrix(2, 2, ti.f64) != mat2
