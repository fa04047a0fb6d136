"""Checks computed values: reports the first NaN or infinity, and integer divisions by zero.

    %y = unary log %x        =>    %y = unary log %x
                                   assert (%y is sound), [%x, %y], "log({}) is {}"      check_nan

    %q = binary mod %a, %b   =>    assert (%b != 0), [%a, %b], "{} % {} divides by zero"      debug
                                   %q = binary mod %a, %b

A result is sound if it is finite, or if an operand already had the same defect: a NaN computed from a NaN, or an
infinity from an infinity. The message therefore names the operation where the defect began. A sentinel such as `best =
ti.math.inf` is not computed and is not reported. The value that an atomic leaves in memory is checked as if it were
computed here. The check looks at the bits of the value, so that reordering of floating-point arithmetic cannot
invalidate it. Each element of a tensor is checked by itself.

The pass runs before any simplification, so that it checks what the user wrote. It skips operators whose results are
finite whenever their operands are, and divisors that are known to be nonzero.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Op, Value, ops_of
from weft.ir.passes import pass_
from weft.ir.scalar import BINARY
from weft.ir.types import PRIMS, Prim, Tensor, Type, element, shape_of, u1, with_element

__all__ = ["DIVIDES", "FINITE", "SPELLING", "check_arithmetic"]

DIVIDES = frozenset({"floordiv", "mod", "raw_div", "raw_mod"})
FINITE = frozenset({"neg", "abs", "sign", "floor", "ceil", "trunc", "round", "min", "max"})
_COMPUTES = (ops.Unary, ops.Binary, ops.MatMul, ops.Reduce, ops.Cast)

# The spelling of operators in messages. Operators without a row are written as function calls.
SPELLING: dict[str, str] = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "pow": "{} ** {}",
    "floordiv": "{} // {}",
    "mod": "{} % {}",
    "shl": "{} << {}",
    "matmul": "{} @ {}",
    "cast": "{}",
}


@pass_("check_arithmetic")
def check_arithmetic(root: ops.Kernel, config: CompileConfig) -> bool:
    """Insert an assertion after each op that may compute a NaN or an infinity, and before each integer division."""
    if not config.debug and not config.check_nan:
        return False
    changed = False
    for op in ops_of(root.body):
        if config.debug and isinstance(op, ops.Binary) and op.kind in DIVIDES and not element(op.type).is_float:
            changed |= _divisor(op)
        elif config.check_nan and isinstance(op, ops.Atomic) and op.kind in BINARY and _may_fail(op):
            assert op.block is not None
            _result(Builder(op.block, op.next, op.span).add(ops.Binary(op.kind, op, op.value, type=op.type)))
            changed = True
        elif config.check_nan and isinstance(op, _COMPUTES) and _may_fail(op):
            _result(op)
            changed = True
    return changed


def spelled(op: Op) -> str:
    """A message template for the operation, with a `{}` for each operand."""
    kind = str(getattr(op, "kind", op.opname))
    return SPELLING.get(kind) or f"{kind}({', '.join('{}' for _ in op.operands)})"


def _divisor(op: ops.Binary) -> bool:
    if isinstance(op.rhs, ops.Const) and op.rhs.value:
        return False
    build = Builder.at(op)
    sound = build.add(ops.Binary("ne", op.rhs, _filled(build, op.rhs.type, 0), type=with_element(op.type, u1)))
    condition = _all(build, sound)
    build.add(ops.Assert(condition, [op.lhs, op.rhs], f"{spelled(op)} divides by zero", "arithmetic"))
    return True


def _may_fail(op: Op) -> bool:
    if not isinstance(op.type, (Prim, Tensor)) or not element(op.type).is_float:
        return False
    if isinstance(op, ops.Reduce) or getattr(op, "kind", "") in FINITE:
        return isinstance(op, ops.Reduce) and op.kind not in FINITE
    return not isinstance(op, ops.Cast) or element(op.type).bits < 64


def _result(op: Op) -> None:
    assert op.block is not None
    build = Builder(op.block, op.next, op.span)
    floats = [value for value in op.operands if element(value.type).is_float]
    alike = all(shape_of(value.type) == shape_of(op.type) for value in floats)
    nan, infinite = _kinds(build, op)
    for value in floats:
        was_nan, was_infinite = _kinds(build, value)
        if not alike:
            was_nan, was_infinite = (_like(build, _any(build, flag), nan.type) for flag in (was_nan, was_infinite))
        nan = _and_not(build, nan, was_nan)
        infinite = _and_not(build, _and_not(build, infinite, was_infinite), was_nan)
    bad = _any(build, build.add(ops.Binary("or", nan, infinite, type=nan.type)))
    condition = build.add(ops.Unary("not", bad, type=u1))
    shown = [value.x if isinstance(value, ops.Splat) else value for value in op.operands]
    build.add(ops.Assert(condition, [*shown, op], f"{spelled(op)} is {{}}", "arithmetic"))


def _kinds(build: Builder, value: Value) -> tuple[Value, Value]:
    """Whether the value is a NaN, and whether it is infinite, decided by its bits without the sign."""
    prim = element(value.type)
    whole = with_element(value.type, PRIMS[f"i{prim.bits}"])
    infinity = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF << 52}[prim.bits]
    bits = build.add(ops.BitCast(value, type=whole))
    size = build.add(ops.Binary("and", bits, _filled(build, whole, (1 << (prim.bits - 1)) - 1), type=whole))
    limit, truth = _filled(build, whole, infinity), with_element(whole, u1)
    return (
        build.add(ops.Binary("gt", size, limit, type=truth)),
        build.add(ops.Binary("eq", size, limit, type=truth)),
    )


def _and_not(build: Builder, a: Value, b: Value) -> Value:
    not_b = build.add(ops.Unary("not", b, type=b.type))
    return build.add(ops.Binary("and", a, not_b, type=a.type))


def _filled(build: Builder, type: Type, number: int) -> Value:
    value = build.add(ops.Const(number, type=element(type)))
    return _like(build, value, type)


def _like(build: Builder, value: Value, type: Type) -> Value:
    """Splat a scalar to a value of that type."""
    return build.add(ops.Splat(value, type=type)) if shape_of(type) else value


def _any(build: Builder, flags: Value) -> Value:
    return build.add(ops.Reduce("or", flags)) if shape_of(flags.type) else flags


def _all(build: Builder, flags: Value) -> Value:
    return build.add(ops.Reduce("and", flags)) if shape_of(flags.type) else flags
