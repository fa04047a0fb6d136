"""`ti.reduce`: functions that join two numbers, over whole arrays and along axes."""

import numpy as np
import pytest

from weft.ir.errors import WeftError


def add(a, b):
    return a + b


def mul(a, b):
    return a * b


@pytest.fixture
def total(ti):
    return ti.reduce(add, 0)


@pytest.fixture
def greatest(ti):
    return ti.reduce(ti.max, None)


def without_blocks(ti, shape):
    """Fewer elements where there are no blocks to fill, and each takes long."""
    return tuple(min(n, 100) for n in shape) if ti.cfg.arch == "python" else shape


SHAPES = [(), (1,), (5,), (1, 1), (3, 4), (2, 3, 4), (2, 1, 3, 2), (5, 1100)]


def axes_of(ndim):
    several = [(0, 1), (0, 2), (2, 1), (0, 1, 2), (1, -1)] if ndim > 2 else []
    return [None, (), *range(-ndim, ndim), *several]


@pytest.mark.parametrize("shape", SHAPES)
def test_axes_are_numpys(ti, total, greatest, shape):
    x = np.asarray(np.random.default_rng(1).random(without_blocks(ti, shape)))
    reversed_ = x[..., ::-1] if x.ndim else x
    for array in (x, np.asfortranarray(x), reversed_):
        for axis in axes_of(x.ndim):
            for keepdims in (False, True):
                got, want = total(array, axis=axis, keepdims=keepdims), array.sum(axis=axis, keepdims=keepdims)
                assert (type(got), np.shape(got)) == (type(want), np.shape(want))
                np.testing.assert_allclose(got, want)
                assert np.array_equal(greatest(array, axis=axis, keepdims=keepdims), array.max(axis, keepdims=keepdims))


@pytest.mark.parametrize("shape", [(40001,), (40001, 2), (17000, 1, 1), (3, 20000), (2, 17000, 2), (40, 1025)])
def test_more_than_one_block(ti, total, greatest, shape):
    shape = without_blocks(ti, shape)
    x = np.random.default_rng(2).random(shape)
    for axis in (None, *range(len(shape))):
        np.testing.assert_allclose(total(x, axis=axis), x.sum(axis))
        assert np.array_equal(greatest(x, axis=axis), x.max(axis))


def test_equal_calls_give_equal_bits(ti, total):
    if ti.cfg.arch == "python":
        pytest.skip("it has one thread and one order")
    x = np.random.default_rng(3).random((300, 1000), np.float32)
    first = [total(x, axis=axis) for axis in (None, 0, 1)]
    for _ in range(20):
        for axis, want in zip((None, 0, 1), first):
            assert np.array_equal(total(x, axis=axis), want)
    if ti.cfg.arch == "cpu":
        for threads in (1, 3):
            ti.init(arch=ti.cpu, cpu_max_num_threads=threads)
            for axis, want in zip((None, 0, 1), first):
                assert np.array_equal(total(x, axis=axis), want)


def test_types(ti, total, greatest):
    for dtype, want in (
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int64, np.int64),
        (np.uint8, np.int32),
        (bool, np.int32),
        (np.uint32, np.uint32),
    ):
        got = total(np.ones(300, dtype))
        assert (got, got.dtype) == (300, want)
    assert greatest(np.array([3, 200], np.uint8)).dtype == np.uint8
    assert ti.reduce(add, 0.0)(np.ones(3, np.int32)).dtype == np.float32
    got = total(np.ones(3, np.float32), dtype=ti.f64)
    assert (got, got.dtype) == (3, np.float64)
    assert total(np.full(3, 100, np.uint8), dtype=ti.u8) == 300 - 256


def test_map(ti):
    def square(x):
        return x * x

    x, y = np.random.default_rng(4).random((2, 30, 40))
    norm, dot = ti.reduce(add, 0.0, map=square), ti.reduce(add, 0, map=mul)
    np.testing.assert_allclose(norm(x, axis=1), (x * x).sum(1))
    np.testing.assert_allclose(dot(x, y), (x * y).sum())
    np.testing.assert_allclose(dot(x, y[0], axis=1), x @ y[0])
    np.testing.assert_allclose(dot(x, y.T[:, :1].T, axis=0), (x * y.T[:, 0]).sum(0))
    np.testing.assert_allclose(dot(b=x, a=2.0), 2 * x.sum())
    assert dot(np.ones(3, np.uint8), np.ones(3, np.int16)).dtype == np.int32


