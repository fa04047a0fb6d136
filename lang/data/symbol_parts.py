"""Describes for the compiler where a field lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.ir.storage.cell import Cell
from weft.ir.storage.layout import PlaceLayout
from weft.ir.storage.path import Path
from weft.ir.storage.snode import SNode as Node
from weft.ir.types import Type
from weft.lang.data.field_tree import FieldTree

__all__ = ["FieldSymbolParts", "path_of"]


@dataclass(frozen=True, eq=False)
class FieldSymbolParts:
    """The parts of a kernel's FieldSymbol for this field. The FieldSymbol has a number in place of `tree`. `node` is
    the nearest sparse node above the field, `memory` the number of the memory of the tree in which its elements lie,
    `grown` that of the tree when this was described."""

    name: str
    shape: tuple[int, ...]
    path: Path
    offset: tuple[int, ...]
    order: tuple[int, ...]
    tree: FieldTree
    node: Node | None = None
    memory: int = 0
    grown: int = 0

    @property
    def dtype(self) -> Type:
        """The type of an element."""
        return self.path.cell.type

    @property
    def components(self) -> tuple[int, ...]:
        """The offset of each scalar of an element in its cell, in bytes."""
        return self.path.cell.components


def path_of(places: Sequence[PlaceLayout], dtype: Type) -> Path | None:
    """The path to an element of type `dtype` whose scalars are at `places`. None if the scalars do not have the same
    layout."""
    paths = [place.path.collapsed() for place in places]
    levels, shape = paths[0].levels, places[0].shape
    if any(path.levels != levels or place.shape != shape for place, path in zip(places, paths, strict=True)):
        return None
    return Path(levels, Cell(dtype, tuple(start for path in paths for start in path.cell.components)))
