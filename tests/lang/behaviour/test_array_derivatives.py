"""Slices, operators and reductions of fields and ndarrays in the blocks of `ti.ad`: they are recorded, or refused."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.ir.errors import WeftError
from weft.lang.autodiff.sparsity import Tracing

A, B = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, -6.0, 7.0, 8.0])


@pytest.fixture
def parts(ti):
    """For fields and for ndarrays: x and y with a gradient and a dual; the loss, and a kernel that adds a squared array
    to it."""
    loss = ti.field(ti.f64, (), needs_grad=True, needs_dual=True)

    @ti.kernel
    def add(a: ti.Array):
        for I in ti.grouped(a):
            loss[None] += a[I] * a[I]

    def made():
        for make in (ti.field, ti.ndarray):
            x, y = (make(ti.f64, 4, needs_grad=True, needs_dual=True) for _ in range(2))
            x.from_numpy(A)
            y.from_numpy(B)
            for one in (x, y):
                one.grad.fill(0)
                one.dual.fill(0)
            yield x, y

    return made, loss, add


def test_kernels_take_views(ti, parts):
    made, loss, add = parts
    for x, _ in made():
        with ti.ad.Tape(loss):
            add(x[1:])
            add(x[::-2])
            x[:2] = 9.0
            add(x[...])
        close(loss[None], 4 + 9 + 16 + 16 + 4 + 81 + 81 + 9 + 16)
        close(x.grad.to_numpy(), [0, 2 * 2 * 2, 2 * 2 * 3, 3 * 2 * 4])
        assert x[1:].grad.to_numpy().tolist() == x.grad.to_numpy()[1:].tolist()


def test_operators(ti, parts):
    made, loss, add = parts
    for x, y in made():
        with ti.ad.Tape(loss, grad_check=[x, y]):
            z = 2 * x * y - x[::-1]
            add(z)
        z = 2 * A * B - A[::-1]
        close(x.grad.to_numpy(), 2 * z * 2 * B - 2 * z[::-1])
        close(y.grad.to_numpy(), 2 * z * 2 * A)


def test_assignments(ti, parts):
    made, loss, add = parts
    for x, y in made():
        with ti.ad.Tape(loss, grad_check=[x, y]):
            add(x[:])
            x[1:-1] = 0.5 * (x[2:] + x[:-2])  # overlaps its source
            x[1:] += y[:-1]
            x[0:1] = y[3:]
            y *= 3
            add(x[:])
        k, c = 2 * A, np.array([8.0, 2 + 5, 3 - 6, 4 + 7])
        into = np.array([0.5 * 2 * c[1], 0, 0.5 * 2 * c[1], 0.0])
        into += [0, 0.5 * 2 * c[2], 0, 0.5 * 2 * c[2] + 2 * c[3]]
        close(x.grad.to_numpy(), k + into)
        close(y.grad.to_numpy(), [2 * c[1], 2 * c[2], 2 * c[3], 2 * c[0]])


def test_copies_of_other_shapes(ti, parts):
    made, loss, add = parts
    for x, y in made():
        table = ti.ndarray(ti.f64, (3, 4), needs_grad=True)
        with ti.ad.Tape(loss):
            table[:] = x
            table[:, 1] = y[:3]
            add(table)
        close(x.grad.to_numpy(), [6 * 1, 0, 6 * 3, 6 * 4])
        close(y.grad.to_numpy(), [*(2 * B[:3]), 0])


def test_vectors(ti, parts):
    _, loss, add = parts
    v, s = ti.Vector.field(2, ti.f64, 3, needs_grad=True), ti.field(ti.f64, 3, needs_grad=True)
    a, b = np.arange(6.0).reshape(3, 2), np.array([2.0, 3.0, 4.0])
    v.from_numpy(a)
    s.from_numpy(b)

    @ti.kernel
    def norms(w: ti.Array):
        for i in w:
            loss[None] += ti.cast(w[i].dot(w[i]), ti.f64)

    with ti.ad.Tape(loss):
        norms(v[1:] * s[:2])
    close(v.grad.to_numpy()[1:], 2 * a[1:] * b[:2, None] ** 2)
    close(s.grad.to_numpy()[:2], 2 * (a[1:] ** 2).sum(axis=1) * b[:2])


def test_functions_of_arrays(ti, parts):
    """`ti.elementwise` on fields is recorded, too."""
    made, loss, add = parts
    square = ti.elementwise(lambda a: a * a)
    for x, _ in made():
        with ti.ad.Tape(loss):
            add(square(x))
        close(x.grad.to_numpy(), 4 * A**3)


def test_forward_mode(ti, parts):
    made, loss, add = parts
    seed = np.array([1.0, 0.0, -2.0, 0.5])
    for x, y in made():
        loss.fill(0)
        with ti.ad.FwdMode(loss, x, seed=seed):
            z = x[::-1] * y
            z[1:] = z[:-1]
            add(z)
        z, dz = A[::-1] * B, seed[::-1] * B
        z[1:], dz[1:] = z[:-1].copy(), dz[:-1].copy()
        close(loss.dual[None], 2 * (z * dz).sum())


def test_transforms(ti, parts):
    made, loss, add = parts
    for x, y in made():

        def energy(x=x, y=y):
            loss.fill(0)
            z = x[1:] * y[:-1]
            add(z + x[:3])
            return loss

        z = A[1:] * B[:-1] + A[:3]
        wanted = np.zeros(4)
        wanted[1:] += 2 * z * B[:-1]
        wanted[:3] += 2 * z
        close(ti.ad.grad(energy, x)(), wanted)
        direction = np.array([0.5, 1.0, -1.0, 2.0])
        slopes = ti.ad.hvp(energy, x)(direction)
        dz = direction[1:] * B[:-1] + direction[:3]
        hessian = np.zeros(4)
        hessian[1:] += 2 * dz * B[:-1]
        hessian[:3] += 2 * dz
        close(slopes, hessian)


def test_sparse_jacobians_know_of_views(ti, parts):
    """A view has other indices than its field, so the Jacobian must not take them for the same."""
    x, y = (ti.field(ti.f64, 8, needs_dual=True) for _ in range(2))
    x.from_numpy(np.arange(1.0, 9.0))

    @ti.kernel
    def square(a: ti.Array, b: ti.Array):
        for i in a:
            b[i] = a[i] * a[i]

    def shifted():
        y.fill(0)
        square(x[3:], y[:5])
        return y

    wanted = np.zeros((8, 8))
    wanted[np.arange(5), np.arange(3, 8)] = 2 * np.arange(4.0, 9.0)
    close(ti.ad.jacobian(shifted, x)(), wanted)
    tracing = Tracing([x])
    with tracing:
        shifted()
    assert tracing.bands(0, y) == (None,)  # all indices


def test_reductions_are_refused(ti, parts):
    made, loss, add = parts
    for x, y in made():
        constant = ti.field(ti.f64, 4)
        with ti.ad.Tape(loss):
            assert constant.sum() == 0
            add(x)
            for refused in (x.sum, x[1:].max, x.argmin, (x + y).mean, lambda x=x: x.std(axis=0)):
                with pytest.raises(WeftError, match=r"derivatives are lost.*no_grad"):
                    refused()
            assert ti.ad.no_grad(lambda x=x: x.sum())() == A.sum()
        close(x.grad.to_numpy(), 2 * A)
        with ti.ad.FwdMode(loss, x, seed=A), pytest.raises(WeftError, match="derivatives are lost"):
            x.max()

        def reduced(x=x):
            loss.fill(x.max())
            return loss

        with pytest.raises(WeftError, match="derivatives are lost"):
            ti.ad.grad(reduced, x)()


def test_one_memory_is_known_by_its_views(ti, parts):
    """What a kernel overwrites by a view is kept for the gradient of a kernel that knows the field."""
    _, loss, _ = parts
    x, y = (ti.field(ti.f64, 4, needs_grad=True) for _ in range(2))
    x.from_numpy(A)
    y.from_numpy(B)

    @ti.kernel
    def product():
        for i in x:
            loss[None] += x[i] * y[i]

    @ti.kernel
    def clear(a: ti.Array):
        for i in a:
            a[i] = 0.0

    with ti.ad.Tape(loss):
        product()
        clear(y[1:3])
        product()
    close(x.grad.to_numpy(), [2 * 5, -6, 7, 2 * 8])
    close(y.grad.to_numpy(), [2, 2, 3, 8])

    @ti.kernel
    def clear_one(a: ti.Array, i: ti.i32):
        a[i] = 0.0

    y.from_numpy(B)
    with ti.ad.Tape(loss):
        product()
        clear_one(y[2:], 1)  # the index of the field is another one
        product()
    close(x.grad.to_numpy(), [2 * 5, 2 * -6, 2 * 7, 8])
    with ti.ad.Tape(loss, save=False):
        product()
        with pytest.raises(WeftError, match="overwrites"):
            clear(y[1:3])
