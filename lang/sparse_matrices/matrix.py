"""`ti.linalg.SparseMatrix`, stored by rows: the begin of each row, and the columns and values of its elements.

numpy performs the operations that change the pattern. A kernel computes products with vectors, because solvers need
hundreds of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim
from weft.lang.arguments import any_number, is_one, path_of, shown
from weft.lang.calls.gradient_warnings import warn_at
from weft.lang.data.field import ScalarField
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.writes import LISTENERS
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.sparse_matrices.derivatives import Map, Source
from weft.lang.values.builtins import zero
from weft.lang.values.kinds import Integers, Numbers
from weft.lang.values.types import f32, i32, primitive

__all__ = ["STORAGE_FORMATS", "SparseMatrix", "shape_of", "vector_of"]

STORAGE_FORMATS = ("col_major", "row_major")  # Taichi's names; they have no effect here
_MOST = 2**31 - 1  # rows or columns, whose indices have 32 bits
_WIDEST = 64  # rows or columns of a matrix that is printed completely


@kernel
def _multiply(starts: Integers, columns: Integers, values: Numbers, x: Numbers, out: Numbers) -> None:
    for row in out:
        total = zero(values[0])
        for at in range(starts[row], starts[row + 1]):
            total += values[at] * x[columns[at]]
        out[row] = total


class SparseMatrix:
    """An `n` x `m` matrix of `dtype`, all zero at first. `SparseMatrixBuilder.build` makes other ones.

    It supports `+`, `-`, products with a number or elementwise (`*`), products with matrices and vectors (`@`), and
    `A[i, j]`. Raises ArgumentError if shapes do not match.

    Example:
        K = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=4)

        @ti.kernel
        def fill(K: ti.types.sparse_matrix_builder()):
            K[0, 0] += 1.0
            K[0, 1] += 2.0

        fill(K)
        A = K.build()
        (A @ np.array([1.0, 1.0], np.float32)).tolist(), (A + A)[0, 1], A.transpose()[1, 0]  # ([3.0, 0.0], 4.0, 2.0)
    """

    __array_ufunc__ = None  # otherwise `array * A` would be an array of matrices

    def __init__(
        self, n: int | None = None, m: int | None = None, dtype: Any = f32, storage_format: str = "col_major"
    ) -> None:
        if not is_one(storage_format, STORAGE_FORMATS):
            raise TypeMismatch(f"storage_format must be 'col_major' or 'row_major', not {shown(storage_format)}")
        self.shape = shape_of(1 if n is None else n, m)
        self._set(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), primitive(dtype))

    def _set(self, rows: Any, columns: Any, values: Any, dtype: Prim) -> None:
        """Set the elements to sorted triplets, at most one per place."""
        if not dtype.is_float:
            raise TypeMismatch(f"the elements of a sparse matrix must be floats, not {dtype}")
        self.dtype, self.rows, self.columns = dtype, rows, columns
        self.values = np.ascontiguousarray(values, dtype.np)
        self.starts = np.searchsorted(rows, np.arange(self.shape[0] + 1))
        self._copied: tuple[int, tuple[Ndarray, Ndarray, Ndarray]] | None = None
        self.source: Source | None = None

    @classmethod
    def of_triplets(
        cls, shape: tuple[int, int], rows: Any, columns: Any, values: Any, dtype: Prim, any_order: bool = False
    ) -> SparseMatrix:
        """Return the matrix whose elements are the sums of the triplets for their place. With `any_order`, the sums do
        not depend on the order of the triplets."""
        made = cls(*shape, dtype=dtype)
        places = rows.astype(np.int64) * shape[1] + columns
        order = np.lexsort((values, places)) if any_order else np.argsort(places, kind="stable")
        places, values = places[order], np.asarray(values)[order]
        first = np.flatnonzero(np.diff(places, prepend=-1))
        sums = np.add.reduceat(values, first) if first.size else values
        rows, columns = np.divmod(places[first], max(shape[1], 1))
        made._set(rows, columns, sums, dtype)
        return made

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.shape[0]

    @property
    def m(self) -> int:
        """The number of columns."""
        return self.shape[1]

    @property
    def nnz(self) -> int:
        """The number of stored elements."""
        return len(self.values)

    # -- elements ------------------------------------------------------------------------------------------------------

    def _find(self, place: Any) -> tuple[int, bool]:
        """Return the position where the element is stored, or would be."""
        whole = isinstance(place, tuple) and all(isinstance(one, int | np.integer) for one in place)
        if not whole or len(place) != 2:
            raise TypeMismatch(
                f"an element of a sparse matrix needs two whole numbers as indices, A[i, j], not A[{place!r}]"
            )
        row, column = map(int, place)
        if not (0 <= row < self.n and 0 <= column < self.m):
            raise IndexError(f"[{row}, {column}] is out of bounds for a matrix of shape {self.shape}")
        at = int(self.starts[row] + np.searchsorted(self.columns[self.starts[row] : self.starts[row + 1]], column))
        return at, bool(at < self.starts[row + 1] and int(self.columns[at]) == column)

    def __getitem__(self, place: Any) -> float:
        at, found = self._find(place)
        return float(self.values[at]) if found else 0.0

    def __setitem__(self, place: Any, value: Any) -> None:
        at, found = self._find(place)
        self._end_derivatives("an assignment to an element of a sparse matrix")
        value = self.dtype.np.type(any_number(value, "an element of a sparse matrix"))
        values = self.values.copy()
        if found:
            values[at] = value
            self._set(self.rows, self.columns, values, self.dtype)
            return
        row, column = map(int, place)
        rows, columns = np.insert(self.rows, at, row), np.insert(self.columns, at, column)
        self._set(rows, columns, np.insert(values, at, value), self.dtype)

    def to_numpy(self) -> Any:
        """Return all elements, including zeros."""
        full = np.zeros(self.shape, self.dtype.np)
        full[self.rows, self.columns] = self.values
        return full

    def __repr__(self) -> str:
        if max(self.shape) > _WIDEST:
            return f"<SparseMatrix {self.n} x {self.m}, {self.nnz} elements of {self.dtype}>"
        texts = [[f"{value:g}" for value in row] for row in self.to_numpy()]
        width = max((len(text) for row in texts for text in row), default=0)
        return "\n".join("[" + ", ".join(text.rjust(width) for text in row) + "]" for row in texts)

    def _end_derivatives(self, what: str) -> None:
        """Warn if the elements carry derivatives, which end there."""
        if self.source is not None and LISTENERS.get():
            warn_at(None, f"the derivatives of the elements of a sparse matrix end in {what}: compute them in a kernel")

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    def _with(self, rows: Any, columns: Any, values: Any, shape: tuple[int, int] | None = None) -> SparseMatrix:
        self._end_derivatives("an operation with a sparse matrix")
        return SparseMatrix.of_triplets(shape or self.shape, rows, columns, values, self.dtype)

    def _no_array(self, other: Any, symbol: str) -> None:
        if isinstance(other, np.ndarray):
            raise TypeMismatch(
                f"'{symbol}' does not work on a sparse matrix and an array: use A.to_numpy(), or two sparse matrices"
            )

    def _same_shape(self, other: SparseMatrix, symbol: str) -> None:
        if self.shape != other.shape:
            raise ArgumentError(
                f"'{symbol}' of matrices of shapes {self.shape} and {other.shape}: the shapes must be equal"
            )

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1, "+")

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1, "-")

    def _sum(self, other: Any, sign: int, symbol: str) -> Any:
        if not isinstance(other, SparseMatrix):
            self._no_array(other, symbol)
            return NotImplemented
        self._same_shape(other, symbol)
        pairs = zip((self.rows, self.columns), (other.rows, other.columns), strict=True)
        rows, columns = (np.concatenate(pair) for pair in pairs)
        return self._with(rows, columns, np.concatenate((self.values, sign * other.values)))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, SparseMatrix):
            self._same_shape(other, "*")
            mine, theirs = (one.rows * self.m + one.columns for one in (self, other))
            _, at, there = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
            return self._with(self.rows[at], self.columns[at], self.values[at] * other.values[there])
        if isinstance(other, (int, float, np.number)):
            return self._with(self.rows, self.columns, self.values * self.dtype.np.type(other))
        self._no_array(other, "*")
        return NotImplemented

    __rmul__ = __mul__

    def __neg__(self) -> SparseMatrix:
        return self._with(self.rows, self.columns, -self.values)

    def __truediv__(self, other: Any) -> Any:
        return self * (1 / other) if isinstance(other, (int, float, np.number)) else NotImplemented

    def transpose(self) -> SparseMatrix:
        """Return the transposed matrix, which is another `SparseMatrix`."""
        return self._with(self.columns, self.rows, self.values, (self.m, self.n))

    def __matmul__(self, other: Any) -> Any:
        """Return the product with a matrix or a vector. The product with an ndarray is an ndarray, with another vector
        a numpy array. Under a tape, it is an ndarray with a gradient if the vector or the elements have one."""
        if isinstance(other, SparseMatrix):
            return self._product(other)
        if not isinstance(other, (Ndarray, ScalarField, np.ndarray)):
            return NotImplemented
        x = vector_of(other, self.m, self.dtype, f"a matrix of shape {self.shape} times a vector")
        recorded = self._map().recorded(other)
        if recorded is not None:
            return recorded
        out = ndarray(self.dtype, self.n) if isinstance(other, Ndarray) else np.zeros(self.n, self.dtype.np)
        if self.nnz:
            _multiply(*self._on_device(), x, out)
        return out

    def _map(self) -> Map:
        rows, columns, values, (n, m) = self.rows, self.columns, self.values, self.shape

        def product(to: Any, by: Any, vector: Any, length: int, numbers: Any = values) -> Any:
            return np.bincount(to, numbers * vector[by], length).astype(values.dtype)

        return Map(
            "the product of a sparse matrix and a vector",
            self.dtype,
            n,
            self.source,
            lambda b: product(rows, columns, b, n),
            lambda g: product(columns, rows, g, m),
            lambda _, g, b, x: g[rows] * b[columns],
            lambda db, numbers, b, x: product(rows, columns, db, n) + product(rows, columns, b, n, numbers),
            len(values),
        )

    def _product(self, other: SparseMatrix) -> SparseMatrix:
        """Return the product with a matrix: each element (i, k) is multiplied by all elements (k, j) of the other's row
        k."""
        if self.m != other.n:
            raise ArgumentError(f"matrices of shapes {self.shape} and {other.shape} cannot be multiplied")
        begins, counts = other.starts[self.columns], np.diff(other.starts)[self.columns]
        mine = np.repeat(np.arange(self.nnz), counts)
        theirs = np.arange(len(mine)) + np.repeat(begins - np.cumsum(counts) + counts, counts)
        values = self.values[mine] * other.values[theirs]
        return self._with(self.rows[mine], other.columns[theirs], values, (self.n, other.m))

    def _on_device(self) -> tuple[Ndarray, Ndarray, Ndarray]:
        """Return the matrix as arrays of the current program, for kernels."""
        generation = program().generation
        if self._copied is None or self._copied[0] != generation:
            made = ndarray(i32, self.n + 1), ndarray(i32, self.nnz), ndarray(self.dtype, self.nnz)
            for array, source in zip(made, (self.starts, self.columns, self.values), strict=True):
                array.from_numpy(source.astype(array.to_numpy().dtype))
            self._copied = generation, made
        return self._copied[1]

    # -- input and output ----------------------------------------------------------------------------------------------

    def build_from_ndarray(self, ndarray: Any) -> None:
        """Set the matrix from triplets: an ndarray of 3-vectors, or of three numbers for each. Under a tape, the values
        of the triplets get gradients from products and solutions with the matrix. Raises ArgumentError for a triplet
        outside of the matrix."""
        if not isinstance(ndarray, Ndarray):
            raise TypeMismatch(f"build_from_ndarray takes an ndarray of (row, column, value), not {ndarray!r}")
        triplets = ndarray.to_numpy()
        if triplets.size % 3:
            raise TypeMismatch(f"a triplet is three numbers, but {triplets.size} is not a multiple of 3")
        triplets = triplets.reshape(-1, 3)
        places = triplets[:, :2].astype(np.int64)
        self.source = None
        if ((places < 0) | (places >= self.shape)).any():
            raise ArgumentError(f"a triplet is out of bounds for a matrix of shape {self.shape}")
        made = self._with(places[:, 0], places[:, 1], triplets[:, 2])
        self._set(made.rows, made.columns, made.values, self.dtype)
        if LISTENERS.get():
            numbers = places[:, 0] * self.m + places[:, 1]
            self.source = Source(ndarray, np.searchsorted(self.rows * self.m + self.columns, numbers))

    def mmwrite(self, filename: Any) -> None:
        """Write the matrix to a file in the Matrix Market format (https://math.nist.gov/MatrixMarket/formats.html)."""
        with open(path_of(filename, "mmwrite"), "w", encoding="ascii") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n%\n")
            file.write(f"{self.n} {self.m} {self.nnz}\n")
            for row, column, value in zip(self.rows, self.columns, self.values, strict=True):
                file.write(f"{row + 1} {column + 1} {float(value)!r}\n")


def shape_of(rows: Any, columns: Any) -> tuple[int, int]:
    """Return the numbers of rows and columns. If the latter is None, both are equal. Raises TypeMismatch for another
    object."""
    shape = rows, rows if columns is None else columns
    if not all(isinstance(number, int | np.integer) and 0 <= number < _MOST for number in shape):
        wanted = f"whole numbers, at least 0 and below {_MOST}"
        raise TypeMismatch(
            f"the numbers of rows and columns of a sparse matrix must be {wanted}, not {shown(shape[0])}, "
            f"{shown(shape[1])}"
        )
    return int(shape[0]), int(shape[1])


def vector_of(x: Any, length: int, dtype: Prim, what: str) -> Any:
    """Convert `x` (a numpy array, a one-dimensional field or an ndarray) to an array of that type for a kernel."""
    if not isinstance(x, Ndarray | ScalarField | np.ndarray):
        raise TypeMismatch(f"{what}: a numpy array, a field or an ndarray, not {x!r}")
    if tuple(x.shape) != (length,):
        raise ArgumentError(f"{what} of shape {tuple(x.shape)}: its shape must be ({length},)")
    if isinstance(x, Ndarray) and x.element_type is dtype:
        return x
    return np.ascontiguousarray(x if isinstance(x, np.ndarray) else x.to_numpy(), dtype.np)
