"""Loads and stores in lanes, in the way that the `move` of each says (see `mapping/moves.py`)."""

from __future__ import annotations

from collections.abc import Callable

from weft.ir.addresses import root_of
from weft.ir.core import Op, Value
from weft.ir.mapping.rows import in_cell
from weft.ir.mapping.tiles import offset_of
from weft.ir.mapping.vectorize.addresses import lane_type, pointers_of
from weft.ir.mapping.vectorize.cells import load_parts
from weft.ir.mapping.vectorize.memory_state import Row
from weft.ir.mapping.vectorize.rows import load_pieces, load_row, store_rows
from weft.ir.mapping.vectorize.state import Vectorizer, by_lane
from weft.ir.mapping.vectorize.sums import add_to_total
from weft.ir.mapping.vectorize.tiles import load_tiles, store_tiles
from weft.ir.ops import Alloca, Gather, If, Load, MaskedLoad, MaskedStore, Scatter, Select, Store

# ---- loads -----------------------------------------------------------------------------------------------------------


@by_lane(Load)
def _load(v: Vectorizer, op: Load) -> Value:
    return _LOADS[op.move](v, op)


def _load_one(v: Vectorizer, op: Load) -> Value:
    return v.add(Load(v.scalar(op.ptr), op.invariant))


def _load_common(v: Vectorizer, op: Load) -> Value:
    return v.load(v.locals.common[op.ptr])


def _load_own(v: Vectorizer, op: Load) -> Value:
    return v.load(v.scalar(op.ptr))


def _load_adjacent(v: Vectorizer, op: Load) -> Value:
    return v.add(MaskedLoad(v.scalar(op.ptr), v.mask))


def _load_row(v: Vectorizer, op: Load) -> Value:
    row = Row(None, v.scalar(op.ptr), v.facts.step(op.ptr) or 0)
    if row.step == lane_type(op.ptr).size:
        return load_row(v, row, op)
    return load_row(v, row, op, _shared(v, op, lambda: load_pieces(v, row, op)))


def _load_cell(v: Vectorizer, op: Load) -> Value:
    type, cell = lane_type(op.ptr), v.layouts.cells[op.ptr.scope.whole]  # type: ignore[attr-defined]
    inner, _ = in_cell(v.layouts, op.ptr, cell.size, type)
    return _shared(v, op, lambda: load_parts(v, op))[inner // type.size]


def _shared(v: Vectorizer, op: Load, load: Callable[[], list[Value]]) -> list[Value]:
    """The vectors that are loaded for this load, or were loaded for another part of the same cells."""
    key = v.memory.source(op), v.current
    if key not in v.memory.parts:
        v.memory.parts[key] = load()
    return v.memory.parts[key]


def _load_tile(v: Vectorizer, op: Load) -> Value:
    group = v.memory.group(op)
    if len(set(map(offset_of, group))) == 1:
        return _load_each(v, op)
    key = group, v.current
    if key not in v.memory.tiles:
        v.memory.tiles[key] = load_tiles(v, group)
    return v.memory.tiles[key][offset_of(op)]


def _load_maybe_row(v: Vectorizer, op: Load) -> Value:
    """Load as a row if the lanes are in one. That was tested where the address is."""
    row, result = v.memory.rows[op.ptr, v.current], v.local(v.wide(op.type))
    assert row.even is not None
    branch = v.add(If(row.even))
    with v.into(branch.then):
        v.add(Store(result, load_row(v, row, op)))
    with v.into(branch.orelse):
        v.add(Store(result, _load_each(v, op)))
    return v.load(result)


def _load_each(v: Vectorizer, op: Load) -> Value:
    return v.add(Gather(pointers_of(v, op.ptr), v.mask))


_LOADS: dict[str, Callable[[Vectorizer, Load], Value]] = {
    "one": _load_one,
    "common": _load_common,
    "own": _load_own,
    "adjacent": _load_adjacent,
    "row": _load_row,
    "maybe_row": _load_maybe_row,
    "cell": _load_cell,
    "tile": _load_tile,
    "gather": _load_each,
}

# ---- stores ----------------------------------------------------------------------------------------------------------


@by_lane(Store)
def _store(v: Vectorizer, op: Store) -> None:
    if op.ptr in v.locals.common and not v.current:
        v.add(Store(v.locals.common[op.ptr], v.scalar(op.value)))
    _STORES[op.move](v, op)


def _store_one(v: Vectorizer, op: Store) -> None:
    v.add(Store(v.scalar(op.ptr), v.scalar(op.value), op.relaxed))


def _store_own(v: Vectorizer, op: Store) -> None:
    """Store the value of the active lanes to a split local. The others need not keep theirs if the local was allocated
    for just these lanes, or if the others have left the loop and do not read it any more."""
    place, value, local = v.scalar(op.ptr), v.vector(op.value), root_of(op.ptr)
    if v.locals.allocated[local][v.current] is not v.mask and not (
        v.loops.left is not None and _ends_in(local, v.loops.left)
    ):
        value = v.add(Select(v.mask, value, v.load(place)))
    v.add(Store(place, value))


def _ends_in(local: Value, loop: Op) -> bool:
    """Whether no op reads the local, which was allocated just outside of the loop, after the loop."""
    if not isinstance(local, Alloca) or local.block is not loop.block:
        return False
    return all(user.within(loop) for user in local.users if not isinstance(user, Store))


def _store_adjacent(v: Vectorizer, op: Store) -> None:
    v.add(MaskedStore(v.scalar(op.ptr), v.vector(op.value), v.mask))


def _store_row(v: Vectorizer, op: Store) -> None:
    group = v.memory.stores(op)
    if group:
        store_rows(v, group)


def _store_tile(v: Vectorizer, op: Store) -> None:
    group = v.memory.group(op)
    if len(set(map(offset_of, group))) == 1:
        _store_each(v, op)
    elif op is group[-1]:
        store_tiles(v, group)


def _store_each(v: Vectorizer, op: Store) -> None:
    v.add(Scatter(pointers_of(v, op.ptr), v.vector(op.value), v.mask))


_STORES: dict[str, Callable[[Vectorizer, Store], None]] = {
    "one": _store_one,
    "own": _store_own,
    "adjacent": _store_adjacent,
    "row": _store_row,
    "tile": _store_tile,
    "scatter": _store_each,
    "sum": add_to_total,
}
