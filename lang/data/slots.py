"""The scalar components of fields, each with its place in an SNode tree."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from weft.ir.errors import LIBRARY
from weft.ir.storage.snode import SNode as Node
from weft.ir.types import Prim
from weft.lang.data.companions import companions_of
from weft.lang.data.field_tree import FieldError, FieldTree

__all__ = ["Slot", "Whole", "all_slots", "user_line"]


@dataclass(eq=False)
class Whole:
    """All components of a field of vectors or matrices. `made`: see `derived.py`."""

    inner: tuple[int, ...]
    slots: list[Slot] = field(default_factory=list["Slot"])
    made: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(eq=False)
class Slot:
    """One scalar component of a field: its type, and its place once it has one. `whole` is the same for all components
    of a field; None if the field has only one. `made`: see `derived.py`."""

    dtype: Prim
    name: str
    whole: Whole | None = None
    node: Node | None = None
    tree: FieldTree | None = None
    offset: tuple[int, ...] | None = None
    made: dict[str, Any] = field(default_factory=dict[str, Any])

    def attach(self, node: Node, tree: FieldTree, offset: tuple[int, ...] | None) -> None:
        """Put this component into the cell of `node`. Raises FieldError if it has a place already."""
        if self.node is not None:
            raise FieldError(f"{self.name or 'this field'} is already placed")
        self.node, self.tree, self.offset = node.add(self._place()), tree, offset

    def _place(self) -> Node:
        return Node("place", dtype=self.dtype, name=self.name, whole=self.whole)


def all_slots(made: Any) -> list[Slot]:
    """The scalar components of a field, followed by those of its gradient and its dual."""
    own: list[Slot] = list(made._slots)
    return own if hasattr(made, "members") else own + [slot for _, one in companions_of(made) for slot in one._slots]


def user_line() -> str:
    """file:line of the nearest caller outside of this package's language folder."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARY):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
