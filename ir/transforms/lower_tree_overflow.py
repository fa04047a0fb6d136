"""Integer arithmetic that reports overflow, with `check_overflow`.

    a + b      =>      %s = binary add %a, %b
                       %fits = ...                                   by comparisons, see `_FITS`
                       if %fits {} else { warn [%a, %b, %s], "{} + {} does not fit into i32: it became {}", overflow }

Overflow checks are inserted while the tree is lowered, because only the tree shows what the program computes.
Arithmetic that later passes add, for indices, trips of loops and addresses, wraps silently. An operation is reported if
its exact result does not fit its type. Casts are explicit and are not reported. In the sums of `reduce` and `@`, each
step is one operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.ir import ops
from weft.ir.core import Value
from weft.ir.errors import LIBRARY
from weft.ir.scalar import range_of
from weft.ir.transforms.check_arithmetic import SPELLING
from weft.ir.transforms.lower_tree_state import Lowering
from weft.ir.types import Prim, Tensor, Type, element, f64, i64, shape_of, tensor, u1, u64, with_element

__all__ = ["arithmetic", "atomic", "computed", "matmul", "reduction"]

_SPELLING = SPELLING | {"neg": "-({})"}


def arithmetic(low: Lowering, kind: str, operands: Sequence[Value], type: Type) -> Value:
    """A `Unary` or `Binary` of the tree, with a check for overflow."""
    make = ops.Unary if len(operands) == 1 else ops.Binary
    prim = element(type)
    if not _watched(low, kind, prim):
        return low.add(make(kind, *operands, type=type))
    given = [low.cast(value, with_element(value.type, prim)) for value in operands]
    result = low.add(make(kind, *given, type=type))
    _tell(low, kind, prim, given, result)
    return result


def computed(low: Lowering, kind: str, lhs: Value, rhs: Value) -> Value:
    """A binary operator whose result type is not given by the tree."""
    if not low.config.check_overflow:
        return low.binary(kind, lhs, rhs)
    wide, prim = (lhs if shape_of(lhs.type) else rhs), low.result_of(kind, lhs, rhs)
    return arithmetic(low, kind, [lhs, rhs], with_element(wide.type, prim))


def atomic(low: Lowering, kind: str, place: Value, value: Value) -> Value:
    """An atomic. It computes in the type of the memory."""
    old = low.add(ops.Atomic(kind, place, value))
    prim = element(old.type)
    if _watched(low, kind, prim):
        given = [old, low.cast(value, with_element(value.type, prim))]
        _tell(low, kind, prim, given, low.binary(kind, *given))
    return old


def reduction(low: Lowering, kind: str, x: Value, type: Type) -> Value:
    """The elements of `x` combined from left to right."""
    if not _watched(low, kind, element(type)):
        return low.add(ops.Reduce(kind, x, type=type))
    result: Value = low.add(ops.Extract(x, 0))
    for position in range(1, _count(x)):
        result = arithmetic(low, kind, [result, low.add(ops.Extract(x, position))], type)
    return result


def matmul(low: Lowering, lhs: Value, rhs: Value, type: Type) -> Value:
    """The matrix product: sums of products of a column of `lhs`, repeated, and a row of `rhs`, repeated."""
    prim = element(type)
    if not _watched(low, "mul", prim):
        return low.add(ops.MatMul(lhs, rhs, type=type))
    rows, inner = shape_of(lhs.type)
    columns = _count(rhs) // inner
    wide = tensor(prim, (rows * columns,))
    result: Value | None = None
    for k in range(inner):
        left = [low.add(ops.Extract(lhs, row * inner + k)) for row in range(rows) for _ in range(columns)]
        right = [low.add(ops.Extract(rhs, k * columns + column)) for _ in range(rows) for column in range(columns)]
        sides = [low.add(ops.MakeTensor([low.cast(x, prim) for x in side], type=wide)) for side in (left, right)]
        product = arithmetic(low, "mul", sides, wide)
        result = product if result is None else arithmetic(low, "add", [result, product], wide)
    assert result is not None
    return low.add(ops.MakeTensor([low.add(ops.Extract(result, k)) for k in range(rows * columns)], type=type))


def _count(x: Value) -> int:
    assert isinstance(x.type, Tensor)
    return x.type.count


def _watched(low: Lowering, kind: str, prim: Prim) -> bool:
    """Whether the program may overflow here. Weft's own functions are checked only if the caller is known."""
    if not low.config.check_overflow or kind not in _FITS or not prim.is_int or prim is u1:
        return False
    span = low.builder.span
    return span is None or not span.file.startswith(LIBRARY)


def _tell(low: Lowering, kind: str, prim: Prim, given: Sequence[Value], result: Value) -> None:
    fits = _FITS[kind](low, prim, [*given, result])
    if fits is None:
        return
    if shape_of(fits.type):
        fits = low.add(ops.Reduce("and", fits))
    with low.inside(low.branch(fits).orelse):
        spelled = _SPELLING.get(kind) or f"{kind}({{}})"
        low.add(ops.Warn([*given, result], f"{spelled} does not fit into {prim}: it became {{}}", "overflow"))


