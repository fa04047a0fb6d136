"""Minimum and maximum of floats in scalar loops with fast_math: `llvm.maximumnum` with `nsz`, not `llvm.maxnum`.

    binary max %greatest, %x                                            CHI
    call float @llvm.maxnum.f32(float %greatest, float %x)              what the table of operators says
    call nsz float @llvm.maximumnum.f32(float %greatest, float %x)      what is written

Both give the number where the other operand is NaN; `nsz` leaves the sign of a zero open, as fast_math does. LLVM's
loop vectorizer takes a maximum that a loop keeps for a reduction in either form. In the form of `maxnum` it tests for
NaN in each round, and one of its two estimates of costs leaves that test out. Where the estimates choose different
widths, as in many loops that mix f32 and f64 or integers, an assertion of LLVM's ends the process. The vectors of
`maximumnum` need no such test. Vectors that Weft itself makes are not LLVM's reductions: they keep `maxnum`.
"""

from __future__ import annotations

from functools import partial

from weft.codegen.llvm.function import FunctionWriter
from weft.ir.types import Prim, f16, f32, f64

__all__ = ["FLOAT_EXTREMES"]


def _extreme(f: FunctionWriter, a: str, b: str, kind: str, type: Prim) -> str:
    """The least or greatest of two floats, either sign of zero."""
    name = f.spell(type)
    spelled, signs = (f"llvm.{kind}imumnum", "nsz ") if f.width == 1 else (f"llvm.{kind}num", "")
    intrinsic = f.module.declare(f"{name} @{spelled}.{f.suffix(type)}({name}, {name})")
    return f.set(f"call {signs}{f.module.fast}{name} @{intrinsic}({name} {a}, {name} {b})")


# Ways to write operators, by kind and type: for a module with fast_math.
FLOAT_EXTREMES = {
    (kind, type): partial(_extreme, kind=kind, type=type) for kind in ("min", "max") for type in (f16, f32, f64)
}
