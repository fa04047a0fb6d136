"""The interface of a storage level, and of the emitter that it uses.

A level gives every cell above it a group of cells of its own: an array of them (`dense`). Possible other levels are an
array with a bit for each cell, a table of pointers to cells, or a list. Every level answers the same three questions,
and the answers are CHI:

    address     the address of the cell of an index, given the address of the group
    activate    creates the cell before something is written to it
    enumerate   the cells that a loop over the field visits

Levels do not import ops, because ops refer to fields and fields to levels. They emit CHI through `Chi`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from weft.ir.core import Value

__all__ = ["Box", "Chi", "Level", "Place", "Space"]


@dataclass
class Place:
    """An address in the making: `base + offset + sum(indices[k] * strides[k])` bytes."""

    base: Value
    offset: int = 0
    indices: list[Value] = field(default_factory=list["Value"])
    strides: list[Value] = field(default_factory=list["Value"])

    def copy(self) -> Place:
        """The same address, to be continued differently."""
        return Place(self.base, self.offset, list(self.indices), list(self.strides))


@dataclass(frozen=True)
class Space:
    """The indices of a field: `shape`, the number of elements along each axis; `first`, the user's index of the first
    element along each axis; `order`, the axes from the slowest to the fastest in memory."""

    shape: tuple[int, ...]
    first: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """The iterations of a loop over a field: along each axis of the box, slowest first, from `begins` to before `ends`.
    `axes`: the axis of the field for each axis of the box. A point of the box plus `Space.first` is the user's index. A
    field without axes has a box of one axis, which is not an axis of the field."""

    axes: tuple[int, ...]
    begins: list[Any]
    ends: list[Any]


class Chi(Protocol):
    """Writes the CHI of a level at one place of a kernel. Values of the kernel are opaque to levels."""

    def literal(self, index: Value) -> int | None:
        """The number that an index is, where that is known; None else."""
        ...

    def add_index(self, place: Place, index: Value, stride: int, first: int) -> None:
        """Add `(index - first) * stride` to the address."""
        ...

    def add_digit(self, place: Place, digit: Value, stride: int) -> None:
        """Add `digit * stride` to the address; the digit is an i64."""
        ...

    def from_zero(self, index: Value, first: int) -> Value:
        """`index - first` as an i64, which is not negative."""
        ...

    def quotient(self, value: Value, divisor: int) -> Value:
        """`value // divisor`; neither is negative."""
        ...

    def remainder(self, value: Value, divisor: int) -> Value:
        """`value % divisor`; neither is negative."""
        ...


class Level(Protocol):
    """One level of a path. Levels are frozen and compare by their contents."""

    @property
    def kind(self) -> str:
        """What texts call it: "dense"."""
        ...

    @property
    def text(self) -> tuple[str, Any]:
        """What the text of a field says about the level: the name of an attribute, and a value of numbers, strings and
        tuples. `LEVEL_READERS` in `layout.py` makes a level of the value."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether all its cells exist, always."""
        ...

    def address(self, chi: Chi, place: Place, index: Sequence[Value], space: Space) -> None:
        """Continue an address from where the level's group begins to the cell of `index` (the user's)."""
        ...

    def activate(self, chi: Chi, place: Place, index: Sequence[Value], space: Space) -> None:
        """Emit code that creates the cell of `index`, in the group that begins at `place`."""
        ...

    def enumerate(self, space: Space, halo: Sequence[tuple[int, int]], constant: Any) -> Box:
        """The box of all cells that exist, without the halo. `constant(n)` gives the value that a number is."""
        ...

    def locate(self, index: Any) -> Any:
        """The offset in bytes of the cell of `index` from the beginning of the group. Indices count from 0. They are
        integers, or arrays of integers. The evaluator uses this: it does not run the CHI of `address`."""
        ...
