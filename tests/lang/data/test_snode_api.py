import numpy as np
import pytest

import weft as ti
from weft.ir.errors import CompilationError
from weft.lang.data.field_tree import FieldError


@pytest.fixture(autouse=True)
def fresh():
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def test_axes():
    assert ti.i == (0,)
    assert ti.ij == (0, 1)
    assert ti.jl == (1, 3)
    assert ti.ijkl == ti.axes(0, 1, 2, 3)
    with pytest.raises(CompilationError):
        ti.axes(0, 0)
    with pytest.raises(CompilationError):
        ti.axes(9)


def test_fields_placed_together_interleave():
    x, y = ti.field(ti.f32), ti.field(ti.f64)
    ti.root.dense(ti.i, 4).place(x, y)
    assert x.shape == y.shape == (4,)
    a, b = x.describe(), y.describe()
    assert a.tree is b.tree
    assert (a.components, b.components) == ((0,), (8,))
    assert a.path.window.strides == b.path.window.strides == (16,)
    x[3], y[3] = 1, 2
    assert (x[3], y[3], x[2]) == (1, 2, 0)


def test_nested_dense_is_a_field_in_blocks():
    x = ti.field(ti.i32)
    block = ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, 2)
    block.place(x)
    assert x.shape == (4, 6)
    expected = np.arange(24).reshape(4, 6)
    x.from_numpy(expected)
    assert (x.to_numpy() == expected).all()
    assert all(x[i, j] == expected[i, j] for i in range(4) for j in range(6))
    assert x.describe().tree.buffer().view(np.int32)[:4].tolist() == [0, 1, 6, 7]
    assert x.parent().shape == (4, 6)
    assert x.parent(2).shape == (2, 3)


def test_scalars_at_the_root():
    x, v = ti.field(ti.f32), ti.Vector.field(3, float)
    ti.root.place(x, v)
    x[None] = 4
    v[None] = [1, 2, 3]
    assert x[None] == 4
    assert v[None].to_list() == [1, 2, 3]


def test_axes_need_not_begin_at_i():
    x = ti.field(ti.i32)
    ti.root.dense(ti.k, 5).place(x, offset=-2)
    x[-2] = 1
    assert x.to_numpy().tolist() == [1, 0, 0, 0, 0]


def test_components_may_be_placed_apart():
    v = ti.Vector.field(2, ti.f32)
    for c in range(2):
        ti.root.dense(ti.i, 4).place(v.get_scalar_field(c))
    v[1] = [1, 2]
    assert v.describe().components == (0, 16)
    assert v.get_scalar_field(1)[1] == 2


def test_using_a_field_closes_the_root_and_starts_another():
    x, y = ti.field(float), ti.field(float)
    node = ti.root.dense(ti.i, 4)
    node.place(x)
    x[0] = 1
    with pytest.raises(FieldError, match="finalized"):
        node.place(y)
    ti.root.dense(ti.i, 2).place(y)
    assert y[1] == 0
    assert x.describe().tree is not y.describe().tree


def test_misplaced_fields():
    x = ti.field(float, name="x")
    with pytest.raises(FieldError, match="field 'x' is not placed"):
        x[0]
    with pytest.raises(FieldError, match=r"made at .*test_snode_api.py:\d+"):
        ti.field(float).to_numpy()
    ti.root.dense(ti.i, 4).place(x)
    with pytest.raises(FieldError, match="x is already placed"):
        ti.root.place(x)
    with pytest.raises(CompilationError, match="place takes fields, not int"):
        ti.root.place(3)
    with pytest.raises(CompilationError, match=r"axes must be ti.i, ti.ij .* not \('i',\)"):
        ti.root.dense("i", 4)
    with pytest.raises(CompilationError, match=r"an offset must consist of integers, not \(1.5,\)"):
        ti.field(ti.f32, 4, offset=1.5)
    with pytest.raises(CompilationError, match="1 axes and 2 extents"):
        ti.root.dense(ti.i, (2, 3))
    with pytest.raises(CompilationError, match="'quant_array' is not implemented yet"):
        ti.root.quant_array(ti.i, 4)
    v = ti.Vector.field(2, float)
    ti.root.dense(ti.i, 4).place(v.get_scalar_field(0))
    with pytest.raises(FieldError, match="all be placed"):
        v[0]


def test_builder_lives_and_dies():
    builder = ti.FieldsBuilder()
    x = ti.field(float, name="x")
    builder.dense(ti.i, 3).place(x)
    tree = builder.finalize()
    x[0] = 1
    with pytest.raises(FieldError, match="finalized"):
        builder.finalize()
    tree.destroy()
    assert tree.destroyed
    with pytest.raises(FieldError, match="field 'x' no longer exists: its SNode tree was destroyed"):
        x[0]


def test_offset_of_placed_fields():
    x, y = ti.field(float), ti.field(float)
    ti.root.dense(ti.ij, 4).place(x, y, offset=(-2, 2))
    assert x.offset == y.offset == (-2, 2)
    x[-2, 5] = 3
    assert x.to_numpy()[0, 3] == 3
