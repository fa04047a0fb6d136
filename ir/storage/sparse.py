"""The level of a sparse node: the rest of the path begins in one of the node's cells.

    root.pointer(ij, 128).dense(ij, 8).place(x)    cells(0 // 8, 1 // 8) > dense(0: 8 x 32, 1: 8 x 4) > cell(f32 at 0)

Element (i, j) of x is in cell (i // 8, j // 8) of the node, at place (i % 8, j % 8) of it. The node's table says where
that cell is, so no address can be computed without a load. The pass `lower_sparse` makes these loads, and replaces the
field by a field of all cells of the pool, whose path is dense. This level therefore has no CHI of its own. Code that
needs a dense path gets None for it, and code that needs the address of an element before `lower_sparse` is wrong.

`block` has a row for each axis of the node: the axis of the field, and how many of its elements one cell spans. The
levels after it begin in a cell of the pool in which the field lies. Without a pool above the field, they begin at the
base of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.ir.errors import InternalError
from weft.ir.storage.level import Box, Chi, Place, Space

if TYPE_CHECKING:
    from weft.ir.core import Value

__all__ = ["Sparse"]


@dataclass(frozen=True)
class Sparse:
    """The cells of the sparse node to which a field belongs (`FieldSymbol.node`)."""

    block: tuple[tuple[int, int], ...]

    @property
    def kind(self) -> str:
        return "sparse"

    @property
    def text(self) -> tuple[str, Any]:
        return "cells", self.block

    @staticmethod
    def read(block: Iterable[tuple[int, int]]) -> Sparse:
        """The level of which the text of a field says that it has these blocks."""
        return Sparse(tuple((axis, size) for axis, size in block))

    @property
    def is_full(self) -> bool:
        return False

    def address(self, chi: Chi, place: Place, index: Sequence[Value], space: Space) -> None:
        raise InternalError("a sparse field has no address before the pass `lower_sparse`")

    def activate(self, chi: Chi, place: Place, index: Sequence[Value], space: Space) -> None:
        raise InternalError("a sparse field is activated by the pass `lower_sparse`")

    def enumerate(self, space: Space, halo: Sequence[tuple[int, int]], constant: Any) -> Box:
        raise InternalError("a loop over a sparse field is enumerated by the pass `enumerate_cells`")

    def locate(self, index: Any) -> Any:
        raise InternalError("where an element of a sparse field lies depends on memory")

    def __str__(self) -> str:
        return f"cells({', '.join(f'{axis} // {size}' for axis, size in self.block)})"