# ---- whether the exact result is one of the type: None where it always is --------------------------------------------

Fits = Callable[[Lowering, Prim, Sequence[Value]], "Value | None"]


def _not_negative(low: Lowering, prim: Prim, x: Value) -> Value:
    return low.binary("ge", x, low.const(0, prim))


def _add(low: Lowering, prim: Prim, values: Sequence[Value]) -> Value:
    """The sum has the sign of at least one operand. If the type is unsigned, the sum is not smaller than either
    operand."""
    a, b, result = values
    if not prim.is_signed:
        return low.binary("ge", result, a)
    both = low.binary("and", low.binary("xor", a, result), low.binary("xor", b, result))
    return _not_negative(low, prim, both)


def _sub(low: Lowering, prim: Prim, values: Sequence[Value]) -> Value:
    a, b, result = values
    if not prim.is_signed:
        return low.binary("ge", a, b)
    both = low.binary("and", low.binary("xor", a, b), low.binary("xor", a, result))
    return _not_negative(low, prim, both)


def _mul(low: Lowering, prim: Prim, values: Sequence[Value]) -> Value:
    """The product is the same in 64 bits. For 64-bit types, dividing the product gives back the other factor. The check
    never divides by 0, nor by -1, because the smallest number has no quotient by -1."""
    a, b, result = values
    if prim.bits < 64:
        wide = i64 if prim.is_signed else u64
        a, b, result = (low.cast(x, with_element(x.type, wide)) for x in values)
        return low.binary("eq", low.binary("mul", a, b), result)
    plain = low.binary("eq", a, low.const(0, prim))
    if prim.is_signed:
        plain = low.binary("or", plain, low.binary("eq", a, low.const(-1, prim)))
    one: Value = low.const(1, prim)
    if shape_of(a.type):
        one = low.add(ops.Splat(one, type=a.type))
    divisor = low.add(ops.Select(plain, one, a, type=a.type))
    fits = low.binary("or", low.binary("eq", low.binary("raw_div", result, divisor), b), plain)
    opposite = _opposite(low, prim, a, b)
    return fits if opposite is None else low.binary("and", fits, opposite)


def _opposite(low: Lowering, prim: Prim, minus: Value, least: Value) -> Value | None:
    """Overflows only for -1 and the smallest number, which has no opposite."""
    if not prim.is_signed:
        return None
    other = low.binary("ne", minus, low.const(-1, prim))
    return low.binary("or", other, low.binary("ne", least, low.const(range_of(prim)[0], prim)))


def _div(low: Lowering, prim: Prim, values: Sequence[Value]) -> Value | None:
    return _opposite(low, prim, values[1], values[0])


def _neg(low: Lowering, prim: Prim, values: Sequence[Value]) -> Value:
    x = values[0]
    if not prim.is_signed:
        return low.binary("eq", x, low.const(0, prim))
    return low.binary("ne", x, low.const(range_of(prim)[0], prim))


def _abs(low: Lowering, prim: Prim, values: Sequence[Value]) -> Value | None:
    return _neg(low, prim, values) if prim.is_signed else None


def _shl(low: Lowering, prim: Prim, values: Sequence[Value]) -> Value:
    """Shifting back gives the same value, and the shift is less than the number of bits. (Kernels shift by the amount
    modulo the bits.)"""
    a, b, result = values
    fits = low.binary("and", low.binary("eq", low.binary("shr", result, b), a), _not_negative(low, prim, b))
    fits = low.binary("and", fits, low.binary("lt", b, low.const(prim.bits, prim)))
    return low.binary("or", fits, low.binary("eq", a, low.const(0, prim)))


def _pow(low: Lowering, prim: Prim, values: Sequence[Value]) -> Value:
    """The result is within the limits, computed as f64. That is exact: a power with an exponent of two or more is
    either a limit of a type of up to 64 bits, or differs from it by at least a part in 2^31."""
    a, b, _ = values
    low_limit, high_limit = range_of(prim)
    base, exponent = (low.cast(x, with_element(x.type, f64)) for x in (a, b))
    power = low.binary("pow", base, exponent)
    below = low.binary("lt", power, low.const(float(high_limit + 1) * (1 - 2.0**-36), f64))
    fits = low.binary("and", below, low.binary("gt", power, low.const(float(low_limit - 1) * (1 + 2.0**-36), f64)))
    return low.binary("or", fits, low.binary("lt", b, low.const(2, prim)))


_FITS: dict[str, Fits] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "shl": _shl,
    "pow": _pow,
    "floordiv": _div,
    "raw_div": _div,
    "neg": _neg,
    "abs": _abs,
}
