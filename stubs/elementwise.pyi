# pyright: reportOverlappingOverload=false
# mypy: disable-error-code="overload-overlap"
"""Functions of numbers, vectors and matrices, element by element, as type checkers see them: `ti.sin`, `ti.select`,
`ti.random`.

`lang/values/documentation.py` reads the documentation of functions from these files at run time."""

from typing import Any, TypeVar, overload

from weft.stubs.matrices import Matrix, Tensor, Vector

T = TypeVar("T")
# These are type variables, so that the result for an argument of type Any is Any. A function of several values has
# overloads; a strict checker finds its result for such an argument unknown. The first overload that fits decides.
Real = TypeVar("Real", float, Vector[float], Matrix[float])
Whole = TypeVar("Whole", int, Vector[int], Matrix[int])
Value = TypeVar("Value", int, float, Vector[int], Vector[float], Matrix[int], Matrix[float])

def sqrt(x: Real) -> Real:
    """Square root; integers become default_fp. Of a negative number it is NaN.

    Example:
        ti.sqrt(2.0)  # 1.414214
        ti.sqrt(ti.Vector([4.0, 9.0]))  # [2. 3.]
    """

def rsqrt(x: Real) -> Real:
    """1 / sqrt(x); integers become default_fp. Of 0 it is inf, of a negative number NaN.

    Example:
        ti.rsqrt(4.0)  # 0.5
    """

def sin(x: Real) -> Real:
    """Sine of an angle in radians. Integers become default_fp.

    Example:
        ti.sin(ti.math.pi / 6)  # 0.500000
        ti.sin(ti.Vector([0.0, 1.0]))  # [0. 0.841471]
    """

def cos(x: Real) -> Real:
    """Cosine of an angle in radians. Integers become default_fp.

    Example:
        ti.cos(1.0)  # 0.540302
    """

def tan(x: Real) -> Real:
    """Tangent of an angle in radians. Integers become default_fp.

    Example:
        ti.tan(0.5)  # 0.546302
    """

def asin(x: Real) -> Real:
    """Arcsine in radians, in [-pi/2, pi/2]. Outside of [-1, 1] it is NaN. Integers become default_fp.

    Example:
        ti.asin(1.0)  # 1.570796
        ti.asin(1.5)  # nan
    """

def acos(x: Real) -> Real:
    """Arccosine in radians, in [0, pi]. Outside of [-1, 1] it is NaN. Integers become default_fp.

    Example:
        ti.acos(0.0)  # 1.570796
    """

def atan(x: Real) -> Real:
    """Arctangent in radians, in (-pi/2, pi/2). Integers become default_fp. `ti.atan2` knows the quadrant.

    Example:
        ti.atan(1.0)  # 0.785398
    """

def sinh(x: Real) -> Real:
    """Hyperbolic sine, (exp(x) - exp(-x)) / 2. Integers become default_fp.

    Example:
        ti.sinh(1.0)  # 1.175201
    """

def cosh(x: Real) -> Real:
    """Hyperbolic cosine, (exp(x) + exp(-x)) / 2. Integers become default_fp.

    Example:
        ti.cosh(0.0)  # 1.0
    """

def tanh(x: Real) -> Real:
    """Hyperbolic tangent, sinh(x) / cosh(x), in [-1, 1]. Integers become default_fp.

    Example:
        ti.tanh(0.5)  # 0.462117
    """

def exp(x: Real) -> Real:
    """e to the power x. Integers become default_fp. If the result is too large for the type, it is inf.

    Example:
        ti.exp(1.0)  # 2.718282
        ti.exp(1000.0)  # inf
    """

def exp2(x: Real) -> Real:
    """2 to the power x. Integers become default_fp.

    Example:
        ti.exp2(0.5)  # 1.414214
    """

def log(x: Real) -> Real:
    """Natural logarithm. Integers become default_fp. Of 0 it is -inf, of a negative number NaN.

    Example:
        ti.log(10.0)  # 2.302585
        ti.log(0.0)  # -inf
    """