def test_arrays_without_elements(ti, total, greatest):
    assert total(np.zeros(0)) == 0
    assert total(np.zeros((0, 3)), axis=0).tolist() == [0, 0, 0]
    assert total(np.zeros((0, 3)), axis=1).shape == (0,)
    assert greatest(np.zeros((3, 0)), axis=0).shape == (0,)
    assert ti.reduce(mul, 1)(np.zeros(0, np.float32)) == 1
    with pytest.raises(WeftError, match="reduce 'max' has no identity, so it cannot reduce an array without elements"):
        greatest(np.zeros((3, 0)), axis=1)


def test_fields_and_ndarrays(ti, total):
    x = ti.field(ti.f32, (3, 4))
    x.fill(2)
    assert total(x) == 24
    assert total(x, axis=0).to_numpy().tolist() == [6] * 4
    assert total(x, keepdims=True).to_numpy().tolist() == [[24]]
    n = ti.Vector.ndarray(2, ti.i32, 5)
    n.fill([1, 2])
    assert total(n, axis=0).to_numpy().tolist() == [5, 10]
    soa = ti.Vector.field(2, ti.f32, 3, layout=ti.Layout.SOA)
    soa.fill([1, 2])
    assert total(soa, axis=0).to_numpy().tolist() == [3, 6]
    assert total(soa) == 9


def test_a_function_of_ones_own(ti):
    @ti.func
    def gcd(a, b):
        x, y = a, b
        while y != 0:
            x, y = y, x % y
        return x

    assert ti.reduce(gcd, 0)(np.array([12, 18, 30])) == 6
    assert ti.reduce(gcd, 0)(np.arange(6, 600, 6).reshape(9, 11), axis=1).tolist() == [6] * 9


def test_names_of_parameters(ti):
    def pick(_o, _n, range, min):
        return _o + _n + range + min

    assert ti.reduce(add, 0, map=pick)(np.arange(5), 1, 1, np.arange(5)) == 30


def test_mistakes(ti, total):
    x = np.zeros((2, 3))

    def pair(a, b):
        return a, b

    for run, message in (
        (lambda: total(x, axis=2), "reduce 'add': axis 2 does not exist in an array of 2 axes"),
        (lambda: total(x, axis=-3), "axis -3 does not exist"),
        (lambda: total(x, axis=0.5), "axis 0.5 does not exist"),
        (lambda: total(x, axis=(1, -1)), "contains an axis twice"),
        (lambda: total(x, x), "takes one array and axis=, keepdims=, dtype=; it got 2"),
        (lambda: total(x, where=x), "it got 1 and where"),
        (lambda: total([1, 2]), "operand 'x'.*neither an array nor a number"),
        (lambda: total(x, dtype="f"), "is not a primitive type"),
        (lambda: ti.reduce(pair, 0)(x), "'pair' must return one number, not 2"),
        (lambda: ti.reduce(add, "0"), "the identity of reduce 'add' must be a number or None, not '0'"),
        (lambda: ti.reduce(3, 0), "not 3"),
        (lambda: ti.reduce(add, 0, map=mul)(x, np.zeros(2)), r"cannot be broadcast: a\(2, 3\), b\(2,\)"),
    ):
        with pytest.raises(WeftError, match=message):
            run()


def test_tensors(torch, total):
    x = torch.rand(30, 4)
    got = total(x, axis=0)
    assert isinstance(got, torch.Tensor)
    assert torch.allclose(got, x.sum(0))
    assert torch.allclose(total(x), x.sum())
    assert total(x).shape == ()
    assert torch.allclose(total(x.T, axis=0), x.sum(1))
    assert total(torch.zeros(0, 2), axis=0).tolist() == [0, 0]
