"""Structs, vectors and matrices as arguments of direct calls: what native code reads itself, and what it leaves to
Python."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import Kernel
from weft.runtime.direct import native_type

pytestmark = pytest.mark.skipif(native_type(Kernel, False) is Kernel, reason="this Python has no native kernel objects")

PRIMS = [ti.f32, ti.f64, ti.i8, ti.u8, ti.i16, ti.u16, ti.i32, ti.u32, ti.i64, ti.u64]


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(arch=ti.cpu)


def python_calls(call: Callable[[], Any]) -> list[str]:
    """The Python functions that run meanwhile, `call` itself left out."""
    seen: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen[1:]


def reader(kind: Any, count: int) -> tuple[Any, Callable[[Any], list[Any]]]:
    """A kernel that takes a tensor of `count` numbers, and a function that calls it and gives them."""
    out = ti.field(kind.dtype, count)
    columns = getattr(kind, "m", 1) if len(kind.shape) == 2 else 0

    @ti.kernel
    def read(p: kind):
        for k in ti.static(range(count)):
            if ti.static(columns):
                out[k] = p[k // columns, k % columns]
            else:
                out[k] = p[k]

    def values(p: Any) -> list[Any]:
        read(p)
        return list(out.to_numpy().tolist())

    return read, values


GIVEN = [(dtype, given) for dtype in PRIMS for given in ("int32", "int64", "float32", "float64")]


@pytest.mark.parametrize(("dtype", "given"), [pair for pair in GIVEN if pair[0].is_float or pair[1].startswith("i")])
def test_numbers_are_cast_as_python_would(dtype: Any, given: str) -> None:
    read, values = reader(ti.types.vector(3, dtype), 3)
    numbers = np.array([1, 2, 100], given) if dtype.is_int else np.array([1.1, -2e5, 7], given)
    first = values(ti.Vector(numbers))
    assert first == np.asarray(numbers, dtype.np).tolist()
    assert values(ti.Vector(numbers)) == first
    vector = ti.Vector(numbers)
    assert python_calls(lambda: read(vector)) == []


def test_matrices_of_any_strides() -> None:
    read, values = reader(ti.types.matrix(2, 3, ti.f32), 6)
    base = np.arange(12.0).reshape(4, 3)
    for array in (base[:2], base[::2], np.asfortranarray(base[1:3]), base.reshape(3, 4).T[::2], base[::-2, ::-1]):
        matrix = ti.Matrix.wrap(array)
        values(matrix)
        assert values(matrix) == array.ravel().tolist()
        assert python_calls(lambda matrix=matrix: read(matrix)) == []


def test_matrices_of_other_shapes_are_passed_to_python() -> None:
    read, values = reader(ti.types.vector(2, ti.i32), 2)
    good = ti.Vector([1, -2])
    assert values(good) == values(good) == [1, -2]
    for other in ([3, 4], (3, 4), np.array([3, 4], np.int16), ti.Vector([3, 4], ti.u8), ti.Vector([3, 4], ti.u64)):
        assert values(other) == [3, 4]
        assert values(good) == [1, -2]
    for bad in (
        ti.Vector([1.5, 2]),
        ti.Vector([1, 2, 3]),
        ti.Vector([2**31, 0]),
        ti.Vector([0, -(2**31) - 1]),
        5,
        None,
    ):
        with pytest.raises(ArgumentError, match=r"argument 'p' must be vector\(2, i32\)"):
            read(bad)
        assert values(good) == [1, -2]
    assert python_calls(lambda: read(good)) == []


def test_extreme_integers() -> None:
    for dtype in (ti.u8, ti.i32, ti.u32, ti.i64):
        _, values = reader(ti.types.vector(2, dtype), 2)
        low, high = np.iinfo(dtype.np).min, np.iinfo(dtype.np).max
        for _ in range(2):
            assert values(ti.Vector([int(low), int(high)])) == [low, high]


inner = ti.types.struct(k=ti.u8, m=ti.types.matrix(2, 2, ti.f64))
outer = ti.types.struct(a=ti.f16, on=ti.u1, v=ti.math.vec3, c=inner, d=ti.i64)


def make_take() -> tuple[Any, Any]:
    out = ti.field(ti.f64, 11)

    @ti.kernel
    def take(p: outer):
        out[0] = ti.cast(p.a, ti.f64)
        out[1] = ti.cast(p.on, ti.f64)
        for k in ti.static(range(3)):
            out[2 + k] = p.v[k]
        out[5] = p.c.k
        for k in ti.static(range(4)):
            out[6 + k] = p.c.m[k // 2, k % 2]
        out[10] = p.d

    return take, lambda p: (take(p), out.to_numpy().tolist())[1]


def test_structs_in_structs() -> None:
    take, values = make_take()
    p = outer(a=1.5, on=True, v=[1, 2, 3], c=inner(k=250, m=[[1, 2], [3, 4]]), d=-(2**40))
    want = [1.5, 1, 1, 2, 3, 250, 1, 2, 3, 4, -(2**40)]
    assert values(p) == values(p) == want
    p.c.k = 7
    p.v[1] = 9
    p.d = 5
    p.on = False
    assert values(p) == [1.5, 0, 1, 9, 3, 7, 1, 2, 3, 4, 5]
    assert python_calls(lambda: take(p)) == []
    assert values({"a": 2, "v": [0, 0, 1], "c": {"k": 1}}) == [2, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    with pytest.raises(ArgumentError):
        take(inner(k=1))


def test_structs_of_another_type_with_these_members() -> None:
    _, values = make_take()
    p = outer(a=1, v=[1, 2, 3], d=4)
    values(p)
    alike = ti.types.struct(d=ti.i32, a=ti.f64, v=ti.types.vector(3, ti.f64), c=inner, on=ti.i32)
    assert values(alike(a=8, v=[4, 5, 6], d=7)) == [8, 0, 4, 5, 6, 0, 0, 0, 0, 0, 7]
    assert values(p) == [1, 0, 1, 2, 3, 0, 0, 0, 0, 0, 4]


def test_structs_that_somebody_broke_are_pythons() -> None:
    take, values = make_take()
    p = outer(a=1, d=4)
    values(p)
    p.entries["d"] = 5  # no numpy scalar
    assert values(p)[10] == 5
    del p.entries["d"]
    with pytest.raises(Exception, match="d"):
        take(p)


def test_elements_of_fields() -> None:
    field = outer.field(shape=3)
    field[1].v = [7, 8, 9]
    field[1].d = 3
    _, values = make_take()
    for _ in range(3):
        assert values(field[1])[2:5] == [7, 8, 9]
    vectors = ti.Vector.field(3, ti.f32, 4)
    vectors[2] = [1, 2, 3]
    read, numbers = reader(ti.math.vec3, 3)
    for _ in range(3):
        assert numbers(vectors[2]) == [1, 2, 3]


def test_nothing_leaks() -> None:
    take, _ = make_take()
    p = outer(a=1, v=[1, 2, 3], d=4)
    take(p)
    entries, kind = p.entries, p.struct_type
    gc.collect()
    before = [sys.getrefcount(one) for one in (entries, kind, p, entries["v"], entries["d"])]
    for _ in range(100):
        take(p)
    assert [sys.getrefcount(one) for one in (entries, kind, p, entries["v"], entries["d"])] == before
