"""Whole fields and ndarrays: to and from numpy, fill, copies, pickles; shapes and types that do not fit."""

import copy
import pickle

import numpy as np
import pytest

from weft.ir.errors import TypeMismatch, WeftError

TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "u1")


@pytest.mark.parametrize("name", TYPES)
def test_every_type_goes_to_numpy_and_back(ti, name):
    dtype = getattr(ti, name)
    values = np.array([[0, 1, 1], [1, 0, 0]]).astype(dtype.np)
    for x in (ti.field(dtype, (2, 3)), ti.ndarray(dtype, (2, 3)), ti.field(dtype, (2, 3), order="ji")):
        x.from_numpy(values)
        assert x.to_numpy().dtype == dtype.np
        assert x.to_numpy().tolist() == values.tolist()
        x.from_numpy(values[::-1, ::-1].astype(np.float64))
        assert x.to_numpy().tolist() == values[::-1, ::-1].tolist()
        x.from_numpy(np.asfortranarray(values))
        assert x.to_numpy().tolist() == values.tolist()
        x.fill(1)
        assert x.to_numpy().astype(int).tolist() == [[1] * 3] * 2


@pytest.mark.parametrize("soa", [False, True])
def test_vectors_and_matrices_with_their_axes(ti, soa):
    layout = ti.Layout.SOA if soa else ti.Layout.AOS
    v, m = ti.Vector.field(3, ti.f32, 4, layout=layout), ti.Matrix.field(2, 3, ti.i32, (4, 5), layout=layout)
    column = ti.Matrix.field(3, 1, ti.f32, 4, layout=layout)
    assert v.to_numpy().shape == column.to_numpy().shape == (4, 3)
    assert v.to_numpy(keep_dims=True).shape == column.to_numpy(keep_dims=True).shape == (4, 3, 1)
    assert m.to_numpy().shape == m.to_numpy(keep_dims=True).shape == (4, 5, 2, 3)
    assert v.to_numpy(True, np.float64).dtype == np.float64
    values = np.arange(12.0).reshape(4, 3)
    for x in (v, column):
        for given in (values, values[..., None]):
            x.fill(0)
            x.from_numpy(given)
            assert x.to_numpy().tolist() == values.tolist()
    matrices = np.arange(120).reshape(4, 5, 2, 3)
    m.from_numpy(matrices)
    assert m.to_numpy().tolist() == matrices.tolist()
    assert m[3, 4].to_list() == matrices[3, 4].tolist()


def test_structs_as_dicts(ti):
    inner = ti.types.struct(b=ti.i32)
    s = ti.types.struct(a=ti.math.vec2, inner=inner).field(shape=3)
    s.from_numpy({"a": np.ones((3, 2)), "inner": {"b": np.arange(3)}})
    found = s.to_numpy()
    assert found["a"].tolist() == [[1, 1]] * 3
    assert found["inner"]["b"].tolist() == [0, 1, 2]


def test_shapes_that_do_not_fit(ti):
    x = ti.field(ti.f32, (2, 3), name="x")
    v, n = ti.Vector.field(3, ti.f32, 4), ti.ndarray(ti.f32, (2, 3))
    for made, wrong, match in (
        (x, np.zeros((3, 2)), r"'x' takes an array of shape \(2, 3\), but the array has shape \(3, 2\)"),
        (x, np.zeros(6), r"\(2, 3\).*\(6,\)"),
        (v, np.zeros((4, 2)), r"\(4, 3\).*\(4, 2\)"),
        (v, np.zeros((4, 3, 2)), r"\(4, 3\).*\(4, 3, 2\)"),
        (n, np.zeros((2, 3, 1)), r"\(2, 3\).*\(2, 3, 1\)"),
    ):
        with pytest.raises(ValueError, match=match):
            made.from_numpy(wrong)
    for made in (x, v, n):
        with pytest.raises(TypeMismatch):
            made.from_numpy(np.full(made.to_numpy().shape, "a"))
        with pytest.raises(TypeMismatch):
            made.fill("a")
    with pytest.raises(TypeMismatch, match=r"shape \(3,\), but the value has shape \(2,\)"):
        v.fill([1, 2])


