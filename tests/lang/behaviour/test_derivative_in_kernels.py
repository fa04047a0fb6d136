"""`ti.ad.derivative(f, x)` in kernels, in functions, and in Python."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.ir.errors import CompilationError, TypeMismatch

# sin(x * x) * exp(-x) at 0.7 and its first three derivatives, as JAX computes them
NESTED = (0.23370589964957642, 0.3797090432436936, -0.574880488174033, -2.8136144099858083)


def test_derivatives_of_derivatives(ti):
    ti.init(arch=ti.cfg.arch, default_fp=ti.f64)
    found = ti.field(ti.f64, 4)

    @ti.func
    def f(x):
        return ti.sin(x * x) * ti.exp(-x)

    @ti.func
    def df(x):
        return ti.ad.derivative(f, x)

    @ti.func
    def ddf(x):
        return ti.ad.derivative(df, x)

    @ti.kernel
    def compute(x: ti.f64):
        found[0] = f(x)
        found[1] = df(x)
        found[2] = ddf(x)
        found[3] = ti.ad.derivative(ddf, x)

    compute(0.7)
    close(found.to_numpy(), NESTED)


def test_vectors_and_matrices(ti):
    points, gradients = ti.Vector.field(2, ti.f64, 3), ti.Vector.field(2, ti.f64, 3)
    jacobians, slopes, spins = (ti.Matrix.field(3, 2, ti.f64, 3), ti.Vector.field(3, ti.f64, 3), ti.field(ti.f64, 3))
    hessians = ti.Matrix.field(2, 2, ti.f64, 3)

    @ti.func
    def height(p, scale):
        return scale * ti.sin(p.x) * p.y**2

    @ti.func
    def gradient(p):
        return ti.ad.derivative(height, p, 2.0)

    @ti.func
    def surface(p):
        return ti.Vector([p.x * p.y, ti.cos(p.x), p.y**3])

    @ti.func
    def determinant(m):
        return m.determinant()

    @ti.func
    def circle(t):
        return ti.Vector([ti.cos(t), ti.sin(t), t * t])

    @ti.kernel
    def compute():
        for i in points:
            gradients[i] = gradient(points[i])
            jacobians[i] = ti.ad.derivative(surface, points[i])
            hessians[i] = ti.ad.derivative(gradient, points[i])
            slopes[i] = ti.ad.derivative(circle, points[i].x)
            m = ti.Matrix([[points[i].x, 2.0], [3.0, points[i].y]], ti.f64)
            spins[i] = ti.ad.derivative(determinant, m)[0, 1]

    at = np.array([[0.5, 1.0], [-1.0, 2.0], [2.0, -0.5]])
    points.from_numpy(at)
    compute()
    x, y = at.T
    zero = np.zeros(3)
    close(gradients.to_numpy(), np.stack([2 * np.cos(x) * y**2, 4 * np.sin(x) * y], 1))
    close(jacobians.to_numpy(), np.stack([y, x, -np.sin(x), zero, zero, 3 * y**2], 1).reshape(3, 3, 2))
    mixed = 4 * np.cos(x) * y
    close(hessians.to_numpy(), np.stack([-2 * np.sin(x) * y**2, mixed, mixed, 4 * np.sin(x)], 1).reshape(3, 2, 2))
    close(slopes.to_numpy(), np.stack([-np.sin(x), np.cos(x), 2 * x], 1))
    close(spins.to_numpy(), [-3.0] * 3)


def test_loops_branches_and_locals(ti):
    ti.init(arch=ti.cfg.arch, default_fp=ti.f64)
    found = ti.field(ti.f64, 5)

    @ti.func
    def power(x, n):
        r = ti.f64(1.0)
        for _ in range(n):
            if r > 1e6:
                break
            r *= x
        return r

    @ti.func
    def root(x):
        y = ti.f64(1.0)
        while ti.abs(y * y - x) > 1e-14:
            y = (y + x / y) / 2
        return y

    @ti.func
    def early(x):
        if x > 1:
            return 3 * x
        x = x * x
        x += x
        return x

    @ti.kernel
    def compute(n: ti.i32):
        for i in range(5):
            x = ti.f64(i) * 0.5 + 0.6
            found[i] = ti.ad.derivative(power, x, n) + ti.ad.derivative(root, x) + ti.ad.derivative(early, x)

    compute(3)
    x = np.arange(5) * 0.5 + 0.6
    close(found.to_numpy(), 3 * x**2 + 0.5 / np.sqrt(x) + np.where(x > 1, 3, 4 * x))


def test_perturbations_are_told_apart(ti):
    found = ti.field(ti.f64, 2)
    if ti.cfg.arch == ti.python:  # which does not know the sources of lambdas in kernels
        _refuse_lambda(ti)
        return

    @ti.kernel
    def compute(x: ti.f64):
        # d/dx (x * d/dy (x + y)) = 1, and not 2
        found[0] = ti.ad.derivative(lambda x: x * ti.ad.derivative(lambda y: x + y, ti.f64(1.0)), x)
        found[1] = ti.ad.derivative(lambda y: x * y, x) + x  # x itself is a constant in the function

    compute(5.0)
    close(found.to_numpy(), [1.0, 10.0])


def _refuse_lambda(ti):
    @ti.kernel
    def compute(x: ti.f64) -> ti.f64:
        return ti.ad.derivative(lambda y: y * y, x)

    with pytest.raises(CompilationError, match=r"with arch=python, .* make it a @ti.func"):
        compute(1.0)


def test_kernels_that_use_it_can_be_differentiated(ti):
    x, loss = ti.field(ti.f64, 3), ti.field(ti.f64, ())
    x.from_numpy(np.array([0.5, 1.0, -2.0]))

    @ti.func
    def potential(r):
        return r**4 + ti.sin(r)

    @ti.kernel
    def forces():
        for i in x:
            loss[None] += ti.ad.derivative(potential, x[i]) ** 2

    at = x.to_numpy()
    force, slope = 4 * at**3 + np.cos(at), 12 * at**2 - np.sin(at)
    value, gradient = ti.ad.value_and_grad(forces, x, loss)()
    close(value, (force**2).sum())
    close(gradient, 2 * force * slope)
    curve = 24 * at - np.cos(at)
    close(ti.ad.hvp(forces, x, loss)([1.0, 1.0, 1.0]), 2 * (slope**2 + force * curve))


def test_newton(ti):
    roots = ti.field(ti.f64, 3)

    @ti.func
    def f(x, a):
        return x**3 - a

    @ti.kernel
    def solve():
        for i in roots:
            x = ti.f64(2.0)
            for _ in range(40):
                x -= f(x, i + 1) / ti.ad.derivative(f, x, i + 1)
            roots[i] = x

    solve()
    close(roots.to_numpy(), np.cbrt([1.0, 2.0, 3.0]))


def test_vectors_that_are_changed_in_place(ti):
    found = ti.Matrix.field(2, 2, ti.f64, ())

    @ti.func
    def turned(p, n):
        q = p
        for k in range(n):
            q[k % 2] += q[(k + 1) % 2] * p.x
            p.y = q.x
        return q

    @ti.kernel
    def compute(n: ti.i32):
        found[None] = ti.ad.derivative(turned, ti.Vector([2.0, 3.0], ti.f64), n)

    def in_numpy(p):
        p, q = p.copy(), p.copy()
        for k in range(3):
            q[k % 2] += q[(k + 1) % 2] * p[0]
            p[1] = q[0]
        return q

    compute(3)
    steps = [in_numpy(np.array([2.0, 3.0]) + 1e-20j * one).imag / 1e-20 for one in np.eye(2)]
    close(found.to_numpy(), np.stack(steps, 1))


def test_what_the_function_reads_is_a_constant(ti):
    a, found = ti.field(ti.f64, 2), ti.field(ti.f64, 2)
    a.fill(3.0)

    @ti.func
    def scaled(x):
        return a[0] * x

    @ti.kernel
    def compute():
        for i in found:
            found[i] = ti.ad.derivative(scaled, a[i])

    compute()
    close(found.to_numpy(), [3.0, 3.0])


def test_in_python(ti):
    @ti.func
    def f(x, k):
        return k * x**3

    slope = ti.ad.derivative(f, 2.0, 0.5)
    close(slope, 6.0, rtol=1e-6)
    jacobian = ti.ad.derivative(lambda p: ti.Vector([p[0] * p[1], p[1]], ti.f64), ti.Vector([2.0, 3.0], ti.f64))
    close(jacobian.to_numpy(), [[3.0, 2.0], [0.0, 1.0]])
    with pytest.raises(TypeMismatch, match="the argument must be a float"):
        ti.ad.derivative(f, 2, 0.5)


def test_refusals(ti):
    x, n = ti.field(ti.f32, 2), ti.field(ti.i32, 2)

    @ti.func
    def stores(a):
        x[1] = a
        return x[1]

    @ti.func
    def rows(a):
        return ti.Matrix([[a.x, a.y], [1.0, 2.0]])

    @ti.kernel
    def stored():
        x[0] = ti.ad.derivative(stores, x[0])

    @ti.kernel
    def of_integers():
        x[0] = ti.ad.derivative(lambda k: k * 2.0, n[0])

    @ti.kernel
    def to_integers():
        x[0] = ti.ad.derivative(lambda k: int(k), x[0])

    @ti.kernel
    def of_rank_three():
        m = ti.ad.derivative(rows, ti.Vector([x[0], x[1]]))
        x[0] = m[0, 0]

    @ti.kernel
    def of_nothing():
        x[0] = ti.ad.derivative(stores)

    cases = {
        of_integers: "the argument must be a float, or a vector or matrix of floats, not",
        to_integers: "the result of the function must be a float",
        of_rank_three: "has 3 axes, but a matrix has two",
        of_nothing: "derivative takes a function and its argument",
    }
    for kernel, message in cases.items():
        with pytest.raises(TypeMismatch, match=message) as caught:
            kernel()
        assert "ti.ad.derivative" in caught.value.span.render()
    if ti.cfg.arch != ti.python:
        with pytest.raises(
            CompilationError, match=r"cannot differentiate a function with this store .* return the value"
        ):
            stored()
