"""Reductions and iteration of whole fields and ndarrays in Python."""

import math

import numpy as np
import pytest

from tests.sampling import draws
from weft.ir.errors import TypeMismatch
from weft.lang.data.elements import FieldIndexError
from weft.lang.errors import ArgumentError
from weft.lang.values.matrix import Vector

NAMES = ("sum", "mean", "min", "max", "std", "var", "any", "all")


def plain(value):
    return value.to_numpy() if hasattr(value, "to_numpy") else value


def filled(ti, dtype, shape, seed=1):
    for make in (ti.field, ti.ndarray):
        x = make(dtype, shape)
        x.from_numpy(np.random.default_rng(seed).integers(0, 5, x.to_numpy().shape))
        yield x, x.to_numpy()


def test_random_reductions_are_numpys(ti):
    rng = np.random.default_rng(2)
    types = [(ti.f64, (3, 4)), (ti.f32, (7,)), (ti.i32, (2, 3, 4)), (ti.vec3, (4, 2)), (ti.u8, (5, 2))]
    for number, (dtype, shape) in enumerate(types):
        for x, a in list(filled(ti, dtype, shape))[number % 2 :: 2]:
            for _ in range(draws(24)):
                name = NAMES[rng.integers(len(NAMES))]
                count = rng.integers(0, a.ndim + 1)
                axis = None if count == 0 else tuple(int(one) for one in rng.permutation(a.ndim)[:count])
                if count and rng.random() < 0.5:
                    axis = axis[0] - (a.ndim if rng.random() < 0.5 else 0)
                keepdims = bool(rng.random() < 0.3)
                key = (slice(None, None, int(rng.choice([1, -1, 2]))),)
                got = getattr(x[key], name)(axis=axis, keepdims=keepdims)
                wanted = getattr(a[key], name)(axis=axis, keepdims=keepdims)
                assert plain(got) == pytest.approx(wanted, rel=1e-6), (name, axis, keepdims)
                assert np.shape(plain(got)) == np.shape(wanted)


def test_types(ti):
    u8 = ti.field(ti.u8, 300)
    u8.fill(255)
    assert (u8.sum(), type(u8.sum())) == (76500, int)  # 212 modulo 256
    assert (u8.mean(), u8.max(), u8.min()) == (255.0, 255, 255)
    big = ti.ndarray(ti.i32, (2, 2))
    big.fill(2**31 - 1)
    assert big.sum() == 4 * (2**31 - 1)
    assert big.sum(axis=0).dtype is ti.i64
    assert big[:1].sum(axis=0, dtype=ti.i32).dtype is ti.i32
    assert u8[None, :].sum(axis=0).dtype is ti.u64
    assert u8[None, :].max(axis=0).dtype is ti.u8
    most = ti.ndarray(ti.u32, 2**11)  # 2^11 numbers of 32 bits: the sum is exact in f64
    most.fill(2**32 - 1)
    most[7] = 2**32 - 2
    assert most.sum() == 2**11 * (2**32 - 1) - 1
    wide = ti.ndarray(ti.i64, 3)
    wide.from_numpy(np.array([2**62, 2**61 + 1, -1]))
    assert (wide.sum(), wide[::-1].sum()) == (2**62 + 2**61,) * 2
    half = ti.field(ti.f16, 3000)
    half.fill(1)
    assert (half.sum(), half.mean()) == (3000, 1)  # numbers of f16 beyond 2048 are even
    single = ti.field(ti.f32, (1, 2**13))
    single.fill(0.1)
    assert single.sum() == pytest.approx(2**13 * float(np.float32(0.1)), rel=1e-12)
    assert single.sum(axis=1).dtype is ti.f32
    flags = ti.field(ti.u1, 5)
    flags[3] = 1
    assert (flags.sum(), flags.any(), flags.all(), flags.max()) == (1, True, False, 1)
    assert flags.any() is True
    wide = ti.ndarray(ti.u64, 2)
    wide.fill(2**64 - 1)
    assert wide.max() == 2**64 - 1


def test_nan(ti):
    for make in (ti.field, ti.ndarray):
        x = make(ti.f32, 5)
        x.from_numpy(np.array([2, math.nan, -3, math.nan, 7]))
        assert all(math.isnan(value) for value in (x.sum(), x.mean(), x.std(), x.min(), x.max()))
        assert (x.argmin(), x.argmax()) == (1, 1)
        assert (x[2:3].min(), x[4:].max(), x[2::2].argmin()) == (-3, 7, 0)
        assert x.any()
        assert x.all()
        assert min(x[2::2]) == -3


def test_places(ti):
    for number, (dtype, shape) in enumerate([(ti.f32, (4, 5)), (ti.i64, (30,)), (ti.u8, (3, 4, 2)), (ti.vec2, (6,))]):
        for x, a in list(filled(ti, dtype, shape, 4))[number % 2 :: 2]:
            assert (x.argmin(), x.argmax()) == (a.argmin(), a.argmax())  # the first of several
            part, same = x[::-2], a[::-2]
            assert (part.argmin(), part.argmax()) == (same.argmin(), same.argmax())
    x = ti.field(ti.f32, ())
    assert (x.argmin(), x.max(), x.sum()) == (0, 0, 0)


