"""A path of levels from the base of a tree to the cell of one element, and the questions about it.

    root.dense(i, 4).dense(i, 8).place(x)        dense(0: 4 x 32 // 8) > dense(0: 8 x 4) > cell(f32 at 0)
    collapsed                                    dense(0: 32 x 4) > cell(f32 at 0)

All questions about the storage of a field go to its path. If not every level can answer a question, the answer may be
None. An example is a window of strides, which a table of pointers does not have. A new kind of level therefore changes
only this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from weft.ir.errors import InternalError
from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Dense, Term, merged
from weft.ir.storage.level import Box, Chi, Level, Place, Space

if TYPE_CHECKING:
    from weft.ir.core import Value

__all__ = ["Cells", "Path", "Window", "dense_path"]


@dataclass(frozen=True)
class Window:
    """Elements as an array of strides: an axis per digit of an index, axis by axis from the most significant digit."""

    terms: tuple[Term, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(term.modulus for term in self.terms)

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes."""
        return tuple(term.stride for term in self.terms)

    @property
    def digits(self) -> tuple[tuple[int, int, int], ...]:
        """The digits of an index: axis, divisor and modulus of each."""
        return tuple((term.axis, term.divisor, term.modulus) for term in self.terms)

    def is_plain(self, axes: int) -> bool:
        """Whether each of the field's axes is one axis of the array."""
        return [term.axis for term in self.terms] == list(range(axes))


@dataclass(frozen=True)
class Cells:
    """Cells of several scalars, `size` bytes from one to the next. The first one begins at byte `low`, and all scalars
    of a cell are within `span` bytes."""

    size: int
    low: int
    span: int


@dataclass(frozen=True)
class Path:
    """`levels`, the outermost first, and the cell."""

    levels: tuple[Level, ...]
    cell: Cell

    # ---- what code is made of ----

    def address(self, chi: Chi, place: Place, index: Sequence[Value], space: Space) -> None:
        """Continue the address of the tree's base to the cell of an element."""
        for level in self.levels:
            level.address(chi, place, index, space)

    def activate(self, chi: Chi, place: Place, index: Sequence[Value], space: Space) -> None:
        """Emit code that creates the element before it is written, starting from the address of the tree's base."""
        partial = [number for number, level in enumerate(self.levels) if not level.is_full]
        for level in self.levels[: partial[-1] + 1] if partial else ():
            level.activate(chi, place, index, space)
            level.address(chi, place, index, space)

    def enumerate(self, space: Space, constant: Callable[[int], Any]) -> Box:
        """What a loop over the field runs over."""
        return self._only.enumerate(space, self.cell.halo, constant)

    # ---- what is known without code ----

    @property
    def is_full(self) -> bool:
        """Whether all elements exist, always."""
        return all(level.is_full for level in self.levels)

    def locate(self, index: Any) -> Any:
        """The offset in bytes, from the tree's base, of the cell of an index that counts from 0."""
        return sum((level.locate(index) for level in self.levels), 0)

    @property
    def span(self) -> tuple[int, int]:
        """The first byte of the tree that the field uses, and the byte after its last."""
        dense = self.dense
        if dense is None:
            raise InternalError(f"the elements at {self} are not in one contiguous piece of memory")
        return dense.offset + self.cell.first, dense.offset + dense.reach + self.cell.end

    def is_within(self, bytes: int) -> bool:
        """Whether the field uses only bytes below this offset in the tree."""
        return self.dense is not None and self.span[1] < bytes

    @property
    def window(self) -> Window | None:
        """The cells as an array of strides."""
        if self.dense is None:
            return None
        return Window(tuple(sorted(self.dense.terms, key=lambda term: (term.axis, -term.divisor))))

    @property
    def cells(self) -> Cells | None:
        """The layout of cells of several scalars, if each cell is contiguous."""
        if self.dense is None or len(self.cell.components) < 2:
            return None
        strides = [term.stride for term in self.dense.terms if term.modulus > 1]
        size = min(strides, default=0)
        whole = self.cell.span <= size and not any(stride % size for stride in strides)
        return Cells(size, self.dense.offset + self.cell.first, self.cell.span) if whole else None

    @property
    def gapless(self) -> int | None:
        """How many scalars the field has, if it fills its memory without a gap."""
        if self.dense is None:
            return None
        count = len(self.cell.components) * self.dense.count
        low, end = self.span
        return count if 8 * (end - low) == count * self.cell.bits[0] else None

    @property
    def step(self) -> int | None:
        """How many bytes an index that is wrong by one may miss its element by."""
        return None if self.dense is None else max((term.stride for term in self.dense.terms), default=0)

    # ---- the path itself ----

    @cached_property
    def dense(self) -> Dense | None:
        """The only level, if it is a dense one. (A path without levels has a dense one with one cell.)"""
        if len(self.levels) > 1:
            return None
        only = self._only
        return only if isinstance(only, Dense) else None

    @property
    def _only(self) -> Level:
        if len(self.levels) > 1:
            raise InternalError(f"a loop cannot enumerate the elements at {self}")
        return self.levels[0] if self.levels else Dense(())

    def collapsed(self) -> Path:
        """The same path with each run of dense levels merged into one. A run that leads to the cell begins where the
        group does, because the components hold the rest of the offset."""
        levels = list(_collapsed(self.levels))
        last = levels[-1] if levels else None
        if not isinstance(last, Dense):
            return Path(tuple(levels), self.cell)
        levels[-1] = Dense(last.terms)
        moved = tuple(last.offset + start for start in self.cell.components)
        return Path(tuple(levels), replace(self.cell, components=moved))

    @property
    def is_collapsed(self) -> bool:
        """Whether no two dense levels follow one another, and the last one begins where its group does."""
        kinds, last = [isinstance(level, Dense) for level in self.levels], self.levels[-1] if self.levels else None
        return not any(a and b for a, b in pairwise(kinds)) and not (isinstance(last, Dense) and last.offset)

    def __str__(self) -> str:
        return " > ".join(map(str, (*self.levels, self.cell)))


def _collapsed(levels: Sequence[Level]) -> Iterator[Level]:
    for is_dense, run in groupby(levels, lambda level: isinstance(level, Dense)):
        if is_dense:
            yield merged(level for level in run if isinstance(level, Dense))
        else:
            yield from run


def dense_path(cell: Cell, terms: Sequence[Term]) -> Path:
    """The collapsed path of a field whose levels are all dense."""
    return Path((Dense(tuple(terms)),) if terms else (), cell)
