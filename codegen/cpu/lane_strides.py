"""Loads in a row: lanes at even distances, surely or most of the time.

    x[%i, %j].y                        every third float: three vector loads and a shuffle, not sixteen single loads;
                                       .x, .y and .z of a cell are in the same three
    x[min(%j + 1, %n - 1)]             side by side but at the border; `x[(%j + 1) % %n]` likewise

The second kind is tested where the address is computed; where the test fails, the lanes gather.
"""

from __future__ import annotations

from weft.codegen.cpu.lane_rows import WIDEST
from weft.codegen.cpu.lanes import LaneWriter, Row
from weft.codegen.llvm.spelling import in_memory
from weft.ir.core import Value
from weft.ir.ops import Address, Const
from weft.ir.types import Pointer, Prim
from weft.ir.uniform import Uniformity

__all__ = ["find_row", "likely_stride", "row_of"]


def likely_stride(facts: Uniformity, ptr: Value) -> int:
    """How many elements lie from lane to lane, most of the time, if that is worth a row; else 0."""
    step = _likely(facts, ptr)
    if step is None or not isinstance(ptr.type, Pointer) or not isinstance(ptr.type.elem, Prim):
        return 0
    size = ptr.type.elem.size
    fits = step > 0 and step % size == 0 and step // size <= WIDEST and size >= 4
    return step // size if fits else 0


def _likely(facts: Uniformity, ptr: Value) -> int | None:
    step = facts.step(ptr)
    if step is not None or not isinstance(ptr, Address):
        return step
    total = _likely(facts, ptr.base)
    for index, stride in zip(ptr.indices, ptr.strides, strict=True):
        step = facts.likely_step(index)
        if step is None or total is None or (step and not isinstance(stride, Const)) or facts.varies(stride):
            return None
        total += step * int(stride.value) if isinstance(stride, Const) else 0
    return total


def find_row(f: LaneWriter, op: Address) -> None:
    """Note where the lanes of an uneven address are if its indices are as even as they look."""
    likely = _likely(f.facts, op)
    if f.facts.step(op) is not None or not likely:
        return
    base = f.rows.get((op.base, f.which))
    if base is None and f.facts.step(op.base) is None:
        return
    even, first = (base.even, base.first) if base is not None else ("", f.use(op.base))
    for index, stride in zip(op.indices, op.strides, strict=True):
        term = f.set(f"mul i64 {f.first(index)}, {f.use(stride)}")
        first = f.set(f"getelementptr i8, ptr {first}, i64 {term}")
        if f.facts.index_step(index) is None:
            here = _is_even(f, index)
            even = f.set(f"and i1 {even}, {here}") if even else here
    if op.offset:
        first = f.set(f"getelementptr i8, ptr {first}, i64 {op.offset}")
    f.rows[op, f.which] = Row(even, first, likely)


def _is_even(f: LaneWriter, index: Value) -> str:
    """Whether the active lanes' indices are lane 0's plus equal steps."""
    step, type = f.facts.likely_step(index), index.type
    assert isinstance(type, Prim)
    assert step is not None
    start = f.first(index)
    with f.wide():
        vector = f.spell(type)
        wanted = f.set(f"add {vector} {f.splat(start, in_memory(type))}, {f.ramp(step, type)}")
        same = f.set(f"icmp eq {vector} {f.use(index)}, {wanted}")
    return f.all(same)


def row_of(f: LaneWriter, ptr: Value, type: Prim) -> Row | None:
    """The row that an address is in, if loading it as one pays."""
    if not likely_stride(f.facts, ptr):
        return None
    step = f.facts.step(ptr)
    return f.rows.get((ptr, f.which)) if step is None else Row("", f.use(ptr), step)
