"""Operators on whole fields and ndarrays in Python."""

import operator

import numpy as np
import pytest

from tests.sampling import draws
from weft.ir.errors import CompilationError, TypeMismatch
from weft.lang.errors import ArgumentError


def filled(make, dtype, shape, rng, low=1, high=9):
    """A field or ndarray of random numbers, and a numpy array of them."""
    x = make(dtype, shape)
    x.from_numpy(rng.integers(low, high, x.to_numpy().shape))
    return x, x.to_numpy()


SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv}
SIGNS |= {"%": operator.mod, "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne}


def test_random_expressions_are_numpys(ti):
    rng = np.random.default_rng(3)
    keys = [np.s_[...], np.s_[::-1, ::-1], np.s_[:, ::-1], np.s_[::-1, :1], np.s_[2, ...], np.s_[-1:, None, 1:2]]
    for round in range(draws(16)):
        pool = [filled(make, [ti.f64, ti.f32][round % 2], (4, 6), rng) for make in (ti.field, ti.ndarray)]
        for _ in range(5):
            sign, key = list(SIGNS)[rng.integers(len(SIGNS))], keys[rng.integers(len(keys))]
            (x, a), (y, b) = (pool[rng.integers(2)] for _ in range(2))
            left, right = [(x, a), (y[key], b[key])][:: rng.choice([1, -1])]
            if rng.random() < 0.3:
                right = (2.5, a.dtype.type(2.5))
            got, wanted = SIGNS[sign](left[0], right[0]), SIGNS[sign](left[1], right[1])
            np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-6, err_msg=f"{sign} {key}")
            assert got.to_numpy().dtype == wanted.dtype
            np.testing.assert_array_equal(x.to_numpy(), a)


def test_types_are_those_of_kernels(ti):
    u8, f32 = ti.field(ti.u8, 3), ti.ndarray(ti.f32, 3)
    u8.fill(250)
    assert ((u8 + 10).dtype, (u8 + 10)[0]) == (ti.i32, 260)  # numpy: 4
    assert ((u8 + u8).dtype, (u8 + u8)[0]) == (ti.u8, 244)
    assert (u8 + f32).dtype is ti.f32
    assert (u8 / 2).dtype is ti.f32
    assert (f32 > 0).dtype is ti.u1
    assert (f32 * np.float64(2)).dtype is ti.f64
    assert (~u8)[0] == 5
    assert (u8 >> 1)[0] == (250 >> 1)


def test_vectors_meet_the_numbers_of_their_elements(ti):
    rng = np.random.default_rng(4)
    (v, a), (s, b) = _vectors(ti, rng)
    for got, wanted in (
        (v * s, a * b[:, None]),
        (s[:2] - v[1:], b[:2, None] - a[1:]),
        (v + ti.Vector([1, 2, 3]), a + [1, 2, 3]),
        (ti.Vector([1, 2, 3]) - v, [1, 2, 3] - a),
        (v + a, a + a),
        (np.ones(3, np.float32) + v, a + 1),
    ):
        assert (got.shape, got.element_shape) == (wanted.shape[:-1], (3,))
        np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-6)
    got = s + ti.Vector([1.0, 2.0])
    np.testing.assert_allclose(got.to_numpy(), b[:, None] + [1, 2])
    with pytest.raises(ArgumentError, match="which must be equal"):
        v + ti.Vector([1, 2])
    with pytest.raises(ArgumentError, match="elements of another shape"):
        s += v


def _vectors(ti, rng):
    v, s = ti.Vector.field(3, ti.f32, 3), ti.ndarray(ti.f32, 3)  # as many elements as a vector has numbers
    v.from_numpy(rng.random((3, 3)))
    s.from_numpy(rng.random(3))
    return (v, v.to_numpy()), (s, s.to_numpy())


def test_operators_that_change_their_target(ti):
    for make in (ti.field, ti.ndarray):
        x, a = filled(make, ti.f32, (5, 4), np.random.default_rng(6))
        y = same = x
        y += 1
        a += 1
        assert y is same
        x[1:] -= x[:-1]
        a[1:] -= a[:-1].copy()
        x[::-1] *= x
        a[::-1] *= a.copy()
        x[:, 1] /= [1, 2, 4, 8, 16]
        a[:, 1] /= [1, 2, 4, 8, 16]
        np.testing.assert_allclose(x.to_numpy(), a, rtol=1e-6)
        with pytest.raises(ArgumentError, match="shape"):
            x[0, :] += x
        whole = make(ti.u8, 3)
        with pytest.raises(ArgumentError, match="another kind of number"):
            whole += 0.5
        whole += 257
        whole -= 2
        assert whole.to_numpy().tolist() == [255] * 3
        whole[:] = np.array([1.7, 300.0, -1.0])  # an assignment casts
        assert whole.to_numpy().tolist() == [1, 255, 0]


def test_an_assignment_reads_all_operands_first(ti):
    for make in (ti.field, ti.ndarray):
        x, a = filled(make, ti.f64, 12, np.random.default_rng(7))
        for key, left, right in ((np.s_[1:-1], np.s_[2:], np.s_[:-2]), (np.s_[::2], np.s_[:6], np.s_[6:])):
            x[key] = 0.5 * (x[left] + x[right])
            a[key] = 0.5 * (a[left] + a[right])
        x[1:] += x[:-1]
        a[1:] = a[1:] + a[:-1]
        np.testing.assert_allclose(x.to_numpy(), a)


