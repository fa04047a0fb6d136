"""Linear systems under a tape: the gradients of solutions, against numpy and against differences."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.ir.errors import CompilationError, WeftError
from weft.lang.errors import ArgumentError, GradientWarning
from weft.lang.linear.implicit import NotConverged

N = 6
B = np.array([1.0, -2.0, 0.5, 3.0, 0.25, -1.0])
K = np.array([2.0, 3.0, 2.5, 4.0, 2.2, 3.5])
WEIGHTS = np.array([1.0, 0.5, -2.0, 1.5, 0.3, -0.7])


class Chain:
    """(K + shift) v with a coupling of neighbours: `below` and `above` the diagonal."""

    def __init__(self, ti, below=-0.5, above=-0.5):
        self.ti, self.below, self.above = ti, below, above
        self.k, self.b, self.x = (ti.field(ti.f64, N, needs_grad=True) for _ in range(3))
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        k, x, loss = self.k, self.x, self.loss
        weights = ti.field(ti.f64, N)
        weights.from_numpy(WEIGHTS)

        @ti.kernel
        def product(v: ti.template(), Av: ti.template(), shift: ti.f64):
            for i in v:
                total = (k[i] + shift) * v[i]
                if i > 0:
                    total += below * k[i] * v[i - 1]
                if i + 1 < N:
                    total += above * v[i + 1]
                Av[i] = total

        @ti.kernel
        def plain(v: ti.template(), Av: ti.template()):
            for i in v:
                Av[i] = k[i] * v[i] + (above * v[i + 1] if i + 1 < N else 0.0) + (below * v[i - 1] if i > 0 else 0.0)

        @ti.kernel
        def add():
            for i in x:
                loss[None] += weights[i] * x[i] * x[i]

        self.product, self.plain, self.add = product, plain, add
        k.from_numpy(K)
        self.b.from_numpy(B)
        x.fill(0.1)

    def matrix(self, k, shift):
        """What `product` multiplies by."""
        return np.diag(k + shift) + np.diag(self.below * k[1:], -1) + np.diag(np.full(N - 1, self.above), 1)

    def wanted(self, A, of_k):
        """The solution, and the gradients by b and k. `of_k`: the derivative of A x by each number of k."""
        x = np.linalg.solve(A, B)
        adjoint = np.linalg.solve(A.T, 2 * WEIGHTS * x)
        return x, adjoint, np.array([-adjoint @ of_k(i, x) for i in range(N)])

    def of_product(self, i, x):
        change = np.zeros(N)
        change[i] = x[i] + (self.below * x[i - 1] if i else 0.0)
        return change

    def check(self, wanted):
        x, b, k = wanted
        close(self.x.to_numpy(), x, 1e-8)
        close(self.b.grad.to_numpy(), b, 1e-8)
        close(self.k.grad.to_numpy(), k, 1e-8)


def test_a_symmetric_matrix(ti):
    chain = Chain(ti)

    def of_k(i, x):
        return np.eye(N)[i] * x

    A = np.diag(K) - 0.5 * (np.eye(N, k=1) + np.eye(N, k=-1))
    for solve in (
        lambda: ti.ad.solve(chain.plain, chain.b, chain.x, tol=1e-12),
        lambda: ti.ad.solve(ti.linalg.LinearOperator(chain.plain), chain.b, chain.x, tol=1e-12),
        lambda: ti.linalg.MatrixFreeCG(ti.linalg.LinearOperator(chain.plain), chain.b, chain.x, tol=1e-12),
    ):
        chain.x.fill(0.1)
        with ti.ad.Tape(chain.loss):
            solve()
            chain.add()
        chain.check(chain.wanted(A, of_k))
        close(chain.x.grad.to_numpy(), np.zeros(N))


def test_any_matrix(ti):
    chain = Chain(ti, below=0.25, above=-0.75)
    with ti.ad.Tape(chain.loss):
        ti.ad.solve(chain.product, chain.b, chain.x, args=(0.5,), method="bicgstab", tol=1e-13)
        chain.add()
    chain.check(chain.wanted(chain.matrix(K, 0.5), chain.of_product))

    operator = ti.linalg.LinearOperator(chain.plain)
    with ti.ad.Tape(chain.loss):
        ti.linalg.MatrixFreeBICGSTAB(operator, chain.b, chain.x, tol=1e-13)
        chain.add()
    A = np.diag(K) + 0.25 * np.eye(N, k=-1) - 0.75 * np.eye(N, k=1)
    chain.check(chain.wanted(A, lambda i, x: np.eye(N)[i] * x))


def test_gradients_that_are_there_grow(ti):
    """Products with the transposed matrix add to the gradients of parameters, and take that back."""
    chain = Chain(ti, below=0.25, above=-0.75)
    _, b, k = chain.wanted(chain.matrix(K, 0.5), chain.of_product)
    with ti.ad.Tape(chain.loss, clear_gradients=False):
        chain.k.grad.fill(5.0)
        chain.b.grad.fill(7.0)
        ti.ad.solve(chain.product, chain.b, chain.x, args=(0.5,), method="bicgstab", tol=1e-13)
        chain.add()
    close(chain.k.grad.to_numpy(), 5.0 + k, 1e-8)
    close(chain.b.grad.to_numpy(), 7.0 + b, 1e-8)


def test_several_solutions_and_what_changes_between(ti):
    """Each gradient has the parameters of its solution, and the solution of its own step."""
    chain = Chain(ti)
    ti_k, b, x = chain.k, chain.b, chain.x

    @ti.kernel
    def stiffen():
        for i in ti_k:
            ti_k[i] = 1.5 * ti_k[i]
        for i in b:
            b[i] = x[i] + b[i]

    def run(steps):
        chain.k.from_numpy(k_start)
        b.from_numpy(B)
        x.fill(0.0)
        with ti.ad.Tape(chain.loss):
            for _ in steps:
                ti.ad.solve(chain.plain, b, x, tol=1e-13)
                chain.add()
                stiffen()
        return chain.loss[None]

    gradients = []
    for steps in (range(5), ti.ad.steps(5, memory=12 * 8 * N)):
        k_start = K
        run(steps)
        gradients.append(np.concatenate([chain.k.grad.to_numpy(), b.grad.to_numpy()]))
    close(gradients[1], gradients[0], 1e-12)
    for i in (0, 3):
        values = []
        for sign in (1, -1):
            k_start = K + sign * 1e-5 * np.eye(N)[i]
            values.append(run(range(5)))
        np.testing.assert_allclose(gradients[0][i], (values[0] - values[1]) / 2e-5, rtol=1e-5)


def test_vectors_on_a_grid(ti):
    """A field of vectors, two axes, f32, and no parameter with a gradient."""
    n = 4
    b, x = (ti.Vector.field(2, ti.f32, (n, n), needs_grad=True) for _ in range(2))
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def product(v: ti.template(), Av: ti.template()):
        for i, j in v:
            around = ti.Vector([0.0, 0.0])
            if i > 0:
                around += v[i - 1, j]
            if i < n - 1:
                around += v[i + 1, j]
            Av[i, j] = 4.0 * v[i, j] - around

    @ti.kernel
    def add():
        for at in ti.grouped(x):
            loss[None] += x[at].dot(x[at])

    start = np.random.default_rng(1).random((n, n, 2)).astype(np.float32)
    b.from_numpy(start)
    with ti.ad.Tape(loss):
        ti.ad.solve(product, b, x, tol=1e-7)
        add()
    A = 4.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    solution = np.linalg.solve(A, start.reshape(n, -1))
    np.testing.assert_allclose(x.to_numpy().reshape(n, -1), solution, rtol=1e-4)
    np.testing.assert_allclose(b.grad.to_numpy().reshape(n, -1), np.linalg.solve(A, 2 * solution), rtol=1e-4)


def test_methods_arrays_and_functions_that_are_differentiated(ti):
    """A kernel of a class, a parameter that is passed as an array, and `ti.ad.grad`."""

    @ti.data_oriented
    class Springs:
        def __init__(self):
            self.k = ti.field(ti.f64, N)
            self.k.from_numpy(K)

        @ti.kernel
        def product(self, v: ti.template(), Av: ti.template(), a: ti.types.ndarray()):
            for i in v:
                Av[i] = (self.k[i] + a[i]) * v[i]

    chain, springs, a = Chain(ti), Springs(), ti.ndarray(ti.f64, N, needs_grad=True)
    a.from_numpy(0.1 * K)

    def function():
        ti.ad.solve(springs.product, chain.b, chain.x, args=(a,), tol=1e-13)
        chain.add()

    x = B / (1.1 * K)
    wanted = -2 * WEIGHTS * x * x / (1.1 * K)
    with ti.ad.Tape(chain.loss):
        function()
    close(a.grad.to_numpy(), wanted)
    found = ti.ad.grad(function, [springs.k, a, chain.b], chain.loss)()
    close(found[0], wanted)
    close(found[1], wanted)
    close(found[2], 2 * WEIGHTS * x / (1.1 * K))


def test_nothing_to_solve(ti):
    chain = Chain(ti)
    chain.b.fill(0.0)
    with ti.ad.Tape(chain.loss):
        ti.ad.solve(chain.plain, chain.b, chain.x)
        chain.add()
    assert not chain.x.to_numpy().any()
    assert not chain.b.grad.to_numpy().any()


def test_what_does_not_converge(ti):
    chain = Chain(ti)
    with pytest.raises(
        NotConverged, match=r"ti\.ad\.solve has not converged: the norm of the residual is .* after at most 1"
    ):
        ti.ad.solve(chain.plain, chain.b, chain.x, tol=1e-12, maxiter=1)
    chain = Chain(ti, below=0.25, above=-0.75)  # conjugate gradients need a symmetric matrix

    def run():
        chain.x.from_numpy(np.linalg.solve(np.diag(K) + 0.25 * np.eye(N, k=-1) - 0.75 * np.eye(N, k=1), B))
        with ti.ad.Tape(chain.loss):
            ti.ad.solve(chain.plain, chain.b, chain.x, tol=1e-10, maxiter=8)
            chain.add()

    with pytest.raises(NotConverged, match=r"the gradient of ti\.ad\.solve has not converged"):
        run()


def test_what_is_refused(ti):
    chain = Chain(ti)

    def in_python(v, Av):
        chain.plain(v, Av)

    @ti.kernel
    def racing(v: ti.template(), Av: ti.template()):
        for i in v:
            Av[i] = v[i] * ti.atomic_mul(chain.k[0], 1.0)

    with ti.ad.Tape(chain.loss):
        with pytest.raises(ArgumentError, match="only if its operator is a kernel"):
            ti.ad.solve(in_python, chain.b, chain.x)
        ti.ad.no_grad(ti.ad.solve)(in_python, chain.b, chain.x)
        with pytest.raises(CompilationError):
            ti.ad.solve(racing, chain.b, chain.x)
    with pytest.raises(ArgumentError, match="must be different"):
        ti.ad.solve(chain.plain, chain.b, chain.b)
    with pytest.raises(ArgumentError, match="one of cg, bicgstab"):
        ti.ad.solve(chain.plain, chain.b, chain.x, method="gauss")
    x = ti.field(ti.f64, N)
    with pytest.warns(GradientWarning, match="the derivative of the result of ti.ad.solve is lost"), ti.ad.Tape():
        ti.ad.solve(chain.plain, chain.b, x)


@pytest.mark.parametrize("method", ["cg", "bicgstab"])
def test_forward_mode(ti, method):
    """A dx = db - dA x, of fields with duals and of whole functions."""
    chain = Chain(ti, below=0.0 if method == "cg" else -0.5, above=0.0 if method == "cg" else -0.5)
    dk, db = np.linspace(-1.0, 1.0, N), np.linspace(0.5, -0.3, N)

    def solved():
        chain.x.fill(0.3)
        ti.ad.solve(chain.product, chain.b, chain.x, args=(0.5,), method=method, tol=1e-13)

    A = chain.matrix(K, 0.5)
    x = np.linalg.solve(A, B)
    dA = np.diag(dk) + np.diag(chain.below * dk[1:], -1)
    wanted = np.linalg.solve(A, db - dA @ x)
    _, found = ti.ad.jvp(solved, [chain.k, chain.b], chain.x)([dk, db])
    close(found, wanted, 1e-9)
    close(chain.x.to_numpy(), x, 1e-9)


def test_forward_mode_of_fields_with_duals(ti):
    k, b, x, y = (ti.field(ti.f64, N, needs_dual=True) for _ in range(4))
    plain = ti.field(ti.f64, N)

    @ti.kernel
    def product(v: ti.template(), Av: ti.template()):
        for i in v:
            Av[i] = k[i] * v[i]

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    k.from_numpy(K)
    b.from_numpy(B)
    seed = np.linspace(1.0, 2.0, N)
    for param, slope in ((b, seed / K), (k, -seed * B / K**2)):
        with ti.ad.FwdMode(y, param, seed=seed):
            x.fill(0.0)
            ti.ad.solve(product, b, x, tol=1e-13)
            square()
            ti.ad.solve(product, b, plain, tol=1e-13)  # no dual
        close(x.dual.to_numpy(), slope, 1e-9)
        close(y.dual.to_numpy(), 2 * B / K * slope, 1e-9)
        close(plain.to_numpy(), B / K, 1e-9)
    with ti.ad.FwdMode(y, y, seed=seed):
        x.fill(0.0)
        ti.ad.solve(product, b, x, tol=1e-13)  # nothing changes
    close(x.dual.to_numpy(), np.zeros(N))


def test_forward_mode_of_an_operator_of_several_kernels_and_of_vectors(ti):
    b, x = (ti.Vector.field(2, ti.f64, N) for _ in range(2))
    k, half = ti.field(ti.f64, ()), ti.Vector.field(2, ti.f64, N)

    @ti.kernel
    def first(v: ti.template()):
        for i in v:
            half[i] = k[None] * v[i]

    @ti.kernel
    def second(Av: ti.template()):
        for i in Av:
            Av[i] = k[None] * half[i]

    def product(v, Av):
        first(v)
        second(Av)

    b.fill(3.0)
    k[None] = 2.0

    def solved():
        ti.ad.solve(product, b, x, tol=1e-13)

    _, found = ti.ad.jvp(solved, k, x)(0.5)
    close(found, np.full((N, 2), -2 * 3.0 / 2.0**3 * 0.5), 1e-9)


def test_second_derivatives_are_refused(ti):
    chain = Chain(ti)

    def energy():
        ti.ad.solve(chain.plain, chain.b, chain.x)
        chain.add()

    with pytest.raises(WeftError, match=r"ti\.ad\.solve has no second derivative"):
        ti.ad.hvp(energy, chain.b, chain.loss)(np.ones(N))


def test_a_derivative_in_forward_mode_that_does_not_converge(ti):
    chain = Chain(ti)

    def solved():
        chain.x.from_numpy(np.linalg.solve(chain.matrix(K, 0.0), B))  # nothing is left to do
        ti.ad.solve(chain.plain, chain.b, chain.x, method="bicgstab", tol=1e-9, maxiter=1)

    with pytest.raises(NotConverged, match=r"the derivative of ti\.ad\.solve has not converged"):
        ti.ad.jvp(solved, chain.b, chain.x)(np.linspace(1, 2, N))


def test_forward_mode_beside_a_constant_matrix(ti):
    """Nothing is refused if no derivative may be lost."""
    a = ti.field(ti.f64, 3, needs_dual=True)
    builder = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=3, dtype=ti.f64)
    b, other = (ti.ndarray(ti.f64, 3, needs_dual=k == 1) for k in range(2))

    @ti.kernel
    def assemble(K: ti.types.sparse_matrix_builder()):
        for i in range(3):
            K[i, i] += 2.0

    b.fill(1.0)
    assemble(builder)
    with ti.ad.FwdMode(a, a, seed=np.ones(3)):
        A = builder.build()
        close((A @ b).to_numpy(), np.full(3, 2.0))
        other.dual.fill(3.0)
        close((A @ other).dual.to_numpy(), np.full(3, 6.0))
