"""Moves tiles: cells of evenly spaced lanes that are wider than a row is worthwhile for.

    x[%i, 0] ... x[%i, 14], for 8 lanes     two loads of eight numbers in each lane, and shuffles of pairs of vectors
                                            that turn 8 rows of 8 numbers into 8 vectors, one for each number

Stores do the same backwards. Parts of a cell that the group does not access, and cells of inactive lanes, are masked
off. The last tile of a cell may overlap the one before it: both move the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.ir.core import Value
from weft.ir.mapping.tiles import Group, offset_of, width_of
from weft.ir.mapping.vectorize.addresses import lane_type, place, whole_scope
from weft.ir.mapping.vectorize.rows import join, shuffled
from weft.ir.mapping.vectorize.state import Vectorizer
from weft.ir.ops import MaskedLoad, MaskedStore, Store
from weft.ir.types import pointer

__all__ = ["load_tiles", "store_tiles"]


def load_tiles(v: Vectorizer, group: Group) -> dict[int, Value]:
    """What the lanes have at each offset that a load of the group has."""
    used, found = {offset_of(op) for op in group}, dict[int, Value]()
    for begin, offsets in _tiles(v, group):
        rows = [v.add(MaskedLoad(ptr, _mask(v, lane, offsets, used))) for lane, ptr in _places(v, group, begin)]
        found |= dict(zip(offsets, _transposed(v, _columns(v, rows, len(offsets))), strict=True))
    return found


def store_tiles(v: Vectorizer, group: Group) -> None:
    """Execute the stores of a group. Of two stores to the same part, the second one counts."""
    values = {offset_of(op): v.vector(op.value) for op in group if isinstance(op, Store)}
    some = next(iter(values.values()))
    for begin, offsets in _tiles(v, group):
        width = len(offsets)
        mixed = _transposed(v, [values.get(offset, some) for offset in offsets])
        for lane, ptr in _places(v, group, begin):
            first = lane // width * width
            row = shuffled(v, mixed[lane % width], mixed[lane % width], range(first, first + width))
            v.add(MaskedStore(ptr, row, _mask(v, lane, offsets, values)))


def _tiles(v: Vectorizer, group: Group) -> Iterator[tuple[int, list[int]]]:
    """Where in the cell each tile begins, and the offset of each of its columns."""
    size, low = lane_type(group[0].ptr).size, min(map(offset_of, group))
    parts = (max(map(offset_of, group)) - low) // size + 1
    width = width_of(parts, v.lanes, size)
    for start in range(0, parts, width):
        first = low + size * max(0, min(start, parts - width))
        yield first, list(range(first, first + width * size, size))


def _places(v: Vectorizer, group: Group, begin: int) -> Iterator[tuple[int, Value]]:
    """Each lane, and where its row of a tile begins."""
    ptr = group[0].ptr
    first, step, moved = v.scalar(ptr), v.facts.step(ptr) or 0, begin - offset_of(group[0])
    for lane in range(v.lanes):
        yield lane, place(v, first, whole_scope(ptr), pointer(lane_type(ptr)), lane * step + moved)


def _mask(v: Vectorizer, lane: int, offsets: Sequence[int], used: dict[int, Value] | set[int]) -> Value:
    """The numbers of a lane's row to move: those that are used, if the lane is active."""
    return shuffled(v, v.mask, v.mask, [lane if offset in used else -1 for offset in offsets])


def _columns(v: Vectorizer, rows: Sequence[Value], width: int) -> list[Value]:
    """As many vectors as a row has numbers, each with one number for each lane: rows of lanes that are `width` apart,
    end to end."""
    return [join(v, rows[first::width]) for first in range(width)]


def _transposed(v: Vectorizer, vectors: Sequence[Value]) -> list[Value]:
    """Exchange the number of the vector with the place in it, in all of its pieces that are as long as there are
    vectors: bit by bit, by shuffles of two vectors."""
    left, bit = list(vectors), 1
    while bit < len(left):
        for k in range(len(left)):
            if not k & bit:
                a, b = left[k], left[k | bit]
                places = range(v.lanes)
                left[k] = shuffled(v, a, b, [v.lanes + (j ^ bit) if j & bit else j for j in places])
                left[k | bit] = shuffled(v, a, b, [v.lanes + j if j & bit else j ^ bit for j in places])
        bit *= 2
    return left