def test_functions(ti):
    x, a = filled(ti.field, ti.f32, (3, 4), np.random.default_rng(8), -5, 6)
    y, b = filled(ti.ndarray, ti.f32, (3, 4), np.random.default_rng(9), -5, 6)
    for got, wanted in (
        (abs(-x), abs(a)),
        (ti.sqrt(abs(x)), np.sqrt(abs(a))),
        (ti.max(x, y, 0.5), np.maximum(np.maximum(a, b), 0.5)),
        (ti.select(x > y, x, 0.0), np.where(a > b, a, 0)),
        (ti.logical_not(x > 0), ~(a > 0)),
        (ti.math.clamp(x, -1.0, 2.0), a.clip(-1, 2)),
        (ti.atan2(x, 2.0), np.arctan2(a, np.float32(2))),
        (np.sin(x), np.sin(a)),
        (ti.cast(x * 0.4, ti.i32), np.trunc(a * np.float32(0.4))),
        (ti.floor(x * 0.4, ti.i32), np.floor(a * np.float32(0.4))),
    ):
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5)
    with pytest.raises(TypeMismatch, match="max takes numbers"):
        ti.max(x, "a")


def test_truth(ti):
    x, y, other = ti.field(ti.f32, 3), ti.field(ti.f32, 3), ti.ndarray(ti.f32, 4)
    assert (x == y).to_numpy().tolist() == [True] * 3
    assert (x != y).sum() == 0
    assert bool(x == x)
    assert not bool(x == y)
    assert bool(x != y)
    assert not bool(x != x)
    assert [y, other, x].index(x) == 2
    assert x not in [y, other]
    assert {x: 1, y: 2}[y] == 2
    assert not x == other  # noqa: SIM201
    unplaced = ti.field(ti.f32)
    assert unplaced not in [x, None, "a", ti.Matrix, x.__class__]
    assert unplaced in [x, unplaced]
    assert x not in [unplaced, ti.Matrix, int]
    assert x != None  # noqa: E711
    assert x is not None
    assert bool(x)
    with pytest.raises(TypeMismatch, match=r"x\.any\(\) or x\.all\(\)"):
        bool(x > 0)
    one = ti.field(ti.f32, ())
    one[None] = 2
    assert bool(one > 1)
    assert not bool(one > 3)


def test_what_does_not_fit(ti):
    x = ti.field(ti.f32, (3, 4))
    with pytest.raises(ArgumentError, match=r"`x0 \+ x1`: .* broadcast: x0\(3, 4\), x1\(3,\)"):
        x + np.ones(3)
    with pytest.raises(CompilationError, match="`x0 & x1`: '&' takes integers"):
        x & 1
    for wrong in ("text", None, object(), np.array(["a"]), {"a": 1}):
        with pytest.raises(TypeError):
            x + wrong


def test_numpy(ti):
    x, a = filled(ti.field, ti.f32, (3, 4), np.random.default_rng(10))
    b = same = np.ones((3, 4), np.float32)
    b += x  # changes the numpy array
    assert b is same
    np.testing.assert_array_equal(b, a + 1)
    for got in (b - x, np.float32(2) * x, b > x, np.subtract(b, x)):
        assert isinstance(got, ti.Ndarray)
    np.testing.assert_array_equal((b - x).to_numpy(), b - a)
    for got, wanted in (
        (np.add(x, 1), a + 1),
        (np.hypot(x, b), np.hypot(a, b)),
        (np.add.reduce(x, axis=1), a.sum(axis=1)),
        (np.multiply(x, b, out=np.zeros((3, 4), np.float32)), a * b),
        (np.where(x > 3, x, 0), np.where(a > 3, a, 0)),
        (np.concatenate([x, x[1:]]), np.concatenate([a, a[1:]])),
    ):
        assert type(got) is np.ndarray
        np.testing.assert_allclose(got, wanted)
    with pytest.raises(TypeMismatch, match="cannot write to a field"):
        np.add(b, b, out=x)


def test_other_libraries(ti, torch):
    x = ti.field(ti.f32, 3)
    x.fill(2)
    tensor = torch.arange(3.0)
    assert (x + tensor).to_numpy().tolist() == [2, 3, 4]
    assert (np.arange(3, dtype=np.float32) + x).dtype is ti.f32
    assert (np.float32(3) * x).to_numpy().tolist() == [6, 6, 6]


def test_nested_blocks_are_copied(ti):
    x = ti.field(ti.f32)
    ti.root.dense(ti.ij, 2).dense(ti.ij, 2).place(x)
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    x.from_numpy(a)
    np.testing.assert_array_equal((x + 1).to_numpy(), a + 1)
    x *= 2
    np.testing.assert_array_equal(x.to_numpy(), a * 2)
    assert (x.sum(), x.max(axis=0).to_numpy().tolist()) == (240, [24, 26, 28, 30])


def test_no_elements_and_no_axes(ti):
    x, total = ti.ndarray(ti.f32, (3, 4)), ti.field(ti.i32, ())
    assert (x[2:2] + 1).shape == (0, 4)
    assert (x[2:2] + x[:0]).to_numpy().shape == (0, 4)
    x[2:2] = x[:0]
    total[None] = 4
    assert (total * 2 + 1)[None] == 9
    total += 3
    assert total[None] == 7
