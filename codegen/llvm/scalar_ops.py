"""Arithmetic: emits each row of the operator tables in LLVM IR.

Rows whose `llvm` column names an instruction or an intrinsic need nothing more. The others are emitted here, with the
guards that define integer division by zero, overflow and shifts (see `ir/scalar.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.llvm.function import FunctionWriter, emits
from weft.codegen.llvm.spelling import constant, in_register
from weft.ir.ops import BINARY, UNARY, Binary, BitCast, Cast, Const, Select, Splat, Unary
from weft.ir.scalar import BinaryRow
from weft.ir.types import Prim, element, f16, f32, i16, i32, i64, u1

__all__ = ["binary", "cast", "unary"]

BinaryWriter = Callable[[FunctionWriter, Binary, Prim, str, str], str]
UnaryWriter = Callable[[FunctionWriter, Prim, str], str]


@emits(Const)
def _const(f: FunctionWriter, op: Const) -> str:
    return constant(op.value, element(op.type))


@emits(Binary)
def _binary(f: FunctionWriter, op: Binary) -> str:
    kind, type = op.kind, element(op.lhs.type)
    a, b = f.use(op.lhs), f.use(op.rhs)
    own = f.target.own.get((kind, type))
    if own is not None:
        return own(f, a, b)
    special = _BINARY.get(kind)
    if special is not None and not (type.is_float and BINARY[kind].llvm[0]):
        return special(f, op, type, a, b)
    if kind in ("pow", "atan2"):
        return f.target.math(f, kind, type, a, b)
    return binary(f, kind, type, a, b)


def binary(f: FunctionWriter, kind: str, type: Prim, a: str, b: str) -> str:
    """An operator that LLVM has as one instruction or intrinsic, on operands of `type`."""
    own = f.target.own.get((kind, type))
    if own is not None:
        return own(f, a, b)
    row: BinaryRow = BINARY[kind]
    spelled = row.llvm[0 if type.is_float else 1 if type.is_signed else 2]
    assert spelled is not None, kind
    name = f.spell(type)
    fast = f.module.fast if type.is_float else ""
    if spelled.startswith("llvm."):
        intrinsic = f.module.declare(f"{name} @{spelled}.{f.suffix(type)}({name}, {name})")
        result = f.set(f"call {fast}{name} @{intrinsic}({name} {a}, {name} {b})")
        ordered = type.is_float and not fast and kind in _OF_EQUALS
        return _with_zeros_ordered(f, kind, type, a, b, result) if ordered else result
    if spelled.startswith("fcmp"):
        return f.set(f"{spelled} {name} {a}, {b}")
    return f.set(f"{spelled} {fast}{name} {a}, {b}")


_OF_EQUALS = {"min": "or", "max": "and"}  # of the bits of two zeros: the sign of the smaller, of the greater one


def _with_zeros_ordered(f: FunctionWriter, kind: str, type: Prim, a: str, b: str, result: str) -> str:
    """The minimum or maximum `result` of a and b, where -0.0 is smaller than 0.0. Other equal numbers have the same
    bits. (`llvm.minimumnum` has this meaning, but with AVX-512 its code loses numbers next to NaN.)"""
    floats, bits = f.spell(type), f.spell({16: i16, 32: i32, 64: i64}[type.bits])
    both = [f.set(f"bitcast {floats} {x} to {bits}") for x in (a, b)]
    equal = f.set(f"{_OF_EQUALS[kind]} {bits} {both[0]}, {both[1]}")
    chosen = f.set(f"bitcast {bits} {equal} to {floats}")
    return f.set(f"select {f.spell(u1)} {f.set(f'fcmp oeq {floats} {a}, {b}')}, {floats} {chosen}, {floats} {result}")


def _literal(op: Binary) -> int | None:
    """The divisor, where it is a constant that cannot trap."""
    divisor = op.rhs.x if isinstance(op.rhs, Splat) else op.rhs
    if isinstance(divisor, Const) and int(divisor.value) not in (0, -1):
        return int(divisor.value)
    return None


def _integer_division(f: FunctionWriter, op: Binary, type: Prim, a: str, b: str, floor: bool, rest: bool) -> str:
    """Quotient or remainder (`rest`), floored or truncated, total: zero divisors give 0, -1 divisors wrap."""
    name, truth, signed = f.spell(type), f.truth, type.is_signed
    divide, remainder = ("sdiv", "srem") if signed else ("udiv", "urem")
    literal = _literal(op)
    safe, zero, minus = b, "", ""
    if literal is None:
        zero = f.set(f"icmp eq {name} {b}, {f.literal(0, type)}")
        bad = zero
        if signed:
            minus = f.set(f"icmp eq {name} {b}, {f.literal(-1, type)}")
            bad = f.set(f"or {truth} {zero}, {minus}")
        safe = f.set(f"select {truth} {bad}, {name} {f.literal(1, type)}, {name} {b}")
    result = f.set(f"{remainder if rest else divide} {name} {a}, {safe}")
    if signed and literal is None and not rest:
        negated = f.set(f"sub {name} {f.literal(0, type)}, {a}")
        result = f.set(f"select {truth} {minus}, {name} {negated}, {name} {result}")
    if floor and signed:
        result = _floored(f, type, a, safe, result, rest)
    if literal is None:
        result = f.set(f"select {truth} {zero}, {name} {f.literal(0, type)}, {name} {result}")
    return result


def _floored(f: FunctionWriter, type: Prim, a: str, b: str, result: str, rest: bool) -> str:
    """Truncated to floored: one less, or one divisor more, where the remainder's sign differs from the divisor's."""
    name, truth, zero = f.spell(type), f.truth, f.literal(0, type)
    remainder = result if rest else f.set(f"srem {name} {a}, {b}")
    nonzero = f.set(f"icmp ne {name} {remainder}, {zero}")
    signs = f.set(f"xor {name} {remainder}, {b}")
    differ = f.set(f"icmp slt {name} {signs}, {zero}")
    adjust = f.set(f"and {truth} {nonzero}, {differ}")
    other = f.set(f"add {name} {result}, {b}") if rest else f.set(f"sub {name} {result}, {f.literal(1, type)}")
    return f.set(f"select {truth} {adjust}, {name} {other}, {name} {result}")


def _floordiv(f: FunctionWriter, op: Binary, type: Prim, a: str, b: str) -> str:
    if type.is_int:
        return _integer_division(f, op, type, a, b, floor=True, rest=False)
    quotient = binary(f, "div", type, a, b)
    return unary(f, "floor", type, quotient)


def _mod(f: FunctionWriter, op: Binary, type: Prim, a: str, b: str) -> str:
    if type.is_int:
        return _integer_division(f, op, type, a, b, floor=True, rest=True)
    whole = _floordiv(f, op, type, a, b)
    return binary(f, "sub", type, a, binary(f, "mul", type, b, whole))


def _raw_div(f: FunctionWriter, op: Binary, type: Prim, a: str, b: str) -> str:
    return _integer_division(f, op, type, a, b, floor=False, rest=False)


def _raw_mod(f: FunctionWriter, op: Binary, type: Prim, a: str, b: str) -> str:
    return _integer_division(f, op, type, a, b, floor=False, rest=True)


def _shift(f: FunctionWriter, op: Binary, type: Prim, a: str, b: str) -> str:
    name = f.spell(type)
    amount = f.set(f"and {name} {b}, {f.literal(type.bits - 1, type)}")
    return binary(f, op.kind, type, a, amount)


_BINARY: dict[str, BinaryWriter] = {
    "floordiv": _floordiv,
    "mod": _mod,
    "raw_div": _raw_div,
    "raw_mod": _raw_mod,
    "shl": _shift,
    "shr": _shift,
    "bit_shr": _shift,
}


@emits(Unary)
def _unary(f: FunctionWriter, op: Unary) -> str:
    type = element(op.x.type)
    return unary(f, op.kind, type, f.use(op.x))


def unary(f: FunctionWriter, kind: str, type: Prim, x: str) -> str:
    """A unary operator on an operand of `type`."""
    own = f.target.own.get((kind, type))
    if own is not None:
        return own(f, x)
    special = _UNARY.get(kind)
    if special is not None:
        return special(f, type, x)
    if type.is_int:  # floor, ceil, round and trunc do not change an integer
        return x
    name, spelled = f.spell(type), UNARY[kind].llvm
    assert spelled is not None, kind
    if kind in _DIRECT:
        intrinsic = f.module.declare(f"{name} @{spelled}.{f.suffix(type)}({name})")
        return f.set(f"call {f.module.fast}{name} @{intrinsic}({name} {x})")
    return f.target.math(f, kind, type, x)


# What every CPU and GPU does in an instruction or two; the rest goes through the math library.
_DIRECT = frozenset(("abs", "floor", "ceil", "trunc", "round", "sqrt"))


def _neg(f: FunctionWriter, type: Prim, x: str) -> str:
    if type.is_float:
        return f.set(f"fneg {f.module.fast}{f.spell(type)} {x}")
    return f.set(f"sub {f.spell(type)} {f.literal(0, type)}, {x}")


def _bit_not(f: FunctionWriter, type: Prim, x: str) -> str:
    return f.set(f"xor {f.spell(type)} {x}, {f.literal(-1, type)}")


def _not(f: FunctionWriter, type: Prim, x: str) -> str:
    if type.is_float:
        return f.set(f"fcmp oeq {f.spell(type)} {x}, {f.literal(0, type)}")
    return f.set(f"icmp eq {f.spell(type)} {x}, {f.literal(0, type)}")


def _abs(f: FunctionWriter, type: Prim, x: str) -> str:
    name = f.spell(type)
    if type.is_float:
        intrinsic = f.module.declare(f"{name} @llvm.fabs.{f.suffix(type)}({name})")
        return f.set(f"call {f.module.fast}{name} @{intrinsic}({name} {x})")
    if not type.is_signed:
        return x
    intrinsic = f.module.declare(f"{name} @llvm.abs.{f.suffix(type)}({name}, i1)")
    return f.set(f"call {name} @{intrinsic}({name} {x}, i1 false)")


def _sign(f: FunctionWriter, type: Prim, x: str) -> str:
    name, zero, one = f.spell(type), f.literal(0, type), f.literal(1, type)
    positive = binary(f, "gt", type, x, zero)
    if not type.is_signed:
        return f.set(f"select {f.truth} {positive}, {name} {one}, {name} {zero}")
    negative = binary(f, "lt", type, x, zero)
    below = f.set(f"select {f.truth} {negative}, {name} {f.literal(-1, type)}, {name} {x}")
    return f.set(f"select {f.truth} {positive}, {name} {one}, {name} {below}")


def _rsqrt(f: FunctionWriter, type: Prim, x: str) -> str:
    return binary(f, "div", type, f.literal(1, type), unary(f, "sqrt", type, x))


def _popcnt(f: FunctionWriter, type: Prim, x: str) -> str:
    name = f.spell(type)
    intrinsic = f.module.declare(f"{name} @llvm.ctpop.{f.suffix(type)}({name})")
    return f.set(f"call {name} @{intrinsic}({name} {x})")


def _clz(f: FunctionWriter, type: Prim, x: str) -> str:
    name = f.spell(type)
    intrinsic = f.module.declare(f"{name} @llvm.ctlz.{f.suffix(type)}({name}, i1)")
    return f.set(f"call {name} @{intrinsic}({name} {x}, i1 false)")


_UNARY: dict[str, UnaryWriter] = {
    "neg": _neg,
    "bit_not": _bit_not,
    "not": _not,
    "abs": _abs,
    "sign": _sign,
    "rsqrt": _rsqrt,
    "popcnt": _popcnt,
    "clz": _clz,
}


@emits(Select)
def _select(f: FunctionWriter, op: Select) -> str:
    return f.set(f"select {f.truth} {f.use(op.condition)}, {f.typed(op.a)}, {f.typed(op.b)}")


@emits(Cast)
def _cast(f: FunctionWriter, op: Cast) -> str:
    return cast(f, f.use(op.x), element(op.x.type), element(op.type))


def cast(f: FunctionWriter, x: str, source: Prim, target: Prim) -> str:
    """`x` of type `source` as `target`: integers wrap, floats saturate to integers, NaN gives 0."""
    if source is target or in_register(source) == in_register(target):
        return x
    old, new = f.spell(source), f.spell(target)
    if target is u1:
        return f.set(f"{'fcmp une' if source.is_float else 'icmp ne'} {old} {x}, {f.literal(0, source)}")
    if source.is_float and target.is_float:
        return f.set(f"{'fpext' if target.bits > source.bits else 'fptrunc'} {old} {x} to {new}")
    if source is f16:  # (LLVM converts NaN to the least i16 where processors convert halves: AVX512-FP16)
        return cast(f, cast(f, x, f16, f32), f32, target)
    if source.is_float and f.width > 1 and ("cast", source) in f.target.own:
        return f.target.own["cast", source](f, x, source, target)
    if source.is_float:
        spelled = "fptosi" if target.is_signed else "fptoui"
        intrinsic = f.module.declare(f"{new} @llvm.{spelled}.sat.{f.suffix(target)}.{f.suffix(source)}({old})")
        return f.set(f"call {new} @{intrinsic}({old} {x})")
    if target.is_float:
        return f.set(f"{'sitofp' if source.is_signed else 'uitofp'} {old} {x} to {new}")
    if target.bits < source.bits:
        return f.set(f"trunc {old} {x} to {new}")
    return f.set(f"{'sext' if source.is_signed else 'zext'} {old} {x} to {new}")


@emits(BitCast)
def _bit_cast(f: FunctionWriter, op: BitCast) -> str:
    if f.spell(op.x.type) == f.spell(op.type):
        return f.use(op.x)
    return f.set(f"bitcast {f.typed(op.x)} to {f.spell(op.type)}")
