"""Arithmetic that differs in lanes: reciprocal square roots from the CPU's estimate."""

from __future__ import annotations

from weft.codegen.cpu.lanes import LaneWriter, by_lane
from weft.codegen.cpu.vector_math import CpuMath, piece, put_piece
from weft.codegen.llvm.function import EMITTERS
from weft.codegen.llvm.scalar_ops import binary
from weft.ir.mapping.lane_price import over_root
from weft.ir.ops import Binary, Unary
from weft.ir.types import f32

__all__: list[str] = []

_ESTIMATE = 16  # floats that the instruction takes


def _estimates(f: LaneWriter) -> bool:
    math = f.target.math
    known = isinstance(math, CpuMath) and math.vectorize and "avx512f" in math.features
    return known and f.lanes % _ESTIMATE == 0


@by_lane(Binary)
def _binary(f: LaneWriter, op: Binary) -> str:
    x = over_root(op) if f.facts.step(op) is None and _estimates(f) else None
    if x is None:
        return _as_ever(f, op)
    with f.wide():
        return binary(f, "mul", f32, f.use(op.lhs), _inverse_root(f, f.use(x)))


@by_lane(Unary)
def _unary(f: LaneWriter, op: Unary) -> str:
    x = over_root(op) if f.facts.step(op) is None and _estimates(f) else None
    if x is None:
        return _as_ever(f, op)
    with f.wide():
        return _inverse_root(f, f.use(x))


def _as_ever(f: LaneWriter, op: Binary | Unary) -> str:
    with f.wide(f.lanes if f.facts.step(op) is None else 1):
        text: str = EMITTERS[type(op)](f, op) or ""
        return text


def _inverse_root(f: LaneWriter, x: str) -> str:
    """1 / sqrt(x) to about the last bit: an estimate y of 14 bits, then Newton's y + y * (1 - x * y * y) / 2.

    At 0 and infinity the estimate is exact, and the step would be by NaN: the lesser of it and 1, by the instruction
    that gives its second operand for NaN, leaves them. No fast-math flags: another order of the products would
    overflow."""
    vector = f.spell(f32)
    y = "poison"
    part = f"<{_ESTIMATE} x float>"
    name = f.module.declare(f"{part} @llvm.x86.avx512.rsqrt14.ps.512({part}, {part}, i16)")
    for first in range(0, f.lanes, _ESTIMATE):
        some = piece(f, "float", f.lanes, x, first, _ESTIMATE)
        made = f.set(f"call {part} @{name}({part} {some}, {part} zeroinitializer, i16 -1)")
        y = put_piece(f, "float", f.lanes, y, made, first, _ESTIMATE)
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
