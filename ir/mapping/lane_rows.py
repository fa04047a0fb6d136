"""Finds vectors whose elements a loop over lanes adds to adjacent memory.

each_lane %m (%k: i64) {                          the lane adds two numbers side by side, and so it should find
  %x = lane %anchors, %k                          them: %u and %w are a row
  atomic add (address %x, offset=8), (lane %u, %k)
  atomic add (address %x, offset=12), (lane %w, %k)
}
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from weft.ir.core import Op, Value
from weft.ir.ops import Address, Atomic, EachLane, Lane
from weft.ir.types import Prim

__all__ = ["rows_of_lanes"]

_ROW = 16  # the bytes that one instruction adds


def rows_of_lanes(op: EachLane) -> list[tuple[Value, ...]]:
    """The vectors from outside of the loop, by rows of two or four, in the order of the memory. A vector is in one row.
    Empty if a sum of the loop is in no row: shuffles for the others would cost more than they save (measured)."""
    (number,) = op.body.args
    places: dict[tuple[Hashable, Prim], dict[int, Value]] = {}
    sums = [inner for inner in op.body if isinstance(inner, Atomic)]
    for inner in sums:
        vector = _added(inner, number, op)
        if vector is None:
            return []
        assert isinstance(inner.ptr, Address)
        assert isinstance(inner.value.type, Prim)
        origin = inner.ptr.base, *inner.ptr.indices, *inner.ptr.strides
        places.setdefault((origin, inner.value.type), {})[inner.ptr.offset] = vector
    rows = [row for (_, type), found in places.items() for row in _rows(found, type)]
    alone = len({vector for row in rows for vector in row}) < len(sums) or any(len(row) == 1 for row in rows)
    return [] if alone else rows


def _added(op: Op, number: Value, loop: EachLane) -> Value | None:
    """The vector whose element the op adds to memory, if it does only that."""
    if not isinstance(op, Atomic) or op.kind != "add" or op.users or not isinstance(op.ptr, Address):
        return None
    lane, type = op.value, op.value.type
    if not isinstance(lane, Lane) or lane.number is not number or not isinstance(type, Prim) or not type.is_float:
        return None
    return lane.x if isinstance(lane.x, Op) and not lane.x.within(loop) else None


def _rows(places: dict[int, Value], type: Prim) -> Iterator[tuple[Value, ...]]:
    """Four, two or one vector each, whose places are side by side."""
    at = sorted(places)
    while at:
        wide = (n for n in (4, 2, 1) if n * type.size <= _ROW and n <= len(at))
        count = next(n for n in wide if at[n - 1] == at[0] + (n - 1) * type.size)
        yield tuple(places[offset] for offset in at[:count])
        del at[:count]
