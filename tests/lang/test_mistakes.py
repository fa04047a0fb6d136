"""More mistakes of the user, held to the texts in `golden/errors/`: what belongs to Python's scope, wrong decorators,
fields and values that do not fit, and faults while a kernel runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import weft as ti
from tests.lang.test_errors import failure

BODIES: dict[str, str] = {
    "scope_field": "a = ti.field(ti.f32, 3)",
    "scope_vector_field": "a = ti.Vector.field(3, ti.f32, 3)",
    "scope_init": "ti.init()",
    "scope_open": "a = open('x')",
    "scope_to_numpy": "a = x.to_numpy()",
    "scope_from_numpy": "x.from_numpy(np.zeros((8, 8)))",
    "scope_copy_from": "x.copy_from(x)",
    "sparse_name": "ti.activate(x, 0)",
    "loop_variable_taken": "a = 0\n    for a in range(4):\n        y[a] = a\n    y[0] = a",
    "loop_static_number": "for i in ti.static(3):\n        y[i] = 1",
    "loop_grouped_number": "for I in ti.grouped(3):\n        y[I] = 1",
    "loop_empty_field": "for i in z:\n        y[0] = 1",
    "loop_run_time_list": "a = [i for i in range(y[0])]",
    "method_without_call": "y[0] = v[0].norm",
    "member_of_field": "a = v.x[0]",
    "type_as_value": "y[0] = ti.i32",
    "module_as_value": "y[0] = np",
    "field_without_place": "unplaced[0] = 1",
    "loop_without_place": "for i in unplaced:\n        unplaced[i] = 1",
    "dot_of_number": "a = v[0].dot(3)",
    "dot_of_lengths": "a = v[0].dot(ti.Vector([1.0, 2.0]))",
    "number_for_vector": "y[0] = h(1)",
    "length_of_field": "a = len(x)",
    "text_for_number": "a = ti.sin('a')",
    "field_for_number": "a = min(x, 1)",
    "huge_integer": "a = 10 ** 100",
    "raise_nothing": "raise",
    "sqrt_arguments": "a = ti.sqrt()",
    "attribute_misspelt": "y[0] = ti.sqr(2.0)",
    "attribute_of_inner_module": "y[0] = ti.fract(1.5)",
    "attribute_that_is_a_method": "y[0] = ti.math.norm(v[0])",
    "attribute_of_elements": "y[0] = v.norm()",
    "attribute_of_field_misspelt": "for i in range(x.shap[0]):\n        y[i] = 1",
    "range_of_field": "for i in range(y):\n        y[i] = 1",
    "enumerate_field": "for i, e in enumerate(y):\n        y[i] = e",
    "truth_of_field": "if n and z:\n        y[0] = 1",
    "element_of_no_gradient": "x.grad[0, 0] = 1",
    "item_of_tuple": "t = (1, 2)\n    t[0] = 5",
    "item_of_tuple_updated": "t = (n, 2)\n    t[y[0]] += 5",
    "minimum_of_number": "y[0] = min(1)",
    "minimum_of_value": "y[0] = min(y[0])",
    "minimum_by_key": "y[0] = min(1, 2, key=3)",
    "sum_of_nothing": "y[0] = sum()",
    "sum_of_value": "y[0] = sum(y[0])",
    "sum_of_field": "y[0] = sum(y)",
    "integer_of_field": "y[0] = int(x)",
    "class_of_value": "y[0] = isinstance(y[0], 3)",
    "static_nothing": "for i in ti.static():\n        y[i] = 1",
    "block_dim_negative": "ti.loop_config(block_dim=-3)\n    for i in range(4):\n        y[i] = 1",
    "unit_vector": "a = ti.Vector.unit(3, 5)",
    "vector_by_keyword": "a = ti.math.vec3(1, 2, 3, w=4)",
    "length_of_number": "y[0] = ti.math.length(1)",
    "decomposition_of_number": "y[0] = ti.svd(3)",
    "index_rescaled_of_number": "a = ti.rescale_index(3, 4, 5)",
    "quantized_type": "a = ti.cast(1, ti.types.quant.int(8))",
}

KERNEL = "@ti.kernel\ndef k():\n    pass\n"
PROGRAMS: dict[str, str] = {
    "decorated_twice": "@ti.func\n@ti.kernel\ndef k():\n    pass\n",
    "function_without_return": ("@ti.func\ndef f(a) -> ti.i32:\n    y[0] = a\n@ti.kernel\ndef k():\n    f(3)\nk()\n"),
    "decorated_class": "@ti.kernel\nclass A:\n    pass\n",
    "decorated_number": "ti.kernel(3)\n",
    "decorated_static": "class A:\n    @ti.kernel\n    @staticmethod\n    def k():\n        pass\n",
    "method_without_self": "@ti.data_oriented\nclass A:\n    @ti.kernel\n    def k():\n        pass\nA().k()\n",
    "method_of_class": "class A:\n    @ti.kernel\n    def k(self):\n        pass\nA.k()\n",
    "attribute_of_self": (
        "@ti.data_oriented\nclass A:\n    @ti.kernel\n    def k(self):\n        self.q[0] = 1\nA().k()\n"
    ),
    "annotation_vector": "@ti.kernel\ndef k(a: ti.Vector):\n    pass\nk(ti.Vector([1]))\n",
    "annotation_field": "@ti.kernel\ndef k(a: ti.field):\n    pass\nk(x)\n",
    "annotation_list": "@ti.kernel\ndef k(a: list):\n    pass\nk([1])\n",
    "annotation_result": "@ti.kernel\ndef k() -> list:\n    return 3\nk()\n",
    "argument_unknown": "@ti.kernel\ndef k(a: ti.i32):\n    pass\nk(b=1)\n",
    "argument_none": "@ti.kernel\ndef k(a: ti.i32):\n    pass\nk(None)\n",
    "argument_list_as_array": "@ti.kernel\ndef k(a: ti.types.ndarray()):\n    pass\nk([1, 2])\n",
    "argument_byte_order": "@ti.kernel\ndef k(a: ti.types.ndarray()):\n    pass\nk(np.zeros(3, '>f4'))\n",
    "closure_too_early": (
        "def make():\n    @ti.kernel\n    def k():\n        y[0] = later\n    k()\n    later = 3\nmake()\n"
    ),
    "returns_differ": (
        "@ti.func\ndef q(a):\n    if a > 0:\n        return 1\n    return ti.Vector([1, 2])\n"
        "@ti.kernel\ndef k():\n    y[0] = q(y[1])\nk()\n"
    ),
    "mutual_recursion": (
        "@ti.func\ndef p(a):\n    return q(a)\n@ti.func\ndef q(a):\n    return p(a)\n"
        "@ti.kernel\ndef k():\n    y[0] = p(1)\nk()\n"
    ),
    "field_type_text": "ti.field('f32', 4)\n",
    "field_type_number": "ti.field(3, 4)\n",
    "field_shape_zero": "ti.field(ti.f32, 0)\n",
    "field_shape_float": "ti.field(ti.f32, 2.5)\n",
    "field_layout": "ti.Vector.field(3, ti.f32, 3, layout='soa')\n",
    "field_offset": "ti.field(ti.f32, (3, 3), offset=(1,))\n",
    "field_order": "ti.field(ti.f32, (3, 3), order='ik')\n",
    "field_not_placed": "w = ti.field(ti.f32)\nw[0] = 1\n",
    "field_placed_twice": "w = ti.field(ti.f32)\nfor _ in range(2):\n    ti.root.dense(ti.i, 4).place(w)\n",
    "field_of_the_past": KERNEL + "ti.init()\nx[0, 0] = 1\n",
    "axes_and_extents": "ti.root.dense(ti.ijk, (3, 4))\n",
    "sparse_node": "ti.root.pointer(ti.j, 2).hash(ti.i, 4)\n",
    "python_index_count": "x[0] = 1\n",
    "python_index_range": "x[8, 0] = 1\n",
    "python_index_float": "x[0.5, 0]\n",
    "python_text": "x[0, 0] = 'a'\n",
    "python_text_fill": "x.fill('a')\n",
    "python_vector_length": "v[0] = [1, 2]\n",
    "python_vector_shapes": "ti.Vector([1, 2]) + ti.Vector([1, 2, 3])\n",
    "python_vector_truth": "if ti.Vector([1, 2]):\n    pass\n",
    "python_vector_of_text": "ti.Vector(['a'])\n",
    "python_matrix_rows": "ti.Matrix([[1, 2], [3]])\n",
    "python_select_shapes": "ti.select(1, ti.Vector([1, 2]), ti.Vector([1, 2, 3]))\n",
    "python_atomic": "ti.atomic_add(x[0, 0], 1)\n",
    "struct_without_members": "ti.types.struct().field(shape=3)\n",
    "place_of_no_gradient": "ti.root.dense(ti.i, 4).place(ti.field(ti.i32).grad)\n",
    "struct_member_type": "@ti.dataclass\nclass D:\n    a: 3\n",
    "struct_unknown_member": "Ray(q=1)\n",
    "vector_type_swapped": "ti.types.vector(ti.f32, 3)\n",
    "boundary_mode": "ti.types.ndarray(boundary='wrap')\n",
    "solver_of_number": "ti.linalg.MatrixFreeCG(3, x, x)\n",
    "oriented_number": "ti.data_oriented(5)\n",
    "oriented_function": "@ti.data_oriented\ndef f():\n    pass\n",
    "decorated_builtin": "ti.func(print)\n",
    "decorated_real_number": "ti.real_func(5)\n",
    "decorated_python_number": "ti.pyfunc(5)\n",
    "dataclass_number": "ti.dataclass(5)\n",
    "dataclass_builtin": "ti.dataclass(int)\n",
    "vector_type_text": "ti.types.vector(3, 'f')\n",
    "matrix_type_number": "ti.types.matrix(3, 3, 3)\n",
    "array_type_text": "ti.types.ndarray('a')\n",
    "array_type_axes": "ti.types.ndarray(ti.f32, -1)\n",
    "vector_type_of_text": "ti.math.vec3('a')\n",
    "vector_type_of_none": "ti.math.vec2(1, None)\n",
    "struct_of_number": "ti.Struct(3)\n",
    "struct_named_by_number": "ti.Struct({3: 4})\n",
    "struct_of_field": "Ray(t=x)\n",
    "python_extent_negative": "ti.Matrix.zero(ti.f32, -1)\n",
    "python_extent_text": "ti.Matrix.identity(ti.f32, 'a')\n",
    "python_rows_of_numbers": "ti.Matrix.rows([1, 2])\n",
    "python_index_none": "ti.Vector([1, 2])[None]\n",
    "python_element_text": "m = ti.Vector([1.0, 2.0])\nm[0] = 'a'\n",
    "python_dot_of_number": "ti.Vector([1, 2]).dot(3)\n",
    "python_length_of_number": "ti.math.length(3)\n",
    "python_cast_of_text": "ti.f32('a')\n",
    "init_misspelt": "ti.init(debugg=True)\n",
}

CHECKED = "ti.init(arch=ti.cfg.arch, debug=True)\nw = ti.field(ti.f32, (4, 4))\n"
FAULTS: dict[str, str] = {
    "fault_field": "@ti.kernel\ndef k(i: ti.i32):\n    w[i, 2] = 1.0\nk(7)\n",
    "fault_array": "@ti.kernel\ndef k(a: ti.types.ndarray(), i: ti.i32):\n    a[i] = 1\nk(np.zeros(3), -1)\n",
    "fault_vector": "@ti.kernel\ndef k(i: ti.i32) -> ti.i32:\n    a = ti.Vector([1, 2, 3])\n    return a[i]\nk(3)\n",
    "fault_assertion": "@ti.kernel\ndef k(i: ti.i32):\n    assert i < 3, f'i is {i}'\nk(7)\n",
    "fault_in_func": (
        "@ti.func\ndef q(i):\n    return w[i, i]\n@ti.kernel\ndef k(i: ti.i32) -> ti.f32:\n    return q(i)\nk(9)\n"
    ),
}


@pytest.fixture(autouse=True, params=("cpu", "python"))
def arch(request: pytest.FixtureRequest) -> Iterator[str]:
    """A mistake reads the same on every arch."""
    ti.init(arch=request.param)
    yield request.param
    ti.reset()


@pytest.mark.parametrize("name", BODIES)
def test_mistake_in_a_kernel(name: str, golden: Callable[[str, str], None]) -> None:
    source = f"unplaced = ti.field(ti.f32)\n@ti.kernel\ndef k():\n    {BODIES[name]}\nk()\n"
    golden(f"errors/{name}.txt", failure(source))


@pytest.mark.parametrize("name", PROGRAMS)
def test_mistake_around_kernels(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"errors/{name}.txt", failure(PROGRAMS[name]))


@pytest.mark.parametrize("name", FAULTS)
def test_fault_while_a_kernel_runs(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"errors/{name}.txt", failure(CHECKED + FAULTS[name]))


def test_filling_a_field_is_part_of_the_kernel() -> None:
    x = ti.field(ti.f32, (3, 4))
    v = ti.Vector.field(2, ti.f32, 3)

    @ti.kernel
    def fill(a: ti.f32):
        x.fill(a)
        v.fill(ti.Vector([1.0, a]))

    for value in (2.0, 3.0):
        fill(value)
        assert (x.to_numpy() == value).all()
        assert (v.to_numpy() == [1.0, value]).all()
