"""Emits exp and exp2 as a few instructions, which LLVM vectorizes like any others.

    n = round(x / ln 2)        by adding 1.5 * 2^23 (f64: 2^52), whose last bit counts ones
    r = x - n ln 2             in two steps, the first exact: |r| <= ln 2 / 2
    e^r = 1 + r + r^2 P(r)     P fitted to a tenth of the last bit of e^r
    e^x = e^r 2^h 2^(n - h)    h = round(n / 2): neither power leaves the exponent's range

libmvec's versions are as fast if the result is a normal number, and thirty times slower if it is not. The tails of
exp(-r * r) would take most of a program's time. Results are within 1 unit in the last place, or 2 on a CPU without
fused multiply-add. This includes subnormal results. Infinities and NaN are those of C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from weft.codegen.llvm.function import FunctionWriter
from weft.ir.types import Prim, f32, f64, i32, i64

__all__ = ["EXPONENTIALS", "exponential"]

EXPONENTIALS = frozenset(("exp", "exp2"))


@dataclass(frozen=True)
class _Format:
    """The constants of the formula for a type: the integer type of its size, the bits of the mantissa, the bias of the
    exponent, and ln 2 as the sum of a number whose product with n is exact and of the rest. P is the polynomial, with
    the constant first. Below one operand the result is 0, and above another one it is infinite."""

    bits: Prim
    mantissa: int
    bias: int
    ln2: tuple[float, float]
    polynomial: tuple[float, ...]
    ends: dict[str, tuple[float, float]]


_FORMATS = {
    # P of f32: least squares, weights raised where the error was large. P of f64: interpolation at Chebyshev's nodes.
    f32: _Format(
        i32,
        23,
        127,
        (355 / 512, -0.00021219444005469057),
        (0.4999999403953552, 0.1666652113199234, 0.04166838899254799, 0.00836874544620514, 0.0013814539415761828),
        {"exp": (-104.0, 89.0), "exp2": (-150.5, 129.0)},
    ),
    f64: _Format(
        i64,
        52,
        1023,
        (2977044471 / 2**32, 1.9082149292705877e-10),
        (
            *(0.5000000000000001, 0.16666666666666669, 0.041666666666623824, 0.008333333333330039),
            *(0.0013888888917367081, 0.00019841269863171557, 2.4801521057868204e-05, 2.7557268276905696e-06),
            *(2.7620201591031547e-07, 2.5100472505694996e-08),
        ),
        {"exp": (-746.0, 710.0), "exp2": (-1075.5, 1025.0)},
    ),
}


def exponential(f: FunctionWriter, kind: str, type: Prim, x: str) -> str:
    """Write exp or exp2 of an f32 or f64 (in all lanes); gives the register. The order of the sums matters: none of
    them is marked as fast."""
    format, name = _FORMATS[type], f.spell(type)
    low, high = format.ends[kind]
    tiny = f.set(f"fcmp olt {name} {x}, {f.literal(low, type)}")
    huge = f.set(f"fcmp ogt {name} {x}, {f.literal(high, type)}")
    x = _select(f, type, tiny, f.literal(0.0, type), _select(f, type, huge, f.literal(high, type), x))
    n = _rounded(f, type, x, 1 / math.log(2) if kind == "exp" else 1.0)
    result = _polynomial(f, type, _reduced(f, kind, type, x, n))
    half = _rounded(f, type, n, 0.5)
    for part in (half, f.set(f"fsub {name} {n}, {half}")):
        result = f.set(f"fmul {name} {result}, {_power_of_two(f, type, part)}")
    return _select(f, type, tiny, f.literal(0.0, type), result)


def _rounded(f: FunctionWriter, type: Prim, x: str, scale: float) -> str:
    """The integer nearest to x * scale."""
    magic = f.literal(1.5 * 2 ** _FORMATS[type].mantissa, type)
    return f.set(f"fsub {f.spell(type)} {_multiply_add(f, type, x, f.literal(scale, type), magic)}, {magic}")


def _reduced(f: FunctionWriter, kind: str, type: Prim, x: str, n: str) -> str:
    """r, such that the result is e^r 2^n."""
    if kind == "exp2":
        rest = f.set(f"fsub {f.spell(type)} {x}, {n}")  # exact
        return f.set(f"fmul {f.spell(type)} {rest}, {f.literal(math.log(2), type)}")
    high, low = _FORMATS[type].ln2
    near = _multiply_add(f, type, n, f.literal(-high, type), x)
    return _multiply_add(f, type, n, f.literal(-low, type), near)


def _polynomial(f: FunctionWriter, type: Prim, r: str) -> str:
    """e^r by Horner's rule."""
    first, *others = reversed((1.0, 1.0, *_FORMATS[type].polynomial))
    total = f.literal(first, type)
    for coefficient in others:
        total = _multiply_add(f, type, total, r, f.literal(coefficient, type))
    return total


def _power_of_two(f: FunctionWriter, type: Prim, n: str) -> str:
    """2^n of an integer in the exponent's range: the last bits of the sum with 1.5 * 2^23 hold n + 127."""
    format, name = _FORMATS[type], f.spell(type)
    shifted = f.set(f"fadd {name} {n}, {f.literal(1.5 * 2**format.mantissa + format.bias, type)}")
    whole = f.spell(format.bits)
    word = f.set(f"bitcast {name} {shifted} to {whole}")
    return f.set(f"bitcast {whole} {f.set(f'shl {whole} {word}, {f.literal(format.mantissa, format.bits)}')} to {name}")


def _select(f: FunctionWriter, type: Prim, condition: str, yes: str, no: str) -> str:
    return f.set(f"select {f.truth} {condition}, {f.spell(type)} {yes}, {f.spell(type)} {no}")


def _multiply_add(f: FunctionWriter, type: Prim, a: str, b: str, c: str) -> str:
    """a * b + c, rounded once where the CPU can."""
    name, suffix = f.spell(type), f.suffix(type)
    function = f.module.declare(f"{name} @llvm.fmuladd.{suffix}({name}, {name}, {name})")
    return f.set(f"call {name} @{function}({name} {a}, {name} {b}, {name} {c})")
