"""Other meanings of sin, exp, pow ...: functions made of sums, products and quotients, which IEEE 754 determines to the
last bit.

Each mathematical library rounds its functions in its own way (`docs/numbers.md`), and a program can make a last bit as
large as it likes. So a difference between machine code and the evaluator proves nothing where such a function takes
part. With these meanings, every bit is determined but for the order of atomic sums of floats, and each difference is an
error. All else of a program stays: the passes, their decisions, and the code but for what it calls.

The functions keep what passes know of the operators: `exp` is not negative, and powers of 0, 1, 2 and -1 are products
and quotients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from weft.codegen.cpu.vector_math import CpuMath
from weft.codegen.gpu.library_math import LibraryMath
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.scalar_ops import binary, unary
from weft.ir.scalar import BINARY, UNARY
from weft.ir.types import Prim

__all__ = ["FUNCTIONS", "determined"]

# The functions of a mathematical library, with what each adds to `x / (1 + x * x)`.
FUNCTIONS = {kind: float(number + 1) for number, kind in enumerate(
    ("exp", "exp2", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "log", "log2"))}  # fmt: skip
_POWERS = (0.0, 1.0, 2.0, -1.0)


@contextmanager
def determined() -> Iterator[None]:
    """Within the context, the compiler, the evaluator and machine code take these meanings. Needs fast_math=False."""
    meant = {kind: replace(UNARY[kind], evaluate=_unary_of(added)) for kind, added in FUNCTIONS.items()}
    both = {kind: replace(BINARY[kind], evaluate=function) for kind, function in (("pow", _power), ("atan2", _angle))}
    both["pow"] = replace(both["pow"], evaluate=_of_floats(_power, BINARY["pow"].evaluate))
    with ExitStack() as stack:
        stack.enter_context(patch.dict(UNARY, meant))
        stack.enter_context(patch.dict(BINARY, both))
        for library in (CpuMath, LibraryMath):
            stack.enter_context(patch.object(library, "__call__", _written(library.__call__)))
        yield


# ---- what they compute -----------------------------------------------------------------------------------------------


def _unary_of(added: float) -> Callable[[Any], Any]:
    def evaluate(x: Any) -> Any:
        with np.errstate(all="ignore"):
            one = x.dtype.type(1)
            return x.dtype.type(added) + x / (one + x * x)

    return evaluate


def _angle(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        return a / (a.dtype.type(1) + np.abs(b))


def _power(a: Any, b: Any) -> Any:
    with np.errstate(all="ignore"):
        one = a.dtype.type(1)
        made = a * b / (one + a * a)
        for exponent, power in zip(_POWERS, (one, a, a * a, one / a), strict=True):
            made = np.where(b == exponent, power, made)
        return made[()]


def _of_floats(function: Callable[..., Any], others: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: function(a, b) if np.asarray(a).dtype.kind == "f" else others(a, b)


# ---- the same as machine code ----------------------------------------------------------------------------------------


def _written(library: Callable[..., str]) -> Callable[..., str]:
    def write(self: Any, f: FunctionWriter, kind: str, type: Prim, *operands: str) -> str:
        if kind in FUNCTIONS:
            return _write_unary(f, FUNCTIONS[kind], type, *operands)
        if kind in ("pow", "atan2"):
            return (_write_power if kind == "pow" else _write_angle)(f, type, *operands)
        return library(self, f, kind, type, *operands)  # exact functions, such as the remainder

    return write


def _write_unary(f: FunctionWriter, added: float, type: Prim, x: str) -> str:
    below = binary(f, "add", type, f.literal(1.0, type), binary(f, "mul", type, x, x))
    return binary(f, "add", type, f.literal(added, type), binary(f, "div", type, x, below))


def _write_angle(f: FunctionWriter, type: Prim, a: str, b: str) -> str:
    below = binary(f, "add", type, f.literal(1.0, type), unary(f, "abs", type, b))
    return binary(f, "div", type, a, below)


def _write_power(f: FunctionWriter, type: Prim, a: str, b: str) -> str:
    one, square = f.literal(1.0, type), binary(f, "mul", type, a, a)
    made = binary(f, "div", type, binary(f, "mul", type, a, b), binary(f, "add", type, one, square))
    for exponent, power in zip(_POWERS, (one, a, square, binary(f, "div", type, one, a)), strict=True):
        equal, name = binary(f, "eq", type, b, f.literal(exponent, type)), f.spell(type)
        made = f.set(f"select {f.truth} {equal}, {name} {power}, {name} {made}")
    return made
