"""Factorize a matrix whose elements are close to its diagonal, and solve with the factors: in one thread, row by row.

`Envelope`: A = L D L', for symmetric matrices. A row of L is stored from its first element to the diagonal, without
gaps, so the elimination consists of scalar products of parts of two rows.

    L[i, j] d[j] = A[i, j] - sum over k of L[i, k] d[k] L[j, k],   d[i] = A[i, i] - sum over k of L[i, k]^2 d[k]

`Band`: P A = L U with row exchanges, as LAPACK's gbtrf. Row i of `cells` holds the columns from i - lower to i + upper
+ lower. The last `lower` columns hold elements that row exchanges add.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.types import Prim
from weft.lang.kernels.kernel import kernel
from weft.lang.values.builtins import abs, loop_config, max, min
from weft.lang.values.kinds import Integers, Longs, Numbers, Table, i32

__all__ = ["Band", "Envelope"]


@kernel
def _factor_envelope(first: Integers, begins: Longs, cells: Numbers, d: Numbers) -> i32:
    """Replace A by L below the diagonal and by `d`. Returns the first row whose d is zero or NaN, or -1 if there is
    none."""
    bad = -1
    loop_config(serialize=True)
    for i in range(d.shape[0]):
        at = begins[i] - first[i]  # + column: the position of an element of row i
        for j in range(first[i], i):
            there = begins[j] - first[j]
            total = cells[at + j]
            for k in range(max(first[i], first[j]), j):
                total -= cells[at + k] * cells[there + k]
            cells[at + j] = total
        pivot = d[i]
        for j in range(first[i], i):  # L[i, j] d[j] at this point
            value = cells[at + j] / d[j]
            pivot -= value * cells[at + j]
            cells[at + j] = value
        d[i] = pivot
        if not abs(pivot) > 0 and bad < 0:
            bad = i
    return bad


@kernel
def _solve_envelope(first: Integers, begins: Longs, cells: Numbers, d: Numbers, x: Numbers) -> None:
    loop_config(serialize=True)
    for i in range(d.shape[0]):
        total = x[i]
        for j in range(first[i], i):
            total -= cells[begins[i] - first[i] + j] * x[j]
        x[i] = total
    for i in range(d.shape[0]):
        x[i] /= d[i]
    loop_config(serialize=True)
    for i in range(d.shape[0] - 1, -1, -1):
        value = x[i]
        for j in range(first[i], i):
            x[j] -= cells[begins[i] - first[i] + j] * value


@kernel
def _factor_band(cells: Table, swaps: Integers, lower: i32, upper: i32) -> i32:
    """Replace A by U and by L without its unit diagonal. Returns the first column without a pivot, or -1 if there is
    none."""
    bad = -1
    size = cells.shape[0]
    loop_config(serialize=True)
    for k in range(size):
        last, right = min(size - 1, k + lower), min(size - 1, k + lower + upper)
        pivot = k
        for i in range(k + 1, last + 1):
            if abs(cells[i, k - i + lower]) > abs(cells[pivot, k - pivot + lower]):
                pivot = i
        swaps[k] = pivot
        if pivot != k:
            for j in range(k, right + 1):
                value = cells[k, j - k + lower]
                cells[k, j - k + lower] = cells[pivot, j - pivot + lower]
                cells[pivot, j - pivot + lower] = value
        if not abs(cells[k, lower]) > 0:
            bad = k if bad < 0 else bad
        else:
            for i in range(k + 1, last + 1):
                factor = cells[i, k - i + lower] / cells[k, lower]
                cells[i, k - i + lower] = factor
                if factor != 0:
                    for j in range(k + 1, right + 1):
                        cells[i, j - i + lower] -= factor * cells[k, j - k + lower]
    return bad


@kernel
def _solve_band(cells: Table, swaps: Integers, lower: i32, upper: i32, x: Numbers) -> None:
    size = cells.shape[0]
    loop_config(serialize=True)
    for k in range(size):
        value = x[swaps[k]]
        x[swaps[k]] = x[k]
        x[k] = value
        for i in range(k + 1, min(size - 1, k + lower) + 1):
            x[i] -= cells[i, k - i + lower] * value
    loop_config(serialize=True)
    for k in range(size - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, min(size - 1, k + lower + upper) + 1):
            total -= cells[k, j - k + lower] * x[j]
        x[k] = total / cells[k, lower]


class Envelope:
    """Memory for the factors of symmetric matrices with one pattern, given as sorted triplets in elimination order."""

    def __init__(self, size: int, rows: Any, columns: Any, dtype: Prim) -> None:
        self.first = np.arange(size, dtype=np.int32)
        np.minimum.at(self.first, rows, columns.astype(np.int32))
        lengths = np.arange(size) - self.first
        self.begins = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self.cells, self.d = np.zeros(1 + self.begins[-1], dtype.np), np.zeros(size, dtype.np)

    def factorize(self, rows: Any, columns: Any, values: Any, definite: bool) -> bool:
        """Factorize the matrix with those elements. Returns whether no pivot is zero and, if the matrix must be
        `definite`, none is negative."""
        self.cells[:], self.d[:] = 0, 0
        below, on = rows > columns, rows == columns
        self.cells[self.begins[rows[below]] - self.first[rows[below]] + columns[below]] = values[below]
        self.d[rows[on]] = values[on]
        if _factor_envelope(self.first, self.begins, self.cells, self.d) >= 0:
            return False
        return bool(np.isfinite(self.d).all() and (not definite or (self.d > 0).all()))

    def solve(self, x: Any) -> None:
        """Replace the right-hand side in x by the solution."""
        _solve_envelope(self.first, self.begins, self.cells, self.d, x)


class Band:
    """Memory for the factors of matrices with one pattern, like `Envelope`."""

    def __init__(self, size: int, rows: Any, columns: Any, dtype: Prim) -> None:
        self.lower = int(np.max(rows - columns, initial=0))
        self.upper = int(np.max(columns - rows, initial=0))
        self.cells = np.zeros((size, 2 * self.lower + self.upper + 1), dtype.np)
        self.swaps = np.zeros(size, np.int32)

    def factorize(self, rows: Any, columns: Any, values: Any, definite: bool) -> bool:
        """Factorize the matrix. Returns whether each column has a non-zero pivot."""
        del definite
        self.cells[:] = 0
        self.cells[rows, columns - rows + self.lower] = values
        if _factor_band(self.cells, self.swaps, self.lower, self.upper) >= 0:
            return False
        return bool(np.isfinite(self.cells).all())

    def solve(self, x: Any) -> None:
        """Replace the right-hand side in x by the solution."""
        _solve_band(self.cells, self.swaps, self.lower, self.upper, x)
