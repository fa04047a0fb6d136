# pyright: strict
"""The types of expressions, as both checkers find them."""

from typing_extensions import assert_type

import weft as ti

Vec, Mat = ti.Vector[float], ti.Matrix[float]


def numbers(i: ti.i32, x: ti.f32, v: ti.vec3, k: ti.ivec2, m: ti.mat3) -> None:
    """Operators and functions."""
    assert_type(ti.max(i, 1), int)
    assert_type(ti.max(i, x), float)
    assert_type(ti.max(0, v, x), ti.Vector[float])
    assert_type(ti.max(0, k), ti.Vector[int])
    assert_type(ti.math.mix(v, v, x), ti.Vector[float])
    assert_type(ti.select(i > 0, 0.0, v), ti.Vector[float])
    assert_type(ti.floor(x, ti.i32), int)
    assert_type(ti.floor(v, ti.i32), ti.Vector[int])
    assert_type(ti.cast(k, ti.f32), ti.Vector[float])
    assert_type(ti.sqrt(i), float)
    assert_type(ti.i32(x), int)
    assert_type(k + 1, ti.Vector[int])
    assert_type(k * 0.5, ti.Vector[float])
    assert_type(1 - v, ti.Vector[float])
    assert_type(k / 2, ti.Vector[float])
    assert_type(m @ v, ti.Vector[float])
    assert_type(m @ m, ti.Matrix[float])
    assert_type(m * 2 - 1, ti.Matrix[float])
    assert_type(m[0, 1], float)
    assert_type(m[0, :], ti.Vector[float])
    assert_type(v.x + v[1], float)
    assert_type(k.x, int)
    assert_type(v.bgr, ti.Vector[float])
    assert_type(v < 1, ti.Vector[int])
    assert_type(v.dot(v), float)
    assert_type(-v.normalized(), ti.Vector[float])


def fields() -> None:
    """What makes fields and arrays."""
    assert_type(ti.field(ti.f32, (2, 3)), ti.ScalarField[float])
    assert_type(ti.field(int)[1, 2], int)
    assert_type(ti.field(ti.vec3, 8)[1], ti.Vector[float])
    assert_type(ti.Vector.field(2, ti.i32, shape=8), ti.MatrixField[ti.Vector[int]])
    assert_type(ti.Matrix.field(2, 2, ti.f32, shape=8)[0][0, 1], float)
    assert_type(ti.types.vector(3, ti.i32).field(8)[0].y, int)
    assert_type(ti.types.matrix(2, 2, float)(1.0), ti.Matrix[float])
    assert_type(ti.ndarray(ti.f64, 3)[0], float)
    assert_type(ti.Vector.ndarray(3, ti.f32, 8)[0].norm(), float)
    for I in ti.grouped(ti.ndrange(2, 3)):
        assert_type(I, ti.Vector[int])


def whole(x: ti.ScalarField[float], n: ti.ScalarField[int], v: ti.MatrixField[ti.Vector[float]]) -> None:
    """Fields as a whole, in Python."""
    assert_type(x[1:, 0], ti.Ndarray[float])
    assert_type(v[..., ::2], ti.Ndarray[ti.Vector[float]])
    assert_type(v[1:][0], ti.Vector[float])
    assert_type(x + 1, ti.Ndarray[float])
    assert_type(2 * n - n[1:], ti.Ndarray[int])
    assert_type(n * 0.5, ti.Ndarray[float])
    assert_type(n / 2, ti.Ndarray[float])
    assert_type(-x, ti.Ndarray[float])
    assert_type(abs(n), ti.Ndarray[int])
    assert_type(x > 0, ti.Ndarray[int])
    assert_type(x.argmax(), int)
    assert_type(len(v), int)
    x[1:] = n[:-1]
    x[::2] = [1.0, 2.0]
    v[0:2] = ti.Vector([1.0, 2.0, 3.0])
    x += 1
    x.save("x.npy")
