"""Mistakes of the user: each program here must fail with exactly the text in `golden/errors/`."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import weft as ti
from weft.ir.errors import WeftError

HEADER = """\
import numpy as np
import weft as ti
x = ti.field(ti.f32, shape=(8, 8))
y = ti.field(ti.i32, shape=8)
z = ti.field(ti.f32, shape=())
v = ti.Vector.field(3, ti.f32, shape=8)
n = 3
g = ti.ndarray(ti.f32, 4)
Ray = ti.types.struct(o=ti.math.vec3, t=float)
@ti.func
def f(a, b):
    return a + b
@ti.func
def h(a: ti.math.vec3):
    return a.sum()
@ti.func
def nothing(a):
    y[0] = a
"""

# Bodies of `def k():` ...
BODIES: dict[str, str] = {
    "name": "y[0] = m + 1",
    "name_misspelt": "length = 2\n    y[0] = lenght",
    "name_of_block": "if y[0] > 1:\n        a = 1\n    y[1] = a",
    "indices_of_field": "x[1] = 2.0",
    "index_missing": "y[0] = z + 1",
    "index_float": "y[1.5] = 1",
    "index_constant": "a = ti.Vector([1, 2])\n    y[0] = a[2]",
    "index_of_list": "a = [1, 2]\n    for i in range(2):\n        y[i] = a[i]",
    "matrix_one_index": "m = ti.Matrix([[1, 2], [3, 4]])\n    y[0] = m[0]",
    "shapes_differ": "a = ti.Vector([1, 2]) + ti.Vector([1, 2, 3])",
    "matrix_product": "m = ti.Matrix([[1, 2], [3, 4]])\n    a = m * ti.Vector([1, 2])",
    "matmul_shapes": "m = ti.Matrix([[1, 2], [3, 4]])\n    a = m @ ti.Vector([1, 2, 3])",
    "assign_shape": "a = 1\n    a = ti.Vector([1, 2])",
    "assign_field_shape": "v[0] = ti.Vector([1.0, 2.0])",
    "assign_constant": "n += 1",
    "assign_loop_index": "for i in range(4):\n        i += 1",
    "assign_static_index": "for i in ti.static(range(4)):\n        i = 3",
    "bits_of_float": "a = 1.5\n    y[0] = a & 1",
    "condition_vector": "a = ti.Vector([1, 2])\n    if a > 1:\n        y[0] = 1",
    "arguments_of_func": "y[0] = f(1)",
    "argument_type_of_func": "y[0] = h(ti.Vector([1, 2]))",
    "result_of_nothing": "a = nothing(1)",
    "arguments_of_builtin": "y[0] = ti.atan2(1.0)",
    "range_arguments": "for i in range(1, 2, 3, 4):\n        y[i] = 1",
    "range_step_zero": "for i in range(0, 4, 0):\n        y[i] = 1",
    "loop_variables": "for i in x:\n        y[i] = 1",
    "loop_variables_ndrange": "for i, j, k in ti.ndrange(2, 2):\n        y[i] = 1",
    "loop_over_list": "for a in [1, 2, 3]:\n        y[0] += a",
    "loop_over_vector": "a = ti.Vector([1, 2])\n    for b in a:\n        y[0] += b",
    "loop_over_number": "for i in n:\n        y[i] = 1",
    "break_parallel": "for i in range(4):\n        if i == 2:\n            break",
    "break_static": "for i in ti.static(range(4)):\n        if y[i] > 2:\n            break",
    "return_parallel": "for i in range(4):\n        return",
    "static_value": "a = y[0]\n    for i in ti.static(range(a)):\n        y[i] = 1",
    "static_too_large": "for i in ti.static(range(100000)):\n        y[i] = 1",
    "static_assert": "ti.static_assert(n == 4, 'n must be 4')",
    "integer_literal": "y[0] = 1 << 40 | 99999999999",
    "kernel_in_kernel": "k()",
    "field_as_value": "a = f(y, 1)",
    "ndarray_captured": "y[0] = g[0]",
    "none_value": "a = None",
    "string_value": "y[0] = 'a'",
    "swizzle": "a = ti.Vector([1, 2])\n    y[0] = a.z",
    "attribute_of_field": "y[0] = x.length",
    "attribute_of_module": "y[0] = ti.nosuch",
    "member": "r = Ray()\n    y[0] = r.p",
    "struct_members": "r = Ray(q=1)",
    "struct_operator": "r = Ray()\n    r = r + r",
    "atomic_on_value": "ti.atomic_add(1 + y[0], 2)",
    "unpack_count": "a, b = 1, 2, 3",
    "is_of_values": "a = y[0]\n    if a is 3:\n        y[0] = 1",
    "return_unannotated": "return 3",
    "call_python": "y[0] = np.sqrt(y[1])",
    "call_number": "y[0] = n(3)",
    "division_static": "y[0] = 1 // (n - 3)",
    "try": "try:\n        y[0] = 1\n    except ValueError:\n        pass",
    "with": "with n:\n        pass",
    "import": "import math",
    "class": "class A:\n        pass",
    "global": "global n",
    "delete": "del n",
    "while_else": "while n:\n        pass\n    else:\n        pass",
    "generator": "a = sum(b for b in (1, 2))",
    "set": "a = {1, 2}",
    "match": "match n:\n        case 3:\n            pass",
    "starred_target": "a, *b = 1, 2, 3",
    "raise": "raise ValueError('no')",
    "empty_vector": "a = ti.Vector([])",
    "vector_of_number": "a = ti.Vector(3)",
    "vector_rows": "a = ti.Matrix([[1, 2], [3]])",
    "vec3_count": "a = ti.math.vec3(1, 2)",
    "annotation_twice": "a = 1\n    a: ti.f32 = 2",
    "print_keyword": "print(1, file=3)",
    "print_of_field": "print('y', y)",
    "cast_type": "a = ti.cast(1, 'f32')",
    "slice_of_field": "a = y[1:2]",
}

# Whole programs: they end in what fails.
PROGRAMS: dict[str, str] = {
    "recursion": "@ti.func\ndef r(a):\n    return r(a - 1)\n@ti.kernel\ndef k():\n    y[0] = r(3)\nk()\n",
    "inside_func": (
        "@ti.func\ndef inner(a):\n    return a.nothing\n@ti.func\ndef outer(a):\n    return inner(a) + 1\n"
        "@ti.kernel\ndef k():\n    y[0] = outer(3)\nk()\n"
    ),
    "missing_annotation": "@ti.kernel\ndef k(a, b: ti.i32):\n    y[0] = a\n",
    "wrong_annotation": "@ti.kernel\ndef k(a: 'f32'):\n    y[0] = a\nk(1)\n",
    "star_parameter": "@ti.kernel\ndef k(*a: ti.i32):\n    pass\n",
    "assign_parameter": "@ti.kernel\ndef k(a: ti.i32):\n    a = 1\nk(1)\n",
    "assign_parameter_element": "@ti.kernel\ndef k(a: ti.math.vec3):\n    a[0] = 1\nk(ti.Vector([1, 2, 3]))\n",
    "assign_template": "@ti.kernel\ndef k(a: ti.template()):\n    a = 1\nk(1)\n",
    "no_return": "@ti.kernel\ndef k() -> ti.i32:\n    y[0] = 1\nk()\n",
    "return_count": "@ti.kernel\ndef k() -> (ti.i32, ti.i32):\n    return 1, 2, 3\nk()\n",
    "return_type": "@ti.kernel\ndef k() -> ti.i32:\n    return ti.Vector([1, 2])\nk()\n",
    "return_nothing": "@ti.kernel\ndef k() -> ti.i32:\n    return\nk()\n",
    "shape_at_run_time": "@ti.kernel\ndef k(a: ti.i32):\n    b = ti.Vector.zero(ti.f32, a)\nk(3)\n",
    "argument_count": "@ti.kernel\ndef k(a: ti.i32):\n    y[0] = a\nk()\n",
    "argument_float": "@ti.kernel\ndef k(a: ti.i32):\n    y[0] = a\nk(1.5)\n",
    "argument_string": "@ti.kernel\ndef k(a: ti.f32):\n    z[None] = a\nk('1')\n",
    "argument_vector": "@ti.kernel\ndef k(a: ti.math.vec3):\n    z[None] = a[0]\nk(ti.Vector([1, 2]))\n",
    "array_dtype": ("@ti.kernel\ndef k(a: ti.types.ndarray(dtype=ti.f32)):\n    a[0] = 1\nk(np.zeros(3))\n"),
    "array_ndim": (
        "@ti.kernel\ndef k(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):\n    a[0] = 1\nk(np.zeros((3, 3), np.float32))\n"
    ),
    "array_indices": ("@ti.kernel\ndef k(a: ti.types.ndarray()):\n    a[0, 0] = 1\nk(np.zeros(3, np.float32))\n"),
    "array_read_only": (
        "@ti.kernel\ndef k(a: ti.types.ndarray()):\n    a[0] = 1\nk(np.broadcast_to(np.float32(1), 3))\n"
    ),
    "array_not": "@ti.kernel\ndef k(a: ti.types.ndarray()):\n    a[0] = 1\nk(3)\n",
    "func_from_python": "f(1, 2)\n",
    "template_of_value": ("@ti.kernel\ndef k(a: ti.i32):\n    for i in ti.static(range(a)):\n        y[i] = 1\nk(3)\n"),
}


@pytest.fixture(autouse=True, params=("cpu", "python"))
def arch(request: pytest.FixtureRequest) -> Iterator[str]:
    """A mistake reads the same on every arch."""
    ti.init(arch=request.param)
    yield request.param
    ti.reset()


def failure(source: str) -> str:
    """The text of what a program raises."""
    text, name = HEADER + source, "program.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    with pytest.raises((WeftError, KeyError)) as caught:
        exec(compile(text, name, "exec"), {"__name__": "program"})
    shown = f"{type(caught.value).__name__}: {caught.value}"
    return re.sub(r"0x[0-9a-f]+", "0x0", shown).strip() + "\n"


@pytest.mark.parametrize("name", BODIES)
def test_mistake_in_a_kernel(name: str, arch: str, golden: Callable[[str, str], None]) -> None:
    source = f"@ti.kernel\ndef k():\n    {BODIES[name]}\nk()\n"
    golden(f"errors/{name}.txt", failure(source))


@pytest.mark.parametrize("name", PROGRAMS)
def test_mistake_around_a_kernel(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"errors/{name}.txt", failure(PROGRAMS[name]))


def test_an_error_is_the_python_exception_one_expects() -> None:
    with pytest.raises(NameError):
        exec_kernel("y[0] = m")
    with pytest.raises(TypeError):
        exec_kernel("y[0] = 1.5 & n")
    with pytest.raises(SyntaxError):
        exec_kernel("del n")
    with pytest.raises(IndexError):
        exec_kernel("x[0] = 1")
    with pytest.raises(AssertionError):
        exec_kernel("ti.static_assert(n == 4)")


def test_a_traceback_leaves_the_compiler_out(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def frames() -> list[str]:
        with pytest.raises(NameError) as caught:
            exec_kernel("for i in y:\n        y[i] = f(1, f(m, 2))")
        files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
        return files[files.index("program.py") + 1 :]

    short = frames()
    assert len(short) == 1
    assert {Path(file).name for file in short} == {"kernel.py"}
    monkeypatch.setenv("WEFT_TRACEBACK", "full")
    assert any(Path(file).parent.name == "translate" for file in frames())


def exec_kernel(body: str) -> None:
    text = HEADER + f"@ti.kernel\ndef k():\n    {body}\nk()\n"
    linecache.cache["program.py"] = (len(text), None, text.splitlines(True), "program.py")
    exec(compile(text, "program.py", "exec"), {"__name__": "program"})


def test_compile_time_exceptions_hide_frames_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def frames() -> list[str]:
        with pytest.raises(TypeError) as caught:
            exec_kernel("y[0] = 'a' + 1")
        assert caught.value.__cause__ is not None
        return [Path(frame.filename).name for frame in traceback.extract_tb(caught.value.__cause__.__traceback__)]

    assert not frames()
    monkeypatch.setenv("WEFT_TRACEBACK", "full")
    assert frames()
