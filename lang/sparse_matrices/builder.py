"""`ti.linalg.SparseMatrixBuilder`: a matrix as a list of triplets (row, column, value), which kernels append to.

@ti.kernel
def assemble(K: ti.types.sparse_matrix_builder()):
    for i in range(n):
        K[i, i] += 2.0
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import is_one, shown
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.operations import Operation, perform
from weft.lang.errors import ArgumentError
from weft.lang.library.triplets import MEMBERS
from weft.lang.sparse_matrices.matrix import STORAGE_FORMATS, SparseMatrix, shape_of
from weft.lang.values.argpack import ArgPackType
from weft.lang.values.types import NdarrayType, VectorType, f32, i32, primitive

__all__ = ["BuilderType", "SparseMatrixBuilder"]

_PLACE = VectorType(2, i32)


class BuilderType(ArgPackType):
    """The annotation `ti.types.sparse_matrix_builder()` of a kernel's parameter."""

    def __init__(self) -> None:
        arrays = NdarrayType(i32, 1), NdarrayType(_PLACE, 1), NdarrayType(ndim=1)
        super().__init__(dict(zip(MEMBERS, arrays, strict=True)), "sparse_matrix_builder")

    def values(self, pack: Any) -> Iterator[Any]:
        """Return the arrays of a builder. Raises ArgumentError for any other object."""
        if not isinstance(pack, SparseMatrixBuilder):
            raise ArgumentError(f"expected a SparseMatrixBuilder, got {type(pack).__name__}")
        yield from (pack[name] for name in MEMBERS)

    def __repr__(self) -> str:
        return "sparse_matrix_builder()"


class SparseMatrixBuilder:
    """A builder with room for `max_num_triplets` triplets of a `num_rows` x `num_cols` matrix of `dtype`, f32 or f64.

    Kernels append with `+=` and `-=`, in parallel. Values for the same element are added. `storage_format` exists for
    compatibility with Taichi and has no effect.

    Example:
        K = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=9)

        @ti.kernel
        def fill(K: ti.types.sparse_matrix_builder()):
            for i in range(3):
                K[i, i] += 2.0
                K[i, i] -= 0.5

        fill(K)
        A = K.build()
        A[1, 1], A.shape  # (1.5, (3, 3))
    """

    def __init__(
        self,
        num_rows: Any,
        num_cols: Any = None,
        max_num_triplets: Any = 0,
        dtype: Any = f32,
        storage_format: str = "col_major",
    ) -> None:
        if not is_one(storage_format, STORAGE_FORMATS):
            raise TypeMismatch(f"storage_format must be 'col_major' or 'row_major', not {shown(storage_format)}")
        self.dtype = primitive(dtype)
        if not self.dtype.is_float:
            raise TypeMismatch(f"the elements of a sparse matrix must be floats, not {self.dtype}")
        self.shape = shape_of(num_rows, num_cols)
        if not isinstance(max_num_triplets, int | np.integer) or max_num_triplets < 0:
            raise TypeMismatch(f"max_num_triplets must be a whole number of at least 0, not {shown(max_num_triplets)}")
        self.max_num_triplets = int(max_num_triplets)
        room = max(1, self.max_num_triplets)
        self._arrays = {
            "triplet_count": ndarray(i32, 1),
            "triplet_places": ndarray(_PLACE, room),
            "triplet_values": ndarray(self.dtype, room),
        }

    def __getitem__(self, name: str) -> Any:
        if name not in list(MEMBERS):
            raise TypeMismatch("add elements to a builder in a kernel: builder[i, j] += value")
        return self._arrays[name]

    def triplets(self) -> tuple[Any, Any, Any]:
        """Return rows, columns and values as numpy arrays, in the order of insertion. Raises ArgumentError if there
        were more triplets than room, or if one is outside of the matrix."""
        count = int(self._arrays["triplet_count"][0])
        if count > self.max_num_triplets:
            raise ArgumentError(
                f"{count} triplets were added to a builder that has room for {self.max_num_triplets}: "
                f"make it with max_num_triplets={count} or more"
            )
        places = self._arrays["triplet_places"].to_numpy()[:count]
        outside = np.flatnonzero(((places < 0) | (places >= self.shape)).any(axis=1))
        if outside.size:
            row, column = places[outside[0]]
            raise ArgumentError(f"[{row}, {column}] is out of bounds for a matrix of shape {self.shape}")
        return places[:, 0], places[:, 1], self._arrays["triplet_values"].to_numpy()[:count]

    def print_triplets(self) -> None:
        """Print the triplets, one per line."""
        rows, columns, values = self.triplets()
        (n, m), room = self.shape, self.max_num_triplets
        print(f"n={n}, m={m}, num_triplets={len(values)} (max={room})")
        for row, column, value in zip(rows, columns, values, strict=True):
            print(f"[{row}, {column}] = {value:g}")

    def build(self, dtype: Any = None, _format: str = "CSR") -> SparseMatrix:
        """Return the matrix and empty the builder. Raises ArgumentError like `triplets`. Under a tape, derivatives of
        the values end here, with a warning: use `SparseMatrix.build_from_ndarray`."""
        values = self._arrays["triplet_values"]
        perform(Operation("SparseMatrixBuilder.build", _nothing, _nothing, [values], [], []))
        kind = self.dtype if dtype is None else primitive(dtype)
        made = SparseMatrix.of_triplets(self.shape, *self.triplets(), kind, any_order=True)
        self.clear()
        return made

    def clear(self) -> None:
        """Remove all triplets."""
        self._arrays["triplet_count"].fill(0)

    def __repr__(self) -> str:
        return f"<SparseMatrixBuilder {self.shape[0]} x {self.shape[1]}, {self.dtype}>"


def _nothing(*_: Any) -> None:
    """Neither runs anything, nor has a gradient."""
