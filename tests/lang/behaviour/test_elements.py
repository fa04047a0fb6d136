"""Elements in Python scope: numbers, windows that write through, indices that are refused, values that are cast."""

import json

import numpy as np
import pytest

from weft.ir.errors import TypeMismatch
from weft.lang.data.elements import FieldIndexError

TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "u1")


def both(ti, dtype, shape):
    return ti.field(dtype, shape), ti.ndarray(dtype, shape)


@pytest.mark.parametrize("name", TYPES)
def test_numbers_go_in_and_come_out(ti, name):
    dtype = getattr(ti, name)
    for x in both(ti, dtype, (3, 4)):
        x[1, 2] = 1
        x[2, 3] = 1.0
        x[0, 1] = np.int64(1)
        x[ti.Vector([0, 2])] = True
        assert x.to_numpy().astype(int).tolist() == [[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
        assert type(x[1, 2]) is (float if dtype.is_float else int)
        assert x[(1, 2)] == x[np.int32(1), 2] == 1


def test_values_are_cast_as_in_kernels(ti):
    for x in both(ti, ti.u8, 4):
        x[0], x[1], x[2], x[3] = -1, 300, 1e9, float("nan")
        assert [x[i] for i in range(4)] == [255, 44, 255, 0]
    for x in both(ti, ti.f32, 4):
        x[0], x[1], x[2], x[3] = 1e300, 0.1, 2**70, -0.0
        assert [x[i] for i in range(4)] == [float("inf"), float(np.float32(0.1)), float(2**70), 0]
        assert str(x[3]) == "-0.0"
    for x in both(ti, ti.u1, 2):
        x[0], x[1] = 7, 0.5
        assert [x[0], x[1]] == [1, 1]
    for x in both(ti, ti.i64, 2):
        x[0], x[1] = 2**63 - 1, 2**63
        assert [x[0], x[1]] == [2**63 - 1, -(2**63)]


def test_no_axes(ti):
    for x in both(ti, ti.i32, ()):
        x[None] = 3
        x[None] += 4
        assert x[None] == x[()] == 7
        with pytest.raises(IndexError, match="no index"):
            x[1]


@pytest.mark.parametrize("key", [(3, 0), (-1, 0), (0, 4), (0, -1), (2**40, 0), 0, (0, 0, 0), (0, 1.5), (0, "a"), None])
def test_wrong_indices_are_refused(ti, key):
    for x in (*both(ti, ti.f32, (3, 4)), ti.Vector.field(2, ti.f32, (3, 4)), ti.Vector.ndarray(2, ti.f32, (3, 4))):
        with pytest.raises(FieldIndexError, match=r"index|indices"):
            x[key]
        with pytest.raises(FieldIndexError, match=r"index|indices"):
            x[key] = 1


def test_messages_say_what_is_right(ti):
    x = ti.field(ti.f32, (3, 4), name="x")
    with pytest.raises(
        IndexError, match=r"index -1 of axis 1 .* 'x' of shape \(3, 4\).*\[0, 4\).*negative indices do not count"
    ):
        x[0, -1]
    with pytest.raises(IndexError, match=r"for lists and masks, index x\.to_numpy"):
        x[[0, 1], :]
    with pytest.raises(IndexError, match="takes 2 indices, got 1"):
        x[0] = 1
    with pytest.raises(TypeMismatch, match="number of type f32, not str"):
        x[0, 0] = "a"
    with pytest.raises(TypeMismatch, match=r"shape \(2,\), but the value has shape \(3,\)"):
        ti.Vector.ndarray(2, ti.f32, 3)[0] = [1, 2, 3]


def test_windows_write_through(ti):
    for m in (ti.Matrix.field(2, 3, ti.f32, 4), ti.Matrix.ndarray(2, 3, ti.f32, 4)):
        m[1] = [[1, 2, 3], [4, 5, 6]]
        m[1][0, 1] = 20
        m[1][1, 2] += 60
        assert m.to_numpy()[1].tolist() == [[1, 20, 3], [4, 5, 66]]
        assert not m.to_numpy()[0].any()
    for v in (ti.Vector.field(3, ti.i32, (2, 2)), ti.Vector.ndarray(3, ti.i32, (2, 2))):
        v[0, 1].y = 5
        v[0, 1].xz = [4, 6]
        assert v[0, 1].to_list() == [4, 5, 6]


def test_elements_of_structs_write_through(ti):
    inner = ti.types.struct(a=ti.i32, b=ti.types.vector(2, ti.f64))
    outer = ti.types.struct(n=ti.u8, inner=inner, pos=ti.math.vec3)
    for s in (outer.field(shape=(2, 2)), ti.ndarray(outer, (2, 2))):
        s[1, 0].pos[2] = 0.5
        s[1, 0].inner.b[1] = 2
        s[1, 0].inner.a = 7
        s[1, 0].n = 257
        assert s[1, 0].to_dict() == {"n": 1, "inner": {"a": 7, "b": [0, 2]}, "pos": [0, 0, 0.5]}
        s[0, 1] = s[1, 0]
        assert s[0, 1].inner.b.to_list() == [0, 2]
        assert s.pos[0, 1].to_list() == [0, 0, 0.5]
        with pytest.raises(IndexError, match="out of bounds"):
            s[2, 0]


def test_elements_of_vectors_and_matrices_are_pythons_numbers(ti):
    pair = ti.types.struct(v=ti.math.vec2, n=ti.types.vector(2, ti.i32))
    x, m, s = ti.Vector.field(2, ti.f32, 2), ti.Matrix.ndarray(2, 2, ti.i32, 2), pair.field(shape=2)
    x[0], m[0], s[0] = [0.1, 2], [[1, 2], [3, 4]], pair(v=[3, 4], n=[5, 6])

    @ti.kernel
    def returned() -> ti.math.vec2:
        return x[0]

    whole = [m[0][1, 0], s[0].n.x, s[0].n[1], *s[0].n, *(number for row in m[0] for number in row)]
    assert [type(number) for number in whole] == [int] * len(whole)
    assert json.loads(json.dumps(whole)) == [3, 5, 6, 5, 6, 1, 2, 3, 4]
    broken = [x[0][0], x[0].x, s[0].v.y, *x[0], *returned(), ti.Vector([1.5, 2.5]).y]
    assert [type(number) for number in broken] == [float] * len(broken)
    tenth = float(np.float32(0.1))
    assert broken == [tenth, tenth, 4.0, tenth, 2.0, tenth, 2.0, 2.5]
    assert x[0][0] + 1e-12 > x[0][0]  # Python's arithmetic
    x[0][0] += 1
    x[0].y = x[0].x
    assert x.to_numpy()[0].tolist() == [float(np.float32(tenth + 1))] * 2


def test_wefts_own_functions_keep_the_types_of_elements_in_python(ti):
    a, b = ti.math.vec3(0.1, 0.2, 0.3), ti.math.vec3(3, 4, 5.7)
    m = ti.Matrix([[0.1, 0.2], [0.3, 0.7]], ti.f32)

    @ti.kernel
    def k() -> ti.types.vector(4, ti.f32):
        c = ti.math.cross(a, b)
        return ti.Vector([c.x, c.y, c.z, m.determinant()])

    assert [*ti.math.cross(a, b), float(m.determinant())] == pytest.approx(k().to_list(), rel=1e-6)
    assert ti.math.cross(a, b).dtype is ti.f32
    assert m.inverse().dtype is ti.Matrix.rows([a, b]).dtype is ti.f32


def test_kernels_see_what_python_wrote_and_the_other_way_round(ti):
    x, y = both(ti, ti.f32, 8)

    @ti.kernel
    def step(y: ti.types.ndarray()):
        for i in x:
            x[i] += y[i]
            y[i] = x[i] * 2

    for _ in range(3):
        y[3] = 1
        step(y)
        assert y[3] == 2 * x[3]
        x[3] = x[3] + 1
    assert (x[3], y[3]) == (6, 10)


def test_offsets_and_nested_blocks(ti):
    x = ti.field(ti.i32, (4, 4), offset=(-2, 1))
    x[-2, 1], x[1, 4] = 1, 2
    assert x.to_numpy()[0, 0] == 1
    assert x.to_numpy()[3, 3] == 2
    with pytest.raises(IndexError, match=r"\[1, 5\)"):
        x[0, 0]
    y = ti.field(ti.i32)
    ti.root.dense(ti.ij, (2, 2)).dense(ti.ij, (2, 4)).place(y)
    y[3, 6] = 5
    assert y[3, 6] == 5
    assert y.to_numpy()[3, 6] == 5


def test_a_reset_ends_elements(ti):
    arch = ti.cfg.arch
    made = [*both(ti, ti.f32, 3), ti.Vector.ndarray(2, ti.f32, 3), ti.ndarray(ti.types.struct(a=ti.f32), 3)]
    for x in made[:2]:
        x[0] = 1
    ti.init(arch=arch)
    for x in made[:3]:
        for use in (lambda x=x: x[0], lambda x=x: x.__setitem__(0, 1), x.to_numpy):
            with pytest.raises(RuntimeError, match=r"no longer exists.*reset"):
                use()
    with pytest.raises(RuntimeError, match="no longer exists"):
        _ = made[3][0].a
