"""Further mistakes in kernels, held to the texts in `golden/errors/`: each says where, what was found, what to do."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator

import pytest

import weft as ti
from weft.ir.errors import WeftError

HEADER = """\
import numpy as np
import weft as ti
x = ti.field(ti.f32, shape=(8, 8))
y = ti.field(ti.i32, shape=8)
v = ti.Vector.field(3, ti.f32, shape=8)
n = 3
@ti.func
def f(a, b):
    return a + b
@ti.kernel
def k():
"""

BODIES: dict[str, str] = {
    "field_assigned": "y[0] = x",
    "yield": "yield 3",
    "loop_config_keyword": "ti.loop_config(threads=3)\nfor i in range(3):\n    y[i] = 1",
    "static_if": "if ti.static(y[0] > 1):\n    y[0] = 2",
    "grouped_two_names": "for i, j in ti.grouped(x):\n    y[i] = 1",
    "ndrange_float": "for i, j in ti.ndrange(2.5, 3):\n    y[i] = 1",
    "ndrange_of_three": "for i in ti.ndrange((1, 2, 3)):\n    y[i] = 1",
    "add_vector_to_number": "x[0, 0] += v[0]",
    "method_misspelt": "a = ti.Vector([1.0, 2.0])\ny[0] = a.normalise()",
    "keyword_of_func": "y[0] = f(1, c=2)",
    "in_of_values": "if y[0] in [1, 2]:\n    y[0] = 1",
    "in_a_field": "if 3 in y:\n    y[0] = 1",
    "not_of_vector": "a = ti.Vector([1, 2])\nif not a:\n    y[0] = 1",
    "dict_key": "d = {y[0]: 1}",
    "slice_ends": "a = ti.Vector([1, 2, 3])\nb = a[0 : y[0]]",
    "matrix_three_indices": "m = ti.Matrix([[1, 2], [3, 4]])\ny[0] = m[0, 1, 1]",
    "shape_index": "y[0] = x.shape[2]",
    "vector_to_int": "a = int(ti.Vector([1.5, 2.5]))\ny[0] = a",
    "bit_cast_size": "a = ti.bit_cast(1.5, ti.i64)",
    "random_of_number": "a = ti.random(3)",
    "update_unknown": "q += 1",
    "async_function": "async def g():\n    pass",
    "array_of_values": "a = np.array([y[0], 1])",
    "complex_number": "a = 1j",
    "ellipsis": "a = x[...]",
    "unpack_number": "a, b = f(1, 2)",
    "inverse_of_rectangle": "m = ti.Matrix([[1, 2, 3], [3, 4, 5]])\na = m.inverse()",
    "cross_of_lengths": "a = ti.Vector([1, 2]).cross(ti.Vector([1, 2, 3]))",
    "select_of_two": "a = ti.select(1, 2)",
    "atomic_on_field": "ti.atomic_add(x, 1)",
    "assert_vector": "assert ti.Vector([1, 0])",
    "later_texture": "ti.types.texture(2)",
    "later_mesh": "ti.Mesh",
    "range_of_vector": "for i in range(ti.Vector([1, 2])):\n    y[i] = 1",
    "number_subscripted": "y[0] = n[0]",
    "field_called": "y[0] = x(0, 0)",
    "shift_by_field": "y[0] = 1 << y",
    "field_compared": "if x > 1:\n    y[0] = 1",
    "break_of_struct_for": "for i in v:\n    for j in range(3):\n        pass\n    break",
    "append_in_a_loop": "a = []\nfor i in range(3):\n    a.append(y[i])",
    "append_to_outer_list": "ti.__all__.append(y[0])",
    "numpy_function": "x[0, 0] = np.sin(x[0, 1])",
    "update_of_field": "y += 1",
    "list_of_computed_length": "a = ti.Vector([0.0] * y[0])",
    "break_of_ndrange": "for i, j in ti.ndrange(2, 3):\n    if i > 0:\n        break",
}


@pytest.fixture(autouse=True, params=("cpu", "python"))
def arch(request: pytest.FixtureRequest) -> Iterator[str]:
    """A mistake reads the same on every arch."""
    ti.init(arch=request.param)
    yield request.param
    ti.reset()


@pytest.mark.parametrize("name", BODIES)
def test_mistake(name: str, golden: Callable[[str, str], None]) -> None:
    body = "".join(f"    {line}\n" for line in BODIES[name].splitlines())
    text, file = f"{HEADER}{body}k()\n", "program.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    with pytest.raises(WeftError) as caught:
        exec(compile(text, file, "exec"), {"__name__": "program"})
    golden(f"errors/{name}.txt", f"{type(caught.value).__name__}: {caught.value}".strip() + "\n")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("aot", "compilation ahead of time"),
        ("Mesh", "meshes"),
        ("Texture", "textures"),
        ("types.quant", "quantized types"),
        ("types.texture", "textures"),
    ],
)
def test_missing_features_are_named(name: str, what: str) -> None:
    owner: object = ti
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    with pytest.raises(AttributeError, match=rf"'{last}' yet.*{what}"):
        getattr(owner, last)
