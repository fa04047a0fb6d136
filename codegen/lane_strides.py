"""Loads in a row: lanes at even distances, surely or most of the time.

    x[%i, %j].y                        every third float: three vector loads and a shuffle, not sixteen single loads
    x[min(%j + 1, %n - 1)]             side by side but at the border; `x[(%j + 1) % %n]` likewise

The second kind is tested where the address is computed; where the test fails, the lanes gather.
"""

from __future__ import annotations

from weft.codegen.lanes import LaneWriter, Row
from weft.codegen.spelling import in_memory
from weft.ir.core import Value
from weft.ir.ops import Address, Const
from weft.ir.types import Pointer, Prim
from weft.ir.uniform import Uniformity

__all__ = ["find_row", "likely_stride", "load_adjacent", "load_row", "row_of", "short", "worth"]

_WIDEST = 4  # elements from lane to lane, up to which loading all between beats a gather


def likely_stride(facts: Uniformity, ptr: Value) -> int:
    """How many elements lie from lane to lane, most of the time, if that is worth a row; else 0."""
    step = _likely(facts, ptr)
    if step is None or not isinstance(ptr.type, Pointer) or not isinstance(ptr.type.elem, Prim):
        return 0
    size = ptr.type.elem.size
    fits = step > 0 and step % size == 0 and step // size <= _WIDEST and size >= 4
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
    base = f.rows.get(op.base)
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
    f.rows[op] = Row(even, first, likely)


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
    return f.all(same, f.mask)


def row_of(f: LaneWriter, ptr: Value, type: Prim) -> Row | None:
    """The row that an address is in, if loading it as one pays."""
    if not likely_stride(f.facts, ptr):
        return None
    step = f.facts.step(ptr)
    return f.rows.get(ptr) if step is None else Row("", f.use(ptr), step)


def worth(f: LaneWriter, row: Row, type: Prim) -> str:
    """The test whether to load the row as one: it is even and, where there are gaps, all lanes are active."""
    if row.step == type.size:
        return row.even or "true"
    full = f.all(f.mask, "splat (i1 true)")
    return f.set(f"and i1 {row.even}, {full}") if row.even else full


def load_row(f: LaneWriter, row: Row, type: Prim, tag: str) -> str:
    """All from the first lane's element to the last one's, then every n-th."""
    count = row.step // type.size
    if count == 1:
        return load_adjacent(f, row.first, type, tag)
    total = f.lanes * count
    whole = f"<{total} x {in_memory(type)}>"
    name = f.module.declare(f"{whole} @llvm.masked.load.v{total}{short(type)}.p0(ptr, <{total} x i1>, {whole})")
    used = ", ".join(f"i1 {'true' if k <= (f.lanes - 1) * count else 'false'}" for k in range(total))
    given = f"ptr align {type.size} {row.first}, <{total} x i1> <{used}>, {whole} zeroinitializer"
    loaded = f.set(f"call {whole} @{name}({given}){tag}")
    order = ", ".join(f"i32 {k * count}" for k in range(f.lanes))
    return f.set(f"shufflevector {whole} {loaded}, {whole} poison, <{f.lanes} x i32> <{order}>")


def load_adjacent(f: LaneWriter, pointer: str, type: Prim, tag: str) -> str:
    """Lanes side by side; those that are not active read nothing."""
    vector = f"<{f.lanes} x {in_memory(type)}>"
    name = f.module.declare(f"{vector} @llvm.masked.load.v{f.lanes}{short(type)}.p0(ptr, {f.mask_type}, {vector})")
    given = f"ptr align {type.size} {pointer}, {f.mask_type} {f.mask}, {vector} zeroinitializer"
    return f.set(f"call {vector} @{name}({given}){tag}")


def short(type: Prim) -> str:
    """How an intrinsic's name spells an element in memory."""
    return f"f{type.bits}" if type.is_float else f"i{8 * type.size}"
