"""The shadow memory of the race check: the meaning of each word, the memory that is watched, and the accesses to it.

Every scalar that iterations share is a *cell*. The shadow is one array of i64 with five words for each cell: the
entries of the last write, of the last two reads and of the last two atomics. Two reads or atomics are those of
*different* iterations, because one of them may be the iteration that checks. An entry is `number of the iteration <<
SITE_BITS | number of the site`. Iterations run serially and are numbered consecutively over all loops and launches.
Entries of older loops are therefore smaller than the number of the first iteration of the current loop, and the shadow
is never cleared.

The shadow begins with a header of `HEADER` words: the current iteration and loop, and a description of the race that
was found, if any.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from math import prod

from weft.ir.core import Value, pointee
from weft.ir.errors import Span
from weft.ir.ops import Alloca, SharedLocal
from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Term
from weft.ir.storage.path import dense_path
from weft.ir.symbols import FieldSymbol
from weft.ir.types import Array, Type, flat_size, i64
from weft.ir.written import called

__all__ = [
    "ARRAYS",
    "BEFORE",
    "BOX",
    "CELL",
    "CELL_WORDS",
    "FIRST",
    "HEADER",
    "KINDS",
    "LOOP",
    "MARK",
    "NOW",
    "SITE_BITS",
    "STEP",
    "WRITE",
    "Access",
    "Loop",
    "RaceTable",
    "Region",
    "shadow_symbol",
]

SITE_BITS = 24
STEP = 1 << SITE_BITS  # from an iteration's entries to the next one's

# Words of the header. MARK: the number of the current iteration, shifted. FIRST: that of the loop's first iteration.
# LOOP: the loop's number in the table. CELL, BEFORE, NOW: the cell and both entries of the race that was found. BOX:
# for each axis of the loop, slowest first, its begin and end, then the first value and the step of the user's index.
# ARRAYS: the first cell of each array parameter, and after the last one the number of cells.
MARK, FIRST, LOOP, CELL, BEFORE, NOW, BOX = 0, 1, 2, 3, 4, 5, 8
ARRAYS = BOX + 4 * 8
HEADER = 1024

CELL_WORDS = 5
WRITE, READ, ATOMIC = 0, 1, 3  # the words of a cell; reads and atomics have two each

# For each kind of access: the words that hold conflicting accesses, and the word in which it is recorded.
KINDS: dict[str, tuple[tuple[int, ...], int]] = {
    "read": ((WRITE, ATOMIC, ATOMIC + 1), READ),
    "write": ((WRITE, READ, READ + 1, ATOMIC, ATOMIC + 1), WRITE),
    "atomic": ((WRITE, READ, READ + 1), ATOMIC),
}
_CELLS = 1 << 40


@dataclass(frozen=True)
class Access:
    """A place in the source that accesses shared memory. `kind` is one of KINDS."""

    kind: str
    span: Span | None


@dataclass(frozen=True)
class Loop:
    """A parallel loop: the names of its indices, and the index of each axis of the box, slowest axis first."""

    names: tuple[str, ...]
    order: tuple[int, ...]
    span: Span | None


@dataclass(frozen=True)
class Region:
    """A field, an array or a local of the kernel. `first`: the number of its first cell; of array parameter number
    `array`, of that many `axes`, it is known at the launch alone, as its `shape` is. An element is a `kind`, of `width`
    scalars."""

    name: str
    first: int
    shape: tuple[int, ...]
    offset: tuple[int, ...]
    width: int
    kind: Type
    array: int = -1
    axes: int = 0
    is_field: bool = False
    member: str = ""  # of a member of structs: ".p"

    @property
    def cells(self) -> int:
        """The number of its cells."""
        return prod(self.shape) * self.width


@dataclass(eq=False)
class RaceTable:
    """The meaning of the numbers in the shadow, for one kernel and the functions it calls."""

    shadow: FieldSymbol
    functions: frozenset[str] = frozenset()  # the names of those functions
    cells: int = 0
    accesses: list[Access] = field(default_factory=list[Access])
    loops: list[Loop] = field(default_factory=list[Loop])
    regions: dict[Hashable, Region] = field(default_factory=dict[Hashable, Region])
    unchecked: bool = False  # the kernel was left as it is: its threads communicate

    def access(self, kind: str, span: Span | None) -> int:
        """The number of a new site."""
        self.accesses.append(Access(kind, span))
        return len(self.accesses) - 1

    def loop(self, loop: Loop) -> int:
        """The number of a new loop."""
        self.loops.append(loop)
        return len(self.loops) - 1

    def field(self, symbol: FieldSymbol, span: Span | None = None) -> Region:
        """The cells of a field that the program accesses at `span`."""
        found = self.regions.get(symbol)
        if found is None:
            width = flat_size(symbol.dtype)
            offset = symbol.offset or (0,) * len(symbol.shape)
            name, member = called(symbol.name, span)
            found = Region(name, self.cells, symbol.shape, offset, width, symbol.dtype, is_field=True, member=member)
            self._add(symbol, found, prod(symbol.shape) * width)
        return found

    def local(self, place: Alloca | SharedLocal) -> Region:
        """The cells of a local that iterations share."""
        found = self.regions.get(place)
        if found is None:
            kind = pointee(place)
            found = Region(place.name or "a local", self.cells, (), (), flat_size(kind), kind)
            self._add(place, found, found.width)
        return found

    def array(self, index: int, name: str, kind: Array) -> Region:
        """The cells of array parameter `index`."""
        found = self.regions.get(index)
        if found is None:
            found = self.regions[index] = Region(name, 0, (), (), flat_size(kind.elem), kind.elem, index, kind.ndim)
        return found

    def arrays(self) -> Iterator[Region]:
        """The array parameters among them."""
        return (region for region in self.regions.values() if region.array >= 0)

    def _add(self, key: Value | FieldSymbol, region: Region, cells: int) -> None:
        self.regions[key] = region
        self.cells += cells


def shadow_symbol(tree: int) -> FieldSymbol:
    """The shadow as a field of that tree."""
    path = dense_path(Cell(i64, (0,)), (Term(0, 1, _CELLS, 8),))
    return FieldSymbol("shadow", (_CELLS,), tree, path, (0,), (0,), hidden="races")
