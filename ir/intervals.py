"""The range in which an integer value lies, known from constants, loop bounds, and the width of its type."""

from __future__ import annotations

from collections.abc import Callable

from weft.ir.core import BlockArg, Value, pointee
from weft.ir.ops import (
    Alloca,
    ArrayExtent,
    ArrayShape,
    Binary,
    Cast,
    Clamp,
    Const,
    ElementPtr,
    FieldPtr,
    For,
    FoundSlot,
    Load,
    MemberPtr,
    ParallelFor,
    Select,
    SharedLocal,
    Store,
    StructFor,
    Task,
    TempPtr,
    Unary,
    VisitedIndex,
    VisitedSlot,
    Yield,
)
from weft.ir.types import Prim, Tensor, i32, i64

__all__ = ["RULES", "in_bounds", "interval", "type_interval", "unclipped"]

Interval = tuple[int, int]  # both ends included
_DEPTH = 8  # the depth to which expressions are examined
_STORED = 3  # the same for what is stored to a local
_USES = 16  # the most accesses of a local that is examined


def interval(value: Value, depth: int = _DEPTH) -> Interval:
    """The smallest and the largest value that `value`, a scalar integer, can have."""
    whole = type_interval(value.type)
    rule = RULES.get(type(value))
    if rule is None or depth == 0:
        return whole
    low, high = rule(value, depth - 1)
    return (low, high) if whole[0] <= low and high <= whole[1] else whole


def type_interval(type: object) -> Interval:
    """The range of the integer type."""
    if not isinstance(type, Prim) or type.is_float:
        return -(2**64), 2**64
    if not type.is_signed:
        return 0, 2**type.bits - 1
    return -(2 ** (type.bits - 1)), 2 ** (type.bits - 1) - 1


def in_bounds(ptr: Value) -> bool:
    """Whether the address is known to be inside its object, so that it is safe to read early."""
    if isinstance(ptr, TempPtr | Alloca | SharedLocal):
        return True
    if isinstance(ptr, FieldPtr):
        offset = ptr.field.offset or (0,) * len(ptr.field.shape)
        return all(_inside(i, low, low + n) for i, low, n in zip(ptr.indices, offset, ptr.field.shape))
    if isinstance(ptr, MemberPtr):
        return in_bounds(ptr.base)
    if isinstance(ptr, ElementPtr):
        whole = pointee(ptr.base)
        assert isinstance(whole, Tensor)
        return in_bounds(ptr.base) and all(_inside(i, 0, n) for i, n in zip(ptr.indices, whole.shape))
    return False


def _inside(index: Value, begin: int, end: int) -> bool:
    low, high = interval(index)
    return begin <= low and high < end


def _const(value: Value, depth: int) -> Interval:
    assert isinstance(value, Const)
    return (int(value.value), int(value.value)) if not isinstance(value.value, float) else type_interval(value.type)


def _cast(value: Value, depth: int) -> Interval:
    assert isinstance(value, Cast)
    source = value.x.type
    return interval(value.x, depth) if isinstance(source, Prim) and source.is_int else type_interval(value.type)


def _select(value: Value, depth: int) -> Interval:
    assert isinstance(value, Select)
    a, b = interval(value.a, depth), interval(value.b, depth)
    return min(a[0], b[0]), max(a[1], b[1])


def _extent(value: Value, depth: int) -> Interval:
    wide = value.wide if isinstance(value, ArrayExtent) else value.type is i64
    return 0, type_interval(i64 if wide else i32)[1]


def _index(value: Value, depth: int) -> Interval:
    """The index of a loop. If the loop does not run, there is no index, and any answer is right."""
    assert isinstance(value, BlockArg)
    assert value.block is not None
    owner, position = value.block.owner, value.block.args.index(value)
    if isinstance(owner, For) and position == 0:
        step = interval(owner.step, depth)
        begin, end = interval(owner.begin, depth), interval(owner.end, depth)
        if step[0] > 0:
            return begin[0], max(end[1] - 1, begin[0])
        return (min(end[0] + 1, begin[1]), begin[1]) if step[1] < 0 else type_interval(value.type)
    if isinstance(owner, StructFor):
        first = owner.field.offset[position] if owner.field.offset else 0
        return first, first + owner.field.shape[position] - 1
    box = owner.bounds.last if isinstance(owner, Task) else owner
    if not isinstance(box, (Yield, ParallelFor)) or position >= len(box.begins):
        return type_interval(value.type)
    low = interval(box.begins[position], depth)[0]
    return low, max(interval(box.ends[position], depth)[1] - 1, low)


