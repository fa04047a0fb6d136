"""The end of a path of levels: the cell that holds one element of a field."""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.types import Type, flatten

__all__ = ["SHADOWS", "Cell", "Shadow"]

# What a hidden field may be kept for.
SHADOWS: dict[str, str] = {
    "marks": (
        "has the layout of the field that it describes; a scalar is 1 if the scalar of that field has been "
        "written, else 0"
    ),
    "races": "the last access to each cell, and the loop that runs now (see `ir/races.py`)",
    "sparse": "the cells, the book and the list of a sparse node; indices of them are never out of bounds",
}


@dataclass(frozen=True)
class Shadow:
    """A hidden field that holds a fact about each element. `kind` is a row of SHADOWS, `field` is its name, and `tree`
    is the number of its tree."""

    kind: str
    field: str
    tree: int


@dataclass(frozen=True)
class Cell:
    """One element of a field. `type`: the type of its value, a primitive, tensor or struct. `components`: for each
    scalar of that type, its offset in the cell in bytes. `shadows`: the hidden fields that describe it. `halo`: for
    each axis of the field, the number of elements at its beginning and at its end that are copies of elements with
    another owner. Loops over the field skip them. Empty: this program owns all."""

    type: Type
    components: tuple[int, ...]
    shadows: tuple[Shadow, ...] = ()
    halo: tuple[tuple[int, int], ...] = ()

    @property
    def bits(self) -> tuple[int, ...]:
        """How many bits each scalar takes in memory: whole bytes, as many as its type has."""
        return tuple(8 * scalar.size for scalar in flatten(self.type))

    @property
    def first(self) -> int:
        """The byte at which the first of its scalars begins."""
        return min(self.components)

    @property
    def end(self) -> int:
        """The byte after its last scalar."""
        return max(start + bits // 8 for start, bits in zip(self.components, self.bits, strict=True))

    @property
    def span(self) -> int:
        """The bytes from its first to its last one."""
        return self.end - self.first

    def shadow(self, kind: str) -> Shadow | None:
        """The shadow of that kind, if it has one."""
        return next((shadow for shadow in self.shadows if shadow.kind == kind), None)

    def __str__(self) -> str:
        return f"cell({self.type} at {', '.join(map(str, self.components))})"
