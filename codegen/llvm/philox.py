"""Random numbers in generated code: the rounds of `ir/philox.py`, which says what the numbers depend on."""

from __future__ import annotations

from weft.codegen.llvm.code import Code
from weft.codegen.llvm.function import FunctionWriter, emits
from weft.codegen.llvm.memory_ops import read_slot
from weft.codegen.llvm.spelling import constant, in_register
from weft.ir.ops import Random, RandomAt
from weft.ir.philox import MANTISSA, MULTIPLIERS, ROUNDS, WEYL
from weft.ir.types import Prim

__all__ = ["FUNCTION"]


_SIGNATURE = "define internal i64 @weft_philox(i64 %seed, i64 %lane, i32 %draw, i32 %stream) alwaysinline memory(none)"


def _write() -> str:
    """The generator as a function: (seed, iteration, draw, stream) -> 64 random bits."""
    f = Code()
    keys, counters = _halves(f, "%seed"), [*_halves(f, "%lane"), "%draw", "%stream"]
    for _ in range(ROUNDS):
        (low_0, high_0), (low_1, high_1) = (
            _halves(f, f.set(f"mul i64 {f.set(f'zext i32 {word} to i64')}, {multiplier}"))
            for word, multiplier in zip(counters[::2], MULTIPLIERS, strict=True)
        )
        first, third = f.set(f"xor i32 {high_1}, {counters[1]}"), f.set(f"xor i32 {high_0}, {counters[3]}")
        mixed = f.set(f"xor i32 {first}, {keys[0]}"), f.set(f"xor i32 {third}, {keys[1]}")
        counters = [mixed[0], low_1, mixed[1], low_0]
        keys = [f.set(f"add i32 {key}, {step}") for key, step in zip(keys, WEYL, strict=True)]
    low, high = (f.set(f"zext i32 {word} to i64") for word in counters[:2])
    bits = f.set(f"or i64 {f.set(f'shl i64 {high}, 32')}, {low}")
    return f.returning(_SIGNATURE, f"i64 {bits}")


def _halves(f: Code, word: str) -> list[str]:
    """The low and the high half of an i64."""
    return [f.set(f"trunc i64 {word} to i32"), f.set(f"trunc i64 {f.set(f'lshr i64 {word}, 32')} to i32")]


FUNCTION = _write()


@emits(Random)
def _random(f: FunctionWriter, op: Random) -> str:
    draws = f.random.draws
    assert draws, "the code that starts an iteration must create the counter of its random numbers and set it to zero"
    draw = f.set(f"load i32, ptr {draws}, align 4")
    following = f.set(f"add i32 {draw}, 1")
    f.do(f"store i32 {following}, ptr {draws}, align 4")
    return _number(f, op, draw, [])


@emits(RandomAt)
def _random_at(f: FunctionWriter, op: RandomAt) -> str:
    return _number(f, op, f.use(op.draw), [f.use(lane) for lane in op.lane])


def _number(f: FunctionWriter, op: Random | RandomAt, draw: str, own: list[str]) -> str:
    type, random = op.type, f.random
    assert isinstance(type, Prim)
    if FUNCTION not in f.module.functions:
        f.module.functions.append(FUNCTION)
    seed = read_slot(f, 2, "i64")
    lane, stream = (random.lane, random.stream or op.stream) if random.stream or op.stream else (0, 0)
    lane = own[0] if own else lane
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
