"""The ways in which lanes move values to and from memory: how each load, store and atomic of a body in lanes is
executed.

    %v = load %p, move=row : f32          a few vector loads and shuffles; every third float, for example

The moves of a load:

    one          the address is the same for all lanes: one scalar load
    common       each lane has its own copy of the local, but all active lanes have the same value: one scalar load
    own          each lane has its own copy of the local: a vector load
    adjacent     the addresses of the lanes are adjacent: a masked vector load
    row          the addresses of the lanes are evenly spaced: a few masked vector loads, and shuffles
    maybe_row    as `row` if a test at run time succeeds, else as `gather`
    tile         the addresses of the lanes are evenly spaced, far apart: each lane loads several parts of its cell as
                 vectors, which shuffles transpose
    cell         each lane loads the whole cell, of which it and its neighbours in the block use parts
    gather       each lane loads by itself

A store is moved as `one`, `own`, `adjacent`, `row`, `tile` or `scatter`, or as

    sum          the lanes add to an accumulator outside of the loop: they combine their values first

The moves of an atomic:

    combine      all lanes update one address and the old value is not used: they combine their values first
    wait         the old value is not used: executed later, together with others, one lane after another
    each         executed one lane after another
"""

from __future__ import annotations

from collections.abc import Callable

from weft.ir.core import Value
from weft.ir.mapping.cell_parts import CellParts
from weft.ir.mapping.rows import is_row, likely_bytes, likely_stride
from weft.ir.mapping.tiles import Tiles, is_tiled
from weft.ir.ops import Address, Atomic, Load, Store
from weft.ir.types import Pointer, Prim, u1
from weft.ir.uniform import FAMILY, Uniformity

__all__ = ["Moved", "can_wait", "is_legal_move", "move_of"]

Moved = Load | Store | Atomic
_REDUCED = frozenset(("add", "sub", "min", "max", "and", "or", "xor"))


def move_of(facts: Uniformity, parts: CellParts, tiles: Tiles, op: Moved) -> str:
    """The best way to move a value."""
    if isinstance(op, Atomic):
        return "combine" if _meets(facts, op) else "wait" if can_wait(op) else "each"
    way = _store(facts, op) if isinstance(op, Store) else _load(facts, parts, op)
    return "tile" if way in ("gather", "scatter") and tiles.group(facts, op) else way


def _load(facts: Uniformity, parts: CellParts, op: Load) -> str:
    step, split = facts.step(op.ptr), facts.is_split(op.ptr)
    if not split and step == 0:
        return "one"
    if facts.reads_common(op):
        return "common"
    if split:
        return "own" if step == 0 else "gather"
    if step == _size(op.ptr):
        return "adjacent"
    if likely_stride(facts, op.ptr) and (step is not None or _tested(facts, op.ptr)):
        return "maybe_row" if step is None else "row"
    return "gather" if parts.joint(op) is None else "cell"


def _store(facts: Uniformity, op: Store) -> str:
    step, split = facts.step(op.ptr), facts.is_split(op.ptr)
    if op in facts.sums:
        return "sum"
    if split:
        return "own" if step == 0 else "scatter"
    if step == 0 and not facts.varies(op.value):
        return "one"
    if _is_row(facts, op.ptr):
        return "row"
    return "adjacent" if step == _size(op.ptr) else "scatter"


def _size(ptr: Value) -> int:
    """The size of the accessed value in bytes, or 0 if it is not a scalar."""
    assert isinstance(ptr.type, Pointer)
    return ptr.type.elem.size if isinstance(ptr.type.elem, Prim) else 0


def _is_row(facts: Uniformity, ptr: Value) -> bool:
    step = facts.step(ptr)
    assert isinstance(ptr.type, Pointer)
    return step is not None and isinstance(ptr.type.elem, Prim) and is_row(step, ptr.type.elem)


def _tested(facts: Uniformity, ptr: Value) -> bool:
    """Whether the spacing of the lanes is tested when the address is computed. Its indices must look evenly spaced, and
    its base must be evenly spaced or tested as well."""
    if not isinstance(ptr, Address) or facts.step(ptr) is not None or not likely_bytes(facts, ptr):
        return False
    return facts.step(ptr.base) is not None or _tested(facts, ptr.base)


def _meets(facts: Uniformity, op: Atomic) -> bool:
    return facts.step(op.ptr) == 0 and not op.users and op.kind in _REDUCED and op.type is not u1


def can_wait(op: Atomic) -> bool:
    """Whether its old value is not used, so that it may come later."""
    return not op.users and isinstance(op.ptr, Address) and op.value.type is not u1


# ---- what is legal ---------------------------------------------------------------------------------------------------


def is_legal_move(facts: Uniformity, parts: CellParts, op: Moved) -> bool:
    """Whether the op may be moved as its `move` says. Each lane may always act by itself, unless all lanes load the
    same value, which their users take for a scalar."""
    if isinstance(op, Atomic):
        return op.move in _ATOMICS and _ATOMICS[op.move](facts, parts, op)
    if isinstance(op, Store):
        return op.move in _STORES and _STORES[op.move](facts, parts, op)
    return op.move in _LOADS and _LOADS[op.move](facts, parts, op)


def _shares(facts: Uniformity, _: CellParts, op: Load | Store) -> bool:
    varies = isinstance(op, Store) and facts.varies(op.value)
    return facts.step(op.ptr) == 0 and not facts.is_split(op.ptr) and not varies and op not in facts.sums


def _owns(facts: Uniformity, _: CellParts, op: Load | Store) -> bool:
    return facts.step(op.ptr) == 0 and facts.is_split(op.ptr)


def _adjoins(facts: Uniformity, _: CellParts, op: Load | Store) -> bool:
    return facts.step(op.ptr) == _size(op.ptr) and not facts.is_split(op.ptr)


def _differs(facts: Uniformity, _: CellParts, op: Load) -> bool:
    return facts.varies(op)


_LOADS: dict[str, Callable[[Uniformity, CellParts, Load], bool]] = {
    "one": _shares,
    "common": lambda facts, _, op: facts.is_split(op.ptr) and facts.reads_common(op),
    "own": lambda facts, parts, op: _owns(facts, parts, op) and _differs(facts, parts, op),
    "adjacent": _adjoins,
    "row": lambda facts, _, op: (
        not facts.is_split(op.ptr) and bool(facts.step(op.ptr) and likely_stride(facts, op.ptr))
    ),
    "maybe_row": lambda facts, _, op: not facts.is_split(op.ptr) and _tested(facts, op.ptr),
    "cell": lambda facts, parts, op: not facts.is_split(op.ptr) and parts.joint(op) is not None,
    "tile": lambda facts, _, op: is_tiled(facts, op.ptr),
    "gather": _differs,
}
_STORES: dict[str, Callable[[Uniformity, CellParts, Store], bool]] = {
    "one": _shares,
    "own": _owns,
    "adjacent": _adjoins,
    "row": lambda facts, _, op: not facts.is_split(op.ptr) and _is_row(facts, op.ptr),
    "tile": lambda facts, _, op: is_tiled(facts, op.ptr) and op not in facts.sums,
    "scatter": lambda facts, _, op: op not in facts.sums,
    "sum": lambda facts, _, op: op in facts.sums,
}
_ATOMICS: dict[str, Callable[[Uniformity, CellParts, Atomic], bool]] = {
    "combine": lambda facts, _, op: _meets(facts, op) and op.kind in FAMILY,
    "wait": lambda facts, _, op: can_wait(op),
    "each": lambda facts, _, op: True,
}
