"""Solving A x = b for a sparse matrix: `SparseSolver` by elimination, `SparseCG` by conjugate gradients."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import is_one, number_of, shown, whole_of
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import Ndarray
from weft.lang.errors import ArgumentError
from weft.lang.sparse_matrices.factors import Band, Envelope
from weft.lang.sparse_matrices.matrix import SparseMatrix, vector_of
from weft.lang.sparse_matrices.ordering import reverse_cuthill_mckee
from weft.lang.values.types import f32, primitive

__all__ = ["SparseCG", "SparseSolver"]

_FACTORS: dict[str, Any] = {"LLT": Envelope, "LDLT": Envelope, "LU": Band}


class SparseSolver:
    """Solves A x = b by elimination, for square matrices of `dtype`.

    `solver_type`: "LLT" for symmetric, positive definite matrices, "LDLT" for symmetric ones, of which both read the
    lower half; "LU" for any. Rows and columns are brought close to the diagonal first (`ordering` is Taichi's choice of
    another way to do so, and makes no difference): memory and time are those of the band that is left, so that a matrix
    with full rows is one for `SparseCG`. Runs in one thread."""

    def __init__(self, dtype: Any = f32, solver_type: str = "LLT", ordering: str = "AMD") -> None:
        if not is_one(solver_type, _FACTORS) or not is_one(ordering, ("AMD", "COLAMD")):
            kinds = ", ".join(_FACTORS)
            raise TypeMismatch(
                f"SparseSolver takes solver_type {kinds} and ordering AMD, COLAMD, not {shown(solver_type)}, "
                f"{shown(ordering)}"
            )
        self.dtype, self.solver_type = primitive(dtype), solver_type
        if not self.dtype.is_float:
            raise TypeMismatch(f"a sparse matrix is of floats, not of {self.dtype}")
        self._pattern: tuple[Any, Any] | None = None
        self._shape = (0, 0)
        self._succeeded = False

    def compute(self, sparse_matrix: Any) -> SparseSolver:
        """`analyze_pattern` and `factorize`."""
        self.analyze_pattern(sparse_matrix)
        self.factorize(sparse_matrix)
        return self

    def analyze_pattern(self, sparse_matrix: Any) -> None:
        """Find the order of elimination, for this and for other matrices with elements in the same places. TypeMismatch
        for a matrix of another type, ArgumentError for one that is not square."""
        A = _matrix(sparse_matrix)
        if A.dtype is not self.dtype:
            raise TypeMismatch(f"the solver is for {self.dtype}, the matrix is of {A.dtype}")
        if A.n != A.m:
            raise ArgumentError(f"a matrix of shape {A.shape} has no inverse: it must be square")
        both = A + A.transpose()
        self.order = reverse_cuthill_mckee(both.starts, both.columns)
        self._place = np.empty(A.n, np.int64)
        self._place[self.order] = np.arange(A.n)
        self._pattern, self._shape = (A.rows, A.columns), A.shape
        self._factors: Any = _FACTORS[self.solver_type](A.n, self._place[A.rows], self._place[A.columns], self.dtype)

    def factorize(self, sparse_matrix: Any) -> None:
        """Factorize; `info` says whether it worked. ArgumentError if the pattern is not the one analyzed."""
        A = _matrix(sparse_matrix)
        known = self._pattern is not None and A.shape == self._shape
        if not known or not all(map(np.array_equal, self._pattern or (), (A.rows, A.columns))):
            raise ArgumentError("the matrix has elements in other places than what analyze_pattern saw: call it first")
        rows, columns = self._place[A.rows], self._place[A.columns]
        self._succeeded = self._factors.factorize(rows, columns, A.values, self.solver_type == "LLT")

    def solve(self, b: Any) -> Any:
        """x, as an ndarray where b is one, else as a numpy array. ArgumentError for a b of another length, or without a
        factorization that worked."""
        if not self._succeeded:
            raise ArgumentError("there is no factorization to solve with: info() is False")
        x = vector_of(b, self._shape[0], self.dtype, f"solving with a matrix of shape {self._shape} takes a vector")
        x = np.array((x.to_numpy() if isinstance(x, Ndarray) else x)[self.order])
        self._factors.solve(x)
        return _like(b, x[self._place], self.dtype)

    def info(self) -> bool:
        """Whether the last factorization worked."""
        return self._succeeded


class SparseCG:
    """Conjugate gradients for A x = b: A symmetric and positive definite, `x0` the first guess. Sums are kept in
    f64."""

    def __init__(self, A: Any, b: Any, x0: Any = None, max_iter: int = 50, atol: float = 1e-6) -> None:
        if not isinstance(A, SparseMatrix) or A.n != A.m:
            raise TypeMismatch(f"SparseCG takes a square SparseMatrix, not {type(A).__name__}")
        self.A: SparseMatrix = A
        self.max_iter, self.atol = whole_of(max_iter, "max_iter", 0), number_of(atol, "atol", 0)
        what = f"solving with a matrix of shape {A.shape} takes a vector"
        self.b = _host(vector_of(b, A.n, A.dtype, what))
        self.x0 = np.zeros_like(self.b) if x0 is None else _host(vector_of(x0, A.n, A.dtype, what))

    def solve(self) -> tuple[Any, bool]:
        """(x, whether the norm of the residual came below `atol` within `max_iter` steps); x is a numpy array."""
        x = self.x0.copy()
        r = self.b - self.A @ x
        p, rr = r.copy(), _dot(r, r)
        for _ in range(self.max_iter):
            if sqrt(rr) < self.atol:
                break
            Ap = self.A @ p
            curvature = _dot(p, Ap)
            if curvature == 0.0:
                break
            x += p * x.dtype.type(rr / curvature)
            r -= Ap * x.dtype.type(rr / curvature)
            before, rr = rr, _dot(r, r)
            p = r + p * x.dtype.type(rr / before)
        return x, sqrt(rr) < self.atol


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
