"""Loads of rows: lanes that are evenly spaced, always or mostly.

    x[%i, %j].y                        every third float: three vector loads and a shuffle, not sixteen single loads;
                                       .x, .y and .z of a cell are in the same three
    x[min(%j + 1, %n - 1)]             adjacent except at the border; `x[(%j + 1) % %n]` likewise

The second kind is tested when the address is computed. If the test fails, the lanes gather.
"""

from __future__ import annotations

from weft.codegen.cpu.lanes import LaneWriter, Row
from weft.codegen.llvm.spelling import in_memory
from weft.ir.core import Value
from weft.ir.mapping.rows import likely_bytes
from weft.ir.ops import Address
from weft.ir.types import Prim

__all__ = ["find_row"]


def find_row(f: LaneWriter, op: Address) -> None:
    """Record the addresses of the lanes of an uneven address if its indices turn out to be evenly spaced."""
    likely = likely_bytes(f.facts, op)
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
