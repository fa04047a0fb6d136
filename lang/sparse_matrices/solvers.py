"""Solve A x = b for a sparse matrix: `SparseSolver` by elimination, `SparseCG` by conjugate gradients."""

from __future__ import annotations

from copy import copy
from math import sqrt
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import is_one, number_of, shown, whole_of
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.operations import unheard
from weft.lang.errors import ArgumentError
from weft.lang.linear.implicit import NotConverged
from weft.lang.sparse_matrices.derivatives import Map
from weft.lang.sparse_matrices.factors import Band, Envelope
from weft.lang.sparse_matrices.matrix import SparseMatrix, vector_of
from weft.lang.sparse_matrices.ordering import reverse_cuthill_mckee
from weft.lang.values.types import f32, primitive

__all__ = ["SparseCG", "SparseSolver"]

_FACTORS: dict[str, Any] = {"LLT": Envelope, "LDLT": Envelope, "LU": Band}


class SparseSolver:
    """Solve A x = b by elimination, for square matrices of `dtype`.

    `solver_type` is "LLT" for symmetric, positive definite matrices, "LDLT" for symmetric ones, or "LU" for any. The
    first two read the lower half only. Rows and columns are first reordered to bring the elements close to the diagonal
    (`ordering` selects another way in Taichi and has no effect here). Memory and time depend on the remaining
    bandwidth, so use `SparseCG` for a matrix with full rows. Runs in one thread.

    Example:
        K = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=4)

        @ti.kernel
        def fill(K: ti.types.sparse_matrix_builder()):
            K[0, 0] += 4.0
            K[1, 0] += 1.0
            K[0, 1] += 1.0
            K[1, 1] += 3.0

        fill(K)
        solver = ti.linalg.SparseSolver(solver_type="LLT")
        A = K.build()
        solver.analyze_pattern(A)
        solver.factorize(A)
        solver.solve(np.array([1.0, 2.0], np.float32))  # array([0.090909, 0.6363636 ], dtype=float32)
        solver.info()  # True
    """

    def __init__(self, dtype: Any = f32, solver_type: str = "LLT", ordering: str = "AMD") -> None:
        if not is_one(solver_type, _FACTORS) or not is_one(ordering, ("AMD", "COLAMD")):
            kinds = ", ".join(_FACTORS)
            raise TypeMismatch(
                f"SparseSolver takes solver_type {kinds} and ordering AMD, COLAMD, not {shown(solver_type)}, "
                f"{shown(ordering)}"
            )
        self.dtype, self.solver_type = primitive(dtype), solver_type
        if not self.dtype.is_float:
            raise TypeMismatch(f"the elements of a sparse matrix must be floats, not {self.dtype}")
        self._pattern: tuple[Any, Any] | None = None
        self._shape = (0, 0)
        self._succeeded = False
        self._factorized: SparseMatrix  # the matrix of the last factorization

    def compute(self, sparse_matrix: Any) -> SparseSolver:
        """Run `analyze_pattern` and `factorize`."""
        self.analyze_pattern(sparse_matrix)
        self.factorize(sparse_matrix)
        return self

    def analyze_pattern(self, sparse_matrix: Any) -> None:
        """Find the elimination order, for this matrix and for others with elements at the same places. Raises
        TypeMismatch for a matrix of another type, and ArgumentError for one that is not square."""
        A = _matrix(sparse_matrix)
        if A.dtype is not self.dtype:
            raise TypeMismatch(f"the solver is for elements of {self.dtype}, but the matrix has elements of {A.dtype}")
        if A.n != A.m:
            raise ArgumentError(f"a matrix of shape {A.shape} has no inverse: it must be square")
        with unheard():
            both = A + A.transpose()
        self.order = reverse_cuthill_mckee(both.starts, both.columns)
        self._place = np.empty(A.n, np.int64)
        self._place[self.order] = np.arange(A.n)
        self._pattern, self._shape = (A.rows, A.columns), A.shape
        self._factors: Any = _FACTORS[self.solver_type](A.n, self._place[A.rows], self._place[A.columns], self.dtype)

    def factorize(self, sparse_matrix: Any) -> None:
        """Factorize the matrix; `info` returns whether it worked. Raises ArgumentError if the pattern is not the
        analyzed one."""
        A = _matrix(sparse_matrix)
        known = self._pattern is not None and A.shape == self._shape
        if not known or not all(map(np.array_equal, self._pattern or (), (A.rows, A.columns))):
            raise ArgumentError(
                "the matrix has another sparsity pattern than the matrix of the last analyze_pattern: call "
                "analyze_pattern first"
            )
        rows, columns = self._place[A.rows], self._place[A.columns]
        with unheard():
            self._succeeded = self._factors.factorize(rows, columns, A.values, self.solver_type == "LLT")
        self._factorized = copy(A)

    def solve(self, b: Any) -> Any:
        """Return x, as an ndarray if b is one, else as a numpy array. Under a tape, it is an ndarray with a gradient if
        b or the elements of the matrix have one. Its gradient solves with the transposed matrix, for which "LU" runs
        another factorization. Raises ArgumentError for a b of another length, and without a successful
        factorization."""
        if not self._succeeded:
            raise ArgumentError("there is no factorization (info() is False): it failed, or compute() was not called")
        x = vector_of(b, self._shape[0], self.dtype, f"solving with a matrix of shape {self._shape} takes a vector")
        recorded = self._map().recorded(b)
        return _like(b, self._solved(_host(x)), self.dtype) if recorded is None else recorded

    def _solved(self, b: Any) -> Any:
        x = np.array(b[self.order])
        with unheard():
            self._factors.solve(x)
        return x[self._place]

    def _map(self) -> Map:
        """The solution for the matrix that is factorized now."""
        A, kind = self._factorized, self.solver_type

        def solver(of: SparseMatrix) -> SparseSolver:
            known = of is A and self._factorized is A
            return self if known else SparseSolver(self.dtype, kind).compute(of)

        def of_elements(adjoint: Any, _: Any, __: Any, x: Any) -> Any:
            numbers = -adjoint[A.rows] * x[A.columns]
            if kind == "LU":
                return numbers
            both = numbers - np.where(A.rows > A.columns, adjoint[A.columns] * x[A.rows], 0)
            return np.where(A.rows >= A.columns, both, 0)  # the others are not read

        def along(db: Any, numbers: Any, _: Any, x: Any) -> Any:
            right = db - np.bincount(A.rows, np.where(read, numbers, 0) * x[A.columns], A.n)
            if kind != "LU":
                right -= np.bincount(A.columns, np.where(A.rows > A.columns, numbers, 0) * x[A.rows], A.n)
            return solver(A)._solved(right.astype(self.dtype.np))

        read = np.full(A.nnz, True) if kind == "LU" else A.rows >= A.columns
        return Map(
            "SparseSolver.solve",
            self.dtype,
            A.n,
            A.source,
            lambda b: solver(A)._solved(b.astype(self.dtype.np)),
            lambda g: solver(A.transpose() if kind == "LU" else A)._solved(g),
            of_elements,
            along,
            A.nnz,
        )

    def info(self) -> bool:
        """Return whether the last factorization succeeded, so that `solve` can be called."""
        return self._succeeded


