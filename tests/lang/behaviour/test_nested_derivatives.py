"""Derivatives of functions that compute derivatives themselves."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.ir.errors import WeftError

AT = np.array([0.7, -1.2, 1.5])


def energy(ti):
    """A field, a kernel and its result: sum of w x_i^3 x_0."""
    x, total = ti.field(ti.f64, 3), ti.field(ti.f64, ())
    x.from_numpy(AT)

    @ti.kernel
    def f(w: ti.f64):
        for i in x:
            total[None] += w * x[i] ** 3 * x[0]

    return x, total, f


HESSIAN = 2.0 * np.array([
    [12 * AT[0] ** 2, 3 * AT[1] ** 2, 3 * AT[2] ** 2],
    [3 * AT[1] ** 2, 6 * AT[1] * AT[0], 0],
    [3 * AT[2] ** 2, 0, 6 * AT[2] * AT[0]],
])  # fmt: skip


def test_the_hessian_as_derivative_of_a_gradient(ti):
    x, total, f = energy(ti)
    gradient, direction = ti.ad.grad(f, x, total), np.array([1.0, -2.0, 0.5])
    value, pull = ti.ad.vjp(gradient, x)(2.0)
    close(value, gradient(2.0))
    close(pull(direction), HESSIAN @ direction)
    close(ti.ad.jvp(gradient, x)(direction, 2.0)[1], HESSIAN @ direction)
    close(ti.ad.jacobian(gradient, x)(2.0), HESSIAN)
    close(ti.ad.vjp(gradient, ["w"])(2.0)[1](direction)[0], gradient(1.0) @ direction)


def test_gradients_of_gradients_and_duals_by_numbers(ti):
    @ti.kernel
    def f(x: ti.f64, y: ti.f64) -> ti.f64:
        return x * x * x * y + ti.sin(x)

    at = (0.7, -1.2)
    second = 6 * at[0] * at[1] - np.sin(at[0])
    close(ti.ad.grad(ti.ad.grad(f, "x"), ["x", "y"])(*at), (second, 3 * at[0] ** 2))
    close(ti.ad.grad(ti.ad.grad(f, "x"), "y")(*at), 3 * at[0] ** 2)
    close(ti.ad.jvp(ti.ad.grad(f, "y"), "x")(2.0, *at)[1], 6 * at[0] ** 2)
    value, along = ti.ad.jvp(ti.ad.jvp(f, "x"), ["x", "y"])([1.0, 2.0], 1.0, *at)
    close(value[1], 3 * at[0] ** 2 * at[1] + np.cos(at[0]))
    close(along[1], second + 6 * at[0] ** 2)
    with pytest.raises(WeftError, match="nest two deep"):
        ti.ad.grad(ti.ad.grad(ti.ad.grad(f, "x"), "x"), "x")(*at)


def particle(ti, inner):
    """A particle is pushed by the gradient of a potential of two charges, of which one is at w. The kernels of a step,
    and the square of the place where it crosses the axis."""
    w, loss = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    where, speed = (ti.field(ti.f64, 2, needs_grad=True, needs_dual=True) for _ in range(2))
    push, potential = ti.field(ti.f64, 2, needs_grad=True), ti.field(ti.f64, (), needs_grad=True, needs_dual=True)
    dt = 0.5

    @ti.func
    def distance(y: ti.f64):
        return ti.sqrt((where[0] - 10.0) ** 2 + (where[1] - y) ** 2)

    @ti.kernel
    def p():
        potential[None] = 1.0 / distance(10.0 - w[None]) + 1.0 / distance(0.0)

    @ti.kernel
    def start():
        where[0], where[1], speed[0], speed[1] = 0.0, 8.0, 0.75, 0.0

    @ti.kernel
    def take(reverse: ti.template(), axis: ti.i32):
        if ti.static(reverse):
            for i in range(2):
                push[i] = where.grad[i]
        else:
            push[axis] = potential.dual[None]

    @ti.kernel
    def move() -> ti.f64:
        for i in range(2):
            where[i] += dt * speed[i]
        for i in range(2):
            speed[i] -= dt * push[i]
        return ti.stop_grad(where[1])

    @ti.kernel
    def cross():
        back = where[1] / speed[1]
        loss[None] = (where[0] - back * speed[0]) ** 2

    def slope():
        if inner == "r":
            ti.ad.grad(p, where, potential)()
            take(True, 0)
            return
        for axis in range(2):
            ti.ad.jvp(p, where, potential)(np.eye(2)[axis])
            take(False, axis)

    def fly():
        start()
        for _ in range(200):
            slope()
            if move() <= 0.0:
                break
        cross()
        return loss

    return w, fly


@pytest.mark.parametrize("outer", "fr")
@pytest.mark.parametrize("inner", "fr")
def test_a_particle_pushed_by_a_gradient(ti, outer, inner):
    w, fly = particle(ti, inner)

    def at(number):
        w[None] = number
        return fly()[None]

    wanted = (at(0.1 + 1e-6) - at(0.1 - 1e-6)) / 2e-6
    w[None] = 0.1
    ad = ti.ad
    found = ad.grad(fly, w)() if outer == "r" else ad.jvp(fly, w)(1.0)[1]
    close(found, wanted, rtol=1e-6)
    assert abs(wanted) > 0.01


@pytest.mark.parametrize("outer", "fr")
@pytest.mark.parametrize("inner", "fr")
def test_a_saddle_point_by_descent_in_descent(ti, outer, inner):
    """The least over x of the largest over y of |x|^2 - |y|^2 + x y / 2, each by steps along a derivative."""
    x, y, f = (ti.field(ti.f64, shape, needs_grad=True, needs_dual=True) for shape in (2, 2, ()))
    slope = ti.field(ti.f64, 2)

    @ti.kernel
    def value():
        f[None] = 0.0
        for i in range(2):
            f[None] += x[i] ** 2 - y[i] ** 2 + 0.5 * x[i] * y[i]

    @ti.kernel
    def begin():
        for i in y:
            y[i] = 1.0

    @ti.kernel
    def take(axis: ti.i32):
        slope[axis] = f.dual[None]

    @ti.kernel
    def climb_along_gradient():
        for i in y:
            y[i] += 0.3 * y.grad[i]

    @ti.kernel
    def climb_along_slope():
        for i in y:
            y[i] += 0.3 * slope[i]

    def largest():
        begin()
        for _ in range(12):
            if inner == "r":
                ti.ad.grad(value, y, f)()
                climb_along_gradient()
            else:
                for axis in range(2):
                    ti.ad.jvp(value, y, f)(np.eye(2)[axis])
                    take(axis)
                climb_along_slope()
        value()
        return f

    at = np.array([1.0, -0.5])
    for _ in range(3):
        x.from_numpy(at)
        if outer == "r":
            found = ti.ad.grad(largest, x)()
        else:
            found = np.array([ti.ad.jvp(largest, x)(np.eye(2)[axis])[1] for axis in range(2)])
        close(found, 2 * at + at / 8, rtol=1e-3)
        at = at - 0.4 * found
    close(y.to_numpy(), x.to_numpy() / 4, rtol=1e-2)


@pytest.mark.parametrize("outer", "fr")
def test_a_gradient_that_the_program_launches_is_differentiated(ti, outer):
    x, total = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    kept = ti.field(ti.f64, 3)  # has no gradient: a constant to the gradient that the program launches
    size = ti.field(ti.f64, ())

    @ti.kernel
    def keep():
        for i in x:
            kept[i] = x[i]

    @ti.kernel
    def f(w: ti.f64):
        for i in x:
            total[None] += w * x[i] ** 3 * kept[i]

    @ti.kernel
    def add_up():
        for i in x:
            size[None] += x.grad[i] ** 2

    def program():
        keep()
        f(2.0)
        x.grad.fill(0)
        total.grad[None] = 1.0
        f.grad(2.0)
        add_up()

    x.from_numpy(AT)  # x.grad is 6 x^2 kept, where kept is x
    if outer == "r":
        found = ti.ad.grad(program, x, size)()
    else:
        found = [ti.ad.jvp(program, x, size)(row)[1] for row in np.eye(3)]
    close(found, 2 * 6 * AT**3 * 18 * AT**2)


def test_forward_mode_of_a_gradient_whose_kernels_overwrite(ti):
    """The inner gradient keeps old values with their duals, and memory has the last ones afterwards."""
    x, v = (ti.field(ti.f64, 3, needs_grad=True, name=name) for name in "xv")
    total, out = ti.field(ti.f64, ()), ti.field(ti.f64, ())

    @ti.kernel
    def step(dt: ti.f64):
        for i in x:
            v[i] -= dt * ti.sin(x[i]) * x[(i + 1) % 3]
        for i in x:
            x[i] = x[i] * x[i] * 0.5 + v[i]

    @ti.kernel
    def add_up():
        for i in x:
            total[None] += x[i] ** 2 * (i + 1)

    @ti.kernel
    def measure():
        for i in x:
            out[None] += x[i] * v.grad[i] + x.grad[i] ** 2

    def program():
        for k in range(3):
            step(0.25)
            if k == 1:
                v[0] = 0.5
                x.fill(0.75)
                step(0.125)
        add_up()

    def start(numbers):
        x.from_numpy(numbers[:3])
        v.from_numpy(numbers[3:])
        total.fill(0)
        out.fill(0)

    def measured():
        ti.ad.grad(program, [x, v], total)()
        measure()

    at = np.array([0.3, 0.8, 1.1, 0.1, -0.2, 0.3])

    def values(numbers):
        start(numbers)
        gradients = np.concatenate(ti.ad.grad(program, [x, v], total)())
        measure()
        return np.append(gradients, out[None])

    wanted = np.array([(values(at + 1e-5 * d) - values(at - 1e-5 * d)) / 2e-5 for d in np.eye(6)]).T
    start(at)
    (by_x, by_v) = ti.ad.jacobian(ti.ad.grad(program, x, total), [x, v])()
    np.testing.assert_allclose(np.hstack([by_x, by_v]), wanted[:3], rtol=1e-7, atol=1e-8)
    start(at)
    value, along = ti.ad.jvp(measured, [x, v], out)([[1.0, 2.0, -1.0], [0.5, 0.0, 1.0]])
    np.testing.assert_allclose(value, values(at)[6])
    np.testing.assert_allclose(along, wanted[6] @ [1, 2, -1, 0.5, 0, 1], rtol=1e-7)


def test_what_nested_derivatives_refuse(ti):
    x, total = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    @ti.kernel
    def add_up():
        for i in x:
            total[None] += x[i]

    def program():
        square()
        add_up()

    x.from_numpy(AT)
    with pytest.raises(WeftError, match=r"overwrites a field.*write to other elements, as"):
        ti.ad.vjp(ti.ad.grad(program, x, total), x)()
    close(ti.ad.grad(program, x, total)(), 2 * AT)
    x.from_numpy(AT)
    hidden = ti.field(ti.f64, 3)
    with pytest.warns(ti.GradientWarning, match="the gradient by a field is lost in Python"):
        ti.ad.grad(lambda: by_python(ti, x, hidden, add_up, total), x, total)()
    with pytest.raises(WeftError, match="in a function whose gradient reverse mode differentiates: let a kernel copy"):
        ti.ad.vjp(ti.ad.grad(lambda: copied(x, hidden, add_up), x, total), x)()
    with pytest.raises(WeftError, match=r"is called in a block of ti\.ad: call it outside"), ti.ad.Tape(total):
        ti.ad.grad(add_up, x, total)()
    with pytest.raises(WeftError, match="a Tape cannot be used in a function"):
        ti.ad.grad(lambda: taped(ti, add_up, total), x, total)()
    with pytest.raises(WeftError, match=r"ti\.ad\.hvp is called in a block"):
        ti.ad.grad(lambda: ti.ad.hvp(add_up, x, total)(AT), x, total)()


def copied(x, hidden, kernel):
    hidden.copy_from(x)
    kernel()


def taped(ti, kernel, loss):
    with ti.ad.Tape(loss):
        kernel()


def by_python(ti, x, hidden, kernel, loss):
    @ti.kernel
    def copy():
        for i in x:
            hidden[i] = x[i] ** 2

    @ti.kernel
    def add():
        for i in hidden:
            loss[None] += hidden[i] ** 2

    copy()
    ti.ad.grad(add, hidden, loss)()
    kernel()