def test_copy_from(ti):
    source, target = ti.field(ti.f32, (2, 3)), ti.field(ti.i64, (2, 3), order="ji")
    source.from_numpy(np.arange(6).reshape(2, 3) + 0.5)
    target.copy_from(source)
    assert target.to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    a, b = ti.Vector.ndarray(2, ti.f32, 3), ti.Vector.ndarray(2, ti.f64, 3)
    a.fill([1, 2])
    b.copy_from(a)
    assert b.to_numpy().tolist() == [[1, 2]] * 3
    a.fill(9)
    assert b.to_numpy().max() == 2
    with pytest.raises(ValueError, match="shape"):
        a.copy_from(ti.Vector.ndarray(2, ti.f32, 4))
    for wrong in (ti.ndarray(ti.f32, 3), np.zeros((3, 2)), source):
        with pytest.raises(TypeMismatch, match="can copy only from"):
            a.copy_from(wrong)


def test_deep_copies_and_pickles(ti):
    made = [
        ti.field(ti.f32, (2, 3), offset=(-1, 2), name="x", needs_grad=True),
        ti.Vector.field(3, ti.i32, 4),
        ti.Matrix.field(2, 2, ti.f64, (2, 2)),
        ti.ndarray(ti.u8, 5),
        ti.Matrix.ndarray(2, 3, ti.f32, 4),
        ti.ndarray(ti.f32, (), needs_grad=True),
    ]
    for x in made:
        x.fill(3)
        for same in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            assert (same.shape, same.dtype, type(same)) == (x.shape, x.dtype, type(x))
            assert same.to_numpy().tolist() == x.to_numpy().tolist()
            same.fill(1)
            assert x.to_numpy().min() == 3
            assert (same.grad is None) == (x.grad is None)
    moved = copy.deepcopy(made[0])
    assert moved.offset == (-1, 2)
    assert moved[-1, 2] == 3
    assert moved.name == "x"
    pair = copy.deepcopy([made[1], made[1]])
    assert pair[0] is pair[1]


def test_shallow_copies_share_the_memory(ti):
    arch = ti.cfg.arch
    for x in (ti.field(ti.f32, 3), ti.Vector.field(2, ti.f32, 3), ti.ndarray(ti.f32, 3)):
        x.fill(1)
        same = copy.copy(x)
        same.fill(2)
        assert x.to_numpy().min() == 2
        same[1] = 5
        assert x.to_numpy().max() == 5
    ti.init(arch=arch)
    with pytest.raises(RuntimeError, match="no longer exists"):
        same[1]


def test_a_copied_object_with_fields(ti):
    @ti.data_oriented
    class Heat:
        def __init__(self):
            self.u = ti.field(ti.f32, 4)

        @ti.kernel
        def step(self):
            for i in self.u:
                self.u[i] += 1

    first = Heat()
    first.step()
    second = copy.deepcopy(first)
    second.step()
    second.step()
    assert first.u.to_numpy().tolist() == [1] * 4
    assert second.u.to_numpy().tolist() == [3] * 4


def test_annotations(ti):
    kind = ti.types.ndarray

    def taker(annotation):
        @ti.kernel
        def total(a: annotation) -> ti.f32:
            s = 0.0
            for I in ti.grouped(a):
                s += a[I].sum()
            return s

        return total

    vectors, matrices = np.ones((4, 3), np.float32), np.ones((4, 2, 2), np.float32)
    for annotation in (
        kind(ti.types.vector(3, ti.f32), 1),
        kind(ti.f32, 1, 1, (3,)),
        kind(element_dim=1),
        kind(element_shape=(3,)),
        kind(dtype=ti.f32, field_dim=1, element_shape=(3,)),
    ):
        assert taker(annotation)(vectors) == 12
    for annotation in (kind(element_dim=2), kind(ti.f32, element_shape=(2, 2)), kind(ti.math.mat2)):
        assert taker(annotation)(matrices) == 16
    for annotation, given, match in (
        (kind(ti.f64, element_shape=(3,)), vectors, "array of f64x3, got one of f32x3"),
        (kind(element_shape=(2,)), vectors, r"last axes are \(2,\), got an array of float32 with shape \(4, 3\)"),
        (kind(ti.math.vec3, 2), vectors, r"array of 2 axes, got an array of float32 with shape \(4, 3\)"),
        (kind(ti.math.vec3, 1), matrices, "."),
    ):
        with pytest.raises(WeftError, match=match):
            taker(annotation)(given)
    for wrong in ({"element_dim": 1, "element_shape": (2, 2)}, {"boundary": "wrap"}, {"element_dim": 3}):
        with pytest.raises(TypeMismatch):
            kind(**wrong)
