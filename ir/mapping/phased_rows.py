"""Finds the rows of memory that the taps of a filter read, and those that its results are stored to. See the pass
`version_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.ir.core import Op, Value, pointee
from weft.ir.mapping.coarsening import accumulators, split_at_accumulators
from weft.ir.mapping.serial_loops import counts_by_one, is_alike, trips_of
from weft.ir.mapping.whole_words import WORD, cell, whole_words
from weft.ir.ops import Address, ArrayBase, Const, For, Load, Store, Task, TreeBase
from weft.ir.types import element

__all__ = ["Part", "element_size", "is_row", "parts_of", "row_axes", "row_key", "row_of"]

_SIZES = (4, 8)  # of an element: of smaller ones a row may begin at too many places


@dataclass(frozen=True)
class Part:
    """Ops of a coarsened task that code generation may emit once for each place in a word where a row may begin."""

    ops: tuple[Op, ...]
    kind: type[Load | Store]  # the accesses that move along the row
    unknown: frozenset[Value]  # the values of these ops, and those that differ between the iterations of a thread


def parts_of(task: Task) -> list[Part]:
    """The loops that are unrolled for all iterations of a thread, and what comes after the last loop."""
    schedule, args = task.schedule, task.body.args
    varying: set[Value] = {*args[-1:]} if schedule.across > 1 else set()
    varying |= {*args[-2:-1]} if schedule.rows > 1 else set()
    free, ordered = split_at_accumulators(task.body, accumulators(task))
    found = list(_loops(free, varying))
    if not ordered:
        last = max((number for number, op in enumerate(free) if isinstance(op, For)), default=-1)
        found.append(_part(free[last + 1 :], Store, varying))
    return found


def _loops(ops: Sequence[Op], varying: set[Value]) -> Iterator[Part]:
    """The unrolled loops of a block whose ops are emitted for all iterations before the next op. Adds to `varying` the
    values of the block that differ between iterations."""
    for op in ops:
        same = not any(value in varying for value in op.operands)
        if isinstance(op, For) and same:
            if op.schedule.unroll > 1 and trips_of(op) is not None:
                yield _part(list(op.body), Load, {*varying, *op.body.args})
            elif not counts_by_one(op):
                varying.add(op)
            elif not op.schedule.jam:
                yield from _loops(list(op.body), varying)
        elif not (is_alike(op) and same):
            varying.add(op)


def _part(ops: list[Op], kind: type[Load | Store], varying: set[Value]) -> Part:
    return Part(tuple(ops), kind, frozenset((*ops, *varying)))


def row_of(part: Part) -> list[Address]:
    """The addresses of the row that most of the accesses are in, if the row may begin anywhere in a word: those that
    are computed in this part, in order."""
    rows = dict[tuple[object, ...], list[Address]]()
    for op in part.ops:
        address = cell(op.ptr) if isinstance(op, part.kind) else None
        if address is not None and is_row(address, part):
            rows.setdefault(row_key(address), []).append(address)
    most = max(rows.values(), key=len, default=[])
    return [address for address in dict.fromkeys(most) if address in part.unknown]


def is_row(address: Address, part: Part) -> bool:
    """Whether the address is in a row that begins at the same place in a word for all iterations of a thread, which is
    known before this part."""
    if not isinstance(address.base, ArrayBase | TreeBase):  # of a local: each iteration has its own
        return False
    axes = row_axes(address)
    if element_size(address) not in _SIZES or (isinstance(address.base, TreeBase) and not axes):
        return False
    begin = [address.base, *(value for k in axes for value in (address.indices[k], address.strides[k]))]
    return part.unknown.isdisjoint(begin)


def row_key(address: Address) -> tuple[object, ...]:
    """What the addresses of a row have in common."""
    return (
        address.base,
        *((address.indices[k], address.strides[k]) for k in row_axes(address)),
        element_size(address),
    )


def row_axes(address: Address) -> tuple[int, ...]:
    """The positions of the indices that select the row: each of their steps is more than a word or two, and not known
    to be whole words."""
    strides = enumerate(address.strides)
    return tuple(k for k, stride in strides if not whole_words(stride) and not _along(stride))


def _along(stride: Value) -> bool:
    return isinstance(stride, Const) and abs(int(stride.value)) <= WORD


def element_size(address: Address) -> int:
    """The bytes of an element of the row."""
    return element(pointee(address)).size
