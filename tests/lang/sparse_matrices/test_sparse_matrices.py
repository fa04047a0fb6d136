"""Sparse matrices: built by kernels, their arithmetic, solving; held against numpy's full matrices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.errors import ArgumentError

rng = np.random.default_rng(11)
close = np.testing.assert_allclose
Builder: Any = ti.types.sparse_matrix_builder()


@pytest.fixture(autouse=True, params=("cpu", "python"))
def arch(request: pytest.FixtureRequest) -> Iterator[None]:
    ti.init(arch=request.param)
    yield
    ti.reset()


def sparse(full: Any, dtype: Any = ti.f64) -> Any:
    """The sparse matrix with the elements of `full` that are not zero."""
    made = ti.linalg.SparseMatrix(*full.shape, dtype=dtype)
    places = np.argwhere(full)
    triplets = ti.Vector.ndarray(3, dtype, len(places))
    triplets.from_numpy(np.column_stack((places, full[tuple(places.T)])).astype(dtype.np))
    made.build_from_ndarray(triplets)
    return made


def scattered(n: int, m: int, share: float = 0.3) -> Any:
    """A random matrix in which that share of the elements is not zero."""
    return np.where(rng.random((n, m)) < share, rng.standard_normal((n, m)), 0)


def test_kernels_append_and_what_meets_is_added_up() -> None:
    @ti.kernel
    def springs(K: Builder, stiff: ti.f32):
        for i in range(7):
            K[i, i] += stiff
            K[i + 1, i + 1] += stiff
            K[i, i + 1] -= stiff
            K[i + 1, i] += -stiff

    builder = ti.linalg.SparseMatrixBuilder(8, 8, max_num_triplets=40)
    for stiff in (2.5, 4.0):  # `build` empties it
        springs(builder, stiff)
        K = builder.build()
        expected = stiff * (2 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1))
        expected[0, 0] = expected[7, 7] = stiff
        np.testing.assert_array_equal(K.to_numpy(), expected)
        assert (K.shape, K.n, K.m, K.nnz, K.dtype) == ((8, 8), 8, 8, 22, ti.f32)
    assert builder.build().nnz == 0


def test_sums_do_not_depend_on_the_order_of_threads() -> None:
    @ti.kernel
    def pile(K: Builder, step: ti.i32):
        for i in range(300):
            K[0, 0] += 1.0 / (1 + (i * step) % 307)

    builder = ti.linalg.SparseMatrixBuilder(1, 1, max_num_triplets=300)
    sums = set()
    for _ in range(4):
        pile(builder, 5)
        sums.add(builder.build()[0, 0])
    assert len(sums) == 1


def test_triplets_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def two(K: Builder):
        K[1, 0] += 2
        K[0, 2] -= 0.5

    builder = ti.linalg.SparseMatrixBuilder(2, 3, max_num_triplets=4, dtype=ti.f64)
    two(builder)
    builder.print_triplets()
    assert capsys.readouterr().out == "n=2, m=3, num_triplets=2 (max=4)\n[1, 0] = 2\n[0, 2] = -0.5\n"
    K = builder.build()
    assert repr(K) == "[   0,    0, -0.5]\n[   2,    0,    0]"
    assert repr(ti.linalg.SparseMatrix(100, 2)) == "<SparseMatrix 100 x 2, 0 elements of f32>"


def test_too_many_and_misplaced_triplets() -> None:
    @ti.kernel
    def fill(K: Builder, count: ti.i32, row: ti.i32):
        for i in range(count):
            K[row, i] += 1.0

    builder = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=2)
    fill(builder, 3, 0)
    with pytest.raises(ArgumentError, match=r"3 triplets were added to a builder that has room for 2: .*=3 or more"):
        builder.build()
    builder.clear()
    fill(builder, 1, -1)
    with pytest.raises(ArgumentError, match=re.escape("[-1, 0] is out of bounds for a matrix of shape (3, 3)")):
        builder.build()
    with pytest.raises(ArgumentError, match="expected a SparseMatrixBuilder, got SparseMatrix"):
        fill(ti.linalg.SparseMatrix(3, 3), 1, 1)


def test_a_builder_only_takes_additions() -> None:
    @ti.kernel
    def assigns(K: Builder):
        K[0, 0] = 1.0

    @ti.kernel
    def multiplies(K: Builder):
        K[0, 0] *= 2.0

    @ti.kernel
    def one_index(K: Builder):
        K[0] += 2.0

    @ti.kernel
    def reads(K: Builder) -> ti.f32:
        return K[0, 0]

    builder = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=2)
    for kernel in (assigns, multiplies, one_index, reads):
        with pytest.raises(ti.CompilationError, match=r"supports only A\[i, j\] \+= v and A\[i, j\] -= v"):
            kernel(builder)


def test_arithmetic() -> None:
    a, b, c = scattered(9, 7), scattered(9, 7), scattered(7, 5)
    A, B, C = sparse(a), sparse(b), sparse(c)
    close((A + B).to_numpy(), a + b)
    close((A - B).to_numpy(), a - b)
    close((A * B).to_numpy(), a * b)
    close((A @ C).to_numpy(), a @ c)
    close((2.5 * A).to_numpy(), 2.5 * a)
    close((A * 2).to_numpy(), 2 * a)
    close((-A / 4).to_numpy(), -a / 4)
    close(A.transpose().to_numpy(), a.T)
    x = rng.standard_normal(7)
    close(A @ x, a @ x)
    array, field = ti.ndarray(ti.f64, 7), ti.field(ti.f64, 7)
    array.from_numpy(x)
    field.from_numpy(x)
    product = A @ array
    assert isinstance(product, ti.Ndarray)
    close(product.to_numpy(), a @ x)
    close(A @ field, a @ x)
    assert ((ti.linalg.SparseMatrix(3, 7, ti.f64) @ x) == 0).all()


def test_an_infinite_element_stays_in_its_row() -> None:
    A = sparse(np.array([[np.inf, 0.0], [2.0, 3.0]]))
    assert (A @ np.ones(2)).tolist() == [np.inf, 5]


def test_elements_are_read_and_set() -> None:
    full = scattered(4, 6)
    A = sparse(full)
    x = np.ones(6)
    close(A @ x, full @ x)
    for place in [(1, 2), (3, 5), (0, 0)]:
        for value in (3.5, -1.0):
            full[place] = A[place] = value
            assert A[place] == value
            close(A @ x, full @ x)
    close(A.to_numpy(), full)
    with pytest.raises(IndexError, match="out of bounds for a matrix of shape"):
        _ = A[4, 0]


def test_shapes_that_do_not_fit() -> None:
    A = sparse(scattered(3, 4))
    for wrong in (lambda: A + A.transpose(), lambda: A * A.transpose(), lambda: A @ A, lambda: A @ np.ones(3)):
        with pytest.raises(ArgumentError, match=r"shapes? \("):
            wrong()
    with pytest.raises(ti.CompilationError, match="must be floats, not i32"):
        ti.linalg.SparseMatrixBuilder(3, 3, 3, dtype=ti.i32)


def test_the_matrix_market_format(tmp_path: Path) -> None:
    A = sparse(np.array([[0, 0.1], [-2, 0], [0, 0]]))
    A.mmwrite(str(tmp_path / "a.mtx"))
    lines = (tmp_path / "a.mtx").read_text().splitlines()
    assert lines == ["%%MatrixMarket matrix coordinate real general", "%", "3 2 2", "1 2 0.1", "2 1 -2.0"]


def laplacian(n: int) -> Any:
    """That of a grid of n x n, numbered at random, and shifted: symmetric and positive definite."""
    line = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    full = np.kron(line, np.eye(n)) + np.kron(np.eye(n), line) + 0.1 * np.eye(n * n)
    order = rng.permutation(n * n)
    return full[np.ix_(order, order)]


@pytest.mark.parametrize("kind", ["LLT", "LDLT", "LU"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_elimination(kind: str, dtype: str) -> None:
    full = laplacian(5)
    A, prim = sparse(full, getattr(ti, dtype)), getattr(ti, dtype)
    solver = ti.linalg.SparseSolver(prim, kind)
    assert not solver.info()
    solver.analyze_pattern(A)
    for scale in (1, 3):  # another matrix of the same pattern
        solver.factorize(A * scale)
        assert solver.info()
        x = rng.standard_normal(25)
        b = ti.ndarray(prim, 25)
        b.from_numpy((scale * full @ x).astype(prim.np))
        found = solver.solve(b)
        assert isinstance(found, ti.Ndarray)
        close(found.to_numpy(), x, rtol=1e-3 if dtype == "f32" else 1e-10, atol=1e-4)
        close(solver.solve(b.to_numpy()), found.to_numpy())


def test_elimination_keeps_the_band_narrow() -> None:
    solver = ti.linalg.SparseSolver(ti.f64, "LLT").compute(sparse(laplacian(8)))
    assert len(solver._factors.cells) < 64 * 12  # of 64 * 63 / 2 for a matrix without an order


def test_elimination_of_matrices_that_are_not_symmetric() -> None:
    for n in (1, 2, 17, 40):
        full = scattered(n, n, 0.15)
        full[np.arange(n), rng.permutation(n)] += 3  # the diagonal may be zero: rows must be exchanged
        solver = ti.linalg.SparseSolver(ti.f64, "LU").compute(sparse(full))
        assert solver.info()
        x = rng.standard_normal(n)
        close(solver.solve(full @ x), x, atol=1e-7)


def test_indefinite_matrices() -> None:
    full = np.diag([2.0, -3.0, 4.0])
    full[0, 2] = full[2, 0] = 1
    A = sparse(full)
    assert not ti.linalg.SparseSolver(ti.f64, "LLT").compute(A).info()
    solver = ti.linalg.SparseSolver(ti.f64, "LDLT").compute(A)
    close(solver.solve(full @ [1, 2, 3]), [1, 2, 3])


@pytest.mark.parametrize("kind", ["LLT", "LDLT", "LU"])
def test_singular_matrices(kind: str) -> None:
    solver = ti.linalg.SparseSolver(ti.f64, kind).compute(sparse(np.diag([1.0, 0.0, 2.0])))
    assert not solver.info()
    with pytest.raises(ArgumentError, match="no factorization"):
        solver.solve(np.ones(3))


def test_what_a_solver_refuses() -> None:
    with pytest.raises(
        ti.CompilationError, match="solver_type LLT, LDLT, LU and ordering AMD, COLAMD, not 'QR', 'AMD'"
    ):
        ti.linalg.SparseSolver(solver_type="QR")
    solver = ti.linalg.SparseSolver(ti.f64)
    with pytest.raises(
        ti.CompilationError, match="the solver is for elements of f64, but the matrix has elements of f32"
    ):
        solver.compute(ti.linalg.SparseMatrix(3, 3))
    with pytest.raises(ArgumentError, match="must be square"):
        solver.compute(sparse(scattered(3, 4)))
    with pytest.raises(ArgumentError, match="another sparsity pattern than the matrix of the last analyze_pattern"):
        solver.factorize(sparse(np.eye(3)))
    solver.compute(sparse(np.eye(3)))
    with pytest.raises(ArgumentError, match="its shape must be"):
        solver.solve(np.ones(4))


def test_conjugate_gradients() -> None:
    full = laplacian(5)
    x = rng.standard_normal(25)
    A = sparse(full)
    found, done = ti.linalg.SparseCG(A, full @ x, max_iter=100, atol=1e-9).solve()
    assert done
    close(found, x, atol=1e-8)
    found, done = ti.linalg.SparseCG(A, full @ x, x0=x, max_iter=1, atol=1e-9).solve()
    assert done
    assert not ti.linalg.SparseCG(A, full @ x, max_iter=2, atol=1e-9).solve()[1]
    array = ti.ndarray(ti.f64, 25)
    array.from_numpy(full @ x)
    close(ti.linalg.SparseCG(A, array, max_iter=100, atol=1e-9).solve()[0], x, atol=1e-8)
