# pyright: reportOverlappingOverload=false
# mypy: disable-error-code="overload-overlap"
"""The functions of the language, as type checkers see them. They take numbers, vectors and matrices."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

from weft.lang.data.snode_api import SNode
from weft.stubs.loops import ndrange as ndrange
from weft.stubs.matrices import Matrix, Tensor, Vector

T = TypeVar("T")
# These are type variables, so that the result for an argument of type Any is Any. A function of several values has
# overloads; a strict checker finds its result for such an argument unknown. The first overload that fits decides.
Real = TypeVar("Real", float, Vector[float], Matrix[float])
Whole = TypeVar("Whole", int, Vector[int], Matrix[int])
Value = TypeVar("Value", int, float, Vector[int], Vector[float], Matrix[int], Matrix[float])

def sqrt(x: Real) -> Real:
    """Square root; integers become default_fp."""

def rsqrt(x: Real) -> Real:
    """1 / sqrt(x); integers become default_fp."""

def sin(x: Real) -> Real:
    """Sine of an angle in radians."""

def cos(x: Real) -> Real:
    """Cosine of an angle in radians."""

def tan(x: Real) -> Real:
    """Tangent of an angle in radians."""

def asin(x: Real) -> Real:
    """Arcsine in radians, in [-pi/2, pi/2]."""

def acos(x: Real) -> Real:
    """Arccosine in radians, in [0, pi]."""

def atan(x: Real) -> Real:
    """Arctangent in radians, in (-pi/2, pi/2)."""

def sinh(x: Real) -> Real:
    """Hyperbolic sine."""

def cosh(x: Real) -> Real:
    """Hyperbolic cosine."""

def tanh(x: Real) -> Real:
    """Hyperbolic tangent."""

def exp(x: Real) -> Real:
    """e to the power x."""

def exp2(x: Real) -> Real:
    """2 to the power x."""

def log(x: Real) -> Real:
    """Natural logarithm."""

def log2(x: Real) -> Real:
    """Logarithm to base 2."""

def abs(x: Value) -> Value:
    """Absolute value, elementwise; keeps the type."""

def sign(x: Value) -> Value:
    """The sign, -1, 0 or 1, elementwise; keeps the type."""

def bit_not(x: Whole) -> Whole:
    """Inverts every bit; integers only."""

def popcnt(x: Whole) -> Whole:
    """The number of bits that are set; integers only."""

def clz(x: Whole) -> Whole:
    """The number of leading bits that are zero; integers only."""

@overload
def floor(x: Value, dtype: None = None) -> Value: ...
@overload
def floor(x: float, dtype: type[T]) -> T: ...
@overload
def floor(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def floor(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """The largest integral value <= x. `dtype` casts the result."""

@overload
def ceil(x: Value, dtype: None = None) -> Value: ...
@overload
def ceil(x: float, dtype: type[T]) -> T: ...
@overload
def ceil(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def ceil(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """The smallest integral value >= x. `dtype` casts the result."""

@overload
def trunc(x: Value, dtype: None = None) -> Value: ...
@overload
def trunc(x: float, dtype: type[T]) -> T: ...
@overload
def trunc(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def trunc(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """x without its fraction. `dtype` casts the result."""

@overload
def round(x: Value, dtype: None = None) -> Value: ...
@overload
def round(x: float, dtype: type[T]) -> T: ...
@overload
def round(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def round(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """The nearest integral value; halves are rounded away from zero. `dtype` casts the result."""

@overload
def atan2(a: float, b: float) -> float: ...
@overload
def atan2(a: float | Vector[float], b: float | Vector[float]) -> Vector[float]: ...
@overload
def atan2(a: float | Matrix[float], b: float | Matrix[float]) -> Matrix[float]:
    """The angle of the point (b, a) in radians, in [-pi, pi]."""

@overload
def pow(a: int, b: int) -> int: ...
@overload
def pow(a: float, b: float) -> float: ...
@overload
def pow(a: int | Vector[int], b: int | Vector[int]) -> Vector[int]: ...
@overload
def pow(a: float | Vector[float], b: float | Vector[float]) -> Vector[float]: ...
@overload
def pow(a: float | Matrix[float], b: float | Matrix[float]) -> Matrix[float]:
    """a to the power b."""

@overload
def raw_div(a: int, b: int) -> int: ...
@overload
def raw_div(a: float, b: float) -> float: ...
@overload
def raw_div(a: int | Vector[int], b: int | Vector[int]) -> Vector[int]: ...
@overload
def raw_div(a: float | Vector[float], b: float | Vector[float]) -> Vector[float]: ...
@overload
def raw_div(a: float | Matrix[float], b: float | Matrix[float]) -> Matrix[float]:
    """Quotient that truncates for integers, as in C; 0 where b is 0."""

@overload
def raw_mod(a: int, b: int) -> int: ...
@overload
def raw_mod(a: float, b: float) -> float: ...
@overload
def raw_mod(a: int | Vector[int], b: int | Vector[int]) -> Vector[int]: ...
@overload
def raw_mod(a: float | Vector[float], b: float | Vector[float]) -> Vector[float]: ...
@overload
def raw_mod(a: float | Matrix[float], b: float | Matrix[float]) -> Matrix[float]:
    """Remainder with the sign of a, as in C; 0 where an integer b is 0."""

def bit_shr(a: Whole, b: int | Whole) -> Whole:
    """a shifted right by b; zeros fill the high bits."""

def bit_sar(a: Whole, b: int | Whole) -> Whole:
    """a shifted right by b; copies of the sign fill the high bits of signed types."""

def bit_shl(a: Whole, b: int | Whole) -> Whole:
    """a shifted left by b."""

@overload
def max(a: int, b: int, *more: int) -> int: ...
@overload
def max(a: float, b: float, *more: float) -> float: ...
@overload
def max(a: int | Vector[int], b: int | Vector[int], *more: int | Vector[int]) -> Vector[int]: ...
@overload
def max(a: float | Vector[float], b: float | Vector[float], *more: float | Vector[float]) -> Vector[float]: ...
@overload
def max(a: float | Matrix[float], b: float | Matrix[float], *more: float | Matrix[float]) -> Matrix[float]:
    """The largest of two or more values, elementwise; ignores NaN if there is a number."""

@overload
def min(a: int, b: int, *more: int) -> int: ...
@overload
def min(a: float, b: float, *more: float) -> float: ...
@overload
def min(a: int | Vector[int], b: int | Vector[int], *more: int | Vector[int]) -> Vector[int]: ...
@overload
def min(a: float | Vector[float], b: float | Vector[float], *more: float | Vector[float]) -> Vector[float]: ...
@overload
def min(a: float | Matrix[float], b: float | Matrix[float], *more: float | Matrix[float]) -> Matrix[float]:
    """The smallest of two or more values, elementwise; ignores NaN if there is a number."""

@overload
def logical_and(a: float, b: float) -> bool: ...
@overload
def logical_and(a: float | Tensor[float], b: float | Tensor[float]) -> Any:
    """Whether both are nonzero."""

@overload
def logical_or(a: float, b: float) -> bool: ...
@overload
def logical_or(a: float | Tensor[float], b: float | Tensor[float]) -> Any:
    """Whether at least one of them is nonzero."""

@overload
def logical_not(x: float) -> bool: ...
@overload
def logical_not(x: Vector[float]) -> Vector[int]: ...
@overload
def logical_not(x: Matrix[float]) -> Matrix[int]:
    """Whether x is zero, elementwise."""

@overload
def isnan(x: float) -> bool: ...
@overload
def isnan(x: Vector[float]) -> Vector[int]: ...
@overload
def isnan(x: Matrix[float]) -> Matrix[int]:
    """Whether x is NaN, elementwise."""

@overload
def isinf(x: float) -> bool: ...
@overload
def isinf(x: Vector[float]) -> Vector[int]: ...
@overload
def isinf(x: Matrix[float]) -> Matrix[int]:
    """Whether x is infinite, elementwise."""

@overload
def select(condition: Any, a: int, b: int) -> int: ...
@overload
def select(condition: Any, a: float, b: float) -> float: ...
@overload
def select(condition: Any, a: int | Vector[int], b: int | Vector[int]) -> Vector[int]: ...
@overload
def select(condition: Any, a: float | Vector[float], b: float | Vector[float]) -> Vector[float]: ...
@overload
def select(condition: Any, a: float | Matrix[float], b: float | Matrix[float]) -> Matrix[float]:
    """a where the condition is true, else b, elementwise; both sides are evaluated."""

@overload
def ifte(condition: Any, a: int, b: int) -> int: ...
@overload
def ifte(condition: Any, a: float, b: float) -> float: ...
@overload
def ifte(condition: Any, a: int | Vector[int], b: int | Vector[int]) -> Vector[int]: ...
@overload
def ifte(condition: Any, a: float | Vector[float], b: float | Vector[float]) -> Vector[float]: ...
@overload
def ifte(condition: Any, a: float | Matrix[float], b: float | Matrix[float]) -> Matrix[float]:
    """a if the scalar condition is true, else b."""

@overload
def cast(x: float, dtype: type[T]) -> T: ...
@overload
def cast(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def cast(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """x converted to dtype; floats saturate into integers, NaN becomes 0."""

@overload
def bit_cast(x: float, dtype: type[T]) -> T: ...
@overload
def bit_cast(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def bit_cast(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """The bits of x read as dtype, which has the same size."""

@overload
def random() -> float: ...
@overload
def random(dtype: type[T]) -> T:
    """A uniform random number: a float in [0, 1), or an integer from the whole range of the type."""

@overload
def randn() -> float: ...
@overload
def randn(dtype: type[T]) -> T:
    """A random number from the standard normal distribution."""

@overload
def frexp(x: float) -> tuple[float, int]: ...
@overload
def frexp(x: Vector[float]) -> tuple[Vector[float], Vector[int]]: ...
@overload
def frexp(x: Matrix[float]) -> tuple[Matrix[float], Matrix[int]]:
    """(m, e) with x = m * 2**e, 0.5 <= |m| < 1, e an i32, elementwise; else (x, 0)."""

def atomic_add(target: Value, value: float | Tensor[float]) -> Value:
    """Executes `target = target add value` as one atomic operation; returns the old value."""

def atomic_sub(target: Value, value: float | Tensor[float]) -> Value:
    """Executes `target = target sub value` as one atomic operation; returns the old value."""

def atomic_mul(target: Value, value: float | Tensor[float]) -> Value:
    """Executes `target = target mul value` as one atomic operation; returns the old value."""

def atomic_min(target: Value, value: float | Tensor[float]) -> Value:
    """Executes `target = target min value` as one atomic operation; returns the old value."""

def atomic_max(target: Value, value: float | Tensor[float]) -> Value:
    """Executes `target = target max value` as one atomic operation; returns the old value."""

def atomic_and(target: Whole, value: int | Tensor[int]) -> Whole:
    """Executes `target = target and value` as one atomic operation; returns the old value."""

def atomic_or(target: Whole, value: int | Tensor[int]) -> Whole:
    """Executes `target = target or value` as one atomic operation; returns the old value."""

def atomic_xor(target: Whole, value: int | Tensor[int]) -> Whole:
    """Executes `target = target xor value` as one atomic operation; returns the old value."""

@overload
def static(x: T) -> T: ...
@overload
def static(x: Any, *more: Any) -> tuple[Any, ...]:
    """Returns its argument, evaluated at compile time: loops over it are unrolled, and only the branch of an
    `if` that is taken is compiled."""

def grouped(over: Any) -> Iterator[Vector[int]]:
    """Makes a loop over an ndrange or field whose index is one vector."""

def loop_config(
    *,
    block_dim: int | None = None,
    serialize: bool | None = None,
    parallelize: int | None = None,
    block_dim_adaptive: bool | None = None,
    bit_vectorize: bool | None = None,
) -> None:
    """Settings of the next loop: serialize, block_dim, parallelize."""

def static_print(*values: Any) -> None:
    """Prints at compile time."""

def static_assert(condition: Any, message: Any = None) -> None:
    """Raises an error at compile time unless the condition is true."""

def zero(x: T) -> T:
    """0 of the type (and shape) of x."""

def one(x: T) -> T:
    """1 of the type (and shape) of x."""

def stop_grad(x: T) -> T:
    """x, without a derivative; for a field, its elements in this block."""

def assume_in_range(x: T, base: float, low: float, high: float) -> T:
    """Returns x; promises that it is in [base + low, base + high)."""

def block_local(*fields: Any) -> None:
    """A hint to keep fields in fast memory; does not change results."""

def cache_read_only(*fields: Any) -> None:
    """A hint that fields are only read; does not change results."""

def activate(node: SNode, indices: Any) -> None:
    """Activates a cell of a sparse node, and the cells above it."""

def deactivate(node: SNode, indices: Any) -> None:
    """Deactivates a cell of a sparse node; of a dynamic node, a list. It reads 0 then."""

def is_active(node: SNode, indices: Any) -> int:
    """Whether a cell of a sparse node is active, or an element of a list exists: 1 or 0."""

def length(node: SNode, indices: Any = None) -> int:
    """The length of a list, which is a cell of a dynamic node."""

def append(node: SNode, indices: Any, val: Any) -> int:
    """Makes a list longer by one element with that value; returns the index of the element."""

def no_activate(*nodes: SNode) -> None:
    """In the next loop, writes below these nodes change only what is active."""

def svd(A: Matrix[float], dt: Any = None) -> tuple[Matrix[float], Matrix[float], Matrix[float]]:
    """Return (U, S, V) with A = U @ S @ V.transpose(), for a 2 x 2 or 3 x 3 matrix. S is diagonal and descending.

    V is a rotation. In 2-D, the values are not negative and U may be a reflection. In 3-D, U is a rotation and the last
    value has the sign of the determinant. The product differs from A by rounding: of 10 million matrices, the largest
    difference in an element was 11.8 eps of S[0, 0], and U and V differed from orthogonal matrices by 9.7 eps. Columns
    that are perpendicular up to rounding are not rotated, so for a matrix near the identity, U and V are near it too
    (columns may change places). Method: one-sided Jacobi (Hestenes 1958)."""

def polar_decompose(A: Matrix[float], dt: Any = None) -> tuple[Matrix[float], Matrix[float]]:
    """Return (R, S) with A = R @ S, for a 2 x 2 or 3 x 3 matrix: R is orthogonal, S is symmetric (see `svd` for
    signs)."""

def eig(A: Matrix[float], dt: Any = None) -> tuple[Matrix[float], Matrix[float]]:
    """Return (values, vectors) of a real 2 x 2 matrix. Row k of `values` is (real, imaginary) of value k. Column k of
    the 4 x 2 `vectors` is its unit eigenvector (real, imaginary, real, imaginary). Off-diagonal elements that are
    rounding are ignored, as in `svd`."""

def sym_eig(A: Matrix[float], dt: Any = None) -> tuple[Vector[float], Matrix[float]]:
    """Return (values, vectors) of a symmetric 2 x 2 matrix (values descending) or 3 x 3 matrix (ascending). The columns
    of `vectors` are unit eigenvectors. A differs from the matrix with exactly these values and vectors by rounding: of
    10 million matrices, the largest difference in an element was 15.4 eps of the largest value. Off-diagonal elements
    that are rounding are ignored, as in `svd`. Method: Jacobi rotations."""

def solve(A: Matrix[float], b: Vector[float], dt: Any = None) -> Vector[float]:
    """Return x with A @ x = b, for a square A of up to 4 x 4 (inf or nan if A is singular)."""

def rescale_index(a: Any, b: Any, I: Vector[int] | Sequence[int]) -> Vector[int]:
    """Return the index in field or node b of the place with index I in field or node a. Both cover the same box at
    their own resolution. Along each axis, the resolution of one is a multiple of the other's. The offsets of fields
    count."""
