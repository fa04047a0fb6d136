"""Gathers of cells: if lanes need several parts of cells at arbitrary addresses, each lane loads its cell whole.

    x[%k].x, x[%k].y, x[%k].z, for 16 lanes     16 loads of three floats, and shuffles, not three gathers of 16

Inactive lanes load the cell of an active one. Cells at constant distances, such as neighbours in a grid, are addressed
from one pointer for each lane.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.codegen.cpu.lane_rows import join, pick
from weft.codegen.cpu.lanes import LaneWriter
from weft.codegen.llvm.spelling import in_memory
from weft.ir.addresses import element_of
from weft.ir.core import Value
from weft.ir.mapping.cell_parts import constant_terms, place_of
from weft.ir.mapping.rows import in_cell
from weft.ir.ops import Address
from weft.ir.types import Prim, i64

__all__ = ["anchor_of", "gather_part", "pointers_of"]


def gather_part(f: LaneWriter, ptr: Address, size: int, type: Prim) -> str:
    """The lanes' parts at `ptr`, which are in cells of `size` bytes. Cells that were loaded for other parts are not
    loaded again."""
    inner, span = in_cell(f.layouts, ptr, size, type)
    key, count = (*place_of(ptr), ptr.offset - inner, f.mask, f.which), span // type.size
    if key not in f.gathered:
        cells = [_cell(f, pointer, ptr, count, type) for pointer in _pointers_of_lanes(f, ptr, inner)]
        f.gathered[key] = _parts_of(f, cells, count, type)
    return f.gathered[key][inner // type.size]


def _pointers_of_lanes(f: LaneWriter, ptr: Address, inner: int) -> list[str]:
    """The addresses of the lanes' cells. `ptr` is this many bytes inside them. They are extracted from the vector once
    for all cells at constant distances from one another, such as neighbours in a grid."""
    pointers, distance = anchor_of(f, ptr)
    lanes = f.anchors.get((pointers, f.mask))
    if lanes is None:
        vector = f"<{f.lanes} x ptr>"
        safe = f.set(f"select {f.mask_type} {f.mask}, {vector} {pointers}, {vector} {_some_lane(f, ptr)}")
        lanes = [f.set(f"extractelement {vector} {safe}, i64 {k}") for k in range(f.lanes)]
        f.anchors[pointers, f.mask] = lanes
    if distance == inner:
        return lanes
    return [f.set(f"getelementptr i8, ptr {lane}, i64 {distance - inner}") for lane in lanes]


def anchor_of(f: LaneWriter, ptr: Address) -> tuple[str, int]:
    """A vector of addresses, and how far all of `ptr` are from it."""
    start, distance = element_of(ptr)
    assert isinstance(start, Address)
    known = f.spread.get((f.which, start.base, *start.indices, *start.strides))
    if known is None:
        return pointers_of(f, start), distance
    return known, distance + start.offset + constant_terms(start)


def _some_lane(f: LaneWriter, ptr: Address) -> str:
    """The pointer of an active lane, for inactive lanes: they read the same memory. If there are several vectors, one
    provides it for all, because others may have no active lane."""
    bits, number = f"i{f.lanes}", f.module.declare(f"i{f.lanes} @llvm.cttz.i{f.lanes}(i{f.lanes}, i1)")
    chosen = ""
    for _ in f.each_vector():
        here = f.set(f"bitcast {f.mask_type} {f.mask} to {bits}")
        first = f.set(f"call {bits} @{number}({bits} {here}, i1 {'true' if f.many == 1 else 'false'})")
        if f.many > 1:
            first = f.set(f"and {bits} {first}, {f.lanes - 1}")
        pointer = f.set(f"extractelement <{f.lanes} x ptr> {anchor_of(f, ptr)[0]}, {bits} {first}")
        if chosen:
            some = f.set(f"icmp ne {bits} {here}, 0")
            pointer = f.set(f"select i1 {some}, ptr {pointer}, ptr {chosen}")
        chosen = pointer
    return f.splat(chosen, "ptr")


def pointers_of(f: LaneWriter, ptr: Value) -> str:
    """The address of every lane."""
    step = f.facts.step(ptr)
    if step is None or f.facts.is_split(ptr):
        return f.use(ptr)
    offsets = f.ramp(step, i64)
    return f.set(f"getelementptr i8, ptr {f.use(ptr)}, <{f.lanes} x i64> {offsets}")


def _parts_of(f: LaneWriter, cells: list[str], count: int, type: Prim) -> list[str]:
    """Each of the `count` parts of the cells, as a vector. By shuffles of two registers: LLVM would spend much time on
    one vector of all cells."""
    stride, lanes, half = 2 if count == 2 else 4, f.lanes, f.lanes // 2
    if lanes < stride:
        whole, length = join(f, cells, stride, type)
        return [pick(f, [whole], length, range(part, length, stride), type) for part in range(count)]
    size = stride
    while size < lanes:
        cells = [_shuffled(f, pair, size, range(2 * size), type) for pair in _pairs(cells)]
        size *= 2
    if stride == 2:
        return [_shuffled(f, cells, lanes, range(part, 2 * lanes, 2), type) for part in range(count)]
    halves = list[list[str]]()  # in each, two parts of half of the cells: 0 and 1 of the first, of the others; 2 and 3
    for parts in ((0, 1), (2, 3)):
        order = [4 * k + part for part in parts for k in range(half)]
        halves.append([_shuffled(f, pair, lanes, order, type) for pair in _pairs(cells)])
    ends = [[*range(begin, begin + half), *range(lanes + begin, lanes + begin + half)] for begin in (0, half)]
    return [_shuffled(f, halves[part // 2], lanes, ends[part % 2], type) for part in range(count)]


def _pairs(vectors: list[str]) -> list[list[str]]:
    return [vectors[k : k + 2] for k in range(0, len(vectors), 2)]


def _shuffled(f: LaneWriter, pair: list[str], size: int, order: Iterable[int], type: Prim) -> str:
    """Those elements of two vectors of that size, end to end."""
    vector, numbers = f"<{size} x {in_memory(type)}>", [f"i32 {k}" for k in order]
    return f.set(f"shufflevector {vector} {pair[0]}, {vector} {pair[1]}, <{len(numbers)} x i32> <{', '.join(numbers)}>")


def _cell(f: LaneWriter, pointer: str, ptr: Address, count: int, type: Prim) -> str:
    """One lane's cell: two or four elements, of three the first ones."""
    tag, name = f.module.access(ptr.scope.whole, ""), in_memory(type)
    if count != 3:
        return f.set(f"load <{count} x {name}>, ptr {pointer}, align {type.size}{tag}")
    short = f"v4{name.replace('float', 'f32')}"
    masked = f.module.declare(f"<4 x {name}> @llvm.masked.load.{short}.p0(ptr, <4 x i1>, <4 x {name}>)")
    mask = "<4 x i1> <i1 true, i1 true, i1 true, i1 false>"
    given = f"ptr align {type.size} {pointer}, {mask}, <4 x {name}> zeroinitializer"
    return f.set(f"call <4 x {name}> @{masked}({given}){tag}")
