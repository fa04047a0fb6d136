"""Gathers cells: if lanes need several parts of cells at arbitrary addresses, each lane loads its cell whole.

    x[%k].x, x[%k].y, x[%k].z, for 16 lanes     16 loads of three floats, and shuffles, not three gathers of 16

Inactive lanes load the cell of an active one. Cells at constant distances, such as neighbours in a grid, are addressed
from one pointer for each lane.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.ir.core import Value
from weft.ir.mapping.rows import in_cell
from weft.ir.mapping.vectorize.addresses import anchor_of, lane_type, place, whole_scope
from weft.ir.mapping.vectorize.rows import join, shuffled
from weft.ir.mapping.vectorize.state import Vectorizer
from weft.ir.ops import Address, AnyActive, FirstActive, FirstLanes, Load, MaskedLoad, Select
from weft.ir.types import i64, lanes, pointer, u1

__all__ = ["load_parts"]


def load_parts(v: Vectorizer, op: Load) -> list[Value]:
    """The parts of the lanes' cells, each as a vector."""
    ptr = op.ptr
    assert isinstance(ptr, Address)
    type, size = lane_type(ptr), v.layouts.cells[ptr.scope.whole].size
    inner, span = in_cell(v.layouts, ptr, size, type)
    count = span // type.size
    return _parts_of(v, [_cell(v, pointer, op, count) for pointer in _pointers_of_lanes(v, ptr, inner)], count)


def _pointers_of_lanes(v: Vectorizer, ptr: Address, inner: int) -> list[Value]:
    """The addresses of the lanes' cells. `ptr` is this many bytes inside them. They are extracted from the vector once
    for all cells at constant distances from one another, such as neighbours in a grid."""
    anchor, distance = anchor_of(v, ptr)
    safe = _either(v, v.mask, anchor, v.splat(_some_lane(v, ptr)))
    pointers = [v.element(safe, v.const(k, i64)) for k in range(v.lanes)]
    return [place(v, one, whole_scope(ptr), pointer(lane_type(ptr)), distance - inner) for one in pointers]


def _some_lane(v: Vectorizer, ptr: Address) -> Value:
    """The pointer of an active lane, for inactive lanes: they read the same memory. If there are several vectors, one
    provides it for all, because others may have no active lane."""
    chosen: Value | None = None
    for _ in v.each_vector():
        mine = v.element(anchor_of(v, ptr)[0], _first_active(v, v.mask))
        chosen = mine if chosen is None else _either(v, _any_active(v, v.mask), mine, chosen)
    assert chosen is not None
    return chosen


def _first_active(v: Vectorizer, mask: Value) -> Value:
    return v.once((FirstActive, mask), lambda: FirstActive(mask))


def _any_active(v: Vectorizer, mask: Value) -> Value:
    return v.once((AnyActive, mask), lambda: AnyActive(mask))


def _either(v: Vectorizer, condition: Value, a: Value, b: Value) -> Value:
    return v.once((Select, condition, a, b), lambda: Select(condition, a, b))


def _cell(v: Vectorizer, ptr: Value, op: Load, count: int) -> Value:
    """One lane's cell: a vector of two or four elements. Of three, the last one is masked off."""
    type = lane_type(op.ptr)
    if count == 3:
        three = v.once((FirstLanes, 3), lambda: FirstLanes(v.const(3, i64), type=lanes(u1, 4)))
        return v.add(MaskedLoad(ptr, three))
    whole = place(v, ptr, whole_scope(op.ptr), pointer(lanes(type, count)))
    return v.add(Load(whole))


def _parts_of(v: Vectorizer, cells: list[Value], count: int) -> list[Value]:
    """Each of the `count` parts of the cells, as a vector. By shuffles of two registers: LLVM would spend much time on
    one vector of all cells."""
    stride, lanes, half = 2 if count == 2 else 4, v.lanes, v.lanes // 2
    if lanes < stride:
        whole = join(v, cells)
        return [shuffled(v, whole, whole, range(part, lanes * stride, stride)) for part in range(count)]
    size = stride
    while size < lanes:
        cells = [_of_pair(v, pair, range(2 * size)) for pair in _pairs(cells)]
        size *= 2
    if stride == 2:
        return [_of_pair(v, cells, range(part, 2 * lanes, 2)) for part in range(count)]
    halves = list[list[Value]]()  # in each, two parts of half of the cells: 0 and 1 of the first, of the others; 2, 3
    for parts in ((0, 1), (2, 3)):
        order = [4 * k + part for part in parts for k in range(half)]
        halves.append([_of_pair(v, pair, order) for pair in _pairs(cells)])
    ends = [[*range(begin, begin + half), *range(lanes + begin, lanes + begin + half)] for begin in (0, half)]
    return [_of_pair(v, halves[part // 2], ends[part % 2]) for part in range(count)]


def _pairs(vectors: list[Value]) -> list[list[Value]]:
    return [vectors[k : k + 2] for k in range(0, len(vectors), 2)]


def _of_pair(v: Vectorizer, pair: list[Value], order: Iterable[int]) -> Value:
    return shuffled(v, pair[0], pair[1], order)
