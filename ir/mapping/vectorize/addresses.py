"""Addresses in lanes: a scalar if the lanes are evenly spaced, else a vector.

    address %x, indices=[%i], strides=[8], offset=4      the same op, for lane 0

    address %x, indices=[%k], strides=[8], offset=4      %1 = binary mul %k, 8, in all lanes
                                                         %2 = address %x, indices=[%1], strides=[1] : <16 x *i64>
                                                         %3 = address %2, offset=4 : <16 x *f32>

The constant part of a vector of addresses is an op of its own, the last one. Addresses that differ only by a constant
therefore share the rest (`anchor_of`).
"""

from __future__ import annotations

from weft.ir.addresses import element_of
from weft.ir.core import Value
from weft.ir.mapping.cell_parts import constant_terms
from weft.ir.mapping.rows import likely_bytes
from weft.ir.mapping.vectorize.memory_state import Row
from weft.ir.mapping.vectorize.state import Vectorizer, by_lane
from weft.ir.ops import Address, Binary, Cast, Const, Load
from weft.ir.scopes import UNKNOWN, Scope
from weft.ir.types import Lanes, Pointer, Prim, Type, i32, i64, pointer, u1

__all__ = ["anchor_of", "lane_type", "place", "pointers_of", "scope_of", "whole_scope"]

_RAW = pointer(i64)  # of an address that is not accessed itself


@by_lane(Address)
def _address(v: Vectorizer, op: Address) -> Value:
    if v.facts.is_split(op):
        return _split_address(v, op)
    if v.facts.step(op) is not None:
        indices, strides = [v.first(index) for index in op.indices], [v.scalar(stride) for stride in op.strides]
        return place(v, v.scalar(op.base), op.scope, op.type, op.offset, indices, strides)
    if _is_tested(op):
        _find_row(v, op)
    pointer, offset = _spread(v, op), op.offset + constant_terms(op)
    return place(v, pointer, op.scope, v.wide(op.type), offset)


def place(
    v: Vectorizer,
    base: Value,
    scope: Scope,
    type: Type,
    offset: int = 0,
    indices: list[Value] | None = None,
    strides: list[Value] | None = None,
) -> Value:
    """`base + offset + sum(index * stride)`, which is computed once."""
    terms = indices or [], strides or []
    key = (Address, base, *terms[0], *terms[1], offset, scope, type)
    return v.once(key, lambda: Address(base, *terms, offset, scope, type=type))


def _spread(v: Vectorizer, op: Address) -> Value:
    """A vector of addresses, without the constant part. Terms that the lanes share are added to a scalar base first."""
    scope, type = op.scope.whole, v.wide(_RAW)
    pairs = list(zip(op.indices, op.strides, strict=True))
    terms = [pair for pair in pairs if not all(isinstance(x, Const) for x in pair)]
    shared = [pair for pair in terms if not any(map(v.facts.varies, pair))]
    base = v.vector(op.base) if v.facts.varies(op.base) else v.scalar(op.base)
    if shared:
        indices, strides = ([v.scalar(pair[k]) for pair in shared] for k in (0, 1))
        base = place(v, base, scope, type if isinstance(base.type, Lanes) else _RAW, 0, indices, strides)
    for index, stride in terms:
        if (index, stride) not in shared:
            offsets = _offsets(v, index, stride, scope in v.layouts.near)
            base = place(v, base, scope, type, 0, [offsets], [v.const(1, i64)])
    return base


def _offsets(v: Vectorizer, index: Value, stride: Value, near: bool) -> Value:
    """index * stride in every lane, in 32 bits if that is enough, because gathers are then twice as fast."""
    if isinstance(stride, Const) and near and isinstance(index, Cast) and index.x.type is i32:
        product = _product(v, v.vector(index.x), v.literal(int(stride.value), i32))
        return v.once((Cast, product, i64), lambda: Cast(product, type=v.wide(i64)))
    return _product(v, v.vector(index), v.vector(stride))


def _product(v: Vectorizer, a: Value, b: Value) -> Value:
    return v.once(("mul", a, b), lambda: Binary("mul", a, b))


