"""Finds the stores of a block that lanes execute together: stores of different parts of the same cells.

    store %x, %u, move=row               the cells of 16 lanes are three vectors: shuffle the parts %u %v %w into
    store %y, %v, move=row       ->      these, and store each vector once
    store %z, %w, move=row

All stores of a group happen at the place of the last one. Of two stores to the same part, the second one counts.
Between the first and the last, the block may only compute and use locals: any other access could read the cell, or
write it, too early.
"""

from __future__ import annotations

from collections.abc import Hashable

from weft.ir.addresses import root_of
from weft.ir.core import Block, Op, Value, pointee
from weft.ir.mapping.layouts import Layouts
from weft.ir.mapping.rows import in_cell
from weft.ir.ops import Address, Alloca, Const, Load, Store
from weft.ir.types import element
from weft.ir.uniform import Uniformity

__all__ = ["is_between", "part_of", "store_groups"]


def store_groups(facts: Uniformity, layouts: Layouts, block: Block) -> list[tuple[Store, ...]]:
    """The groups of the row stores that are directly in a block, each in program order. Most have one member."""
    groups, group = list[tuple[Store, ...]](), list[Store]()
    for op in block:
        if isinstance(op, Store) and op.move == "row":
            if group and part_of(facts, layouts, op)[0] != part_of(facts, layouts, group[0])[0]:
                groups.append(tuple(group))
                group = []
            group.append(op)
        elif group and not is_between(op):
            groups.append(tuple(group))
            group = []
    return [*groups, tuple(group)] if group else groups


def is_between(op: Op) -> bool:
    """Whether the op may be between stores of a group: it only computes or accesses a local."""
    if isinstance(op, (Load, Store)):
        return isinstance(root_of(op.ptr), Alloca)
    return op.pure or isinstance(op, Alloca)


def part_of(facts: Uniformity, layouts: Layouts, op: Store) -> tuple[Hashable, int]:
    """A key that is equal for stores to the same cells, and the position in the cell in elements."""
    type = element(pointee(op.ptr))
    inner, _ = in_cell(layouts, op.ptr, facts.step(op.ptr) or 0, type)
    return (*_cell(op.ptr, inner), type), inner // type.size


def _cell(ptr: Value, inner: int) -> tuple[Hashable, ...]:
    if not isinstance(ptr, Address):
        return (ptr,)
    pairs = zip(ptr.indices, ptr.strides, strict=True)
    terms = (x.value if isinstance(x, Const) else x for pair in pairs for x in pair)
    return (ptr.base, *terms, ptr.offset - inner)
