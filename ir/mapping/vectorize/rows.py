"""Moves rows: cells of evenly spaced lanes, of which each lane uses a part.

    x[%i].y, for 16 lanes        load 16 cells as three vectors, %a %b %c, and shuffle: x[%i].x and .z shuffle these too
    store x[%i].x, %u            %a %b %c = shuffles of %u %v %w ; three stores
    store x[%i].y, %v
    store x[%i].z, %w

Cells of inactive lanes, and other parts of a cell, are masked off.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from weft.ir.core import Value
from weft.ir.mapping.interleaved_stores import part_of
from weft.ir.mapping.rows import in_cell
from weft.ir.mapping.vectorize.addresses import lane_type, place, whole_scope
from weft.ir.mapping.vectorize.memory_state import Row
from weft.ir.mapping.vectorize.state import Vectorizer
from weft.ir.ops import Load, MaskedLoad, MaskedStore, Shuffle, Store
from weft.ir.types import Lanes, Prim, pointer

__all__ = ["join", "load_row", "pick", "shuffled", "store_rows"]


def load_row(v: Vectorizer, row: Row, op: Load, pieces: list[Value] | None = None) -> Value:
    """What the lanes have at the address of a load. `pieces`: the vectors that were loaded for another part."""
    type = lane_type(op.ptr)
    count = row.step // type.size
    if count == 1:
        return v.add(MaskedLoad(row.first, v.mask))
    inner, _ = in_cell(v.layouts, op.ptr, row.step, type)
    pieces = load_pieces(v, row, op) if pieces is None else pieces
    return pick(v, pieces, range(inner // type.size, v.lanes * count, count))


def load_pieces(v: Vectorizer, row: Row, op: Load) -> list[Value]:
    """The vectors that a row consists of."""
    type = lane_type(op.ptr)
    inner, span = in_cell(v.layouts, op.ptr, row.step, type)
    count, used = row.step // type.size, range(span // type.size)
    places = (_piece(v, row.first, op.ptr, part * v.lanes * type.size - inner, type) for part in range(count))
    masks = (_mask(v, part, count, used) for part in range(count))
    return [v.add(MaskedLoad(ptr, mask)) for ptr, mask in zip(places, masks, strict=True)]


def store_rows(v: Vectorizer, group: Sequence[Store]) -> None:
    """Store several parts of the cells of a row."""
    ptr, step = group[0].ptr, v.facts.step(group[0].ptr) or 0
    type, parts = lane_type(ptr), {part_of(v.facts, v.layouts, op)[1]: op for op in group}
    inner, _ = in_cell(v.layouts, ptr, step, type)
    count, names, vectors = step // type.size, list(parts), [v.vector(op.value) for op in parts.values()]
    for piece in range(count):
        places = range(piece * v.lanes, (piece + 1) * v.lanes)
        wanted = [names.index(k % count) * v.lanes + k // count if k % count in parts else 0 for k in places]
        mixed = pick(v, vectors, wanted)
        first = _piece(v, v.scalar(ptr), ptr, piece * v.lanes * type.size - inner, type)
        v.add(MaskedStore(first, mixed, _mask(v, piece, count, parts)))


def _piece(v: Vectorizer, first: Value, ptr: Value, offset: int, type: Prim) -> Value:
    """The address of one of the vectors, which may hold all components of the field."""
    return place(v, first, whole_scope(ptr), pointer(type), offset)


def _mask(v: Vectorizer, piece: int, count: int, used: Collection[int]) -> Value:
    """The elements of one of the `count` vectors to move: those in `used` of each cell whose lane is active."""
    places = range(piece * v.lanes, (piece + 1) * v.lanes)
    return shuffled(v, v.mask, v.mask, [k // count if k % count in used else -1 for k in places])


def pick(v: Vectorizer, vectors: Sequence[Value], wanted: Iterable[int]) -> Value:
    """Those elements of the vectors, which have one length and are taken end to end."""
    whole = join(v, vectors)
    return shuffled(v, whole, whole, wanted)


def join(v: Vectorizer, vectors: Sequence[Value]) -> Value:
    """Concatenate vectors of one length. If their number is not a power of two, zeros fill the rest."""
    left = list(vectors)
    while len(left) > 1:
        assert isinstance(left[0].type, Lanes)
        size, pairs = left[0].type.count, zip(left[::2], left[1::2], strict=False)
        joined = [shuffled(v, low, high, range(2 * size)) for low, high in pairs]
        if len(left) % 2:
            joined.append(shuffled(v, left[-1], left[-1], [*range(size), *[-1] * size]))
        left = joined
    return left[0]


def shuffled(v: Vectorizer, a: Value, b: Value, order: Iterable[int]) -> Value:
    """Those elements of two vectors, end to end; 0 for -1."""
    wanted = tuple(order)
    return v.once((Shuffle, a, b, wanted), lambda: Shuffle(a, b, wanted))