def _load(value: Value, depth: int) -> Interval:
    """What a local holds: a number that was stored to it, if the first access stores one."""
    assert isinstance(value, Load)
    whole = type_interval(value.type)
    local = value.ptr if value.block is not None else None  # (a pass asks about indices of what it has erased)
    if not isinstance(local, Alloca) or not depth or not _is_written_first(local):
        return whole
    low, high = whole[1], whole[0]
    for user in local.users:
        if isinstance(user, Store):
            for part in _choices(user.value, local):
                found = interval(part, min(depth, _STORED))
                low, high = min(low, found[0]), max(high, found[1])
    return low, high


def _is_written_first(local: Alloca) -> bool:
    """Whether all accesses of a local of a number store to it or load from it as a whole, and the first one is a store:
    it follows in the same block, before any op with blocks."""
    if len(local.users) > _USES:
        return False
    for user in local.users:
        if not isinstance(user, (Load, Store)) or user.ptr is not local or local in user.operands[1:]:
            return False
    following = local.next
    while following is not None and not following.regions and following not in local.users:
        following = following.next
    return isinstance(following, Store) and following.ptr is local


def _choices(value: Value, local: Alloca) -> list[Value]:
    """The values of which the value is one, each once: many ways may lead to it. What the local held is none: that was
    stored before."""
    seen, waiting, found = {value}, [value], list[Value]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, Select):
            parts = {one.a, one.b}
        elif isinstance(one, Binary) and one.kind in ("min", "max"):
            parts = {one.lhs, one.rhs}
        else:
            parts = set[Value]()
            if not (isinstance(one, Load) and one.ptr is local):
                found.append(one)
        waiting += parts - seen
        seen |= parts
    return found


def _visited_index(value: Value) -> Interval:
    assert isinstance(value, VisitedIndex)
    return 0, value.node.shape[value.axis] - 1


def _visited_slot(value: Value) -> Interval:
    assert isinstance(value, VisitedSlot)
    return 1, value.node.capacity - 1


def _found_slot(value: Value) -> Interval:
    assert isinstance(value, FoundSlot)
    return 0, value.node.capacity - 1


def _binary(value: Value, depth: int) -> Interval:
    found = unclipped(value, depth)
    return found if found is not None else type_interval(value.type)


def unclipped(value: Value, depth: int = _DEPTH) -> Interval | None:
    """The range of the result of an integer operator if its type were unbounded, or None if it is not known."""
    if not isinstance(value.type, Prim) or value.type.is_float:
        return None
    if isinstance(value, Unary):
        low, high = interval(value.x, depth)
        return (-high, -low) if value.kind == "neg" else None
    assert isinstance(value, Binary | Clamp)
    rule = _ARITHMETIC.get(value.kind)
    return rule(interval(value.lhs, depth), interval(value.rhs, depth)) if rule is not None else None


def _unary(value: Value, depth: int) -> Interval:
    found = unclipped(value, depth)
    return found if found is not None else type_interval(value.type)


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _remainder(a: Interval, b: Interval) -> Interval | None:
    return (0, min(b[1] - 1, a[1]) if a[0] >= 0 else b[1] - 1) if b[0] > 0 else None


def _quotient(a: Interval, b: Interval) -> Interval | None:
    return (min(a[0], a[0] // b[1]), max(a[1] // b[0], 0)) if b[0] > 0 else None


def _masked(a: Interval, b: Interval) -> Interval | None:
    bounds = [x[1] for x in (a, b) if x[0] >= 0]
    return (0, min(bounds)) if bounds else None


def _shifted(a: Interval, b: Interval) -> Interval | None:
    """A shift to the right that keeps the sign."""
    corners = [x >> y for x in a for y in b] if 0 <= b[0] <= b[1] < 64 else []
    return (min(corners), max(corners)) if corners else None


_ARITHMETIC: dict[str, Callable[[Interval, Interval], Interval | None]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "mod": _remainder,
    "raw_mod": lambda a, b: _remainder(a, b) if a[0] >= 0 else None,
    "floordiv": _quotient,
    "raw_div": lambda a, b: _quotient(a, b) if a[0] >= 0 else None,
    "and": _masked,
    "shr": _shifted,
    "shl": lambda a, b: _product(a, (1 << b[0], 1 << b[0])) if b[0] == b[1] and 0 <= b[0] < 31 else None,
}
RULES: dict[type[Value], Callable[[Value, int], Interval]] = {
    Const: _const,
    Cast: _cast,
    Select: _select,
    ArrayShape: _extent,
    ArrayExtent: _extent,
    BlockArg: _index,
    Load: _load,
    Binary: _binary,
    Clamp: _binary,
    Unary: _unary,
    VisitedIndex: lambda value, _: _visited_index(value),
    VisitedSlot: lambda value, _: _visited_slot(value),
    FoundSlot: lambda value, _: _found_slot(value),
}
