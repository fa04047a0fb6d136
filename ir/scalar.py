"""Scalar operators: one row each. Typing, folding, the evaluator, `arch=python` and every code generator read it.

A row says how operands are promoted (`typing`), what the operator computes (`evaluate`, in numpy, on operands of one
type), and its LLVM spelling for floats, signed and unsigned integers (`llvm`; None if codegen has its own expansion).
These rules hold on every arch and at every level:

- integers wrap; shifts use the amount modulo the width; `x // 0`, `x % 0` and `x / 0` of integers are 0;
- `//` floors and `%` has the divisor's sign, as in Python; `raw_div` and `raw_mod` truncate, as in C;
- a float cast to an integer saturates, NaN becomes 0; a cast to u1 is `!= 0`;
- `min`/`max` give the number if one side is NaN; -0.0 is smaller than 0.0 (with `fast_math` either is the smaller).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.types import FLOATS, PRIMS, Prim, f32, f64, i32, u1

__all__ = [
    "ATOMICS",
    "BINARY",
    "UNARY",
    "BinaryRow",
    "UnaryRow",
    "cast_value",
    "identity",
    "promote",
    "range_of",
]

Scalar = Any  # a numpy scalar or array


@dataclass(frozen=True)
class UnaryRow:
    """`typing`: "same" (any type, result alike), "float" (integers become default_fp), "integer",
    "truth" (gives u1). `derivative` names the row of DERIVATIVES (`autodiff/rules.py`) that
    differentiates the operator on floats; None: its values carry no derivative."""

    typing: str
    evaluate: Callable[[Scalar], Scalar]
    llvm: str | None = None
    derivative: str | None = None


@dataclass(frozen=True)
class BinaryRow:
    """`typing`: "promote" (common type), "compare" (common type, gives u1), "float" (as promote, integers become
    default_fp), "bits" (common integer type), "shift" (the left operand's type), "power" (as promote).
    `llvm` spells it for (float, signed, unsigned). `derivative` names the row of DERIVATIVES (`autodiff/rules.py`)
    that differentiates the operator by each operand, on floats; None: its values carry no derivative."""

    typing: str
    evaluate: Callable[[Scalar, Scalar], Scalar]
    llvm: tuple[str | None, str | None, str | None] = (None, None, None)
    commutative: bool = False
    derivative: str | None = None

    def on_scalars(self, type: Prim) -> Callable[[Scalar, Scalar], Scalar]:
        """`evaluate` for two numpy scalars of that type, where numpy's warnings are off: numpy's own operator, if it
        means the same."""
        return self.evaluate if type is u1 else _DIRECT.get(self.evaluate, self.evaluate)


def promote(a: Prim, b: Prim) -> Prim:
    """The common type: float beats integer, wider beats narrower, unsigned beats signed of the same width."""
    if a is b:
        return a
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return a if not a.is_signed else b


def cast_value(value: Any, type: Prim) -> Any:
    """`value` (a number or a numpy array) as `type`, by the rules at the top of this file."""
    if value.__class__ is type.np.type:
        return value
    if value.__class__ in _PLAIN and (bounds := _PLAIN[value.__class__].get(type)) and bounds[0] <= value <= bounds[1]:
        return type.np.type(value)
    if isinstance(value, np.generic) and value.dtype == type.np:
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufO" or (array.dtype == object and not all(isinstance(x, int) for x in array.flat)):
        raise TypeMismatch(f"expected a number, not {value!r}")
    if array.dtype == object:  # integers beyond 64 bits
        array = _beyond(array, type)
    if array.dtype == type.np:
        result = array
    elif type is u1:
        result = array != 0
    elif type.is_int and array.dtype.kind == "f":
        result = _saturate(array, type)
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            result = array.astype(type.np)
    return result[()]


Prim.cast = staticmethod(cast_value)


def _saturate(array: Any, type: Prim) -> Any:
    low, high = range_of(type)
    with np.errstate(invalid="ignore"):
        wide = np.trunc(np.nan_to_num(array.astype(np.float64), nan=0.0))
        inside = (wide > low) & (wide < float(high))
        exact = np.where(inside, wide, 0).astype(type.np)
    return np.where(inside, exact, np.where(wide >= float(high), type.np.type(high), type.np.type(low))).astype(type.np)


def _beyond(array: Any, type: Prim) -> Any:
    """Integers beyond 64 bits: their lowest 64 for an integer type; as floats for floats and truth values."""
    if type.is_int and type is not u1:
        numbers = np.array([int(value) & (2**64 - 1) for value in array.flat], np.uint64)
    else:
        numbers = np.array([_wide(value) for value in array.flat])
    return numbers.reshape(array.shape)


def _wide(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


@cache
def range_of(type: Prim) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    return -(2 ** (type.bits - 1)) if type.is_signed else 0, 2 ** (type.bits - (1 if type.is_signed else 0)) - 1


def identity(kind: str, type: object) -> int | float | bool:
    """The neutral element of a BINARY row: `x kind identity == x` for every `x`. For sums of floats it is -0.0, since
    0.0 + -0.0 is 0.0. For the least and the greatest float it is NaN, since infinity would replace a NaN."""
    assert isinstance(type, Prim)
    if type.is_float:
        return {"add": -0.0, "mul": 1.0, "min": math.nan, "max": math.nan}[kind]
    if type is u1:
        return kind == "and"
    low, high = range_of(type)
    return {"add": 0, "mul": 1, "min": high, "max": low, "and": -1 if type.is_signed else high, "or": 0, "xor": 0}[kind]


# Python's numbers that numpy casts as kernels do, by their class: between which bounds, for each type. (Floats of whole
# numbers beyond 2^24 would be rounded twice.)
_PLAIN: dict[Any, dict[Prim, tuple[Any, Any]]] = {
    float: {f32: (-3.4e38, 3.4e38), f64: (-np.inf, np.inf)},
    int: {f32: (-(2**24), 2**24), f64: (-(2**53), 2**53)}
    | {prim: range_of(prim) for prim in PRIMS.values() if prim.is_int and prim is not u1},
}


def _is_int(x: Scalar) -> bool:
    return np.asarray(x).dtype.kind in "iub"


def _like(x: Scalar, result: Any) -> Scalar:
    if result.__class__ is x.__class__ and isinstance(result, np.generic):
        return result
    return np.asarray(result).astype(np.asarray(x).dtype)[()]


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*values: Scalar) -> Scalar:
        with np.errstate(all="ignore"):
            return _like(values[0], function(*values))

    return run


def _predicate(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*values: Scalar) -> Scalar:
        with np.errstate(all="ignore"):
            return np.asarray(function(*values)).astype(np.bool_)[()]

    return run


def _wrapping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Arithmetic on truth values is integer arithmetic modulo 2."""

    def run(a: Scalar, b: Scalar) -> Scalar:
        if np.asarray(a).dtype == np.bool_:
            return np.asarray(function(np.asarray(a, np.uint8), np.asarray(b, np.uint8)) & 1).astype(np.bool_)[()]
        return function(a, b)

    return _quiet(run)


def _floordiv(a: Scalar, b: Scalar) -> Scalar:
    if not _is_int(a):
        return np.floor(a / b)
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b).astype(np.asarray(b).dtype)))


