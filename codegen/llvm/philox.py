"""Random numbers in generated code: the rounds of `ir/philox.py`, which says what the numbers depend on."""

from __future__ import annotations

from weft.codegen.llvm.function import FunctionWriter, emits
from weft.codegen.llvm.memory_ops import read_slot
from weft.codegen.llvm.spelling import constant, in_register
from weft.ir.ops import Random
from weft.ir.philox import MANTISSA, MULTIPLIERS, ROUNDS, WEYL
from weft.ir.types import Prim

__all__ = ["FUNCTION"]


def _write() -> str:
    """The generator as LLVM text: (seed, iteration, draw, stream) -> 64 random bits."""
    lines = [
        "define internal i64 @weft_philox(i64 %seed, i64 %lane, i32 %draw, i32 %stream) alwaysinline memory(none) {",
        "  %k0_0 = trunc i64 %seed to i32",
        "  %seedh = lshr i64 %seed, 32",
        "  %k1_0 = trunc i64 %seedh to i32",
        "  %c0_0 = trunc i64 %lane to i32",
        "  %laneh = lshr i64 %lane, 32",
        "  %c1_0 = trunc i64 %laneh to i32",
        "  %c2_0 = add i32 %draw, 0",
        "  %c3_0 = add i32 %stream, 0",
    ]
    for r in range(ROUNDS):
        for half, (word, multiplier) in enumerate(zip(("c0", "c2"), MULTIPLIERS, strict=True)):
            lines += [
                f"  %w{half}_{r} = zext i32 %{word}_{r} to i64",
                f"  %p{half}_{r} = mul i64 %w{half}_{r}, {multiplier}",
                f"  %q{half}_{r} = lshr i64 %p{half}_{r}, 32",
                f"  %h{half}_{r} = trunc i64 %q{half}_{r} to i32",
                f"  %l{half}_{r} = trunc i64 %p{half}_{r} to i32",
            ]
        lines += [
            f"  %x0_{r} = xor i32 %h1_{r}, %c1_{r}",
            f"  %c0_{r + 1} = xor i32 %x0_{r}, %k0_{r}",
            f"  %c1_{r + 1} = add i32 %l1_{r}, 0",
            f"  %x2_{r} = xor i32 %h0_{r}, %c3_{r}",
            f"  %c2_{r + 1} = xor i32 %x2_{r}, %k1_{r}",
            f"  %c3_{r + 1} = add i32 %l0_{r}, 0",
            f"  %k0_{r + 1} = add i32 %k0_{r}, {WEYL[0]}",
            f"  %k1_{r + 1} = add i32 %k1_{r}, {WEYL[1]}",
        ]
    lines += [
        f"  %low = zext i32 %c0_{ROUNDS} to i64",
        f"  %high = zext i32 %c1_{ROUNDS} to i64",
        "  %up = shl i64 %high, 32",
        "  %bits = or i64 %up, %low",
        "  ret i64 %bits",
        "}",
    ]
    return "\n".join(lines) + "\n"


FUNCTION = _write()


@emits(Random)
def _random(f: FunctionWriter, op: Random) -> str:
    type = op.type
    assert isinstance(type, Prim)
    random, draws = f.random, f.random.draws
    assert draws, "whoever starts an iteration makes the slot that counts its draws, and sets it to zero"
    if FUNCTION not in f.module.functions:
        f.module.functions.append(FUNCTION)
    seed = read_slot(f, 2, "i64")
    draw = f.set(f"load i32, ptr {draws}, align 4")
    following = f.set(f"add i32 {draw}, 1")
    f.do(f"store i32 {following}, ptr {draws}, align 4")
    lane, stream = (random.lane, random.stream or op.stream) if random.stream or op.stream else (0, 0)
    bits = f.set(f"call i64 @weft_philox(i64 {seed}, i64 {lane}, i32 {draw}, i32 {stream})")
    if not type.is_float:
        return bits if type.bits == 64 else f.set(f"trunc i64 {bits} to {in_register(type)}")
    return _uniform(f, type, bits)


def _uniform(f: FunctionWriter, type: Prim, bits: str) -> str:
    """As many random bits as the mantissa holds, scaled to [0, 1)."""
    mantissa = MANTISSA[type.bits]
    if type.bits < 64:
        bits = f.set(f"and i64 {bits}, 4294967295")
    whole = f.set(f"lshr i64 {bits}, {(64 if type.bits == 64 else 32) - mantissa}")
    number = f.set(f"uitofp i64 {whole} to {in_register(type)}")
    return f.set(f"fmul {in_register(type)} {number}, {constant(2.0**-mantissa, type)}")
