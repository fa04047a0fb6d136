"""Which accesses of neighbouring iterations form a row: places at even distances, surely or most of the time.

x[%i, %j].y                        every third float of a row: a few vector loads and a shuffle move all of it
x[min(%j + 1, %n - 1)]             side by side but at the border; `x[(%j + 1) % %n]` likewise
"""

from __future__ import annotations

from weft.ir.addresses import byte_sum
from weft.ir.core import Value
from weft.ir.mapping.layouts import Layouts
from weft.ir.ops import Address, Const
from weft.ir.types import Pointer, Prim
from weft.ir.uniform import Uniformity

__all__ = ["WIDEST", "in_cell", "is_row", "likely_bytes", "likely_stride"]

WIDEST = 8  # elements from lane to lane, up to which moving all between beats moving each by itself


def likely_stride(facts: Uniformity, ptr: Value) -> int:
    """How many elements lie from lane to lane, most of the time, if that is worth a row; else 0."""
    step = likely_bytes(facts, ptr)
    if step is None or not isinstance(ptr.type, Pointer) or not isinstance(ptr.type.elem, Prim):
        return 0
    size = ptr.type.elem.size
    fits = step > 0 and step % size == 0 and step // size <= WIDEST and size >= 4
    return step // size if fits else 0


def likely_bytes(facts: Uniformity, ptr: Value) -> int | None:
    """How many bytes lie from lane to lane, most of the time; None: no one number."""
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
    """Whether places so far apart, with gaps between them, are worth moving as a row."""
    return type.size < step <= WIDEST * type.size and step % type.size == 0 and type.size >= 4


def in_cell(layouts: Layouts, ptr: Value, step: int, type: Prim) -> tuple[int, int]:
    """Where in its cell the address is, and how much of the cell is the field's, both in bytes."""
    cell = layouts.cells.get(ptr.scope.whole) if isinstance(ptr, Address) else None
    if cell is None or cell.size != step:
        return 0, type.size
    return (byte_sum(ptr).offset - cell.low) % cell.size, cell.span
