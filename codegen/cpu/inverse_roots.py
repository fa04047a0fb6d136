"""Reciprocal square roots of vectors of f32, from the CPU's estimate.

    y / sqrt(x), rsqrt(x)       an estimate of 14 bits and a step of Newton's, if `fast_math` allows it

They are several times as fast as a division and a square root. The result is right to about the last bit.
"""

from __future__ import annotations

from weft.codegen.cpu.vector_math import CpuMath, piece, put_piece
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.scalar_ops import binary
from weft.ir.mapping.lane_price import over_root
from weft.ir.ops import Binary, Unary
from weft.ir.types import f32

__all__ = ["over_estimated_root"]

_ESTIMATE = 16  # floats that the instruction takes


def over_estimated_root(f: FunctionWriter, op: Binary | Unary) -> str:
    """The value of `y / sqrt(x)` or `rsqrt(x)` by the estimate, in the current width. Empty: the op is none of these,
    or the CPU has no estimate."""
    math = f.target.math
    known = isinstance(math, CpuMath) and math.vectorize and "avx512f" in math.features
    x = over_root(op) if known and f.width % _ESTIMATE == 0 else None
    if x is None:
        return ""
    root = _inverse_root(f, f.use(x))
    return root if isinstance(op, Unary) else binary(f, "mul", f32, f.use(op.lhs), root)


def _inverse_root(f: FunctionWriter, x: str) -> str:
    """1 / sqrt(x) to about the last bit: an estimate y of 14 bits, then Newton's y + y * (1 - x * y * y) / 2.

    At 0 and infinity the estimate is exact, and the step would be by NaN: the lesser of it and 1, by the instruction
    that gives its second operand for NaN, leaves them. No fast-math flags: another order of the products would
    overflow."""
    vector, count = f.spell(f32), f.width
    y = "poison"
    part = f"<{_ESTIMATE} x float>"
    name = f.module.declare(f"{part} @llvm.x86.avx512.rsqrt14.ps.512({part}, {part}, i16)")
    for first in range(0, count, _ESTIMATE):
        some = piece(f, "float", count, x, first, _ESTIMATE)
        made = f.set(f"call {part} @{name}({part} {some}, {part} zeroinitializer, i16 -1)")
        y = put_piece(f, "float", count, y, made, first, _ESTIMATE)
    fma = f.module.declare(f"{vector} @llvm.fma.{f.suffix(f32)}({vector}, {vector}, {vector})")
    half = f.literal(0.5, f32)
    product = f.set(f"fmul {vector} {x}, {y}")
    negated = f.set(f"fneg {vector} {product}")
    small = f.set(f"fmul {vector} {y}, {half}")
    error = f.set(f"call {vector} @{fma}({vector} {negated}, {vector} {small}, {vector} {half})")
    one = f.literal(1.0, f32)
    sound = f.set(f"fcmp olt {vector} {error}, {one}")
    step = f.set(f"select {f.truth} {sound}, {vector} {error}, {vector} {one}")
    return f.set(f"call {vector} @{fma}({vector} {y}, {vector} {step}, {vector} {y})")