def log2(x: Real) -> Real:
    """Logarithm to base 2. Integers become default_fp. Of 0 it is -inf, of a negative number NaN.

    Example:
        ti.log2(1024.0)  # 10.0
    """

def abs(x: Value) -> Value:
    """Absolute value, elementwise; keeps the type. The least integer of a signed type stays as it is, because its
    absolute value does not fit the type.

    Example:
        ti.abs(-3)  # 3
        ti.abs(ti.Vector([-1.5, 2.0]))  # [1.5 2. ]
        ti.abs(ti.cast(-128, ti.i8))  # -128
    """

def sign(x: Value) -> Value:
    """The sign, -1, 0 or 1, elementwise; keeps the type. Of NaN it is NaN.

    Example:
        ti.sign(-2.5)  # -1.0
        ti.sign(ti.Vector([3, 0, -7]))  # [1 0 -1]
    """

def bit_not(x: Whole) -> Whole:
    """Inverts every bit, as `~x`. Raises TypeMismatch for floats.

    Example:
        ti.bit_not(0)  # -1
        ti.bit_not(ti.cast(1, ti.u8))  # 254
    """

def popcnt(x: Whole) -> Whole:
    """The number of bits that are set, in the type of x. Raises TypeMismatch for floats.

    Example:
        ti.popcnt(0b1011)  # 3
        ti.popcnt(ti.cast(-1, ti.i32))  # 32
    """

def clz(x: Whole) -> Whole:
    """The number of leading bits that are zero, in the type of x; of 0, it is the number of bits of the type. In
    Python, a plain integer has 64 bits. Raises TypeMismatch for floats.

    Example:
        ti.clz(ti.cast(1, ti.i32))  # 31
        ti.clz(ti.cast(0, ti.u16))  # 16
    """

