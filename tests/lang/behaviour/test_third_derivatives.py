"""Third derivatives: forward mode of products with Hessians, by differences of these."""

import numpy as np
import pytest

from weft.ir.errors import WeftError

ALONG, BY = np.array([1.0, 2.0, -1.0]), np.array([0.5, -1.0, 2.0])
AT = np.array([0.3, 0.8, 1.1])


def compare(ti, f, x, loss, start, shape=(3,), accuracy=1e-7):
    """Three ways give the derivative of `hvp`, which differences give too."""
    along, by = ALONG.reshape(shape), BY.reshape(shape)

    def product(at):
        start(at)
        return ti.ad.hvp(f, x, loss)(along)

    wanted = (product(AT + 1e-5 * BY) - product(AT - 1e-5 * BY)) / 2e-5
    size = np.abs(wanted).max()
    assert size > 1e-3
    hessian, gradient = ti.ad.hvp(f, x, loss), ti.ad.grad(f, x, loss)
    start(AT)
    value, found = ti.ad.jvp(lambda: hessian(along), x)(by)
    np.testing.assert_allclose(value, product(AT), rtol=1e-12)
    np.testing.assert_allclose(found, wanted, atol=accuracy * size)
    start(AT)
    again = ti.ad.jvp(lambda: ti.ad.jvp(gradient, x)(along)[1], x)(by)[1]
    np.testing.assert_allclose(again, found, rtol=1e-10, atol=1e-12 * size)


@pytest.fixture
def fields(ti):
    return ti.field(ti.f64, 3), ti.field(ti.f64, ())


def test_a_loss(ti, fields):
    x, loss = fields

    @ti.kernel
    def f():
        for i in x:
            loss[None] += ti.sin(x[i]) * x[(i + 1) % 3] ** 3

    compare(ti, f, x, loss, x.from_numpy)
    x.from_numpy(AT)
    matrix = ti.ad.jacobian(lambda: ti.ad.hvp(f, x, loss)(ALONG), x)()
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12)
    x.from_numpy(AT)
    np.testing.assert_allclose(matrix @ BY, ti.ad.jvp(lambda: ti.ad.hvp(f, x, loss)(ALONG), x)(BY)[1], rtol=1e-12)


def test_a_state_that_is_overwritten(ti, fields):
    """Values, their duals, and the duals of these are put back for the gradients."""
    x, loss = fields
    v = ti.field(ti.f64, 3)

    @ti.kernel
    def step(dt: ti.f64):
        for i in x:
            v[i] -= dt * ti.sin(x[i]) * x[(i + 1) % 3]
        for i in x:
            x[i] = x[i] * x[i] * 0.5 + v[i]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 2 * (i + 1)

    def f():
        for k in range(3):
            step(0.25)
            if k == 0:
                v.fill(0.25)
        total()

    def start(at):
        x.from_numpy(at)
        v.fill(0.125)

    compare(ti, f, x, loss, start)


def test_what_kernels_consist_of(ti, fields):
    """Loops of unknown length, branches, atomic sums and maxima, matrices, and functions that call themselves."""
    x, loss = fields
    top = ti.field(ti.f64, ())

    @ti.real_func
    def power(v: ti.f64, n: ti.i32) -> ti.f64:
        result = ti.f64(1)
        if n > 0:
            result = ti.sin(v) * power(v, n - 1)
        return result

    @ti.kernel
    def f():
        for i in x:
            ti.atomic_max(top[None], x[i])
        for i in x:
            y, n = x[i], 0
            while y < 2.0:
                y += y * y * 0.5
                n += 1
                if n > 5:
                    break
            m = ti.Matrix([[y, x[0]], [x[1] * 0.5, 1.0]], ti.f64)
            m = m @ m
            loss[None] += m[0, 0] * power(x[i], 3) + m.determinant()
        loss[None] += top[None] ** 4

    def start(at):
        x.from_numpy(at)
        top.fill(0)

    compare(ti, f, x, loss, start, accuracy=1e-6)


def test_arrays_and_results(ti):
    a = ti.ndarray(ti.f64, 3)

    @ti.kernel
    def energy(values: ti.types.ndarray(ti.f64, 1), scale: ti.f64) -> ti.f64:
        total = ti.f64(0)
        for i in range(3):
            total += ti.exp(values[i] * scale) * values[(i + 1) % 3]
        return total

    compare(ti, lambda: energy(a, 0.5), a, None, a.from_numpy)


def test_vectors(ti):
    x, loss = ti.Vector.field(3, ti.f64, ()), ti.field(ti.f64, ())

    @ti.kernel
    def f():
        v = x[None]
        loss[None] += v.norm() * v.dot(v) * ti.sin(v.y)

    compare(ti, f, x, loss, x.from_numpy)


def test_what_is_refused(ti, fields):
    x, loss = fields

    @ti.kernel
    def f():
        for i in x:
            loss[None] += x[i] ** 4

    hessian = ti.ad.hvp(f, x, loss)

    def along(g):
        return lambda: ti.ad.jvp(g, x)(BY)[1]

    for program in (
        lambda: ti.ad.grad(ti.ad.grad(ti.ad.grad(f, x, loss), x), x)(),
        lambda: along(along(lambda: ti.ad.jvp(f, x, loss)(BY)[1]))(),
        lambda: along(along(lambda: hessian(BY)))(),
    ):
        with pytest.raises(WeftError, match=r"nest two deep, and three only as ti\.ad\.jvp of ti\.ad\.hvp"):
            program()
    with pytest.raises(WeftError, match=r"ti\.ad\.hvp is called in a block of ti\.ad"):
        ti.ad.vjp(lambda: hessian(BY), x)()
    x.from_numpy(AT)
    np.testing.assert_allclose(hessian(BY), 12 * AT**2 * BY)
