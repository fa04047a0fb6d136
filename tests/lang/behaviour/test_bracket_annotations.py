"""Annotations that type checkers accept: `ti.Array[ti.f32, 2]`, `ti.Field[ti.f32]`, `ti.Template`, `ti.vec3`."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest

import weft as ti_types
from weft.ir.errors import TypeMismatch
from weft.lang.errors import ArgumentError

vec5 = Annotated[ti_types.Vector[ti_types.f32], 5]
mat23 = Annotated[ti_types.Matrix[ti_types.i32], 2, 3]
Plane = Annotated[ti_types.Array[ti_types.f32], 2]


@ti_types.dataclass
class Particle:
    place: ti_types.vec2
    parts: vec5


def test_arrays(ti: Any) -> None:
    @ti.kernel
    def add(a: ti.Array[ti.f32, 2], b: ti.Array2[ti.f32], c: ti.NDArray[ti.vec2, 1], d: Plane, e: ti.Array) -> ti.f32:
        total = 0.0
        for i, j in a:
            b[i, j] += a[i, j] + d[i, j] + e[i, j]
        for i in c:
            total += c[i].y
        return total

    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b, c = ti.ndarray(ti.f32, (2, 3)), np.ones((4, 2), np.float32)
    assert add(a, b, c, a, a.astype(np.int32)) == 4
    assert b.to_numpy().tolist() == (3 * a).tolist()
    for wrong, message in (
        ((a.astype(np.int32), b, c, a, a), "argument 'a' must be an array of f32, got one of i32"),
        ((a, a[0], c, a, a), "argument 'b' must be an array of 2 axes"),
        ((a, b, a, a, a), "argument 'c' must be an array of f32x2"),
        ((a, b, c, a[0], a), "argument 'd' must be an array of 2 axes"),
        ((a, b, c, a, 1), "argument 'e' must be an array, got int 1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            add(*wrong)


def test_fields(ti: Any) -> None:
    @ti.func
    def first(q: ti.Field[ti.f32]) -> ti.f32:
        return q[0]

    @ti.kernel
    def read(q: ti.Field[ti.f32], v: ti.Field[ti.Vector[ti.f32]], p: ti.Field[Particle], any: ti.Field) -> ti.f32:
        return first(q) + v[0].y + p[0].parts[4] + any[0]

    @ti.kernel
    def inner(q: ti.Template) -> ti.f32:
        return first(q)

    q, n, v = ti.field(ti.f32, 2), ti.field(ti.i32, 2), ti.Vector.field(2, ti.f32, 2)
    p = ti.field(Particle, 2)
    q[0], n[0], v[0] = 1, 2, [3, 4]
    p[0].parts = [0, 0, 0, 0, 5]
    assert read(q, v, p, n) == 1 + 4 + 5 + 2
    assert inner(q) == 1
    for wrong, name in (((n, v, p, q), "q"), ((v, v, p, q), "q"), ((1, v, p, q), "q"), ((q, q, p, q), "v")):
        with pytest.raises(ArgumentError, match=f"argument '{name}' must be a field, as ti.Field.* says, got"):
            read(*wrong)
    for wrong, name in (((q, v, v, q), "p"), ((q, v, p, np.zeros(2)), "any")):
        with pytest.raises(ArgumentError, match=f"argument '{name}' must be a field"):
            read(*wrong)
    with pytest.raises(TypeMismatch, match=r"argument 'q' of 'first' must be a field, as ti.Field.ti.f32. says"):
        inner(n)


def test_kinds_of_fields(ti: Any) -> None:
    @ti.kernel
    def read(q: ti.ScalarField[float], v: ti.MatrixField[Any], p: ti.StructField[Particle]) -> ti.f32:
        return q[0] + v[0].x + p[0].place.x

    q, v, p = ti.field(ti.f32, 2), ti.Vector.field(2, ti.i32, 2), ti.field(Particle, 2)
    assert read(q, v, p) == 0
    for wrong in ((v, v, p), (q, q, p), (q, v, q)):
        with pytest.raises(ArgumentError, match=r"as ti\.(Scalar|Matrix|Struct)Field.* says"):
            read(*wrong)


def test_values_of_any_size(ti: Any) -> None:
    @ti.func
    def total(v: ti.Vector[ti.f32]) -> ti.f32:
        return v.sum()

    @ti.kernel
    def work(v: vec5, m: mat23, w: ti.vec3) -> vec5:
        return v * total(w) + m[1, 2]

    result = work(ti.Vector([1.0, 2.0, 3.0, 4.0, 5.0]), ti.Matrix([[1, 2, 3], [4, 5, 6]]), ti.vec3(1, 0, 1))
    assert result.to_list() == [8, 10, 12, 14, 16]
    with pytest.raises(ArgumentError, match="argument 'v'"):
        work(ti.vec3(1), ti.Matrix([[1, 2, 3], [4, 5, 6]]), ti.vec3(0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Array[2, ti.f32]", "the type of the elements comes first, as in ti.Array.ti.f32, 2., but 2 is a number"),
        ("Array[ti.f32, 2, 3]", "takes the type of the elements and the number of axes, .* got 3 in its brackets"),
        ("Array[()]", "got 0 in its brackets"),
        ("Array[ti.f32, 'two']", "the number of an array's axes must be an integer of at least 0, not 'two'"),
        ("Array[str, 2]", "class str is not a primitive type.* in a type of arrays such as ti.Array"),
        ("Array['f32']", "the string 'f32' is not a type: write ti.f32"),
        ("Array[ti.Vector[ti.f32], 1]", "ti.Vector.ti.f32. has no size: write Annotated"),
        ("Array3[ti.f32, 3]", "ti.Array3 takes the type of the elements, as in ti.Array3.ti.f32., got 2"),
        ("Field[ti.f32, 2]", "takes the type of the elements, .* a field knows its number of axes"),
        ("Field[3]", "3 is not a primitive type"),
        ("Vector[str]", "class str is not a primitive type"),
    ],
)
def test_what_stands_in_brackets(text: str, message: str) -> None:
    with pytest.raises(TypeMismatch, match=message):
        eval(f"ti.{text}", {"ti": ti_types})


def test_what_is_no_type_of_values(ti: Any) -> None:
    for annotation, message in (
        (ti.Vector[ti.f32], "ti.Vector.ti.f32. has no size: write Annotated.ti.Vector.ti.f32., 9."),
        (Annotated[ti.Matrix[ti.f32], 2], "ti.Matrix.ti.f32. takes 2 extents, as in Annotated.*, got 1"),
    ):

        def work(v):
            pass

        work.__annotations__ = {"v": annotation}
        with pytest.raises(ti.CompilationError, match=message):
            ti.kernel(work)(1)
    with pytest.raises(TypeMismatch, match=r"ti.Field.ti.f32. annotates a parameter for fields"):
        ti.field(ti.Field[ti.f32], 2)