def test_vectors_are_results(ti):
    for v, a in filled(ti, ti.vec3, (4,)):
        assert isinstance(v.mean(axis=0), Vector)
        np.testing.assert_allclose(v.mean(axis=0).to_numpy(), a.mean(axis=0))
        assert v.max() == a.max()
        lengths = ti.sqrt((v * v).sum(axis=1))
        np.testing.assert_allclose(lengths.to_numpy(), np.linalg.norm(a, axis=1), rtol=1e-6)
    for v, a in filled(ti, ti.vec3, (4, 2)):
        made = v.sum(axis=1)
        assert (made.shape, made.element_shape) == ((4,), (3,))
        np.testing.assert_allclose(made.to_numpy(), a.sum(axis=1))


def test_equal_numbers_have_no_deviation(ti):
    x = ti.field(ti.u8, (3, 100))
    x.fill(255)
    assert (x.mean(), x.var(), x.std()) == (255, 0, 0)
    assert x.var(axis=(0, 1), keepdims=True).to_numpy().tolist() == [[0]]


def test_functions_of_numpy(ti):
    for x, a in filled(ti, ti.f64, (4, 5)):
        for name in ("sum", "std", "min", "any", "argmax"):
            assert getattr(np, name)(x) == pytest.approx(getattr(a, name)())
        np.testing.assert_allclose(np.asarray(np.sum(x, axis=0)), a.sum(axis=0))


def test_no_elements(ti):
    x = ti.field(ti.f32, (3, 4))[1:1]
    assert (x.sum(), x.any(), x.all(), len(x)) == (0, False, True, 0)
    assert x.sum(axis=0).to_numpy().tolist() == [0] * 4
    assert x.max(axis=1).to_numpy().shape == (0,)
    for name in ("min", "max", "argmin", "argmax"):
        with pytest.raises(ValueError, match="no elements"):
            getattr(x, name)()
    with pytest.warns(RuntimeWarning):
        assert math.isnan(x.mean())


def test_what_does_not_fit(ti):
    x = ti.field(ti.f32, (3, 4))
    for axis in (2, -3, (0, 2)):
        with pytest.raises(FieldIndexError, match="out of bounds for an array of 2 axes"):
            x.sum(axis=axis)
    for axis in ((0, 0), (0, -2), 0.5, True):
        with pytest.raises(ArgumentError, match="axis"):
            x.sum(axis=axis)
    with pytest.raises(ArgumentError, match="takes no axis"):
        x.argmin(axis=0)
    with pytest.raises(TypeMismatch, match="remove out="):
        x.sum(out=np.zeros(()))


def test_iteration(ti):
    for x, a in filled(ti, ti.f32, (6,)):
        assert list(x) == a.tolist()
        assert (min(x), max(x), sum(x), len(x)) == (a.min(), a.max(), a.sum(), 6)
        assert type(next(iter(x))) is float
        assert float(a[2]) in x
        assert 99 not in x
        assert sorted(x) == sorted(a.tolist())
    for x, a in filled(ti, ti.i32, (3, 4)):
        for row, same in zip(x, a, strict=True):
            assert row.to_numpy().tolist() == same.tolist()
        next(iter(x)).fill(7)
        assert x[0, 3] == 7
        np.testing.assert_array_equal(sum(x).to_numpy(), sum(x.to_numpy()))
        assert max(max(row) for row in x) == x.max()
    for v, a in filled(ti, ti.vec2, (3,)):
        assert [one.to_list() for one in v] == a.tolist()
        for one in v:
            one.y = 5
        assert v.to_numpy()[:, 1].tolist() == [5] * 3
        assert [a[1, 0], 5] in v
        assert [99, 5] not in v
        with pytest.raises(TypeMismatch, match="asks for"):
            [1, 2, 3] in v  # noqa: B015
    flags = ti.field(ti.u1, 2)
    assert list(flags) == [0, 0]
    assert type(next(iter(flags))) is int
    number = ti.field(ti.f32, ())
    for refused in (len, list, iter):
        with pytest.raises(TypeError, match="without axes"):
            refused(number)


def test_iteration_with_an_offset(ti):
    x, v = ti.field(ti.f32, 3, offset=-1), ti.Vector.field(2, ti.f32, 2, offset=5)
    x[-1], v[6] = 4, [1, 2]
    assert list(x) == [4, 0, 0]
    for one in v:
        one[0] += 1
    assert v[6].to_list() == [2, 2]
    assert v[5].to_list() == [1, 0]
    assert (x + 1).to_numpy().tolist() == [5, 1, 1]
    assert x.max() == 4


def test_files(ti, tmp_path):
    for x, a in filled(ti, ti.vec2, (3, 2)):
        x.save(tmp_path / "x")
        x[1:].save(str(tmp_path / "part.npy"))
        x.fill(0)
        x.from_numpy(np.load(tmp_path / "x.npy"))
        np.testing.assert_array_equal(x.to_numpy(), a)
        np.testing.assert_array_equal(np.load(tmp_path / "part.npy"), a[1:])
    with pytest.raises(OSError, match="could not write"):
        x.save(tmp_path / "x.npy" / "y")


def test_as_a_numpy_array(ti):
    for x, a in filled(ti, ti.f32, (3, 4)):
        for same, numbers in ((x, a), (x[::2, 1:], a[::2, 1:])):
            np.testing.assert_array_equal(np.asarray(same), numbers)
            assert np.asarray(same, dtype=np.float64).dtype == np.float64
            copied = np.array(same, copy=True)
            copied[...] = -1
            np.testing.assert_array_equal(same.to_numpy(), numbers)
            with pytest.raises(ValueError):
                np.asarray(same, dtype=np.int64, copy=False)
            if ti.cfg.arch in ("cpu", "python"):
                assert np.shares_memory(np.asarray(same, copy=False), np.asarray(x))