def _mod(a: Scalar, b: Scalar) -> Scalar:
    if not _is_int(a):
        return a - b * np.floor(a / b)
    return np.where(b == 0, 0, np.remainder(a, np.where(b == 0, 1, b).astype(np.asarray(b).dtype)))


def _raw_div(a: Scalar, b: Scalar) -> Scalar:
    if not _is_int(a):
        return a / b
    quotient = _floordiv(a, b)
    remainder = _mod(a, b)
    return np.where((remainder != 0) & ((a < 0) != (b < 0)), quotient + quotient.dtype.type(1), quotient)


def _raw_mod(a: Scalar, b: Scalar) -> Scalar:
    if not _is_int(a):
        return np.fmod(a, b)
    return np.where(np.asarray(b) == 0, 0, a - _raw_div(a, b) * b)


def _shift_amount(a: Scalar, b: Scalar) -> Scalar:
    bits = np.asarray(a).dtype.itemsize * 8
    return (np.asarray(b) & np.asarray(b).dtype.type(bits - 1)).astype(np.asarray(a).dtype)


def _shl(a: Scalar, b: Scalar) -> Scalar:
    return np.left_shift(a, _shift_amount(a, b))


def _shr(a: Scalar, b: Scalar) -> Scalar:
    return np.right_shift(a, _shift_amount(a, b))


def _bit_shr(a: Scalar, b: Scalar) -> Scalar:
    bits = np.asarray(a)
    unsigned = bits.view(np.dtype(f"u{bits.dtype.itemsize}"))
    return np.right_shift(unsigned, _shift_amount(unsigned, b)).view(bits.dtype)


def _pow(a: Scalar, b: Scalar) -> Scalar:
    if not _is_int(a):
        return np.power(a, b)
    base, exponent = np.asarray(a), np.asarray(b)
    # A negative power of an integer truncates toward zero: only 1 and -1 leave something.
    odd = np.where(exponent & 1 == 1, base, base * base)
    negative = np.where(np.abs(base.astype(np.float64)) == 1, odd, 0)
    positive = np.power(base, np.where(exponent < 0, 0, exponent).astype(exponent.dtype))
    return np.where(exponent < 0, negative, positive)


