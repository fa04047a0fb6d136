"""Sparse matrices under a tape: the gradients of solutions and products, against differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.errors import GradientWarning

N = 5
B = np.array([1.0, -2.0, 0.5, 3.0, 0.25])
PLACES = [(i, i) for i in range(N)] + [(i + 1, i) for i in range(N - 1)] + [(i, i + 1) for i in range(N - 1)] + [(2, 2)]
SYMMETRIC = np.array([3.0, 4.0, 3.5, 5.0, 4.5] + [-1.0, 0.5, -0.7, 0.3] * 2 + [1.0])
ANY = np.array([3.0, 4.0, 3.5, 5.0, 4.5] + [-1.0, 0.5, -0.7, 0.3] + [0.2, 1.5, -0.4, 0.9] + [1.0])
WEIGHTS = np.array([1.0, 0.5, -2.0, 1.5, 0.3])


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


Compute = Callable[[Any, Any], Any]


def lu(A: Any, b: Any) -> Any:
    return ti.linalg.SparseSolver(ti.f64, "LU").compute(A).solve(b)


def ldlt(A: Any, b: Any) -> Any:
    return ti.linalg.SparseSolver(ti.f64, "LDLT").compute(A).solve(b)


def llt(A: Any, b: Any) -> Any:
    return ti.linalg.SparseSolver(ti.f64, "LLT").compute(A).solve(b)


def cg(A: Any, b: Any) -> Any:
    x, converged = ti.linalg.SparseCG(A, b, atol=1e-12).solve()
    assert converged
    return x


def product(A: Any, b: Any) -> Any:
    return A @ b


class Case:
    """Triplets whose values a kernel computes, a matrix of them, and a loss of what `compute(A, b)` gives."""

    def __init__(self, compute: Compute, values: Any) -> None:
        self.compute, self.values = compute, values
        self.v = ti.field(ti.f64, len(PLACES), needs_grad=True)
        self.triplets = ti.ndarray(ti.types.vector(3, ti.f64), len(PLACES), needs_grad=True)
        self.b, self.loss = ti.ndarray(ti.f64, N, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
        places, weights = ti.Vector.field(2, ti.i32, len(PLACES)), ti.field(ti.f64, N)
        places.from_numpy(np.array(PLACES))
        weights.from_numpy(WEIGHTS)
        v, loss = self.v, self.loss

        @ti.kernel
        def assemble(triplets: ti.types.ndarray()):
            for k in v:
                triplets[k] = [places[k][0], places[k][1], v[k] * v[k]]

        @ti.kernel
        def add(x: ti.types.ndarray()):
            for i in x:
                loss[None] += weights[i] * x[i] * x[i]

        self.assemble, self.add = assemble, add

    def run(self, roots: Any, b: Any, times: int = 1) -> float:
        """The loss, and the gradients. With `times`, the right side is the last solution."""
        self.v.from_numpy(roots)
        self.b.from_numpy(b)
        self.b.grad.fill(0.0)
        self.triplets.grad.fill(0.0)
        with ti.ad.Tape(self.loss):
            self.assemble(self.triplets)
            A, x = ti.linalg.SparseMatrix(N, N, dtype=ti.f64), self.b
            A.build_from_ndarray(self.triplets)
            for _ in range(times):
                x = self.compute(A, x)
            self.add(x)
        return float(self.loss[None])


@pytest.mark.parametrize(
    ("compute", "values"), [(lu, ANY), (ldlt, SYMMETRIC), (llt, SYMMETRIC), (cg, SYMMETRIC), (product, ANY)]
)
@pytest.mark.parametrize("times", [1, 2])
def test_gradients_of_the_right_side_and_of_elements(compute: Compute, values: Any, times: int) -> None:
    """A product and a solution with the lower half only are compared by single elements. Conjugate gradients need a
    symmetric matrix, so two elements change together."""
    case = Case(compute, np.abs(values))
    signs = np.sign(values)
    assert case.v is not None
    roots = np.sqrt(np.abs(values))

    @ti.kernel
    def assemble(triplets: ti.types.ndarray()):
        for k in case.v:
            triplets[k] = [places[k][0], places[k][1], sign[k] * case.v[k] * case.v[k]]

    places, sign = ti.Vector.field(2, ti.i32, len(PLACES)), ti.field(ti.f64, len(PLACES))
    places.from_numpy(np.array(PLACES))
    sign.from_numpy(signs)
    case.assemble = assemble
    case.run(roots, B, times)
    found_b, found_v = case.b.grad.to_numpy(), case.v.grad.to_numpy()
    step = 1e-5
    for i in range(N):
        e = step * np.eye(N)[i]
        wanted = (case.run(roots, B + e, times) - case.run(roots, B - e, times)) / (2 * step)
        np.testing.assert_allclose(found_b[i], wanted, rtol=1e-6, atol=1e-8)
    for k in range(len(PLACES)):
        group = [k, k + N - 1] if compute is cg and N <= k < 2 * N - 1 else [k]
        if compute is cg and k >= 2 * N - 1 and k != len(PLACES) - 1:
            continue
        e = step * np.eye(len(PLACES))[group].sum(axis=0)
        wanted = (case.run(roots + e, B, times) - case.run(roots - e, B, times)) / (2 * step)
        np.testing.assert_allclose(found_v[group].sum(), wanted, rtol=1e-6, atol=1e-8)


def test_a_solver_that_is_used_for_another_matrix_before_the_gradient_runs() -> None:
    first, second = np.diag([1.0, 2.0, 3.0]), np.diag([4.0, 5.0, 6.0])
    b, loss = ti.ndarray(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    b.fill(1.0)

    @ti.kernel
    def add(x: ti.types.ndarray()):
        for i in x:
            loss[None] += x[i]

    def matrix(numbers: Any) -> Any:
        A = ti.linalg.SparseMatrix(3, 3, dtype=ti.f64)
        for i in range(3):
            A[i, i] = numbers[i, i]
        return A

    for kind in ("LU", "LLT"):
        solver = ti.linalg.SparseSolver(ti.f64, kind)
        b.grad.fill(0.0)
        with ti.ad.Tape(loss):
            solver.compute(matrix(first))
            add(solver.solve(b))
            solver.compute(matrix(second))
            add(solver.solve(b))
        np.testing.assert_allclose(b.grad.to_numpy(), 1 / np.diag(first) + 1 / np.diag(second))


def test_fields_as_right_sides() -> None:
    """Under a tape, the result is an ndarray with a gradient. Otherwise, it is a numpy array, as ever."""
    b, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    b.fill(3.0)
    A = ti.linalg.SparseMatrix(3, 3, dtype=ti.f64)
    for i in range(3):
        A[i, i] = i + 1.0

    @ti.kernel
    def add(x: ti.types.ndarray()):
        for i in x:
            loss[None] += x[i] * x[i]

    solver = ti.linalg.SparseSolver(ti.f64, "LLT").compute(A)
    with ti.ad.Tape(loss):
        add(solver.solve(b))
    np.testing.assert_allclose(b.grad.to_numpy(), 6.0 / np.arange(1, 4) ** 2)
    assert isinstance(solver.solve(b), np.ndarray)
    with ti.ad.Tape(loss):
        assert isinstance(solver.solve(b.to_numpy()), np.ndarray)


def test_a_loop_of_steps() -> None:
    b, loss = ti.ndarray(ti.f64, N, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    A = ti.linalg.SparseMatrix(N, N, dtype=ti.f64)
    for (i, j), value in zip(PLACES, ANY, strict=False):
        A[i, j] = value
    solver = ti.linalg.SparseSolver(ti.f64, "LU").compute(A)

    @ti.kernel
    def move(u: ti.types.ndarray(), x: ti.types.ndarray()):
        for i in u:
            u[i] = ti.sin(u[i]) + x[i]

    @ti.kernel
    def add(u: ti.types.ndarray()):
        for i in u:
            loss[None] += u[i] * u[i]

    found = []
    for steps in (range(12), ti.ad.steps(12, memory=400)):
        b.from_numpy(B)
        b.grad.fill(0.0)
        with ti.ad.Tape(loss):
            for _ in steps:
                move(b, solver.solve(b))
            add(b)
        found.append(b.grad.to_numpy())
    np.testing.assert_array_equal(found[0], found[1])


def test_derivatives_of_elements_that_end() -> None:
    case = Case(lambda A, b: (2.0 * A) @ b, SYMMETRIC)
    with pytest.warns(GradientWarning, match="elements of a sparse matrix end in an operation"):
        case.run(np.sqrt(np.abs(SYMMETRIC)), B)


def test_derivatives_of_what_a_builder_takes() -> None:
    k, loss = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
    builder = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=9, dtype=ti.f64)
    k.fill(2.0)

    @ti.kernel
    def assemble(K: ti.types.sparse_matrix_builder()):
        for i in k:
            K[i, i] += k[i]

    @ti.kernel
    def constant(K: ti.types.sparse_matrix_builder()):
        for i in k:
            K[i, i] += 2.0

    with ti.ad.Tape(loss):
        constant(builder)
        assert builder.build()[1, 1] == 2.0
        assemble(builder)
        with pytest.warns(GradientWarning, match=r"is lost, because SparseMatrixBuilder\.build takes it from there"):
            assert builder.build()[1, 1] == 2.0


@pytest.mark.parametrize(
    ("compute", "values"), [(lu, ANY), (ldlt, SYMMETRIC), (llt, SYMMETRIC), (cg, SYMMETRIC), (product, ANY)]
)
@pytest.mark.parametrize("times", [1, 2])
def test_forward_mode_agrees_with_reverse_mode(compute: Compute, values: Any, times: int) -> None:
    """Of the right side and of elements, together and alone."""
    case = Case(compute, values)
    signs = ti.field(ti.f64, len(PLACES))
    signs.from_numpy(np.sign(values))
    places = ti.Vector.field(2, ti.i32, len(PLACES))
    places.from_numpy(np.array(PLACES))

    @ti.kernel
    def assemble(triplets: ti.types.ndarray()):
        for k in case.v:
            triplets[k] = [places[k][0], places[k][1], signs[k] * case.v[k] * case.v[k]]

    def loss() -> None:
        assemble(case.triplets)
        A, x = ti.linalg.SparseMatrix(N, N, dtype=ti.f64), case.b
        A.build_from_ndarray(case.triplets)
        for _ in range(times):
            x = compute(A, x)
        case.add(x)

    case.v.from_numpy(np.sqrt(np.abs(values)))
    case.b.from_numpy(B)
    by_v, by_b = ti.ad.grad(loss, [case.v, case.b], case.loss)()
    # a change that keeps the matrix symmetric, which conjugate gradients need
    along_v = np.concatenate([np.linspace(-1, 1, N), *[np.linspace(0.5, -0.2, N - 1)] * 2, [0.3]])
    along_b = np.linspace(1.0, -2.0, N)
    for one, other in ((along_v, along_b), (0 * along_v, along_b), (along_v, 0 * along_b)):
        case.loss[None] = 0.0
        _, found = ti.ad.jvp(loss, [case.v, case.b], case.loss)([one, other])
        np.testing.assert_allclose(found, by_v @ one + by_b @ other, rtol=1e-7)
