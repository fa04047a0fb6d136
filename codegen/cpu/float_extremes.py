"""Emits minimum and maximum of floats in scalar loops with fast_math: `llvm.maximumnum` with `nsz`, not `llvm.maxnum`.

    binary max %greatest, %x                                            CHI
    call float @llvm.maxnum.f32(float %greatest, float %x)              what the table of operators says
    call nsz float @llvm.maximumnum.f32(float %greatest, float %x)      what is written

Both give the number if the other operand is NaN. `nsz` leaves the sign of a zero unspecified, as fast_math does. LLVM's
loop vectorizer recognizes a maximum over a loop as a reduction in either form. For `maxnum`, it tests for NaN in each
iteration, and one of its two cost estimates omits that test. If the estimates choose different widths, as in many loops
that mix f32 and f64 or integers, an assertion in LLVM ends the process. The vectors of `maximumnum` need no such test.
Vectors that Weft itself emits are not LLVM's reductions, so they keep `maxnum`.
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