def _split_address(v: Vectorizer, op: Address) -> Value:
    """The address in a split local array, where element k of lane n is at k * lanes + n. If all lanes use the same
    element, it is the address of a vector."""
    assert isinstance(op.type, Pointer)
    assert isinstance(op.type.elem, Prim)
    base, offset = v.scalar(op.base), op.offset * v.lanes
    strides = [v.const(_number(stride) * v.lanes, i64) for stride in op.strides]
    if v.facts.step(op) == 0:
        indices = [v.scalar(index) for index in op.indices]
        return place(v, base, op.scope, pointer(v.wide(op.type.elem)), offset, indices, strides)
    total = v.ramp(v.const(0, i64), op.type.elem.size)
    for index, stride in zip(op.indices, strides, strict=True):
        total = v.binary("add", total, _product(v, v.vector(index), v.splat(stride)))
    return place(v, base, op.scope, v.wide(op.type), offset, [total], [v.const(1, i64)])


def _number(stride: Value) -> int:
    """A stride of a local, whose size is known."""
    assert isinstance(stride, Const)
    return int(stride.value)


# ---- vectors of addresses --------------------------------------------------------------------------------------------


def pointers_of(v: Vectorizer, ptr: Value) -> Value:
    """The address of every lane, also if the lanes are evenly spaced."""
    if not v.facts.is_split(ptr) or v.facts.step(ptr) != 0:
        return v.vector(ptr)
    assert isinstance(ptr.type, Pointer)  # an element of a split local, at the same index in all lanes
    first = place(v, v.scalar(ptr), scope_of(ptr), ptr.type)
    return v.ramp(first, lane_type(ptr).size)


def anchor_of(v: Vectorizer, ptr: Value) -> tuple[Value, int]:
    """A vector of addresses that others may share, and how far all of `ptr` are from it."""
    start, distance = element_of(ptr)
    return _unmoved(pointers_of(v, start), distance)


def _unmoved(vector: Value, distance: int) -> tuple[Value, int]:
    if isinstance(vector, Address) and not vector.indices and isinstance(vector.base.type, Lanes):
        return _unmoved(vector.base, distance + vector.offset)
    return vector, distance


def lane_type(ptr: Value) -> Prim:
    """The type of the scalar that each lane accesses at an old address."""
    assert isinstance(ptr.type, Pointer)
    assert isinstance(ptr.type.elem, Prim)
    return ptr.type.elem


def scope_of(ptr: Value) -> Scope:
    """The memory that an old address is in."""
    return ptr.scope if isinstance(ptr, Address) else UNKNOWN


def whole_scope(ptr: Value) -> Scope:
    """What an access to whole cells may touch: all components of the field."""
    return scope_of(ptr).whole


# ---- rows that are tested at run time --------------------------------------------------------------------------------


def _is_tested(op: Address) -> bool:
    """Whether a load moves as a row if the lanes are evenly spaced here."""
    loads = (isinstance(user, Load) and user.move == "maybe_row" for user in op.users)
    return any(loads) or any(isinstance(user, Address) and _is_tested(user) for user in op.users)


def _find_row(v: Vectorizer, op: Address) -> None:
    """Compute whether the lanes of an uneven address turn out to be evenly spaced, as is likely. The test is written
    where the address is, which may be outside of loops.

    x[min(%j + 1, %n - 1)]             adjacent except at the border; `x[(%j + 1) % %n]` likewise
    """
    likely, base = likely_bytes(v.facts, op), v.memory.rows.get((op.base, v.current))
    assert likely
    even, first = (base.even, base.first) if base is not None else (None, v.scalar(op.base))
    for index in op.indices:
        if v.facts.index_step(index) is None:
            here = _is_even(v, index)
            even = v.binary("and", even, here) if even is not None else here
    indices, strides = [v.first(index) for index in op.indices], [v.scalar(stride) for stride in op.strides]
    v.memory.rows[op, v.current] = Row(even, place(v, first, op.scope, op.type, op.offset, indices, strides), likely)


def _is_even(v: Vectorizer, index: Value) -> Value:
    """Whether the active lanes' indices are lane 0's plus equal steps."""
    step, mask = v.facts.likely_step(index), v.mask
    assert step is not None
    wanted, mine = v.ramp(v.first(index), step), v.vector(index)
    same = v.once(("eq", mine, wanted), lambda: Binary("eq", mine, wanted))
    return v.once(("all", same, mask), lambda: Binary("xor", v.any(v.difference((mask,), (same,))), v.const(True, u1)))