@overload
def floor(x: Value, dtype: None = None) -> Value: ...
@overload
def floor(x: float, dtype: type[T]) -> T: ...
@overload
def floor(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def floor(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """The largest integral value <= x, of the type of x. `dtype` casts the result.

    Example:
        ti.floor(-1.5)  # -2.0
        ti.floor(ti.Vector([1.7, 2.2]), ti.i32)  # [1 2]
    """

@overload
def ceil(x: Value, dtype: None = None) -> Value: ...
@overload
def ceil(x: float, dtype: type[T]) -> T: ...
@overload
def ceil(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def ceil(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """The smallest integral value >= x, of the type of x. `dtype` casts the result.

    Example:
        ti.ceil(1.2)  # 2.0
        ti.ceil(1.2, ti.i32)  # 2
    """

@overload
def trunc(x: Value, dtype: None = None) -> Value: ...
@overload
def trunc(x: float, dtype: type[T]) -> T: ...
@overload
def trunc(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def trunc(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """x without its fraction: rounded toward zero, of the type of x. `dtype` casts the result.

    Example:
        ti.trunc(-1.7)  # -1.0
    """

@overload
def round(x: Value, dtype: None = None) -> Value: ...
@overload
def round(x: float, dtype: type[T]) -> T: ...
@overload
def round(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def round(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """The nearest integral value, of the type of x; halves are rounded away from zero. `dtype` casts the result.

    Example:
        ti.round(2.5)  # 3.0
        ti.round(-0.4)  # -0.0
        ti.round(2.5, ti.i32)  # 3
    """

@overload
def atan2(a: float, b: float) -> float: ...
@overload
def atan2(a: float | Vector[float], b: float | Vector[float]) -> Vector[float]: ...
@overload
def atan2(a: float | Matrix[float], b: float | Matrix[float]) -> Matrix[float]:
    """The angle of the point (b, a) in radians, in [-pi, pi], elementwise. Integers become default_fp.

    Example:
        ti.atan2(1.0, 1.0)  # 0.785398
        ti.atan2(1.0, -1.0)  # 2.356194
    """

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
    """a to the power b, elementwise, as `a ** b`. The result has the common type of both. An integer to a negative
    power is the quotient 1 / a**-b without its fraction, and 0 for a = 0. A negative float to a power that is not
    integral is NaN.

    Example:
        ti.pow(2, 10)  # 1024
        ti.pow(2, -1)  # 0
        ti.pow(2.0, -1)  # 0.5
    """

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
    """Quotient that truncates for integers, as in C; 0 where an integer b is 0. Python's `//` rounds down. Of floats,
    it is `a / b`.

    Example:
        ti.raw_div(-7, 2)  # -3
        -7 // 2  # -4
        ti.raw_div(7, 0)  # 0
    """

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
    """Remainder with the sign of a, as in C; 0 where an integer b is 0. Python's `%` has the sign of b.

    Example:
        ti.raw_mod(-7, 2)  # -1
        ti.raw_mod(-7.5, 2.0)  # -1.5
    """

def bit_shr(a: Whole, b: int | Whole) -> Whole:
    """a shifted right by b bits, in the type of a; zeros fill the high bits. b counts modulo the width of the type.
    Raises TypeMismatch for floats.

    Example:
        ti.bit_shr(ti.cast(-8, ti.i32), 1)  # 2147483644
        ti.bit_shr(0b1100, 2)  # 3
    """

def bit_sar(a: Whole, b: int | Whole) -> Whole:
    """a shifted right by b bits, in the type of a, as `a >> b`; copies of the sign fill the high bits of signed types.
    b counts modulo the width of the type. Raises TypeMismatch for floats.

    Example:
        ti.bit_sar(-8, 1)  # -4
    """

def bit_shl(a: Whole, b: int | Whole) -> Whole:
    """a shifted left by b bits, in the type of a, as `a << b`. b counts modulo the width of the type. Raises
    TypeMismatch for floats.

    Example:
        ti.bit_shl(3, 2)  # 12
        ti.bit_shl(ti.cast(1, ti.i32), 33)  # 2
    """

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
    """The largest of two or more values, elementwise; ignores NaN if there is a number. The result has the common type
    of all values. Raises TypeMismatch for fewer than two values, and for vectors or matrices of different shapes.

    Example:
        ti.max(1, 5, 3)  # 5
        ti.max(ti.Vector([1.0, 4.0]), 2.0)  # [2. 4.]
        ti.max(float("nan"), 1.0)  # 1.0
    """

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
    """The smallest of two or more values, elementwise; ignores NaN if there is a number. The result has the common type
    of all values. Raises TypeMismatch for fewer than two values, and for vectors or matrices of different shapes.

    Example:
        ti.min(1, 0.5)  # 0.5
        ti.min(ti.Vector([1, 4]), ti.Vector([2, 3]))  # [1 3]
    """

@overload
def logical_and(a: float, b: float) -> bool: ...
@overload
def logical_and(a: float | Tensor[float], b: float | Tensor[float]) -> Any:
    """Whether both are nonzero, elementwise. Both are evaluated, unlike the operands of `and`.

    Example:
        ti.logical_and(1, 0)  # False
        ti.logical_and(ti.Vector([1, 0]), 1)  # [True False]
    """

@overload
def logical_or(a: float, b: float) -> bool: ...
@overload
def logical_or(a: float | Tensor[float], b: float | Tensor[float]) -> Any:
    """Whether at least one of them is nonzero, elementwise. Both are evaluated, unlike the operands of `or`.

    Example:
        ti.logical_or(0, 2)  # True
    """

@overload
def logical_not(x: float) -> bool: ...
@overload
def logical_not(x: Vector[float]) -> Vector[int]: ...
@overload
def logical_not(x: Matrix[float]) -> Matrix[int]:
    """Whether x is zero, elementwise.

    Example:
        ti.logical_not(0)  # True
        ti.logical_not(ti.Vector([0, 3]))  # [True False]
    """

@overload
def isnan(x: float) -> bool: ...
@overload
def isnan(x: Vector[float]) -> Vector[int]: ...
@overload
def isnan(x: Matrix[float]) -> Matrix[int]:
    """Whether x is NaN, elementwise. It also holds with `fast_math`.

    Example:
        ti.isnan(ti.Vector([1.0, ti.math.nan]))  # [False True]
    """

@overload
def isinf(x: float) -> bool: ...
@overload
def isinf(x: Vector[float]) -> Vector[int]: ...
@overload
def isinf(x: Matrix[float]) -> Matrix[int]:
    """Whether x is inf or -inf, elementwise. It also holds with `fast_math`.

    Example:
        ti.isinf(1.0 / ti.Vector([0.0, 2.0]))  # [True False]
    """

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
    """a where the condition is nonzero, else b, elementwise; both sides are evaluated. The result has the common type
    of a and b. Raises TypeMismatch for vectors or matrices of different shapes.

    Example:
        ti.select(1 > 2, 10, 20)  # 20
        ti.select(ti.Vector([1, 0]), ti.Vector([1.0, 2.0]), -1.0)  # [1. -1.]
    """

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
    """a if the condition, a number, is nonzero, else b. Both are evaluated first, as the arguments of each call are;
    `a if condition else b` evaluates only one of them.

    Example:
        @ti.kernel
        def safe_inverse(x: ti.f32) -> ti.f32:
            return ti.ifte(x != 0, 1 / x, 0.0)

        safe_inverse(4.0)  # 0.25
        safe_inverse(0.0)  # 0.0
    """

@overload
def cast(x: float, dtype: type[T]) -> T: ...
@overload
def cast(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def cast(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """x converted to `dtype`, elementwise. Floats lose their fraction and saturate into integers, NaN becomes 0.
    Integers keep their low bits.

    Example:
        ti.cast(-2.7, ti.i32)  # -2
        ti.cast(1e20, ti.i32)  # 2147483647
        ti.cast(300, ti.u8)  # 44
        ti.cast(ti.Vector([1.5, 2.5]), ti.i32)  # [1 2]
    """

@overload
def bit_cast(x: float, dtype: type[T]) -> T: ...
@overload
def bit_cast(x: Vector[float], dtype: type[T]) -> Vector[T]: ...
@overload
def bit_cast(x: Matrix[float], dtype: type[T]) -> Matrix[T]:
    """The bits of x read as `dtype`, which has the same size. Raises TypeMismatch for another size. A plain number of
    Python has the default type first.

    Example:
        hex(ti.bit_cast(1.0, ti.u32))  # '0x3f800000'
        ti.bit_cast(0x3F800000, ti.f32)  # 1.0
    """

@overload
def random() -> float: ...
@overload
def random(dtype: type[T]) -> T:
    """A uniform random number: a float in [0, 1), or an integer from the whole range of the type. Each call in each
    iteration gives another number. They depend only on `ti.init(random_seed=)`, so that equal programs give equal
    numbers.

    Example:
        @ti.kernel
        def inside(n: ti.i32) -> ti.i32:
            count = 0
            for _ in range(n):
                x, y = ti.random(), ti.random()
                if x * x + y * y < 1:
                    count += 1
            return count

        abs(4 * inside(100000) / 100000 - ti.math.pi) < 0.02  # True
    """

@overload
def randn() -> float: ...
@overload
def randn(dtype: type[T]) -> T:
    """A random number from the normal distribution with mean 0 and standard deviation 1. `dtype` is a float type.
    Method: Box and Muller (1958).

    Example:
        x = ti.field(ti.f32, 10000)

        @ti.kernel
        def draw():
            for i in x:
                x[i] = ti.randn()

        draw()
        abs(x.mean()) < 0.05, abs(x.std() - 1) < 0.05  # (True, True)
    """

@overload
def frexp(x: float) -> tuple[float, int]: ...
@overload
def frexp(x: Vector[float]) -> tuple[Vector[float], Vector[int]]: ...
@overload
def frexp(x: Matrix[float]) -> tuple[Matrix[float], Matrix[int]]:
    """(m, e) with x = m * 2**e and 0.5 <= abs(m) < 1, elementwise; e is an i32. Of 0, infinity and NaN it is (x, 0).
    Integers become default_fp.

    Example:
        ti.frexp(12.0)  # (0.75, 4)
        ti.frexp(0.0)  # (0.0, 0)
    """
