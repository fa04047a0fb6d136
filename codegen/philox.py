"""Random numbers without state: Philox4x32-10, a counter-based generator.

The counter is (iteration of the parallel loop: 64 bits, how many numbers the iteration has drawn, number of the task);
the key is the seed of the launch. So the numbers depend neither on the number of threads nor on their order.
Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from weft.codegen.function import FunctionWriter, emits
from weft.codegen.memory_ops import read_slot
from weft.codegen.spelling import constant, in_register
from weft.ir.ops import Random
from weft.ir.types import Prim

__all__ = ["FUNCTION"]

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


def _write() -> str:
    """The generator as LLVM text: (seed, iteration, draw, task) -> 64 random bits."""
    lines = [
        "define internal i64 @weft_philox(i64 %seed, i64 %lane, i32 %draw, i32 %task) alwaysinline memory(none) {",
        "  %k0_0 = trunc i64 %seed to i32",
        "  %seedh = lshr i64 %seed, 32",
        "  %k1_0 = trunc i64 %seedh to i32",
        "  %c0_0 = trunc i64 %lane to i32",
        "  %laneh = lshr i64 %lane, 32",
        "  %c1_0 = trunc i64 %laneh to i32",
        "  %c2_0 = add i32 %draw, 0",
        "  %c3_0 = add i32 %task, 0",
    ]
    for r in range(10):
        for half, (word, multiplier) in enumerate(zip(("c0", "c2"), _MULTIPLIERS, strict=True)):
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
            f"  %k0_{r + 1} = add i32 %k0_{r}, {_WEYL[0]}",
            f"  %k1_{r + 1} = add i32 %k1_{r}, {_WEYL[1]}",
        ]
    lines += [
        "  %low = zext i32 %c0_10 to i64",
        "  %high = zext i32 %c1_10 to i64",
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
    assert f.draws, "whoever starts an iteration makes the slot that counts its draws, and sets it to zero"
    if FUNCTION not in f.module.functions:
        f.module.functions.append(FUNCTION)
    seed = read_slot(f, 2, "i64")
    draw = f.set(f"load i32, ptr {f.draws}, align 4")
    following = f.set(f"add i32 {draw}, 1")
    f.do(f"store i32 {following}, ptr {f.draws}, align 4")
    bits = f.set(f"call i64 @weft_philox(i64 {seed}, i64 {f.lane}, i32 {draw}, i32 {f.task})")
    if not type.is_float:
        return bits if type.bits == 64 else f.set(f"trunc i64 {bits} to {in_register(type)}")
    return _uniform(f, type, bits)


def _uniform(f: FunctionWriter, type: Prim, bits: str) -> str:
    """As many random bits as the mantissa holds, scaled to [0, 1)."""
    mantissa = {16: 11, 32: 24, 64: 53}[type.bits]
    if type.bits < 64:
        bits = f.set(f"and i64 {bits}, 4294967295")
    whole = f.set(f"lshr i64 {bits}, {(64 if type.bits == 64 else 32) - mantissa}")
    number = f.set(f"uitofp i64 {whole} to {in_register(type)}")
    return f.set(f"fmul {in_register(type)} {number}, {constant(2.0**-mantissa, type)}")
