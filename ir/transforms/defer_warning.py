"""Masks loads in loops without branches: keeps the worst index and reports it after the loop."""

from __future__ import annotations

from weft.ir.access_ranges import Axis, Doubt, inside, settle, wraps_not
from weft.ir.core import Builder, Op, Value
from weft.ir.ops import (
    Alloca,
    ArrayPtr,
    Binary,
    Cast,
    Const,
    ElementPtr,
    FieldPtr,
    Load,
    MemberPtr,
    Select,
    Store,
    Task,
)
from weft.ir.types import Prim, i32, i64, pointer, u1, u32, u64

__all__ = ["can_wait", "in_straight_body", "load_anyway"]

_MOST_AXES = 2


def can_wait(doubt: Doubt) -> bool:
    """Whether an index that is out of range may be replaced by another one. This holds for loads from a field or a
    tensor, because they always have elements."""
    known = all(isinstance(axis.extent, int) for axis in doubt.axes)
    return isinstance(doubt.op, Load) and len(doubt.axes) <= _MOST_AXES and known


def in_straight_body(op: Op) -> bool:
    """Whether the op is in the body of a parallel task that LLVM may vectorize, because the body has no branches."""
    task = op.parent
    if not isinstance(task, Task) or op.block is not task.body:
        return False
    return not any(other.region_names or other.terminator or (other.reads and other.writes) for other in task.body)


def load_anyway(doubt: Doubt, task: Task, zero: Value) -> tuple[Value, list[tuple[Axis, Value, Value]]]:
    """Load from the first index if an index is out of range, and give 0 in that case:

        %v = load field_ptr @x[%i]     ->     %ok = binary lt (cast %i : u32), 8
                                              %w = load field_ptr @x[select %ok, %i, 0] ; %v = select %ok, %w, 0
                                              store %worst, (binary max (load %worst), (select %ok, 0, (cast %i : u32)))

    The function gives the value, and for each axis what is known after the loop: whether an index was out of range, and
    which one.
    """
    build = Builder.at(doubt.op)
    holds: Value | None = None
    told: list[tuple[Axis, Value, Value]] = []
    chosen: dict[tuple[Op, int], Value] = {}
    for axis in doubt.axes:
        if not wraps_not(axis.index):
            settle(axis.ptr, axis.position)
        index = axis.index
        assert isinstance(index.type, Prim)
        if index.type not in (i32, i64):
            index = build.add(Cast(index, type=i64 if index.type.bits >= 32 else i32))
        here = inside(axis, build)
        first = build.add(Const(axis.first, type=index.type))
        holds = here if holds is None else build.add(Binary("and", holds, here, type=u1))
        chosen[axis.ptr, axis.position] = build.add(Select(here, index, first))
        told.append((axis, *_worst(build.add(Binary("sub", index, first)), axis.first, here, task, build)))
    assert holds is not None
    loaded = build.add(doubt.op.clone({doubt.op.ptr: _rebuilt(doubt.op.ptr, chosen, build)}))
    return build.add(Select(holds, loaded, zero)), told


def _worst(behind: Value, first: int, holds: Value, task: Task, build: Builder) -> tuple[Value, Value]:
    """Keep the largest index that is out of range, counted from the first index and taken as unsigned, so that it is
    not 0."""
    type = u32 if behind.type is i32 else u64
    before, after = Builder(task.prologue, None, build.span), Builder(task.epilogue, None, build.span)
    worst = before.add(Alloca(type=pointer(type), name="worst"))
    before.add(Store(worst, before.add(Const(0, type=type))))
    known, none = build.add(Load(worst)), build.add(Const(0, type=type))
    here = build.add(Select(holds, none, build.add(Cast(behind, type=type))))
    build.add(Store(worst, build.add(Binary("max", known, here, type=type))))
    found = after.add(Load(worst))
    some = after.add(Binary("ne", found, after.add(Const(0, type=type)), type=u1))
    index = after.add(Cast(found, type=behind.type))
    return some, after.add(Binary("add", index, after.add(Const(first, type=behind.type))))


def _rebuilt(ptr: Value, chosen: dict[tuple[Op, int], Value], build: Builder) -> Value:
    """The address with other indices."""
    if not isinstance(ptr, FieldPtr | ArrayPtr | ElementPtr | MemberPtr):
        return ptr
    made = ptr.clone({})
    if isinstance(ptr, ElementPtr | MemberPtr):
        made.set_operand(0, _rebuilt(ptr.base, chosen, build))
    for (owner, position), index in chosen.items():
        if owner is ptr:
            made.set_operand(position + isinstance(ptr, ElementPtr | ArrayPtr), index)
    return build.add(made)
