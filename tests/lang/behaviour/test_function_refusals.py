"""What `ti.ad.grad`, `vjp`, `jvp` and `hvp` refuse, and which derivatives end."""

import warnings

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.ir.errors import CompilationError, TypeMismatch, WeftError
from weft.lang.errors import ArgumentError, GradientWarning


def test_a_result_that_python_uses(ti):
    x, y = ti.field(ti.f64, ()), ti.field(ti.f64, ())
    x[None] = 2.0

    @ti.kernel
    def square() -> ti.f64:
        return x[None] ** 2

    @ti.kernel
    def store(a: ti.f64):
        y[None] = x[None] * a

    def program():
        store(square())

    with pytest.warns(GradientWarning, match="lost in Python"):
        close(ti.ad.grad(program, x, y)(), 4.0)

    def doubled():
        return 2 * square()

    with pytest.raises(TypeMismatch, match="which Python has computed"):
        ti.ad.grad(doubled, x)()
    with pytest.raises(TypeMismatch, match="which Python has computed"):
        ti.ad.jvp(doubled, x)(1.0)


def test_arrays_of_numpy_are_constants(ti):
    x, loss, a = ti.field(ti.f64, 2), ti.field(ti.f64, ()), np.zeros(2)

    @ti.kernel
    def show(a: ti.types.ndarray()):
        for i in x:
            a[i] = x[i]

    @ti.kernel
    def add(a: ti.types.ndarray()):
        for i in x:
            loss[None] += a[i] * x[i]

    def through():
        show(a)
        add(a)

    x.fill(2.0)
    for run in (lambda: ti.ad.grad(through, x, loss)(), lambda: ti.ad.jvp(through, x, loss)([1.0, 1.0])):
        with pytest.raises(WeftError, match="lost, because kernel 'add' reads 'a'"):
            run()
    a[:] = 5.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close(ti.ad.grad(add, x, loss)(a), [5.0, 5.0])
    with pytest.raises(TypeMismatch, match="'a' of 'add' is ndarray"):
        ti.ad.grad(add, "a", loss)(a)


def test_no_grad_ends_derivatives_in_both_modes(ti):
    x, y, loss = ti.field(ti.f64, 2), ti.field(ti.f64, 2), ti.field(ti.f64, ())

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    @ti.kernel
    def add():
        for i in x:
            loss[None] += y[i] * x[i]

    def program():
        ti.ad.no_grad(square)()
        add()

    x.fill(3.0)
    close(ti.ad.grad(program, x, loss)(), [9.0, 9.0])
    close(ti.ad.jvp(program, x, loss)([1.0, 2.0])[1], 27.0)
    close(ti.ad.hvp(program, x, loss)([1.0, 2.0]), [0.0, 0.0])
    close(ti.ad.jacobian(program, x, loss)(), [9.0, 9.0])


def test_gradients_in_a_function_are_refused(ti):
    needed = {"needs_grad": True, "needs_dual": True}
    x, loss = ti.field(ti.f64, 2, **needed), ti.field(ti.f64, (), **needed)
    total = ti.field(ti.f64, ())
    x.fill(1.0)

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += x[i] ** 3

    @ti.kernel
    def size_of_gradient():
        for i in x:
            total[None] += x.grad[i] ** 2

    def by_tape():
        with ti.ad.Tape(loss):
            energy()
        size_of_gradient()

    def by_forward_mode():
        with ti.ad.FwdMode(loss, x, [1.0, 0.0]):
            energy()

    for program, block in ((by_tape, "Tape"), (by_forward_mode, "FwdMode")):
        for transform in (ti.ad.grad, ti.ad.jacobian):
            with pytest.raises(WeftError, match=f"a {block} cannot be used in a function that ti.ad.grad"):
                transform(program, x, total)()
        with pytest.raises(WeftError, match=f"a {block} cannot be used"):
            ti.ad.jvp(program, x, total)([1.0, 0.0])
    close(ti.ad.hvp(energy, x, loss)(ti.ad.grad(energy, x, loss)()), [18.0, 18.0])  # of the square of the gradient


def test_refusals(ti):
    x, n, loss = ti.field(ti.f64, 2), ti.field(ti.i32, 2), ti.field(ti.f64, ())
    own = ti.field(ti.f64, 2, needs_grad=True)

    @ti.kernel
    def energy(k: ti.f64, count: ti.i32):
        for i in x:
            loss[None] += k * x[i] + count

    @ti.kernel
    def uses_grad():
        for i in own:
            loss[None] += own[i] * own.grad[i]

    def program(k):
        energy(k, 1)

    grad, refused = ti.ad.grad, pytest.raises
    with refused(ArgumentError, match="has no parameter 'q'; its parameters are k, count"):
        grad(energy, "q", loss)(1.0, 1)
    with refused(ArgumentError, match="no position 2"):
        grad(energy, 2, loss)(1.0, 1)
    with refused(TypeMismatch, match="'count' of 'energy' is int 1"):
        grad(energy, "count", loss)(1.0, 1)
    with refused(TypeMismatch, match="derivatives by numbers exist only for kernels"):
        grad(program, "k", loss)(1.0)
    with refused(TypeMismatch, match="wrt must have floats"):
        grad(energy, n, loss)
    with refused(TypeMismatch, match="wrt must be a field, an ndarray or the name of a parameter"):
        grad(energy, None, loss)
    with refused(TypeMismatch, match="which is the gradient of a field itself"):
        grad(energy, ti.field(ti.f64, 2, needs_grad=True).grad, loss)(1.0, 1)
    with refused(ArgumentError, match="wrt is empty"):
        grad(energy, [], loss)
    with refused(ArgumentError, match="a kernel, or a function that launches kernels"):
        grad(3, x, loss)
    with refused(ArgumentError, match="must be one number, but it has 2"):
        grad(energy, "k", x)
    with refused(ArgumentError, match="wrt is the loss"):
        grad(energy, loss, loss)(1.0, 1)
    with refused(TypeMismatch, match="returns None, which is no loss"):
        grad(energy, x)(1.0, 1)
    with refused(TypeMismatch, match="'energy' returns nothing: name its output"):
        ti.ad.vjp(energy, x)(1.0, 1)
    with refused(ArgumentError, match=r"the direction has shape \(3,\), but .* has \(2,\)"):
        ti.ad.jvp(energy, x, loss)([1.0, 2.0, 3.0], 1.0, 1)
    with refused(ArgumentError, match="the direction must be a list of 2 arrays"):
        ti.ad.hvp(energy, [x, "k"], loss)([1.0], 1.0, 1)
    with refused(ArgumentError, match="takes k, count"):
        grad(energy, x, loss)(1.0)
    with refused(CompilationError, match="the gradient of 'own', itself") as caught:
        grad(uses_grad, own, loss)()
    assert caught.value.span.file == __file__
    with refused(WeftError, match="is called in a block of ti.ad"), ti.ad.FwdMode([], x.dual or _with_dual(ti), 1.0):
        grad(energy, x, loss)(1.0, 1)
    with refused(WeftError, match="energy.grad.. is launched in a function that is differentiated"):
        ti.ad.hvp(lambda: energy.grad(1.0, 1), x, loss)(np.ones(2))
    x.fill(1.0)
    close(grad(energy, x, loss)(4.0, 1), [4.0, 4.0])  # errors leave nothing behind


def _with_dual(ti):
    return ti.field(ti.f64, (), needs_dual=True)
