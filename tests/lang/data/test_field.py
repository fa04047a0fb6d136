import gc
from functools import partial

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import CompilationError, TypeMismatch
from weft.lang.data.field import FieldIndexError
from weft.lang.data.field_tree import FieldError
from weft.lang.program.init import program
from weft.runtime.errors import OutOfMemory


@pytest.fixture(autouse=True)
def fresh():
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


@pytest.mark.parametrize(
    "dtype", [ti.i8, ti.u8, ti.i16, ti.u16, ti.i32, ti.u32, ti.i64, ti.u64, ti.f16, ti.f32, ti.f64]
)
def test_every_type_starts_zero_and_keeps_what_is_written(dtype):
    x = ti.field(dtype, shape=(2, 3))
    assert x.shape == (2, 3)
    assert x.dtype is dtype
    assert not x.to_numpy().any()
    x[1, 2] = 5
    assert x[1, 2] == 5
    assert type(x[1, 2]) is (float if dtype.is_float else int)
    assert x.to_numpy().dtype == dtype.np


def test_casts_follow_the_kernel_rules():
    b = ti.field(ti.u8, shape=1)
    b[0] = -1
    assert b[0] == 255
    b[0] = 300
    assert b[0] == 44
    b[0] = 1e9
    assert b[0] == 255
    n = ti.field(int, shape=())
    n[None] = 2.7
    assert n[None] == 2
    n[None] += 1
    assert n[None] == 3
    t = ti.field(ti.u1, shape=2)
    t[0] = 7
    assert (t[0], t[1]) == (1, 0)


def test_indices_are_checked():
    x = ti.field(float, shape=(3, 4), name="x")
    for wrong in [(3, 0), (-1, 0), (0, 4)]:
        with pytest.raises(FieldIndexError, match=r"axis \d is out of bounds for field 'x' of shape \(3, 4\)"):
            x[wrong]
    with pytest.raises(IndexError, match="takes 2 indices, got 1"):
        x[0] = 1
    with pytest.raises(IndexError, match="must be an integer"):
        x[0, 1.5]
    with pytest.raises(IndexError, match=r"must be an integer, ':', '\.\.\.' or None"):
        x[:, 1.5]
    with pytest.raises(TypeMismatch, match="must be a number of type f32, not str"):
        x[0, 0] = "a"
    assert x[ti.Vector([1, 2])] == x[(1, 2)] == x[np.int64(1), 2]


def test_offset_moves_the_indices():
    x = ti.field(ti.i32, shape=(3,), offset=(-1,))
    x[-1], x[1] = 10, 30
    assert x.to_numpy().tolist() == [10, 0, 30]
    with pytest.raises(FieldIndexError, match=r"in \[-1, 2\)"):
        x[2]
    assert x.describe().offset == (-1,)


def test_order_changes_memory_not_meaning():
    x = ti.field(ti.i32, shape=(2, 3), order="ji")
    x.from_numpy(np.arange(6).reshape(2, 3))
    assert x[1, 2] == 5
    assert x.shape == (2, 3)
    parts = x.describe()
    assert [(t.axis, t.stride) for t in parts.path.window.terms] == [(0, 4), (1, 8)]
    assert parts.order == (1, 0)
    assert parts.tree.buffer().view(np.int32).tolist() == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize("layout", [ti.Layout.AOS, ti.Layout.SOA])
def test_vector_fields(layout):
    v = ti.Vector.field(3, ti.f32, shape=(2, 2), layout=layout)
    v[0, 1] = [1, 2, 3]
    v[1, 1] = ti.Vector([4, 5, 6])
    v[1, 1][0] = 9
    v[1, 1].yz = [7, 8]
    assert v.to_numpy()[0, 1].tolist() == [1, 2, 3]
    assert v[1, 1].to_list() == [9, 7, 8]
    assert (v.n, v.m, v.shape, v.to_numpy().shape) == (3, 1, (2, 2), (2, 2, 3))
    assert v.describe().components == ((0, 4, 8) if layout is ti.Layout.AOS else (0, 16, 32))
    assert v.get_scalar_field(1)[0, 1] == 2
    v.fill([1, 2, 3])
    assert v.to_numpy().sum() == 24
    v.fill(2)
    assert v.to_numpy().sum() == 24
    with pytest.raises(TypeMismatch, match=r"shape \(3,\)"):
        v[0, 0] = [1, 2]


def test_matrix_fields():
    m = ti.Matrix.field(2, 3, ti.f64, shape=4)
    m[2] = [[1, 2, 3], [4, 5, 6]]
    m[2][1, 2] = 9
    assert m.to_numpy()[2].tolist() == [[1, 2, 3], [4, 5, 9]]
    assert m.describe().dtype.text == "f64x2x3"
    assert m.get_scalar_field(1, 2)[2] == 9


