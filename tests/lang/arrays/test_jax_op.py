"""`ti.jax.op`: kernels as functions of JAX arrays, with gradients."""

import importlib.util

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import CompilationError, WeftError

if importlib.util.find_spec("jax") is None:
    pytest.skip("jax is not installed (pip install weft[arrays])", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)
ND = ti.types.ndarray
Shape = jax.ShapeDtypeStruct


@pytest.fixture(autouse=True)
def _program():
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    yield
    ti.reset()


def numbers(*shape):
    return jnp.asarray(np.random.default_rng(len(shape)).random(shape) + 0.3)


def check(function, *arrays):
    """First and second gradients agree with differences."""
    check_grads(function, arrays, order=2, modes=["rev"])


@pytest.fixture
def wave():
    @ti.kernel
    def wave(x: ND(ndim=1), k: ti.f64, y: ND(ndim=1)):
        for i in x:
            y[i] = ti.sin(k * x[i]) * ti.exp(x[i])

    return ti.jax.op(wave, out="y")


def test_values_and_gradients(wave):
    def same(x):
        return (jnp.sin(1.5 * x) * jnp.exp(x)).sum()

    x = numbers(5)
    np.testing.assert_allclose(wave(x, 1.5).sum(), same(x), rtol=1e-12)
    gradient = jax.grad(lambda x: wave(x, 1.5).sum())
    np.testing.assert_allclose(gradient(x), jax.grad(same)(x), rtol=1e-12)
    np.testing.assert_allclose(jax.jit(gradient)(x), jax.grad(same)(x), rtol=1e-12)
    check(lambda x: wave(x, 1.5), x)
    np.testing.assert_allclose(
        jax.vmap(lambda x: wave(x, 1.0))(jnp.ones((2, 3))), np.full((2, 3), np.sin(1) * np.e), rtol=1e-12
    )


def test_several_results_of_other_shapes():
    @ti.kernel
    def product(a: ND(ndim=2), c: ND(ndim=2), b: ND(ndim=2), rows: ND(ndim=1)):
        for i, j in c:
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
        for i in rows:
            rows[i] = ti.exp(a[i, 0]) * b[0, 0]

    def made(a, b):
        return Shape((a.shape[0], b.shape[1]), a.dtype)

    function = ti.jax.op(product, out={"c": made, "rows": lambda a, b: Shape(a.shape[:1], a.dtype)})
    a, b = numbers(3, 4), numbers(4, 2)
    np.testing.assert_allclose(jax.jit(function)(a, b)[0], a @ b, rtol=1e-12)
    check(function, a, b)


def test_integers_and_vectors_are_constants():
    @ti.kernel
    def gather(x: ND(ndim=1), which: ND(dtype=ti.i32, ndim=1), v: ti.math.vec2, y: ND(ndim=1)):
        for i in which:
            y[i] = v[0] * x[which[i]] ** 2 + v[1]

    function = ti.jax.op(gather, out={"y": lambda x, which, v: Shape(which.shape, x.dtype)})
    which = jnp.array([0, 2, 2], jnp.int32)
    x = numbers(3)
    np.testing.assert_allclose(
        jax.grad(lambda x: function(x, which, (3.0, 1.0)).sum())(x), 6.0 * x * np.array([1, 0, 2]), rtol=1e-12
    )


def test_mistakes(wave):
    @ti.kernel
    def scale(x: ND(ndim=1), k: ti.f64):
        for i in x:
            x[i] *= k

    @ti.kernel
    def noisy(x: ND(ndim=1), y: ND(ndim=1)):
        for i in x:
            y[i] = x[i] * ti.random(ti.f64)

    x = numbers(3)
    with pytest.raises(CompilationError, match="changes 'x'"):
        ti.jax.op(scale, out=())
    with pytest.raises(CompilationError, match=r"ti\.jax\.op takes a kernel"):
        ti.jax.op(3, out="y")
    with pytest.raises(WeftError, match="draws random numbers"):
        jax.grad(lambda x: ti.jax.op(noisy, out="y")(x).sum())(x)
    with pytest.raises(WeftError, match="takes x, k"):
        wave(x)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jax.grad(lambda k: wave(x, k).sum())(1.0)  # numbers are constants
