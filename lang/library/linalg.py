"""Linear algebra as functions of the language, which are inlined in kernels and run as plain Python.

`METHODS` are those that are also methods of vectors and matrices. Sizes are compile-time constants, so `static` prunes
branches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.lang.values.builtins import pyfunc, sqrt, static, static_assert
from weft.lang.values.matrix import METHODS, Matrix, Vector

if TYPE_CHECKING:
    Template = Any  # to type checkers, a template argument is what it is bound to
else:
    from weft.lang.values.types import Template

__all__ = [
    "METHODS",
    "cross",
    "determinant",
    "dot",
    "inverse",
    "norm",
    "norm_inv",
    "norm_sqr",
    "normalized",
    "outer_product",
    "trace",
]


@pyfunc
def norm_sqr(v: Any) -> Any:
    """The sum of the squares of all elements."""
    return (v * v).sum()


@pyfunc
def norm(v: Any, eps: Any = 0) -> Any:
    """sqrt(sum of squares + eps): the length of a vector, the Frobenius norm of a matrix."""
    return sqrt((v * v).sum() + eps)


@pyfunc
def norm_inv(v: Any, eps: Any = 0) -> Any:
    """1 / sqrt(sum of squares + eps)."""
    return 1.0 / sqrt((v * v).sum() + eps)


@pyfunc
def normalized(v: Any, eps: Any = 0) -> Any:
    """v / (norm + eps): the vector of length 1 in the direction of v."""
    return v / (sqrt((v * v).sum()) + eps)


@pyfunc
def dot(a: Any, b: Any) -> Any:
    """The sum of the products of the elements of two vectors of one length."""
    static_assert(a.n == b.n, "dot takes two vectors of the same length")
    return (a * b).sum()


@pyfunc
def cross(a: Any, b: Any) -> Any:
    """The cross product of two 3-vectors; of two 2-vectors, its third element (a scalar)."""
    static_assert(a.n == b.n and (a.n == 2 or a.n == 3), "cross takes two vectors of 2 or of 3 elements")
    if static(a.n == 2):
        return a[0] * b[1] - a[1] * b[0]
    else:
        return Vector([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@pyfunc
def outer_product(a: Any, b: Any) -> Any:
    """The matrix of all products a[i] * b[j]."""
    return Matrix([[a[i] * b[j] for j in static(range(b.n))] for i in static(range(a.n))])


@pyfunc
def trace(a: Any) -> Any:
    """The sum of the diagonal of a square matrix."""
    static_assert(a.n == a.m, "trace takes a square matrix")
    result = a[0, 0]
    for i in static(range(1, a.n)):
        result = result + a[i, i]
    return result


@pyfunc
def determinant(a: Any) -> Any:
    """The determinant of a square matrix of up to 4 x 4."""
    static_assert(a.n == a.m and a.n <= 4, "determinant takes a square matrix of up to 4 x 4")
    if static(a.n == 1):
        return a[0, 0]
    elif static(a.n == 2):
        return a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    elif static(a.n == 3):
        return (
            a[0, 0] * (a[1, 1] * a[2, 2] - a[2, 1] * a[1, 2])
            - a[1, 0] * (a[0, 1] * a[2, 2] - a[2, 1] * a[0, 2])
            + a[2, 0] * (a[0, 1] * a[1, 2] - a[1, 1] * a[0, 2])
        )
    else:
        # Laplace expansion along the first two rows: 2 x 2 minors of the top pair with those of the bottom pair.
        top = minors(a, 0)
        low = minors(a, 2)
        return top[0] * low[5] - top[1] * low[4] + top[2] * low[3] + top[3] * low[2] - top[4] * low[1] + top[5] * low[0]


@pyfunc
def minors(a: Any, r: Template) -> Any:
    """The six 2 x 2 minors of rows r, r + 1 of a 4 x 4 matrix, by columns 01 02 03 12 13 23."""
    return Vector(
        [
            a[r, 0] * a[r + 1, 1] - a[r, 1] * a[r + 1, 0],
            a[r, 0] * a[r + 1, 2] - a[r, 2] * a[r + 1, 0],
            a[r, 0] * a[r + 1, 3] - a[r, 3] * a[r + 1, 0],
            a[r, 1] * a[r + 1, 2] - a[r, 2] * a[r + 1, 1],
            a[r, 1] * a[r + 1, 3] - a[r, 3] * a[r + 1, 1],
            a[r, 2] * a[r + 1, 3] - a[r, 3] * a[r + 1, 2],
        ]
    )


@pyfunc
def inverse(a: Any) -> Any:
    """The inverse of a square matrix of up to 4 x 4: adjugate over determinant (inf or nan where that is 0)."""
    static_assert(a.n == a.m and a.n <= 4, "inverse takes a square matrix of up to 4 x 4")
    if static(a.n == 1):
        return Matrix([[1.0 / a[0, 0]]])
    elif static(a.n == 2):
        return Matrix([[a[1, 1], -a[0, 1]], [-a[1, 0], a[0, 0]]]) * (1.0 / determinant(a))
    elif static(a.n == 3):
        # Rows of the adjugate: cofactors with cyclic indices carry their sign already.
        return Matrix(
            [
                [
                    a[(j + 1) % 3, (i + 1) % 3] * a[(j + 2) % 3, (i + 2) % 3]
                    - a[(j + 1) % 3, (i + 2) % 3] * a[(j + 2) % 3, (i + 1) % 3]
                    for j in static(range(3))
                ]
                for i in static(range(3))
            ]
        ) * (1.0 / determinant(a))
    else:
        return inverse4(a)


@pyfunc
def inverse4(a: Any) -> Any:
    """The inverse of a 4 x 4 matrix, from the 2 x 2 minors of its upper and lower half."""
    s = minors(a, 0)
    c = minors(a, 2)
    det = s[0] * c[5] - s[1] * c[4] + s[2] * c[3] + s[3] * c[2] - s[4] * c[1] + s[5] * c[0]
    return Matrix(
        [
            [
                a[1, 1] * c[5] - a[1, 2] * c[4] + a[1, 3] * c[3],
                -a[0, 1] * c[5] + a[0, 2] * c[4] - a[0, 3] * c[3],
                a[3, 1] * s[5] - a[3, 2] * s[4] + a[3, 3] * s[3],
                -a[2, 1] * s[5] + a[2, 2] * s[4] - a[2, 3] * s[3],
            ],
            [
                -a[1, 0] * c[5] + a[1, 2] * c[2] - a[1, 3] * c[1],
                a[0, 0] * c[5] - a[0, 2] * c[2] + a[0, 3] * c[1],
                -a[3, 0] * s[5] + a[3, 2] * s[2] - a[3, 3] * s[1],
                a[2, 0] * s[5] - a[2, 2] * s[2] + a[2, 3] * s[1],
            ],
            [
                a[1, 0] * c[4] - a[1, 1] * c[2] + a[1, 3] * c[0],
                -a[0, 0] * c[4] + a[0, 1] * c[2] - a[0, 3] * c[0],
                a[3, 0] * s[4] - a[3, 1] * s[2] + a[3, 3] * s[0],
                -a[2, 0] * s[4] + a[2, 1] * s[2] - a[2, 3] * s[0],
            ],
            [
                -a[1, 0] * c[3] + a[1, 1] * c[1] - a[1, 2] * c[0],
                a[0, 0] * c[3] - a[0, 1] * c[1] + a[0, 2] * c[0],
                -a[3, 0] * s[3] + a[3, 1] * s[1] - a[3, 2] * s[0],
                a[2, 0] * s[3] - a[2, 1] * s[1] + a[2, 2] * s[0],
            ],
        ]
    ) * (1.0 / det)


_METHODS = {
    "norm": norm,
    "norm_sqr": norm_sqr,
    "norm_inv": norm_inv,
    "normalized": normalized,
    "dot": dot,
    "cross": cross,
    "outer_product": outer_product,
    "trace": trace,
    "determinant": determinant,
    "inverse": inverse,
}
METHODS.update(_METHODS)
