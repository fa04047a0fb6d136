"""Finds the atomics of a block that lanes execute in one loop over the lanes. Their old values are not used.

    atomic add %p, %u, move=wait                for each active lane {
    atomic add %q, %v, move=wait        ->        atomic add %p, %u
                                                  atomic add %q, %v
                                                }

All atomics of a group happen at the place of the last one, and each lane executes its own in program order. So the
block must not observe between the first and the last whether one of them has happened: it may only compute, use locals,
load from other fields, and execute atomics that commute with those of the group.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.addresses import root_of
from weft.ir.core import Block, Op
from weft.ir.ops import Address, Alloca, Atomic, Load, Store
from weft.ir.uniform import FAMILY

__all__ = ["atomic_groups", "commutes"]


def atomic_groups(block: Block) -> list[tuple[Atomic, ...]]:
    """The groups of the waiting atomics that are directly in a block, each in program order."""
    groups, group = list[tuple[Atomic, ...]](), list[Atomic]()
    for op in block:
        if isinstance(op, Atomic) and op.move == "wait":
            group.append(op)
        elif group and not commutes(op, group):
            groups.append(tuple(group))
            group = []
    return [*groups, tuple(group)] if group else groups


def commutes(op: Op, group: Sequence[Atomic]) -> bool:
    """Whether the op may run before atomics that precede it."""
    if op.pure or isinstance(op, Alloca):
        return True
    if isinstance(op, (Load, Store)) and isinstance(root_of(op.ptr), Alloca):
        return True
    if isinstance(op, Load):
        return isinstance(op.ptr, Address) and not any(_meets(op.ptr, other) for other in group)
    if isinstance(op, Atomic) and op.move == "combine" and isinstance(op.ptr, Address):
        return all(FAMILY.get(op.kind) == FAMILY.get(other.kind) or not _meets(op.ptr, other) for other in group)
    return False


def _meets(place: Address, other: Atomic) -> bool:
    """Whether the atomic may update the memory at `place`."""
    assert isinstance(other.ptr, Address)
    return place.scope.may_overlap(other.ptr.scope)
