"""Analyses addresses and indices. This module answers every question of the kind "where does this address begin".

An address is a chain of steps that ends in a *root*:

    %p = field_ptr @x[%i]                  root
    %q = element_ptr %p[%k]                element step: to one element of a tensor; `member_ptr`: of a struct

    %base = tree_base 0                    root of lowered CHI; also `array_base`, a local, a temporary
    %a = address %base, [%i], [%s], 0      byte step: to an element
    %b = address %a, [], [], 4             byte step without an index: to a component of that element

Before `lower_access` a chain has element steps only, after it byte steps only.

An index is a value plus a constant: `%i + 1`, `%i - 3`. `split` gives both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weft.ir.core import Value, classes_with
from weft.ir.ops import Address, Binary, Cast, Const, ElementPtr, MemberPtr
from weft.ir.types import Prim, Type

__all__ = [
    "STEPS",
    "ByteSum",
    "byte_steps",
    "byte_sum",
    "element_of",
    "element_steps",
    "is_index",
    "name_of",
    "root_of",
    "split",
]

STEPS = classes_with("steps_into")  # the ops that compute an address from another

Step = ElementPtr | MemberPtr


def root_of(ptr: Value) -> Value:
    """The start of the chain: an Alloca, SharedLocal, FieldPtr, ArrayPtr or TempPtr, or the base of a tree, of an array
    or of a block's array."""
    while type(ptr) in STEPS:
        ptr = ptr.operands[0]  # type: ignore[attr-defined]
    return ptr


def name_of(ptr: Value) -> str:
    """The name of the field that an address is in, where lowered code says it."""
    while type(ptr) in STEPS:
        if isinstance(ptr, Address) and ptr.scope.space:
            return ptr.scope.name
        ptr = ptr.operands[0]  # type: ignore[attr-defined]
    return ""


def element_steps(ptr: Value) -> tuple[Value, list[Step]]:
    """The address at which the element steps begin, and these steps, outermost object first."""
    steps: list[Step] = []
    while isinstance(ptr, (ElementPtr, MemberPtr)):
        steps.append(ptr)
        ptr = ptr.base
    return ptr, steps[::-1]


def byte_steps(ptr: Value) -> Iterator[Address]:
    """The byte steps of an address, last step first."""
    while isinstance(ptr, Address):
        yield ptr
        ptr = ptr.base


@dataclass(frozen=True)
class ByteSum:
    """A chain of byte steps as one sum: `base + offset + sum(index * stride)`."""

    base: Value
    terms: tuple[tuple[Value, Value], ...]  # (index, stride), last step first
    offset: int


def byte_sum(ptr: Value) -> ByteSum:
    """The sum of all byte steps of an address."""
    terms: list[tuple[Value, Value]] = []
    offset, base = 0, ptr
    for step in byte_steps(ptr):
        terms += zip(step.indices, step.strides, strict=True)
        offset, base = offset + step.offset, step.base
    return ByteSum(base, tuple(terms), offset)


def element_of(ptr: Value) -> tuple[Value, int]:
    """The address of the element that `ptr` is in, and the offset of `ptr` in it in bytes. Byte steps without an index
    choose a component or a member. An address without byte steps is returned unchanged."""
    inside = 0
    while isinstance(ptr, Address) and isinstance(ptr.base, Address) and not ptr.indices:
        ptr, inside = ptr.base, inside + ptr.offset
    return ptr, inside


# ---- indices ---------------------------------------------------------------------------------------------------------


def is_index(type: Type) -> bool:
    """Whether a value of that type may be an index: an integer of 32 bits or more."""
    return isinstance(type, Prim) and type.is_int and type.bits >= 32


def split(index: Value, exact: bool = False) -> tuple[Value | None, int]:
    """Splits `index` into a value and a constant whose sum it is. The value is None if the index is a constant.

    The sum holds modulo 2**32: intermediate integers may wrap around, and casts between 32-bit and 64-bit integers are
    ignored. Two indices with the same value and different constants (less than 2**32 apart) are therefore different.

    `exact`: the sum holds in the integers, unless an index has wrapped around and is out of range for this reason.
    Casts and unsigned integers are then not split: `%k - 5` of a u32 below 5 is a very large number, not a negative
    one.
    """
    constant = 0
    while True:
        if isinstance(index, Binary) and _may_split(index, exact):
            sign = 1 if index.kind == "add" else -1
            if isinstance(index.rhs, Const):
                constant += sign * int(index.rhs.value)
                index = index.lhs
                continue
            if isinstance(index.lhs, Const) and sign == 1:
                constant += int(index.lhs.value)
                index = index.rhs
                continue
        elif isinstance(index, Cast) and not exact and is_index(index.type) and is_index(index.x.type):
            index = index.x
            continue
        break
    return (None, constant + int(index.value)) if isinstance(index, Const) else (index, constant)


def _may_split(index: Binary, exact: bool) -> bool:
    if index.kind not in ("add", "sub") or not is_index(index.type):
        return False
    assert isinstance(index.type, Prim)
    return index.type.is_signed or not exact