class SparseCG:
    """Solve A x = b by conjugate gradients, for a symmetric and positive definite A. `x0` is the first guess. Sums are
    accumulated in f64. Raises ArgumentError if shapes do not match.

    Example:
        K = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=3)

        @ti.kernel
        def fill(K: ti.types.sparse_matrix_builder()):
            for i in range(3):
                K[i, i] += 4.0

        fill(K)
        b = ti.ndarray(ti.f32, 3)
        b.fill(2)
        x, converged = ti.linalg.SparseCG(K.build(), b).solve()
        x, converged  # (array([0.5, 0.5, 0.5], dtype=float32), True)
    """

    def __init__(self, A: Any, b: Any, x0: Any = None, max_iter: int = 50, atol: float = 1e-6) -> None:
        if not isinstance(A, SparseMatrix) or A.n != A.m:
            raise TypeMismatch(f"SparseCG takes a square SparseMatrix, not {type(A).__name__}")
        self.A: SparseMatrix = A
        self.max_iter, self.atol = whole_of(max_iter, "max_iter", 0), number_of(atol, "atol", 0)
        what = f"solving with a matrix of shape {A.shape} takes a vector"
        self.b = _host(vector_of(b, A.n, A.dtype, what))
        self.x0 = np.zeros_like(self.b) if x0 is None else _host(vector_of(x0, A.n, A.dtype, what))
        self._given = b

    def solve(self) -> tuple[Any, bool]:
        """Return x as a numpy array, and whether the norm of the residual fell below `atol` within `max_iter` steps.
        Under a tape, x is an ndarray with a gradient if b is an ndarray or has a gradient, or if the elements of the
        matrix have one. The gradient solves by conjugate gradients, too, with the same precision in proportion to its
        right side. It raises NotConverged if it does not get there."""
        A, end = copy(self.A), [False]

        def compute(b: Any) -> Any:
            x, end[0], _ = self._iterate(A, b.astype(A.dtype.np), self.x0, self.atol)
            return x

        def along(db: Any, numbers: Any, _: Any, x: Any) -> Any:
            right = db - np.bincount(A.rows, numbers * x[A.columns], A.n)
            return self._other("derivative", A, right.astype(A.dtype.np))

        solution = Map(
            "SparseCG.solve",
            A.dtype,
            A.n,
            A.source,
            compute,
            lambda g: self._other("gradient", A, g),
            lambda adjoint, g, b, x: -adjoint[A.rows] * x[A.columns],
            along,
            A.nnz,
        )
        recorded = solution.recorded(self._given)
        return (compute(self.b) if recorded is None else recorded), end[0]

    def _other(self, what: str, A: SparseMatrix, g: Any) -> Any:
        """The solution of the system of a derivative, with the same precision in proportion to its right side."""
        size, first = sqrt(_dot(g, g)), sqrt(_dot(self.b, self.b))
        if size == 0.0:
            return g
        tol = self.atol * size / (first or 1.0)
        found, converged, residual = self._iterate(A, g, np.zeros_like(g), tol)
        if not converged:
            raise NotConverged(
                f"the {what} of SparseCG.solve has not converged: the residual is {residual:.3e} after at most "
                f"{self.max_iter} steps, more than {tol:.3e}"
            )
        return found

    def _iterate(self, A: SparseMatrix, b: Any, x0: Any, tol: float) -> tuple[Any, bool, float]:
        """The solution, whether it converged, and the norm of the residual."""
        with unheard():
            return self._iterated(A, b, x0, tol)

    def _iterated(self, A: SparseMatrix, b: Any, x0: Any, tol: float) -> tuple[Any, bool, float]:
        x = x0.copy()
        r = b - A @ x
        p, rr = r.copy(), _dot(r, r)
        for _ in range(self.max_iter):
            if sqrt(rr) < tol:
                break
            Ap = A @ p
            curvature = _dot(p, Ap)
            if curvature == 0.0:
                break
            x += p * x.dtype.type(rr / curvature)
            r -= Ap * x.dtype.type(rr / curvature)
            before, rr = rr, _dot(r, r)
            p = r + p * x.dtype.type(rr / before)
        return x, sqrt(rr) < tol, sqrt(rr)


def _matrix(given: Any) -> SparseMatrix:
    if not isinstance(given, SparseMatrix):
        raise TypeMismatch(f"a solver takes a SparseMatrix, not {given!r}")
    return given


def _dot(a: Any, b: Any) -> float:
    return float(np.dot(a.astype(np.float64), b.astype(np.float64)))


def _host(x: Any) -> Any:
    return x.to_numpy() if isinstance(x, Ndarray) else x


def _like(b: Any, x: Any, dtype: Any) -> Any:
    if not isinstance(b, Ndarray):
        return x
    made = ndarray(dtype, len(x))
    made.from_numpy(x)
    return made