def _sign(x: Scalar) -> Scalar:
    return np.where(x == 0, x, np.sign(x))  # the sign of a zero is that zero


def _popcnt(x: Scalar) -> Scalar:
    bits = np.asarray(x)
    unsigned = bits.view(np.dtype(f"u{bits.dtype.itemsize}"))
    table = np.array([bin(value).count("1") for value in range(256)], np.uint8)
    return table[np.atleast_1d(unsigned).view(np.uint8).reshape(*unsigned.shape, -1)].sum(-1).reshape(unsigned.shape)


def _clz(x: Scalar) -> Scalar:
    bits = np.asarray(x)
    width = bits.dtype.itemsize * 8
    unsigned = bits.view(np.dtype(f"u{bits.dtype.itemsize}"))
    return np.array([width - int(value).bit_length() for value in unsigned.ravel()]).reshape(unsigned.shape)


def _round(x: Scalar) -> Scalar:
    if _is_int(x):
        return x
    whole = np.trunc(x)
    return np.copysign(np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole), x)


def _extreme(pick: Callable[[Scalar, Scalar], Scalar], least: bool) -> Callable[[Scalar, Scalar], Scalar]:
    """The least or the greatest of two, where -0.0 is smaller than 0.0."""

    def evaluate(a: Scalar, b: Scalar) -> Scalar:
        if _is_int(a):
            return pick(a, b)
        return np.where(a == b, np.where(np.signbit(a) == least, a, b), pick(a, b))[()]

    return evaluate


UNARY: dict[str, UnaryRow] = {
    "neg": UnaryRow("same", _quiet(np.negative), "fneg", derivative="neg"),
    "bit_not": UnaryRow("integer", _quiet(np.invert)),
    "not": UnaryRow("truth", _predicate(np.logical_not)),
    "abs": UnaryRow("same", _quiet(np.abs), "llvm.fabs", derivative="abs"),
    "sign": UnaryRow("same", _quiet(_sign), derivative="step"),
    "floor": UnaryRow("same", _quiet(np.floor), "llvm.floor", derivative="step"),
    "ceil": UnaryRow("same", _quiet(np.ceil), "llvm.ceil", derivative="step"),
    "trunc": UnaryRow("same", _quiet(np.trunc), "llvm.trunc", derivative="step"),
    "round": UnaryRow("same", _quiet(_round), "llvm.round", derivative="step"),
    "sqrt": UnaryRow("float", _quiet(np.sqrt), "llvm.sqrt", derivative="sqrt"),
    "rsqrt": UnaryRow("float", _quiet(lambda x: x.dtype.type(1) / np.sqrt(x)), derivative="rsqrt"),
    "sin": UnaryRow("float", _quiet(np.sin), "llvm.sin", derivative="sin"),
    "cos": UnaryRow("float", _quiet(np.cos), "llvm.cos", derivative="cos"),
    "tan": UnaryRow("float", _quiet(np.tan), "llvm.tan", derivative="tan"),
    "asin": UnaryRow("float", _quiet(np.arcsin), "llvm.asin", derivative="asin"),
    "acos": UnaryRow("float", _quiet(np.arccos), "llvm.acos", derivative="acos"),
    "atan": UnaryRow("float", _quiet(np.arctan), "llvm.atan", derivative="atan"),
    "sinh": UnaryRow("float", _quiet(np.sinh), "llvm.sinh", derivative="sinh"),
    "cosh": UnaryRow("float", _quiet(np.cosh), "llvm.cosh", derivative="cosh"),
    "tanh": UnaryRow("float", _quiet(np.tanh), "llvm.tanh", derivative="tanh"),
    "exp": UnaryRow("float", _quiet(np.exp), "llvm.exp", derivative="exp"),
    "exp2": UnaryRow("float", _quiet(np.exp2), "llvm.exp2", derivative="exp2"),
    "log": UnaryRow("float", _quiet(np.log), "llvm.log", derivative="log"),
    "log2": UnaryRow("float", _quiet(np.log2), "llvm.log2", derivative="log2"),
    "popcnt": UnaryRow("integer", _quiet(_popcnt), "llvm.ctpop"),
    "clz": UnaryRow("integer", _quiet(_clz), "llvm.ctlz"),
}

