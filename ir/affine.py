"""Index expressions as sums: `2*i + j - 1` is `{i: 2, j: 1}` and the constant -1.

Two addresses with equal sums are the same address, even if different ops compute them. An index that is one loop index
plus a constant differs between iterations. Sums are modulo the width of the index, because an index that wraps is out
of bounds anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from weft.ir.addresses import is_index
from weft.ir.core import Value
from weft.ir.intervals import interval, type_interval
from weft.ir.ops import Arg, ArrayPtr, ArrayShape, Binary, Cast, Const, ElementPtr, FieldPtr, MemberPtr, TempPtr, Unary
from weft.ir.types import Prim

__all__ = ["RULES", "Affine", "address_key", "affine", "leaf_key"]


@dataclass(frozen=True)
class Affine:
    """`constant` plus the sum of coefficient times leaf. `leaf_key` names the leaves."""

    terms: frozenset[tuple[Hashable, int]]
    constant: int

    def single(self) -> tuple[Hashable, int] | None:
        """(leaf, coefficient) if there is exactly one leaf."""
        return next(iter(self.terms)) if len(self.terms) == 1 else None


Sum = tuple[dict[Hashable, int], int]


def affine(value: Value) -> Affine:
    """The sum that the integer `value` is equal to."""
    terms, constant = _sum(value)
    return Affine(frozenset(terms.items()), constant)


def leaf_key(value: Value) -> Hashable:
    """A key that is equal for all ops that are known to give the same value, else the value itself."""
    if isinstance(value, Arg):
        return "arg", value.index
    if isinstance(value, ArrayShape):
        return "shape", leaf_key(value.array), value.axis
    return value


def address_key(ptr: Value) -> Hashable:
    """Equal for two pointers that are known to hold the same address of one type, as long as their leaves keep their
    values."""
    if isinstance(ptr, FieldPtr):
        return ptr.field, ptr.activates, tuple(map(affine, ptr.indices))
    if isinstance(ptr, ArrayPtr):
        return leaf_key(ptr.array), tuple(map(affine, ptr.indices))
    if isinstance(ptr, ElementPtr):
        return address_key(ptr.base), tuple(map(affine, ptr.indices))
    if isinstance(ptr, MemberPtr):
        return address_key(ptr.base), ptr.index
    if isinstance(ptr, TempPtr):
        return "temp", ptr.offset, ptr.type
    return ptr


def _sum(value: Value) -> Sum:
    rule = RULES.get(type(value))
    found = rule(value) if rule is not None else None
    return found if found is not None else ({leaf_key(value): 1}, 0)


def _const(value: Value) -> Sum:
    assert isinstance(value, Const)
    return {}, int(value.value)


def _cast(value: Value) -> Sum | None:
    """A widening cast keeps the sum. A narrowing cast keeps it if the value is known to fit."""
    assert isinstance(value, Cast)
    source, target = value.x.type, value.type
    if not isinstance(source, Prim) or not isinstance(target, Prim) or not (source.is_int and target.is_int):
        return None
    if min(source.bits, target.bits) < 32:
        return None
    (low, high), (least, most) = interval(value.x), type_interval(target)
    return _sum(value.x) if target.bits >= source.bits or (least <= low and high <= most) else None


def _negation(value: Value) -> Sum | None:
    assert isinstance(value, Unary)
    return _combined(({}, 0), _sum(value.x), -1) if value.kind == "neg" and is_index(value.type) else None


def _binary(value: Value) -> Sum | None:
    assert isinstance(value, Binary)
    if not is_index(value.type):
        return None
    if value.kind in ("add", "sub"):
        return _combined(_sum(value.lhs), _sum(value.rhs), 1 if value.kind == "add" else -1)
    if value.kind != "mul":
        return None
    lhs, rhs = _sum(value.lhs), _sum(value.rhs)
    if lhs[0] and rhs[0]:
        return None
    factor, other = (lhs[1], rhs) if not lhs[0] else (rhs[1], lhs)
    return _combined(({}, 0), other, factor)


def _combined(a: Sum, b: Sum, factor: int) -> Sum:
    terms = dict(a[0])
    for leaf, coefficient in b[0].items():
        terms[leaf] = terms.get(leaf, 0) + factor * coefficient
    return {leaf: coefficient for leaf, coefficient in terms.items() if coefficient}, a[1] + factor * b[1]


RULES: dict[type[Value], Callable[[Value], Sum | None]] = {
    Const: _const,
    Cast: _cast,
    Unary: _negation,
    Binary: _binary,
}
