"""Decompositions of small matrices, as type checkers see them: `ti.svd`, `ti.solve`."""

from collections.abc import Sequence
from typing import Any

from weft.stubs.matrices import Matrix, Vector

def svd(A: Matrix[float], dt: Any = None) -> tuple[Matrix[float], Matrix[float], Matrix[float]]:
    """Return (U, S, V) with A = U @ S @ V.transpose(), for a 2 x 2 or 3 x 3 matrix. S is diagonal and descending.

    V is a rotation. In 2-D, the values are not negative and U may be a reflection. In 3-D, U is a rotation and the last
    value has the sign of the determinant. The product differs from A by rounding: of 10 million matrices, the largest
    difference in an element was 11.8 eps of S[0, 0], and U and V differed from orthogonal matrices by 9.7 eps. Columns
    that are perpendicular up to rounding are not rotated, so for a matrix near the identity, U and V are near it too
    (columns may change places). Method: one-sided Jacobi (Hestenes 1958).

    Example:
        U, S, V = ti.svd(ti.Matrix([[3.0, 0.0], [4.0, 5.0]]))
        [round(S[k, k], 4) for k in range(2)]  # [6.7082, 2.2361]
        (U @ S @ V.transpose()).to_numpy().round(4).tolist()  # [[3.0, 0.0], [4.0, 5.0]]
    """

def polar_decompose(A: Matrix[float], dt: Any = None) -> tuple[Matrix[float], Matrix[float]]:
    """Return (R, S) with A = R @ S, for a 2 x 2 or 3 x 3 matrix: R is orthogonal, S is symmetric (see `svd` for signs).

    Example:
        A = ti.Matrix([[0.0, -2.0], [1.0, 0.0]])
        R, S = ti.polar_decompose(A)
        R.to_numpy().round(4).tolist()  # [[0.0, -1.0], [1.0, 0.0]]
        S.to_numpy().round(4).tolist()  # [[1.0, 0.0], [0.0, 2.0]]
    """

def eig(A: Matrix[float], dt: Any = None) -> tuple[Matrix[float], Matrix[float]]:
    """Return (values, vectors) of a real 2 x 2 matrix. Row k of `values` is (real, imaginary) of value k. Column k of
    the 4 x 2 `vectors` is its unit eigenvector (real, imaginary, real, imaginary). Off-diagonal elements that are
    rounding are ignored, as in `svd`.

    Example:
        values, vectors = ti.eig(ti.Matrix([[2.0, 1.0], [0.0, 3.0]]))
        sorted(values.to_numpy()[:, 0].round(4).tolist())  # [2.0, 3.0]
    """

def sym_eig(A: Matrix[float], dt: Any = None) -> tuple[Vector[float], Matrix[float]]:
    """Return (values, vectors) of a symmetric 2 x 2 matrix (values descending) or 3 x 3 matrix (ascending). The columns
    of `vectors` are unit eigenvectors. A differs from the matrix with exactly these values and vectors by rounding: of
    10 million matrices, the largest difference in an element was 15.4 eps of the largest value. Off-diagonal elements
    that are rounding are ignored, as in `svd`. Method: Jacobi rotations.

    Example:
        values, vectors = ti.sym_eig(ti.Matrix([[2.0, 1.0], [1.0, 2.0]]))
        values.to_numpy().round(4).tolist()  # [3.0, 1.0]
        abs(vectors[:, 0]).to_numpy().round(4).tolist()  # [0.7071, 0.7071]
    """

def solve(A: Matrix[float], b: Vector[float], dt: Any = None) -> Vector[float]:
    """Return x with A @ x = b, for a square A of up to 4 x 4 (inf or nan if A is singular).

    Example:
        A, b = ti.Matrix([[2.0, 1.0], [1.0, 3.0]]), ti.Vector([3.0, 5.0])
        ti.solve(A, b)  # [0.8 1.4]
    """

def rescale_index(a: Any, b: Any, I: Vector[int] | Sequence[int]) -> Vector[int]:
    """Return the index in field or node b of the place with index I in field or node a. Both cover the same box at
    their own resolution. Along each axis, the resolution of one is a multiple of the other's. The offsets of fields
    count.

    Example:
        fine, coarse = ti.field(ti.f32, (64, 64)), ti.field(ti.f32, (16, 16))
        ti.rescale_index(fine, coarse, [10, 63])  # [2 15]
        ti.rescale_index(coarse, fine, [2, 15])  # [8 60]
    """

def get_addr(f: Any, indices: Vector[int] | Sequence[int]) -> int:
    """Return the place in memory of an element of the field or component f (u64): the number of its first byte, from
    the beginning of the memory of its SNode tree. For two fields of a tree, differences are those of addresses. No
    kernel knows where the tree itself lies, so compiled kernels can be kept on disk and run again.

    Of a sparse field, it is 0 where the element is not active. Cells that a `pointer`, `hash` or `dynamic` node has
    made are counted behind the memory of the root. They may be elsewhere after they were deactivated. Differences of
    places in one cell are those of addresses.

    `indices`: one index for each axis, as a list or a vector. Raises TypeMismatch unless f is a field or its node
    `x.snode`.

    Example:
        x = ti.field(ti.i32, (4, 8))
        ti.get_addr(x, [1, 2]) - ti.get_addr(x, [0, 0])  # 40
    """
