"""Lower bounds of floats: `x * x + 0.1` is at least 0.1, or NaN.

`positive(value)` proves that a float is not 0 and not negative, if it is no NaN. Rules of derivatives ask whether an
operand is 0, where a function has no derivative. A program adds a small constant to a sum of squares to avoid that.

A bound holds for every rounding, and for every order in which fast_math may compute a sum: no partial sum of numbers
that are not negative is below one of them. Numbers below the least normal one do not count as positive, because some
processors take them for 0."""

from __future__ import annotations

import math

import numpy as np

from weft.ir.core import Value
from weft.ir.ops import Binary, Reduce, Select, Splat, Unary
from weft.ir.rewrite import literal
from weft.ir.scalar import cast_value
from weft.ir.types import element

__all__ = ["positive"]

_NESTED = 8  # how many ops deep a proof goes
_NOT_NEGATIVE = ("abs", "exp")
_NONE = -math.inf


def positive(value: Value) -> bool:
    """Whether a float, or each element of a tensor or vector of floats, is positive and normal, or NaN."""
    prim = element(value.type)
    return prim.is_float and _least(value, _NESTED) >= float(np.finfo(prim.np).tiny)


def _least(value: Value, depth: int) -> float:
    """A number that the float is not below, if it is no NaN."""
    number, prim = literal(value), element(value.type)
    if not prim.is_float:
        return _NONE
    if number is not None:
        stored = float(cast_value(number, prim))
        return _NONE if math.isnan(stored) else stored
    if depth == 0:
        return _NONE
    if isinstance(value, Binary):
        return _of_binary(value, depth - 1)
    if isinstance(value, Unary):
        if value.kind == "sqrt":  # half of it, in place of an error of rounding
            return math.sqrt(max(_least(value.x, depth - 1), 0.0)) / 2
        if value.kind == "rsqrt":  # of -0.0, it is -infinity
            return 0.0 if _least(value.x, depth - 1) > 0 else _NONE
        return 0.0 if value.kind in _NOT_NEGATIVE else _NONE
    if isinstance(value, Select):
        return min(_least(value.a, depth - 1), _least(value.b, depth - 1))
    if isinstance(value, Splat):
        return _least(value.x, depth - 1)
    if isinstance(value, Reduce) and value.kind == "add":
        return _if_not_negative(_least(value.x, depth - 1))
    return _NONE


def _of_binary(op: Binary, depth: int) -> float:
    a, b = op.operands
    if op.kind == "mul" and a is b:
        return 0.0
    if op.kind == "max" and literal(b) is not None:  # NaN and a number give the number
        return _least(b, depth)
    x, y = _least(a, depth), _least(b, depth)
    if op.kind == "add":
        return max(x, y) if min(x, y) >= 0 else _NONE
    if op.kind == "mul":
        return 0.0 if min(x, y) >= 0 else _NONE
    if op.kind in ("div", "raw_div"):  # by -0.0, it may be -infinity
        return 0.0 if x >= 0 and y > 0 else _NONE
    return min(x, y) if op.kind == "min" else _NONE


def _if_not_negative(bound: float) -> float:
    return bound if bound >= 0 else _NONE
