"""Approximate exp, log, pow, roots and quotients of f32 for `fast_math`, by the instructions that a GPU has in
hardware.

Relative errors (tested by `test_fast_functions`): quotients and roots 3e-7; exp(x) and exp2(x) 3e-7 + 1e-7 |x|; log and
log2 1e-6, also close to 1, where a polynomial replaces the hardware; pow(x, c) with a constant c of at most 8 in size,
2e-6 + 2e-7 |log2 of the result|. Infinities and NaN are preserved. Subnormal operands count as 0.

sin and cos are in a file of their own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.spelling import constant
from weft.ir.types import Prim, f32

__all__ = ["approximations", "power"]

_LN_2, _LOG2_E = 0.6931471805599453, 1.4426950408889634
_NEAR = 0.25  # from 1, as far as the polynomial goes
# log(1 + d) / d, fitted at Chebyshev nodes of |d| <= 0.25; largest relative error 1.4e-7
_LOG_1P = (
    *(-0.13826438215429013, 0.15778454574662137, -0.16615004449145523, 0.19940411453357318),
    *(-0.250006128165459, 0.33334084400654096, -0.49999999179535703, 0.9999999853167066),
)
_LARGEST_EXPONENT = 8.0


def approximations() -> dict[tuple[str, Prim], Callable[..., str]]:
    """By kind of operator and type of the operands."""
    made: dict[str, Callable[..., str]] = {
        "div": _divide,
        "raw_div": _divide,
        "rsqrt": lambda f, x: _hardware(f, "rsqrt.approx.ftz.f", x),
        "sqrt": lambda f, x: _hardware(f, "sqrt.approx.ftz.f", x),
        "exp2": lambda f, x: _hardware(f, "ex2.approx.ftz.f", x),
        "exp": _exp,
        "log2": lambda f, x: _log(f, x, _LOG2_E, 1.0),
        "log": lambda f, x: _log(f, x, 1.0, _LN_2),
    }
    return {(kind, f32): write for kind, write in made.items()}


def _hardware(f: FunctionWriter, name: str, *operands: str) -> str:
    takes = ", ".join(["float"] * len(operands))
    intrinsic = f.module.declare(f"float @llvm.nvvm.{name}({takes})", "nounwind willreturn memory(none)")
    return f.set(f"call float @{intrinsic}({', '.join(f'float {operand}' for operand in operands)})")


def _divide(f: FunctionWriter, a: str, b: str) -> str:
    """`div.full`: 2 ulp and the full range. By a constant: LLVM multiplies by its inverse."""
    if b.startswith("0x"):
        return f.set(f"fdiv {f.module.fast}float {a}, {b}")
    return _hardware(f, "div.full.ftz", a, b)


def _exp(f: FunctionWriter, x: str) -> str:
    return _hardware(f, "ex2.approx.ftz.f", f.set(f"fmul float {x}, {constant(_LOG2_E, f32)}"))


def _log(f: FunctionWriter, x: str, near_scale: float, far_scale: float) -> str:
    d = f.set(f"fsub float {x}, {constant(1.0, f32)}")
    fma, magnitude = f.module.declare("float @llvm.fma.f32(float, float, float)"), "float @llvm.fabs.f32(float)"
    ratio = constant(near_scale * _LOG_1P[0], f32)
    for factor in _LOG_1P[1:]:
        ratio = f.set(f"call float @{fma}(float {ratio}, float {d}, float {constant(near_scale * factor, f32)})")
    near, far = f.set(f"fmul float {ratio}, {d}"), _hardware(f, "lg2.approx.ftz.f", x)
    if far_scale != 1.0:
        far = f.set(f"fmul float {far}, {constant(far_scale, f32)}")
    size = f.set(f"call float @{f.module.declare(magnitude)}(float {d})")
    return f.set(f"select i1 {f.set(f'fcmp olt float {size}, {constant(_NEAR, f32)}')}, float {near}, float {far}")


def power(f: FunctionWriter, x: str, exponent: str) -> str | None:
    """x to a constant power, no multiple of 1/2 (see `demote_ops`). None for one that is not known, or large."""
    known = struct.unpack(">d", bytes.fromhex(exponent[2:]))[0] if exponent.startswith("0x") else float("inf")
    if not abs(known) <= _LARGEST_EXPONENT:
        return None
    turns = f.set(f"fmul float {_hardware(f, 'lg2.approx.ftz.f', x)}, {exponent}")
    return _hardware(f, "ex2.approx.ftz.f", turns)
