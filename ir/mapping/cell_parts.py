"""Finds the loads of a block that read parts of the same cell. Lanes can load such cells whole.

load x[%k].x ; load x[%k].y ; load x[%k].z        one cell of three parts
"""

from __future__ import annotations

from collections.abc import Hashable

from weft.ir.core import Block, Value
from weft.ir.mapping.layouts import Layouts
from weft.ir.mapping.rows import is_known_part
from weft.ir.ops import Address, Const, Load
from weft.ir.scopes import Scope
from weft.ir.storage.path import Cells
from weft.ir.types import Prim

__all__ = ["CellParts", "constant_terms", "place_of"]

_SPANS = (8, 12, 16)  # the sizes of cells that one load can read, in bytes


class CellParts:
    """The parts of cells that a block loads. They are computed for a block on first use."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts
        self._parts: dict[Block, dict[Hashable, set[int]]] = {}

    def joint(self, op: Load) -> Cells | None:
        """The cell that a load reads a part of, if the cell should be loaded whole because the block loads other parts
        of it too."""
        ptr, block = op.ptr, op.block
        if not isinstance(ptr, Address) or block is None or not isinstance(op.type, Prim) or op.type.size != 4:
            return None
        cell = self.layouts.cells.get(ptr.scope.whole)
        if cell is None or cell.span not in _SPANS or not is_known_part(ptr, cell.size):
            return None
        if block not in self._parts:
            self._parts[block] = parts = dict[Hashable, set[int]]()
            for place in (x.ptr for x in block if isinstance(x, Load) and isinstance(x.ptr, Address)):
                parts.setdefault(place_of(place), set()).add(place.offset)
        return cell if len(self._parts[block][place_of(ptr)]) > 1 else None


def place_of(ptr: Address) -> tuple[Value | Scope, ...]:
    """A key that is equal for parts of the same cell."""
    return (ptr.base, *ptr.indices, *ptr.strides, ptr.scope.whole)


def constant_terms(ptr: Address) -> int:
    """The constant part of an address, without its offset."""
    terms = zip(ptr.indices, ptr.strides, strict=True)
    return sum(int(i.value) * int(s.value) for i, s in terms if isinstance(i, Const) and isinstance(s, Const))
