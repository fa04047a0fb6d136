"""The memory that `ti.ad.grad`, `jvp` and the others make for derivatives: of fields in any layout, of components, and
from call to call."""

import gc
import weakref

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close


def agree(ti, function, variable, loss, args=()):
    """A gradient, and its products in forward mode. The function overwrites nothing but the loss."""
    gradient = ti.ad.grad(function, variable, loss)(*args)
    random = np.random.default_rng(0)
    for _ in range(2):
        direction = random.uniform(-1.0, 1.0, gradient.shape)
        loss.fill(0.0)
        close(ti.ad.jvp(function, variable, loss)(direction, *args)[1], (gradient * direction).sum())
    return gradient


def test_layouts(ti):
    x, y = ti.field(ti.f64), ti.Vector.field(2, ti.f64)
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (2, 1)).place(x, y, offset=(-1, 2))
    loss, turned = ti.field(ti.f64, ()), ti.field(ti.f64, (4, 3), order="ji")
    apart = ti.Vector.field(2, ti.f64, (4, 3), layout=ti.Layout.SOA, needs_grad=True)
    random = np.random.default_rng(1)
    values = {one: random.uniform(0.5, 1.5, one.to_numpy().shape) for one in (x, y, turned, apart)}
    for one, numbers in values.items():
        one.from_numpy(numbers)

    @ti.kernel
    def energy():
        for i, j in x:
            p, q = i + 1, j - 2
            loss[None] += x[i, j] ** 2 * y[i, j].dot(apart[p, q]) * turned[p, q]

    a, b, t, c = values.values()
    close(agree(ti, energy, x, loss), 2 * a * (b * c).sum(-1) * t)
    close(agree(ti, energy, y, loss), (a**2 * t)[..., None] * c)
    close(agree(ti, energy, turned, loss), a**2 * (b * c).sum(-1))
    close(agree(ti, energy, apart, loss), (a**2 * t)[..., None] * b)


def test_components_of_vectors(ti):
    v, loss = ti.Vector.field(2, ti.f64, 3), ti.field(ti.f64, ())
    second = v.get_scalar_field(1)
    at = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    v.from_numpy(at)

    @ti.kernel
    def energy():
        for i in v:
            loss[None] += v[i].x ** 2 * second[i] ** 3

    @ti.kernel
    def of_one():
        for i in second:
            loss[None] += second[i] ** 2

    x, y = at.T
    for _ in range(2):  # the derivatives of all components begin at 0, whichever is used first
        close(agree(ti, energy, v, loss), np.stack([2 * x * y**3, 3 * x**2 * y**2], 1))
        close(agree(ti, energy, second, loss), 3 * x**2 * y**2)
        close(agree(ti, of_one, v, loss), np.stack([0 * y, 2 * y], 1))
        close(agree(ti, of_one, v.get_scalar_field(0), loss), [0.0] * 3)
        close(ti.ad.hvp(of_one, v, loss)(at), np.stack([0 * y, 2 * y], 1))


def test_one_variable_twice_and_one_array_twice(ti):
    a, loss = ti.ndarray(ti.f64, 3), ti.field(ti.f64, ())
    a.from_numpy(np.array([1.0, 2.0, 3.0]))

    @ti.kernel
    def product(p: ti.types.ndarray(), q: ti.types.ndarray()):
        for i in range(3):
            loss[None] += p[i] * q[i] ** 2

    one, other = ti.ad.grad(product, [a, "q"], loss)(a, a)
    close(one, [3.0, 12.0, 27.0])
    close(other, one)
    close(agree(ti, product, "p", loss, (a, a)), one)


def test_functions_of_matrices_and_single_precision(ti):
    m, loss = ti.Matrix.field(2, 2, ti.f32, ()), ti.field(ti.f32, ())
    m[None] = [[1.0, 2.0], [3.0, 5.0]]

    @ti.kernel
    def size() -> ti.f32:
        return m[None].determinant() ** 2

    gradient = ti.ad.grad(size, m)()
    assert gradient.dtype == np.float32
    close(gradient, 2 * -1.0 * np.array([[5.0, -3.0], [-2.0, 1.0]]), rtol=1e-5)
    del loss


def test_memory_goes_with_its_field(ti):
    def made():
        x, loss = ti.field(ti.f64, 2), ti.field(ti.f64, ())

        @ti.kernel
        def energy():
            for i in x:
                loss[None] += x[i] ** 2

        x.fill(3.0)
        close(ti.ad.hvp(energy, x, loss)([1.0, 2.0]), [2.0, 4.0])
        return weakref.ref(x), weakref.ref(x._slots[0].made["grad"])

    kept = made()
    gc.collect()
    assert [one() for one in kept] == [None, None]


def test_an_error_in_the_function_leaves_nothing(ti):
    x, loss = ti.field(ti.f64, 2), ti.field(ti.f64, ())
    x.fill(2.0)
    fail = True

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += x[i] ** 3

    def program():
        energy()
        if fail:
            raise KeyError("stop")

    for transform in (ti.ad.grad, ti.ad.vjp, ti.ad.jacobian):
        with pytest.raises(KeyError):
            transform(program, x, loss)()
    with pytest.raises(KeyError):
        ti.ad.hvp(program, x, loss)([1.0, 1.0])
    fail = False
    close(agree(ti, program, x, loss), [12.0, 12.0])
    close(ti.ad.hvp(program, x, loss)([1.0, 1.0]), [12.0, 12.0])


def test_a_second_product_is_the_first(ti):
    """The duals of what kernels overwrite are those of this call, not of the one before."""
    x, k, loss = ti.field(ti.f64, 3), ti.field(ti.f64, 3), ti.field(ti.f64, ())

    @ti.kernel
    def step():
        for i in x:
            x[i] += 0.1 * k[i] * ti.sin(x[i])

    @ti.kernel
    def add():
        for i in x:
            loss[None] += x[i] * x[i]

    def program():
        for _ in range(3):
            step()
        add()

    k.from_numpy(np.array([1.0, 2.0, 3.0]))
    product, found = ti.ad.hvp(program, k, loss), []
    for _ in range(3):
        x.from_numpy(np.array([0.5, 1.0, 1.5]))
        loss.fill(0.0)
        found.append(product([1.0, -1.0, 2.0]))
    close(found[1], found[0])
    close(found[2], found[0])