BINARY: dict[str, BinaryRow] = {
    "add": BinaryRow("promote", _wrapping(operator.add), ("fadd", "add", "add"), commutative=True, derivative="add"),
    "sub": BinaryRow("promote", _wrapping(operator.sub), ("fsub", "sub", "sub"), derivative="sub"),
    "mul": BinaryRow("promote", _wrapping(operator.mul), ("fmul", "mul", "mul"), commutative=True, derivative="mul"),
    "div": BinaryRow("float", _quiet(np.true_divide), ("fdiv", None, None), derivative="div"),
    "floordiv": BinaryRow("promote", _quiet(_floordiv), derivative="step2"),
    "mod": BinaryRow("promote", _quiet(_mod), derivative="mod"),
    "raw_div": BinaryRow("promote", _quiet(_raw_div), ("fdiv", None, None), derivative="div"),
    "raw_mod": BinaryRow("promote", _quiet(_raw_mod), ("frem", None, None), derivative="raw_mod"),
    "pow": BinaryRow("power", _quiet(_pow), ("llvm.pow", None, None), derivative="pow"),
    "atan2": BinaryRow("float", _quiet(np.arctan2), ("llvm.atan2", None, None), derivative="atan2"),
    "min": BinaryRow(
        "promote",
        _quiet(_extreme(np.fmin, True)),
        ("llvm.minnum", "llvm.smin", "llvm.umin"),
        commutative=True,
        derivative="extreme",
    ),
    "max": BinaryRow(
        "promote",
        _quiet(_extreme(np.fmax, False)),
        ("llvm.maxnum", "llvm.smax", "llvm.umax"),
        commutative=True,
        derivative="extreme",
    ),
    "and": BinaryRow("bits", _quiet(np.bitwise_and), (None, "and", "and"), commutative=True),
    "or": BinaryRow("bits", _quiet(np.bitwise_or), (None, "or", "or"), commutative=True),
    "xor": BinaryRow("bits", _quiet(np.bitwise_xor), (None, "xor", "xor"), commutative=True),
    "shl": BinaryRow("shift", _quiet(_shl), (None, "shl", "shl")),
    "shr": BinaryRow("shift", _quiet(_shr), (None, "ashr", "lshr")),
    "bit_shr": BinaryRow("shift", _quiet(_bit_shr), (None, "lshr", "lshr")),
    "lt": BinaryRow("compare", _predicate(operator.lt), ("fcmp olt", "icmp slt", "icmp ult")),
    "le": BinaryRow("compare", _predicate(operator.le), ("fcmp ole", "icmp sle", "icmp ule")),
    "gt": BinaryRow("compare", _predicate(operator.gt), ("fcmp ogt", "icmp sgt", "icmp ugt")),
    "ge": BinaryRow("compare", _predicate(operator.ge), ("fcmp oge", "icmp sge", "icmp uge")),
    "eq": BinaryRow("compare", _predicate(operator.eq), ("fcmp oeq", "icmp eq", "icmp eq"), commutative=True),
    "ne": BinaryRow("compare", _predicate(operator.ne), ("fcmp une", "icmp ne", "icmp ne"), commutative=True),
}

# Operators that numpy's scalars have themselves, and much faster: all of one type give that type, or a truth value.
_DIRECT: dict[Callable[..., Any], Callable[[Scalar, Scalar], Scalar]] = {
    BINARY[kind].evaluate: function
    for kind, function in {
        "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
        "xor": operator.xor, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
        "eq": operator.eq, "ne": operator.ne,
    }.items()
}  # fmt: skip

# The kinds an atomic read-modify-write may have; all but "xchg" compute with the BINARY row of the same name.
ATOMICS: tuple[str, ...] = ("add", "sub", "mul", "min", "max", "and", "or", "xor", "xchg")


def unary_type(kind: str, x: Prim, default_fp: Prim = f32) -> tuple[Prim, Prim]:
    """Return (operand type, result type) of a unary operator applied to `x`. Raises TypeError if the operator does not
    accept such an operand."""
    typing = UNARY[kind].typing
    if typing == "truth":
        return x, u1
    if typing == "float":
        operand = x if x.is_float else default_fp
        return operand, operand
    if typing == "integer" and x.is_float:
        raise TypeError(f"'{kind}' takes an integer, not {x}")
    operand = i32 if x is u1 and kind != "bit_not" else x
    return operand, operand


def binary_type(kind: str, a: Prim, b: Prim, default_fp: Prim = f32) -> tuple[Prim, Prim, Prim]:
    """Return (left, right, result) types of a binary operator on `a` and `b`. Raises TypeError if the operator does not
    accept such operands."""
    typing = BINARY[kind].typing
    if typing in ("bits", "shift") and (a.is_float or b.is_float):
        raise TypeError(f"'{kind}' takes integers, not {a} and {b}")
    if typing == "shift":
        left = i32 if a is u1 else a
        return left, left, left
    common = promote(a, b)
    if typing == "compare":
        return common, common, u1
    if typing == "float" and common not in FLOATS:
        common = default_fp
    if common is u1 and typing != "bits":
        common = i32
    return common, common, common
