"""Expands ops that code generators do not know into ops that they do.

    %y = binary pow %x, 3 : i32         =>     %t = binary mul %x, %x;  %y = binary mul %t, %x
    %y = binary pow %a, %b : i32        =>     a loop over the bits of %b: square, and multiply where the bit is set
    return %a, %b                       =>     store_result %a, 0;  store_result %b, 1;  exit

A power of floats is expanded only if that is exact (exponents 0, 1, 2, -1). With `fast_math`, it is also expanded for
integers and half-integers (`x * sqrt(x)`) up to 16. Other powers stay `pow`, because products would round more often.
The pass works on scalars, so it runs after `scalarize`.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Value, ops_of
from weft.ir.passes import pass_
from weft.ir.types import Prim, pointer, u1

__all__ = ["demote_ops", "store_results"]

EXACT = (0.0, 1.0, 2.0, -1.0)
LARGEST_FAST = 16


@pass_("demote_ops")
def demote_ops(root: ops.Kernel, config: CompileConfig) -> bool:
    """Expand integer powers, simple constant powers of floats, and `return`."""
    changed = False
    for op in ops_of(root.body):
        if isinstance(op, ops.Binary) and op.kind == "pow" and isinstance(op.type, Prim):
            new = _float_power(op, config) if op.type.is_float else _integer_power(op)
            if new is not None:
                op.replace(new)
                changed = True
        elif isinstance(op, ops.Return):
            store_results(op, op.values)
            op.erase()
            changed = True
    return changed


def store_results(op: ops.Return, scalars: list[Value]) -> None:
    """Insert stores of the flattened results and an exit before `op`."""
    build = Builder.at(op)
    for part, value in enumerate(scalars):
        build.add(ops.StoreResult(value, part))
    build.add(ops.Exit())


def _float_power(op: ops.Binary, config: CompileConfig) -> Value | None:
    if not isinstance(op.rhs, ops.Const):
        return None
    build, prim, exponent = Builder.at(op), op.type, op.rhs.value
    fast = config.fast_math and abs(exponent) <= LARGEST_FAST and 2 * exponent == int(2 * exponent)
    if not fast and exponent not in EXACT:
        return None
    if abs(exponent) == 0.5:
        return build.add(ops.Unary("sqrt" if exponent > 0 else "rsqrt", op.lhs, type=prim))
    power = _product(build, op.lhs, abs(int(exponent)), 1.0)
    if exponent != int(exponent):
        power = build.add(ops.Binary("mul", power, build.add(ops.Unary("sqrt", op.lhs, type=prim)), type=prim))
    if exponent >= 0:
        return power
    return build.add(ops.Binary("div", build.add(ops.Const(1.0, type=prim)), power, type=prim))


def _product(build: Builder, base: Value, exponent: int, one: int | float) -> Value:
    """Compute `base` to a known power by repeated squaring."""
    result: Value | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else build.add(ops.Binary("mul", result, base, type=base.type))
        exponent >>= 1
        if exponent:
            base = build.add(ops.Binary("mul", base, base, type=base.type))
    return build.add(ops.Const(one, type=base.type)) if result is None else result


def _integer_power(op: ops.Binary) -> Value:
    build = Builder.at(op)
    if not isinstance(op.rhs, ops.Const):
        return _power_loop(build, op.lhs, op.rhs)
    exponent = int(op.rhs.value)
    if exponent >= 0:
        return _product(build, op.lhs, exponent, 1)
    return _negative_power(build, op.lhs, _product(build, op.lhs, 2 - exponent % 2, 1))


def _negative_power(build: Builder, base: Value, same_parity: Value) -> Value:
    """The truncated quotient 1 / base**n. It is nonzero only for the bases 1 and -1, where it depends on the parity of
    n."""
    zero, one = (build.add(ops.Const(value, type=base.type)) for value in (0, 1))
    size = build.add(ops.Unary("abs", base, type=base.type))
    unit = build.add(ops.Binary("eq", size, one, type=u1))
    return build.add(ops.Select(unit, same_parity, zero))


def _power_loop(build: Builder, base: Value, exponent: Value) -> Value:
    """Square and multiply in a loop. A negative exponent runs as its lowest bit (the parity), then `_negative_power`
    follows."""
    prim = base.type
    assert isinstance(prim, Prim)

    def const(at: Builder, value: int) -> Value:
        return at.add(ops.Const(value, type=prim))

    def binary(at: Builder, kind: str, lhs: Value, rhs: Value) -> Value:
        return at.add(ops.Binary(kind, lhs, rhs, type=u1 if kind in ("lt", "ne") else prim))

    zero, one = const(build, 0), const(build, 1)
    negative = binary(build, "lt", exponent, zero)
    parity = binary(build, "and", exponent, one)
    result, square, left = (build.add(ops.Alloca(type=pointer(prim))) for _ in range(3))
    start = build.add(ops.Select(negative, parity, exponent))
    for place, value in ((result, one), (square, base), (left, start)):
        build.add(ops.Store(place, value))
    loop = build.add(ops.While())
    body = Builder(loop.body, span=build.span)
    bits = body.add(ops.Load(left))
    more = body.add(ops.If(binary(body, "ne", bits, zero)))
    more.orelse.append(ops.Break())
    factor = body.add(ops.Load(square))
    odd = body.add(ops.If(binary(body, "ne", binary(body, "and", bits, one), zero)))
    inside = Builder(odd.then, span=build.span)
    inside.add(ops.Store(result, binary(inside, "mul", inside.add(ops.Load(result)), factor)))
    body.add(ops.Store(square, binary(body, "mul", factor, factor)))
    body.add(ops.Store(left, binary(body, "shr", bits, one)))
    power = build.add(ops.Load(result))
    if not prim.is_signed:
        return power
    return build.add(ops.Select(negative, _negative_power(build, base, power), power))
