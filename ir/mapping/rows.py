"""Finds the accesses of neighbouring iterations that form a row: addresses that are evenly spaced, always or mostly.

x[%i, %j].y                        every third float of a row: a few vector loads and a shuffle move all of it
x[min(%j + 1, %n - 1)]             adjacent except at the border; `x[(%j + 1) % %n]` likewise
"""

from __future__ import annotations

from weft.ir.addresses import byte_sum
from weft.ir.core import Value
from weft.ir.mapping.layouts import Layouts
from weft.ir.ops import Address, Const
from weft.ir.types import Pointer, Prim
from weft.ir.uniform import Uniformity

__all__ = ["WIDEST", "in_cell", "is_known_part", "is_row", "likely_bytes", "likely_stride"]

WIDEST = 9  # the largest distance from lane to lane, in elements, for which moving a row is faster: a 3 x 3 matrix


def likely_stride(facts: Uniformity, ptr: Value) -> int:
    """The distance in elements from lane to lane, most of the time, if a row is worthwhile. Else 0."""
    step = likely_bytes(facts, ptr)
    if step is None or not isinstance(ptr.type, Pointer) or not isinstance(ptr.type.elem, Prim):
        return 0
    size = ptr.type.elem.size
    fits = step > 0 and step % size == 0 and step // size <= WIDEST and size >= 4
    return step // size if fits else 0


def likely_bytes(facts: Uniformity, ptr: Value) -> int | None:
    """Return the distance in bytes from lane to lane in most places, or None if there is no single distance."""
    step = facts.step(ptr)
    if step is not None or not isinstance(ptr, Address):
        return step
    total = likely_bytes(facts, ptr.base)
    for index, stride in zip(ptr.indices, ptr.strides, strict=True):
        step = facts.likely_step(index)
        if step is None or total is None or (step and not isinstance(stride, Const)) or facts.varies(stride):
            return None
        total += step * int(stride.value) if isinstance(stride, Const) else 0
    return total


def is_row(step: int, type: Prim) -> bool:
    """Whether addresses with this distance are worth moving as a row, with the gaps between them."""
    return type.size < step <= WIDEST * type.size and step % type.size == 0 and type.size >= 4


def in_cell(layouts: Layouts, ptr: Value, step: int, type: Prim) -> tuple[int, int]:
    """The position of the address in its cell, and the part of the cell that belongs to the field, both in bytes. If
    the position is not known, the number at the address counts as a cell of its own."""
    cell = layouts.cells.get(ptr.scope.whole) if isinstance(ptr, Address) else None
    if cell is None or cell.size != step or not is_known_part(ptr, cell.size):
        return 0, type.size
    return (byte_sum(ptr).offset - cell.low) % cell.size, cell.span


def is_known_part(ptr: Value, size: int) -> bool:
    """Whether it is known at which byte of a cell of that size an address is: no index chooses a component. `m[%i][0,
    %k]` may be anywhere in its row, so that a whole cell from there on would end behind the last cell in memory."""
    return all(not isinstance(stride, Const) or int(stride.value) % size == 0 for _, stride in byte_sum(ptr).terms)
