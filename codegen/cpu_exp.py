"""exp and exp2 of f32 as a few instructions, which LLVM vectorizes as it does any other.

    n = round(x / ln 2)        by adding 1.5 * 2^23, whose last bit counts ones
    r = x - n ln 2             in two steps, the first exact: |r| <= ln 2 / 2
    e^r = 1 + r + r^2 P(r)     P fitted to a relative error of 3e-9 of e^r
    e^x = e^r 2^(n / 2) 2^(n - n / 2)      the halves do not leave the exponent's range

libmvec's versions are as fast where the result is a normal number, and thirty times slower where it is not: the tails
of exp(-r * r) would take most of a program's time. Results are within 1 unit in the last place (2 on a CPU that cannot
multiply and add at once), subnormal ones too; infinities and NaN are those of C.
"""

from __future__ import annotations

import math

from weft.codegen.function import FunctionWriter
from weft.ir.types import f32, i32

__all__ = ["EXPONENTIALS", "exponential"]

EXPONENTIALS = frozenset(("exp", "exp2"))

# Of (e^r - 1 - r) / r^2, the constant first: least squares over |r| <= ln 2 / 2, weights raised where the error was.
_POLYNOMIAL = (0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.00836874544620514, 0.0013814539415761828)
_ROUND = 1.5 * 2**23
_LN2_HIGH = 355 / 512  # 9 bits: its product with n is exact
# For each function: below this operand the result is 0, above that it is infinite.
_RANGE = {"exp": (-104.0, 89.0), "exp2": (-150.5, 129.0)}


def exponential(f: FunctionWriter, kind: str, x: str) -> str:
    """Write exp or exp2 of an f32 (in all lanes); gives the register. The order of these sums matters: no fast math."""
    float_, low, high = f.spell(f32), *_RANGE[kind]
    tiny = f.set(f"fcmp olt {float_} {x}, {f.literal(low, f32)}")
    huge = f.set(f"fcmp ogt {float_} {x}, {f.literal(high, f32)}")
    x = _select(f, tiny, f.literal(0.0, f32), _select(f, huge, f.literal(high, f32), x))
    shifted = _multiply_add(f, x, f.literal(1 / math.log(2) if kind == "exp" else 1.0, f32), f.literal(_ROUND, f32))
    n = f.set(f"fsub {float_} {shifted}, {f.literal(_ROUND, f32)}")
    result = _polynomial(f, _reduced(f, kind, x, n))
    bits = _bits(f, shifted)
    count = f.set(f"sub {f.spell(i32)} {bits}, {f.literal(0x4B400000, i32)}")  # the bits of _ROUND itself
    half = f.set(f"ashr {f.spell(i32)} {count}, {f.literal(1, i32)}")
    for part in (half, f.set(f"sub {f.spell(i32)} {count}, {half}")):
        result = f.set(f"fmul {float_} {result}, {_power_of_two(f, part)}")
    return _select(f, tiny, f.literal(0.0, f32), result)


def _reduced(f: FunctionWriter, kind: str, x: str, n: str) -> str:
    """r, such that the result is e^r 2^n."""
    if kind == "exp2":
        rest = f.set(f"fsub {f.spell(f32)} {x}, {n}")  # exact
        return f.set(f"fmul {f.spell(f32)} {rest}, {f.literal(math.log(2), f32)}")
    near = _multiply_add(f, n, f.literal(-_LN2_HIGH, f32), x)
    return _multiply_add(f, n, f.literal(_LN2_HIGH - math.log(2), f32), near)


def _polynomial(f: FunctionWriter, r: str) -> str:
    """e^r by Horner's rule."""
    one = f.literal(1.0, f32)
    total = f.literal(_POLYNOMIAL[-1], f32)
    for coefficient in (*_POLYNOMIAL[-2::-1], 1.0, 1.0):
        total = _multiply_add(f, total, r, one if coefficient == 1.0 else f.literal(coefficient, f32))
    return total


def _power_of_two(f: FunctionWriter, n: str) -> str:
    """2^n of an integer in the exponent's range."""
    biased = f.set(f"add {f.spell(i32)} {n}, {f.literal(127, i32)}")
    word = f.set(f"shl {f.spell(i32)} {biased}, {f.literal(23, i32)}")
    return f.set(f"bitcast {f.spell(i32)} {word} to {f.spell(f32)}")


def _bits(f: FunctionWriter, x: str) -> str:
    return f.set(f"bitcast {f.spell(f32)} {x} to {f.spell(i32)}")


def _select(f: FunctionWriter, condition: str, yes: str, no: str) -> str:
    return f.set(f"select {f.truth} {condition}, {f.spell(f32)} {yes}, {f.spell(f32)} {no}")


def _multiply_add(f: FunctionWriter, a: str, b: str, c: str) -> str:
    """a * b + c, rounded once where the CPU can."""
    type, suffix = f.spell(f32), f.suffix(f32)
    name = f.module.declare(f"{type} @llvm.fmuladd.{suffix}({type}, {type}, {type})")
    return f.set(f"call {type} @{name}({type} {a}, {type} {b}, {type} {c})")
