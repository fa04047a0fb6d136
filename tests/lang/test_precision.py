"""Warnings where a value may lose something in its place: each gives exactly the text in `golden/warnings/`."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable, Iterator

import pytest

import weft as ti
from tests.lang.test_errors import failure

HEADER = """\
import weft as ti
f32s, f64s, f16s = ti.field(ti.f32, 4), ti.field(ti.f64, 4), ti.field(ti.f16, 4)
i8s, i32s, i64s = ti.field(ti.i8, 4), ti.field(ti.i32, 4), ti.field(ti.i64, 4)
u8s, u32s, u64s = ti.field(ti.u8, 4), ti.field(ti.u32, 4), ti.field(ti.u64, 4)
vectors = ti.Vector.field(2, ti.i32, 4)
Cell = ti.types.struct(n=ti.i32, v=ti.math.vec2)
cells = Cell.field(4)
@ti.func
def half(x: ti.i32) -> ti.i32:
    return x / 2
@ti.real_func
def square(x: ti.i32) -> ti.i32:
    return x * x
"""

# Bodies of `def k() -> ti.f32:` that lose something, after `a, b, c = f32s[0], f64s[0], i64s[0]`.
LOSSES: dict[str, str] = {
    "float_to_integer_variable": "x = 1\n    x = a",
    "float_to_integer_field": "i32s[0] = a",
    "wide_to_narrow_float": "f32s[1] = b",
    "wide_to_narrow_float_variable": "x = 0.5\n    x = b",
    "float_to_half": "f16s[0] = a",
    "wide_to_narrow_integer": "i32s[0] = c",
    "wide_to_byte": "i8s[0] = i32s[1]",
    "unsigned_to_signed": "i32s[0] = u32s[0]",
    "unsigned_to_wide_signed": "i64s[0] = u64s[0]",
    "integer_to_truth": "x = a > 1\n    x = i32s[0]",
    "literal_with_a_fraction": "i32s[0] = 1.5",
    "literal_too_large": "u8s[0] = 300",
    "literal_below_zero": "u32s[0] = -1",
    "literal_beyond_half": "f16s[0] = 1e6",
    "literal_of_annotation": "x: ti.u8 = 300",
    "quotient_of_integers": "i32s[0] = i32s[1] / 2",
    "atomic_float": "i32s[0] += a",
    "atomic_wide_float": "f32s[0] -= b",
    "atomic_literal": "i32s[0] += 0.5",
    "atomic_call": "ti.atomic_max(i32s[0], a)",
    "update_of_variable": "x = 1\n    x *= a",
    "division_of_variable": "x = 1\n    x /= 2",
    "vector_field": "vectors[0] = ti.Vector([a, a])",
    "element_of_vector": "vectors[0].y = a",
    "member_of_struct": "cells[0].n = a",
    "range_of_float": "for i in range(a):\n        i32s[i] = 1",
    "range_of_literal": "for i in range(0.0, 2.5):\n        i32s[i] = 1",
    "several_targets": "x, y = 1, 2.0\n    x, y = y, x",
    "choice": "i32s[0] = 1 if a > 1 else a",
    "result": "return b",
    "argument_and_result_of_func": "i32s[0] = half(a)",
    "argument_by_name": "i32s[0] = half(x=a)",
    "argument_of_real_func": "i32s[0] = square(a)",
}

# Bodies that lose nothing, or say that they mean to.
KEPT: dict[str, str] = {
    "literals": "f32s[0] = 0.1\n    f16s[0] = 0.1\n    i32s[0] = 2.0\n    u8s[0] = 255\n    i8s[0] = -128",
    "wider": "f64s[0] = a\n    i64s[0] = i32s[0]\n    i32s[0] = u8s[0]\n    i64s[0] = u32s[0]\n    f32s[0] = i32s[0]",
    "truth": "i32s[0] = a > 1\n    u8s[0] = a > 1\n    f32s[0] = a > 1",
    "casts": "i32s[0] = int(a)\n    u8s[0] = ti.cast(c, ti.u8)\n    f32s[0] = ti.f32(b)",
    "annotation": "x: ti.i32 = a\n    i32s[0] = x",
    "dtype": "vectors[0] = ti.Vector([a, b], ti.i32)",
    "updates": "x = ti.u8(1)\n    x += 10\n    x //= 2\n    x <<= 3\n    u8s[0] += 1\n    f32s[0] += 0.5",
    "vectors": "vectors[0] = [1, 2.0]\n    vectors[0] += 1\n    vectors[1] = ti.Vector([3, 4])",
    "choice": "u8s[0] = 1 if a > 1 else 0",
}


@pytest.fixture(autouse=True, params=["cpu", "python"])
def program(request: pytest.FixtureRequest) -> Iterator[None]:
    ti.init(arch=request.param)
    yield
    ti.reset()


def warned(body: str, action: str = "always", calls: int = 1) -> list[str]:
    """The texts of the warnings that a kernel of that body gives."""
    kernel = f"    a, b, c = f32s[0], f64s[0], i64s[0]\n    {body}\n" + ("" if "return" in body else "    return 0.0\n")
    text, name = f"{HEADER}@ti.kernel\ndef k() -> ti.f32:\n{kernel}", "program.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"__name__": "program"}
    exec(compile(text, name, "exec"), space)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action, ti.PrecisionWarning)  # type: ignore[arg-type]
        for _ in range(calls):
            space["k"]()  # type: ignore[operator]
    assert all(one.filename == name and one.category is ti.PrecisionWarning for one in caught)
    return [str(one.message).strip() + "\n" for one in caught]


@pytest.mark.parametrize("name", LOSSES)
def test_warning(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"warnings/{name}.txt", "".join(warned(LOSSES[name])))


@pytest.mark.parametrize("name", KEPT)
def test_no_warning(name: str) -> None:
    assert warned(KEPT[name]) == []


def test_once_for_each_place() -> None:
    unrolled = "for i in ti.static(range(3)):\n        i32s[i] = a\n    i32s[0] = a"
    assert len(warned(unrolled)) == 2
    assert len(warned(unrolled, action="default", calls=3)) == 2


def test_it_can_be_silenced_and_made_an_error() -> None:
    assert warned("i32s[0] = a", action="ignore") == []
    with pytest.raises(ti.PrecisionWarning, match="the fraction is lost"):
        warned("i32s[0] = a", action="error")


# Programs in which a path ends without the value that it should give, or a number does not fit where it is put.
PROGRAMS: dict[str, str] = {
    "open_end_kernel": "@ti.kernel\ndef k(a: ti.i32) -> ti.i32:\n    if a > 0:\n        return 1\nk(1)\n",
    "open_end_else": (
        "@ti.kernel\ndef k(a: ti.i32) -> ti.i32:\n    if a > 0:\n        return 1\n    else:\n        y[0] = a\nk(1)\n"
    ),
    "open_end_loop": (
        "@ti.kernel\ndef k(a: ti.i32) -> ti.i32:\n    while y[0] < a:\n        if y[0] > 3:\n"
        "            return 1\nk(1)\n"
    ),
    "open_end_func": (
        "@ti.func\ndef q(a):\n    if a > 0:\n        if a > 1:\n            return 2\n    else:\n        return 1\n"
        "@ti.kernel\ndef k() -> ti.i32:\n    return q(y[0])\nk()\n"
    ),
    "open_end_real_func": (
        "@ti.real_func\ndef q(a: ti.i32) -> ti.i32:\n    if a > 0:\n        return q(a - 1)\n"
        "@ti.kernel\ndef k() -> ti.i32:\n    return q(y[0])\nk()\n"
    ),
    "return_of_nothing": (
        "@ti.func\ndef q(a):\n    if a > 0:\n        return 1\n    return\n"
        "@ti.kernel\ndef k() -> ti.i32:\n    return q(y[0])\nk()\n"
    ),
    "argument_too_large": "@ti.kernel\ndef k(a: ti.u8):\n    pass\nk(1)\nk(300)\n",
    "argument_below_zero": "@ti.kernel\ndef k(a: ti.u32):\n    pass\nk(1)\nk(-1)\n",
    "argument_numpy_too_large": "@ti.kernel\ndef k(a: ti.i32):\n    pass\nk(np.int64(2**40))\n",
    "argument_of_floats": ("@ti.kernel\ndef k(a: ti.types.vector(2, ti.i32)):\n    pass\nk(ti.Vector([1.5, 2.0]))\n"),
    "literal_of_byte": "@ti.kernel\ndef k():\n    y[0] = ti.u8(300)\nk()\n",
    "literal_of_unsigned": "@ti.kernel\ndef k():\n    y[0] = ti.u32(-1)\nk()\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_mistake(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"errors/{name}.txt", failure(PROGRAMS[name]))
