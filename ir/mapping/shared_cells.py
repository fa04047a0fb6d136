"""Finds the loads of a block that read parts of the same cells, with no write in between: the cells are loaded once.

%a = load %x, move=cell                   the cells of all lanes, as vectors of parts
%b = load %y, move=cell          ->       another of these vectors
store %y, %v, move=scatter
%c = load %y, move=cell                   the cells again
"""

from __future__ import annotations

from collections.abc import Hashable

from weft.ir.addresses import root_of
from weft.ir.core import Block, Op
from weft.ir.mapping.cell_parts import place_of
from weft.ir.mapping.layouts import Layouts
from weft.ir.mapping.rows import in_cell
from weft.ir.ops import Address, Alloca, Load, Store
from weft.ir.types import Prim
from weft.ir.uniform import Uniformity

__all__ = ["changes_cells", "shared_cells"]

_MOVES = ("cell", "row")


def shared_cells(facts: Uniformity, layouts: Layouts, block: Block) -> dict[Load, Load]:
    """For each load directly in the block that is moved as `cell` or `row`: the first load of the same cells."""
    first: dict[Hashable, Load] = {}
    found: dict[Load, Load] = {}
    for op in block:
        if isinstance(op, Load) and op.move in _MOVES:
            found[op] = first.setdefault(_cell_of(facts, layouts, op), op)
        elif changes_cells(op):
            first.clear()
    return found


def changes_cells(op: Op) -> bool:
    """Whether the op may write to the memory of fields and arrays."""
    if op.region_names:
        return True
    if isinstance(op, Store) and isinstance(root_of(op.ptr), Alloca):
        return False
    return op.writes and op.effect != "elsewhere"


def _cell_of(facts: Uniformity, layouts: Layouts, op: Load) -> Hashable:
    """A key that is equal for parts of the same cells."""
    ptr, type = op.ptr, op.type
    if not isinstance(ptr, Address):
        return op
    assert isinstance(type, Prim)
    size = layouts.cells[ptr.scope.whole].size if op.move == "cell" else facts.step(ptr) or 0
    inner, _ = in_cell(layouts, ptr, size, type)
    return (op.move, *place_of(ptr), ptr.offset - inner, type)
