"""Moves vectors to and from memory: adjacent lanes, and rows of cells of which each lane uses a part.

    x[%i].y, for 16 lanes        load 16 cells as three vectors, %a %b %c, and shuffle: what x[%i].x and .z load too
    store x[%i].x, %u            %a %b %c = shuffle of %u %v %w ; three stores, once the next two have been met
    store x[%i].y, %v
    store x[%i].z, %w

Cells of inactive lanes, and other parts of a cell, are masked off.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from weft.codegen.cpu.lanes import LaneWriter, Row, Waiting
from weft.codegen.llvm.spelling import in_memory
from weft.ir.core import Value
from weft.ir.mapping.rows import in_cell
from weft.ir.ops import Address
from weft.ir.types import Pointer, Prim, element

__all__ = [
    "join",
    "load_adjacent",
    "load_row",
    "pick",
    "short",
    "store_adjacent",
    "store_row",
]


def load_row(f: LaneWriter, row: Row, ptr: Value, type: Prim) -> str:
    """What the lanes have at `ptr`. Addresses in the same cells load the same, which LLVM does once."""
    count, tag = row.step // type.size, _tag(f, ptr)
    if count == 1:
        return load_adjacent(f, row.first, type, tag)
    inner, span = in_cell(f.layouts, ptr, row.step, type)
    first, used = _moved(f, row.first, -inner), range(span // type.size)
    pieces = [
        load_adjacent(f, _moved(f, first, part * f.lanes * type.size), type, tag, _mask(f, part, count, used))
        for part in range(count)
    ]
    return pick(f, pieces, f.lanes, range(inner // type.size, f.lanes * count, count), type)


def store_row(f: LaneWriter, row: Waiting) -> None:
    """Store the values collected for the cells of a row."""
    assert isinstance(row.ptr.type, Pointer)
    type = element(row.ptr.type.elem)
    values, count, tag = row.values, row.step // type.size, _tag(f, row.ptr)
    names = list(values)
    for part in range(count):
        places = range(part * f.lanes, (part + 1) * f.lanes)
        wanted = [names.index(k % count) * f.lanes + k // count if k % count in values else 0 for k in places]
        mixed = pick(f, list(values.values()), f.lanes, wanted, type)
        pointer = _moved(f, row.first, part * f.lanes * type.size)
        store_adjacent(f, pointer, mixed, type, tag, _mask(f, part, count, values))


def _tag(f: LaneWriter, ptr: Value) -> str:
    """What an access to whole cells may touch: all components of the field."""
    return f.module.access(ptr.scope.whole, "") if isinstance(ptr, Address) else ""


def _moved(f: LaneWriter, pointer: str, by: int) -> str:
    return f.set(f"getelementptr i8, ptr {pointer}, i64 {by}") if by else pointer


def _mask(f: LaneWriter, part: int, count: int, used: Sequence[int] | dict[int, str]) -> str:
    """The elements of one of the `count` vectors to move: those in `used` of each cell whose lane is active. The mask
    is shuffled as words, because LLVM has no efficient shuffle of single bits."""
    none = f.lanes  # an element of the second vector
    places = range(part * f.lanes, (part + 1) * f.lanes)
    order = ", ".join(f"i32 {k // count if k % count in used else none}" for k in places)
    words = f"<{f.lanes} x i32>"
    mine = f.set(f"sext {f.mask_type} {f.mask} to {words}")
    spread = f.set(f"shufflevector {words} {mine}, {words} zeroinitializer, {words} <{order}>")
    return f.set(f"icmp ne {words} {spread}, zeroinitializer")


def pick(f: LaneWriter, vectors: Sequence[str], size: int, wanted: Sequence[int], type: Prim) -> str:
    """A vector of lanes: those elements of the vectors (of that size each), taken end to end."""
    whole, size = join(f, vectors, size, type)
    vector, order = f"<{size} x {in_memory(type)}>", ", ".join(f"i32 {k}" for k in wanted)
    return f.set(f"shufflevector {vector} {whole}, {vector} poison, <{f.lanes} x i32> <{order}>")


def join(f: LaneWriter, vectors: Sequence[str], size: int, type: Prim) -> tuple[str, int]:
    """Vectors of one size, end to end, and how long that is: filled up to a power of two of them."""
    left = list(vectors)
    while len(left) > 1:
        joined, vector = list[str](), f"<{size} x {in_memory(type)}>"
        order = ", ".join(f"i32 {k}" for k in range(2 * size))
        for low, high in zip_longest(left[::2], left[1::2], fillvalue="poison"):
            joined.append(f.set(f"shufflevector {vector} {low}, {vector} {high}, <{2 * size} x i32> <{order}>"))
        left, size = joined, 2 * size
    return left[0], size


def load_adjacent(f: LaneWriter, pointer: str, type: Prim, tag: str, mask: str = "") -> str:
    """Load adjacent lanes. Inactive lanes, and lanes not in the mask, read nothing."""
    vector = f"<{f.lanes} x {in_memory(type)}>"
    name = f.module.declare(f"{vector} @llvm.masked.load.v{f.lanes}{short(type)}.p0(ptr, {f.mask_type}, {vector})")
    given = f"ptr align {type.size} {pointer}, {f.mask_type} {mask or f.mask}, {vector} zeroinitializer"
    return f.set(f"call {vector} @{name}({given}){tag}")


def store_adjacent(f: LaneWriter, pointer: str, value: str, type: Prim, tag: str, mask: str = "") -> None:
    """Store adjacent lanes. Inactive lanes, and lanes not in the mask, write nothing."""
    vector = f"<{f.lanes} x {in_memory(type)}>"
    name = f.module.declare(f"void @llvm.masked.store.v{f.lanes}{short(type)}.p0({vector}, ptr, {f.mask_type})")
    given = f"{vector} {value}, ptr align {type.size} {pointer}, {f.mask_type} {mask or f.mask}"
    f.do(f"call void @{name}({given}){tag}")


def short(type: Prim) -> str:
    """How an intrinsic's name spells an element in memory."""
    return f"f{type.bits}" if type.is_float else f"i{8 * type.size}"
