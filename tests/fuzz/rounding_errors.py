"""Whether two results of a program differ by the rounding that it amplifies. A program that computes the sine of a
large number, or goes round a loop that doubles errors, has no more exact digits than that. Reverse mode has fewer than
forward mode where large adjoints cancel, and the other way round.

So the program runs again in other arithmetic: where an operation rounds its result, it gives the float before or after
that instead. What differs between such runs cannot be told from rounding. All results that are exact stay: sums without
a rounding error, products by powers of 2, whole numbers. An operation gives one result for one set of operands, so a
value that is computed twice has the same bits both times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from weft.ir.scalar import BINARY, UNARY

__all__ = ["other_arithmetic", "spread"]

_TRIES = 6
_FACTOR = 100.0  # so many times what other arithmetic changes may be rounding
_FUNCTIONS = ("sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2",
              "log", "log2")  # fmt: skip
_FEW = 29  # bits at the end of an f64 that are 0 by chance in one result of half a billion


def spread(measure: Callable[[], Any]) -> Any:
    """How far measures of the evaluator may be off by rounding: not much more than they move in other arithmetic. That
    is infinite where some arithmetic gives no finite number. None of a measure: an arithmetic that says nothing."""
    found = [measure()]
    for seed in range(_TRIES):
        with other_arithmetic(seed):
            found.append(measure())
    told = np.array([one for one in found if one is not None])
    with np.errstate(all="ignore"):
        moved = np.max(told, axis=0) - np.min(told, axis=0)
    return np.where(np.isfinite(told).all(axis=0), _FACTOR * moved, np.inf)


@contextmanager
def other_arithmetic(seed: int) -> Iterator[None]:
    """Within the context, the evaluator rounds operations on floats otherwise."""
    rows = {kind: replace(row, evaluate=_otherwise(row.evaluate, _ERRORS[kind], seed))
            for kind, row in BINARY.items() if kind in _ERRORS}  # fmt: skip
    functions = {kind: replace(UNARY[kind], evaluate=_otherwise(UNARY[kind].evaluate, _unknown, seed))
                 for kind in _FUNCTIONS}  # fmt: skip
    with patch.dict(BINARY, rows), patch.dict(UNARY, functions):
        yield


def _otherwise(function: Callable[..., Any], rounds: Callable[..., Any], seed: int) -> Callable[..., Any]:
    def evaluate(*operands: Any) -> Any:
        result = function(*operands)
        if result.dtype.kind != "f":
            return result
        with np.errstate(all="ignore"):
            away = np.where(_bit(result, seed), np.copysign(np.inf, result), 0).astype(result.dtype)
            moves = np.isfinite(result) & (result != 0) & rounds(result, *operands)
            return np.where(moves, np.nextafter(result, away), result)[()]

    return evaluate


def _bit(result: Any, seed: int) -> Any:
    """A random truth value for each result without its sign, so that -(x * y) is (-x) * y."""
    bits = np.abs(result).astype(np.float64).view(np.uint64) + np.uint64(seed)
    for _ in range(2):
        bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (bits >> np.uint64(63)) == 1


# ---- which results are rounded ---------------------------------------------------------------------------------------


def _of_sum(result: Any, x: Any, y: Any) -> Any:
    part = result - x
    return (x - (result - part)) + (y - part) != 0


def _of_difference(result: Any, x: Any, y: Any) -> Any:
    return _of_sum(result, x, -y)


def _of_product(result: Any, x: Any, y: Any) -> Any:
    """The exact product is the sum of the products of halves."""
    if result.dtype != np.float64:
        return np.float64(x) * np.float64(y) != result
    (a, b), (c, d) = _halves(x), _halves(y)
    return ((a * c - result) + a * d + b * c) + b * d != 0


def _of_quotient(result: Any, x: Any, y: Any) -> Any:
    return (result * y != x) | _of_product(x, result, y)


def _halves(x: Any) -> tuple[Any, Any]:
    large = x * 134217729.0  # 2**27 + 1
    high = large - (large - x)
    return high, x - high


def _unknown(result: Any, *_: Any) -> Any:
    """A function that gives a number with many zeros at its end is taken for exact there."""
    if result.dtype != np.float64:
        return result != np.round(result)
    return np.asarray(result).view(np.uint64) & np.uint64((1 << _FEW) - 1) != 0


_ERRORS: dict[str, Callable[..., Any]] = {
    "add": _of_sum,
    "sub": _of_difference,
    "mul": _of_product,
    "div": _of_quotient,
    "raw_div": _of_quotient,
    "pow": _unknown,
    "atan2": _unknown,
}