def test_an_element_is_a_window():
    v = ti.Vector.field(2, float, shape=3)
    element = v[0]
    v[0] = [5, 6]
    assert element.to_list() == [5, 6]


def test_from_numpy_and_copy_from():
    x, y = ti.field(float, shape=(2, 3)), ti.field(ti.i32, shape=(2, 3))
    x.from_numpy(np.arange(6, dtype=np.float64).reshape(2, 3) + 0.5)
    y.copy_from(x)
    assert y.to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.to_numpy(dtype=np.int32).dtype == np.int32
    with pytest.raises(ValueError, match=r"shape \(2, 3\), but the array has shape \(3, 2\)"):
        x.from_numpy(np.zeros((3, 2)))
    with pytest.raises(TypeMismatch):
        x.from_numpy(np.array([["a"]]))
    with pytest.raises(ValueError, match="the source has shape"):
        x.copy_from(ti.field(float, shape=2))
    with pytest.raises(TypeMismatch):
        x.copy_from(ti.Vector.field(2, float, shape=(2, 3)))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"shape": 0}, "at least 1, got 0"),
        ({"shape": (2, -1)}, "got -1 in dimension 1"),
        ({"shape": 2.5}, "."),
        ({"shape": 2, "order": "ij"}, "names 2 axes, but shape has 1"),
        ({"shape": (2, 2), "order": "ab"}, "permutation of 'ij'"),
        ({"order": "ij"}, "order needs a shape"),
        ({"offset": 3}, "offset needs a shape"),
        ({"shape": 2, "offset": (1, 2)}, "offset has 2 numbers, but shape has 1"),
        ({"shape": 2, "colour": 1}, "no option 'colour'"),
    ],
)
@pytest.mark.parametrize("make", [partial(ti.field, float), ti.types.struct(a=float).field])
def test_wrong_options_are_refused(make, keywords, message):
    with pytest.raises((CompilationError, TypeError), match=message):
        make(**keywords)


def test_who_asks_for_too_much_is_told_by_name_or_shape():
    huge = (2**30, 2**20)
    particle = ti.types.struct(mass=float, at=ti.types.vector(3, float))
    for x, told in (
        (ti.field(float, huge), r"^f32 \(1073741824, 1048576\) needs"),
        (ti.Vector.field(3, float, huge), r"^3 x f32 \(1073741824, 1048576\) needs"),
        (particle.field(shape=huge, name="p").mass, r"^p\.mass, p\.at needs"),
    ):
        with pytest.raises(OutOfMemory, match=told):
            x.fill(1)


def test_wrong_types_are_refused():
    with pytest.raises(TypeMismatch, match="not a primitive type"):
        ti.field("f", shape=2)
    with pytest.raises(TypeMismatch, match="extent"):
        ti.Vector.field(0, float, shape=2)


def test_gradients():
    x = ti.field(float, shape=3, needs_grad=True)
    x.grad.fill(1)
    assert x.grad[2] == 1
    assert x[2] == 0
    assert ti.field(float, shape=3).grad is None
    with pytest.raises(TypeMismatch, match="only fields of floats"):
        ti.field(int, shape=3, needs_grad=True)


def test_defaults_decide_float_and_int():
    ti.init(default_fp=ti.f64, default_ip=ti.i64)
    assert ti.field(float, shape=1).dtype is ti.f64
    assert ti.field(int, shape=1).dtype is ti.i64
    assert ti.math.vec3.field(shape=1).dtype is ti.f64


def test_a_reset_ends_fields():
    x = ti.field(float, shape=3)
    v = ti.Vector.field(2, float, shape=3)
    x[0] = 1
    ti.init()
    for use in (lambda: x[0], lambda: x.fill(1), x.to_numpy, lambda: v[0], v.describe):
        with pytest.raises(FieldError, match="`reset` was called"):
            use()


def test_memory_goes_with_the_field():
    x = ti.field(ti.f32, shape=(256, 256), name="big")
    assert program().opened() is None or program().device.memory.total == 0
    x[0, 0] = 1
    memory = program().device.memory
    assert memory.holders()[0][0] == "big"
    del x
    gc.collect()
    assert memory.total == 0


def test_u1_reads_as_int_and_text_is_numpys():
    x = ti.field(ti.f32, shape=2)
    assert str(x) == "[0. 0.]"
    assert repr(x) == "<field f32, shape=(2,)>"
    assert str(ti.field(int, shape=())) == "0"
