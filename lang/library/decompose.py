"""Decompositions of small matrices, for kernels and Python: `svd`, `polar_decompose`, `sym_eig`, `eig`, `solve`. Loops
with a run-time count are `while` loops, so they stay serial wherever they are inlined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.ir.types import f16, f32, f64, i16, i32, i64
from weft.lang.library.linalg import inverse
from weft.lang.values.builtins import abs, bit_cast, cast, max, min, pyfunc, select, sqrt, static, static_assert
from weft.lang.values.matrix import Matrix, Vector

if TYPE_CHECKING:
    Template = Any  # to type checkers, a template argument is what it is bound to
else:
    from weft.lang.values.types import Template

__all__ = ["eig", "polar_decompose", "solve", "svd", "sym_eig"]

# For each type that matrices are computed in: the distance from 1 to the next number, the integer type of the same
# size, and the number of bits of the fraction below the exponent.
ROUNDING = {f16: (2.0**-10, i16, 10), f32: (2.0**-23, i32, 23), f64: (2.0**-52, i64, 52)}

# Off-diagonal elements count as rounding if they are at most this many of these distances, times the smaller of the two
# diagonal elements.
KEPT = 8.0


@pyfunc
def power_below(A: Any) -> Any:
    """Return the power of two at or below the largest absolute value in `A`, or the smallest normal number. Division by
    it is exact, and squares of the quotients neither overflow nor vanish."""
    integer, fraction = static(ROUNDING[A.dtype][1]), static(ROUNDING[A.dtype][2])
    exponent = max(bit_cast(abs(A).max(), integer) >> fraction, 1)
    return bit_cast(cast(exponent, integer) << fraction, A.dtype)


@pyfunc
def rotation_of(alpha: Any, beta: Any, gamma: Any, least: Any) -> Any:
    """Return (c, s) of the Jacobi rotation that diagonalizes [[alpha, gamma], [gamma, beta]]; (1, 0) if |gamma| is at
    most `least`. (If two values are equal up to rounding, their difference would give an arbitrary angle.)"""
    zeta = (beta - alpha) * 0.5
    root = sqrt(zeta * zeta + gamma * gamma)
    stays = (abs(gamma) <= least) | (root == 0.0)
    # tan of the smaller angle
    t = select(stays, 0.0, gamma) / select(stays, 1.0, select(zeta < 0.0, zeta - root, zeta + root))
    c = 1.0 / sqrt(1.0 + t * t)
    return Vector([c, c * t])


@pyfunc
def perpendicular(u: Any) -> Any:
    """Return a unit vector perpendicular to the unit vector `u` of 3 elements."""
    flat = abs(u[2]) < 0.7
    a = select(flat, -u[1], 0.0)
    b = select(flat, u[0], -u[2])
    c = select(flat, 0.0, u[1])
    return Vector([a, b, c]) / sqrt(a * a + b * b + c * c)


@pyfunc
def svd(A: Any, dt: Template = None) -> Any:
    """Return (U, S, V) with A = U @ S @ V.transpose(), for a 2 x 2 or 3 x 3 matrix. S is diagonal and descending.

    V is a rotation. In 2-D, the values are not negative and U may be a reflection. In 3-D, U is a rotation and the last
    value has the sign of the determinant. The product differs from A by rounding: of 10 million matrices, the largest
    difference in an element was 11.8 eps of S[0, 0], and U and V differed from orthogonal matrices by 9.7 eps. Columns
    that are perpendicular up to rounding are not rotated, so for a matrix near the identity, U and V are near it too
    (columns may change places). Method: one-sided Jacobi (Hestenes 1958)."""
    static_assert(A.n == A.m and (A.n == 2 or A.n == 3), "svd takes a 2 x 2 or 3 x 3 matrix")
    scale = power_below(A * 1.0)
    w = A * (1.0 / scale)
    least = static(KEPT * ROUNDING[w.dtype][0])
    v = Matrix([[w[0, 0] * 0.0 + (1.0 if i == j else 0.0) for j in static(range(A.n))] for i in static(range(A.n))])
    # Rotate pairs of columns until all are perpendicular. Their lengths are then the singular values.
    sweep = 0
    while sweep < static(1 if A.n == 2 else 6):
        for p in static(range(A.n)):
            for q in static(range(p + 1, A.n)):
                alpha, beta, gamma = w[0, p] * w[0, p], w[0, q] * w[0, q], w[0, p] * w[0, q]
                for i in static(range(1, A.n)):
                    alpha += w[i, p] * w[i, p]
                    beta += w[i, q] * w[i, q]
                    gamma += w[i, p] * w[i, q]
                turn = rotation_of(alpha, beta, gamma, least * min(alpha, beta))
                for i in static(range(A.n)):
                    x, y = w[i, p], w[i, q]
                    w[i, p], w[i, q] = turn[0] * x - turn[1] * y, turn[1] * x + turn[0] * y
                    x, y = v[i, p], v[i, q]
                    v[i, p], v[i, q] = turn[0] * x - turn[1] * y, turn[1] * x + turn[0] * y
        sweep += 1
    for p, q in static([(0, 1)] if A.n == 2 else [(0, 1), (1, 2), (0, 1)]):
        before, after = w[0, p] * w[0, p], w[0, q] * w[0, q]
        for i in static(range(1, A.n)):
            before += w[i, p] * w[i, p]
            after += w[i, q] * w[i, q]
        if before < after:  # swapping with a change of sign is a rotation
            for i in static(range(A.n)):
                w[i, p], w[i, q] = w[i, q], -w[i, p]
                v[i, p], v[i, q] = v[i, q], -v[i, p]
    u, values = finish2(w) if static(A.n == 2) else finish3(w)
    return u, values * scale, v


@pyfunc
def finish2(w: Any) -> Any:
    """Return (U, S) from the perpendicular columns `w` of a 2 x 2 matrix."""
    first = sqrt(w[0, 0] * w[0, 0] + w[1, 0] * w[1, 0])
    x = select(first > 0.0, w[0, 0] / select(first > 0.0, first, 1.0), 1.0)
    y = select(first > 0.0, w[1, 0] / select(first > 0.0, first, 1.0), 0.0)
    along = x * w[1, 1] - y * w[0, 1]
    side = select(along < 0.0, -1.0, 1.0)
    u = Matrix([[x, -y * side], [y, x * side]])
    return u, Matrix([[first, first * 0.0], [first * 0.0, abs(along)]])


@pyfunc
def finish3(w: Any) -> Any:
    """Return (U, S) from the perpendicular columns `w` of a 3 x 3 matrix."""
    a = Vector([w[0, 0], w[1, 0], w[2, 0]])
    b = Vector([w[0, 1], w[1, 1], w[2, 1]])
    c = Vector([w[0, 2], w[1, 2], w[2, 2]])
    first = a.norm()
    x = a / select(first > 0.0, first, 1.0)
    if first == 0.0:
        x[0] = 1.0
    b = b - x * x.dot(b)
    second = b.norm()
    y = b / select(second > 0.0, second, 1.0)
    if second <= first * static(ROUNDING[w.dtype][0]):  # the remainder of `b` has no reliable direction
        y = perpendicular(x)
    z = x.cross(y)
    third = z.dot(c)
    zero = first * 0.0
    return Matrix.cols([x, y, z]), Matrix([[first, zero, zero], [zero, second, zero], [zero, zero, third]])


@pyfunc
def polar_decompose(A: Any, dt: Template = None) -> Any:
    """Return (R, S) with A = R @ S, for a 2 x 2 or 3 x 3 matrix: R is orthogonal, S is symmetric (see `svd` for
    signs)."""
    u, s, v = svd(A)
    return u @ v.transpose(), v @ s @ v.transpose()


@pyfunc
def sym_eig(A: Any, dt: Template = None) -> Any:
    """Return (values, vectors) of a symmetric 2 x 2 matrix (values descending) or 3 x 3 matrix (ascending). The columns
    of `vectors` are unit eigenvectors. A differs from the matrix with exactly these values and vectors by rounding: of
    10 million matrices, the largest difference in an element was 15.4 eps of the largest value. Off-diagonal elements
    that are rounding are ignored, as in `svd`. Method: Jacobi rotations."""
    static_assert(A.n == A.m and (A.n == 2 or A.n == 3), "sym_eig takes a 2 x 2 or 3 x 3 matrix")
    scale = power_below(A * 1.0)
    w = A * (1.0 / scale)
    least = static(KEPT * ROUNDING[w.dtype][0])
    v = Matrix([[w[0, 0] * 0.0 + (1.0 if i == j else 0.0) for j in static(range(A.n))] for i in static(range(A.n))])
    sweep = 0
    while sweep < static(1 if A.n == 2 else 6):
        for p in static(range(A.n)):
            for q in static(range(p + 1, A.n)):
                turn = rotation_of(w[p, p], w[q, q], w[p, q], least * min(abs(w[p, p]), abs(w[q, q])))
                for i in static(range(A.n)):
                    x, y = w[i, p], w[i, q]
                    w[i, p], w[i, q] = turn[0] * x - turn[1] * y, turn[1] * x + turn[0] * y
                    x, y = v[i, p], v[i, q]
                    v[i, p], v[i, q] = turn[0] * x - turn[1] * y, turn[1] * x + turn[0] * y
                for i in static(range(A.n)):
                    x, y = w[p, i], w[q, i]
                    w[p, i], w[q, i] = turn[0] * x - turn[1] * y, turn[1] * x + turn[0] * y
        sweep += 1
    sense = static(-1.0 if A.n == 2 else 1.0)
    for p, q in static([(0, 1)] if A.n == 2 else [(0, 1), (1, 2), (0, 1)]):
        if sense * w[p, p] > sense * w[q, q]:
            w[p, p], w[q, q] = w[q, q], w[p, p]
            for i in static(range(A.n)):
                v[i, p], v[i, q] = v[i, q], -v[i, p]
    return Vector([w[i, i] for i in static(range(A.n))]) * scale, v


@pyfunc
def eig(A: Any, dt: Template = None) -> Any:
    """Return (values, vectors) of a real 2 x 2 matrix. Row k of `values` is (real, imaginary) of value k. Column k of
    the 4 x 2 `vectors` is its unit eigenvector (real, imaginary, real, imaginary). Off-diagonal elements that are
    rounding are ignored, as in `svd`."""
    static_assert(A.n == 2 and A.m == 2, "eig takes a 2 x 2 matrix")
    scale = power_below(A * 1.0)
    w = A * (1.0 / scale)
    least = static(KEPT * ROUNDING[w.dtype][0]) * min(abs(w[0, 0]), abs(w[1, 1]))
    stays = (abs(w[0, 1]) <= least) & (abs(w[1, 0]) <= least)
    b, c = select(stays, 0.0, w[0, 1]), select(stays, 0.0, w[1, 0])
    middle, half = (w[0, 0] + w[1, 1]) * 0.5, (w[0, 0] - w[1, 1]) * 0.5
    gap = half * half + b * c
    real, imaginary = sqrt(max(gap, 0.0)), sqrt(max(-gap, 0.0))
    values = Matrix([[middle + real, imaginary], [middle - real, -imaginary]])
    vectors = Matrix([[middle * 0.0 for _ in static(range(2))] for _ in static(range(4))])
    for k in static(range(2)):
        # (A - value) x = 0: x is perpendicular to the longer row of A - value.
        shift = static(1.0 if k == 0 else -1.0) * real
        a, d = half - shift, -half - shift
        upper = a * a + b * b >= d * d + c * c
        x = select(upper, -b, d)
        y = select(upper, a, -c)
        xi = select(upper, middle * 0.0, -values[k, 1])
        yi = select(upper, -values[k, 1], middle * 0.0)
        size = sqrt(x * x + y * y + xi * xi + yi * yi)
        if size == 0.0:  # a multiple of the identity: every vector is an eigenvector
            size = size + 1.0
            x, y = x + static(1.0 if k == 0 else 0.0), y + static(0.0 if k == 0 else 1.0)
        vectors[0, k], vectors[1, k], vectors[2, k], vectors[3, k] = x / size, xi / size, y / size, yi / size
    return values * scale, vectors


@pyfunc
def solve(A: Any, b: Any, dt: Template = None) -> Any:
    """Return x with A @ x = b, for a square A of up to 4 x 4 (inf or nan if A is singular)."""
    static_assert(A.n == A.m and A.n == b.n, "solve takes a square matrix and a vector of the same size")
    return inverse(A) @ b
