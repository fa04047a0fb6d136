"""Old values of memory, for gradients that run later.

A gradient needs values that the launch of its kernel read. Before a later launch overwrites them, they are copied. The
gradients run from the last launch to the first, and each copy is put back as soon as the gradient of the launch that
overwrote it has run. At the end, memory gets its latest values again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weft.ir.errors import Span, WeftError
from weft.lang.autodiff.accesses import Point
from weft.lang.autodiff.cells import fields_in
from weft.lang.autodiff.memory import Copy, Key, Memory, cells_around, key_of, memory_of
from weft.lang.autodiff.memory_use import Box, Touch
from weft.lang.autodiff.variables import called
from weft.lang.calls.gradient_warnings import warn_at
from weft.lang.data.field_tree import FieldTree
from weft.lang.data.sparse_access import SPARSE

if TYPE_CHECKING:
    from weft.lang.autodiff.records import RecordedLaunch

__all__ = ["Boxes", "Latest", "Overwritten", "Record", "SharedMemory", "Versions", "Who", "run_back"]


class Overwritten(WeftError):
    """A kernel overwrites values that the gradient of an earlier one needs, and the tape does not save them."""


class SharedMemory(WeftError):
    """Launches of a tape use one memory by two objects."""


class Latest:
    """What memory held when the gradients began to run."""

    def __init__(self) -> None:
        self._copies: dict[Key, Copy] = {}

    def put_back(self, copy: Copy) -> None:
        """Put a copy back. What the elements hold is kept, at the first time."""
        owner = copy.memory.owner
        if isinstance(owner, FieldTree):
            self._keep_tree(copy.memory)
        elif (cells := cells_around(owner)) is not None:  # a copy of a sparse field activates cells
            self._keep_tree(cells)
        if copy.key not in self._copies:
            self._copies[copy.key] = copy.again()
        copy.put()

    def _keep_tree(self, cells: Memory) -> None:
        """Keep which cells of a tree are active, and then the values in them: those in cells that go would be lost."""
        if key_of(cells, ()) in self._copies:
            return
        for memory in (cells, *map(memory_of, fields_in(cells.owner))):
            self._copies.setdefault(key_of(memory, ()), Copy.of(memory))

    def restore(self) -> None:
        """Give memory its latest values again."""
        lost = list[Any]()
        for copy in reversed(self._copies.values()):
            if isinstance(copy.memory.owner, FieldTree):
                lost += [SPARSE.dropped(copy.memory.owner, cells, "grad") for cells in copy.numbers]
            copy.put()
        self._copies.clear()
        for one in filter(None, lost):
            warn_at(
                None,
                f"the gradient of {called(one)} is lost where the block has deactivated cells: it would lie in them. "
                "Deactivate them after the block",
            )


@dataclass(slots=True)
class Record:
    """A recorded call. `gradient` runs its gradient, if it has one, and `forward` the call again. `before` are copies
    that must be back when the gradient runs, and `after` those that are put back then. In a loop of steps, `name`,
    `writes`, `needs` and `key` say of the call: how messages call it, what it writes, what its gradient reads, and the
    key of its random numbers. `recorded`: the launch, if it makes records."""

    gradient: Callable[[], Any] | None
    forward: Callable[[], Any] | None = None
    before: list[Copy] = field(default_factory=list[Copy])
    after: list[Copy] = field(default_factory=list[Copy])
    name: str = ""
    writes: Sequence[Touch] = ()
    needs: Sequence[Touch] = ()
    key: int = 0
    recorded: RecordedLaunch | None = None

    def run_back(self, latest: Latest) -> None:
        """Run the gradient with the memory that it needs."""
        for copy in reversed(self.before):
            latest.put_back(copy)
        if self.gradient is not None:
            self.gradient()
        for copy in reversed(self.after):
            latest.put_back(copy)


Who = tuple[str, Span | None]  # the kernel whose gradient needs elements, and the place in its source


class Boxes:
    """The boxes of one memory that recorded gradients need: for the axes on which boxes have one index, their points,
    each with the kernel that needs it."""

    __slots__ = ("by_axes",)

    def __init__(self) -> None:
        self.by_axes: dict[tuple[int, ...], dict[Point, Who]] = {}

    def table(self, axes: tuple[int, ...]) -> dict[Point, Who]:
        """The points of the boxes that have one index on these axes."""
        return self.by_axes.setdefault(axes, {})

    def add(self, box: Box, who: Who) -> None:
        """Note that `who` needs that box."""
        axes = tuple(axis for axis, number in enumerate(box) if number is not None)
        self.table(axes)[tuple(number for number in box if number is not None)] = who

    def meets(self, box: Box) -> Who | None:
        """Who needs elements of that box. None: nobody."""
        axes = tuple(axis for axis, number in enumerate(box) if number is not None)
        return self.meets_at(axes, tuple(number for number in box if number is not None))

    def meets_at(self, axes: tuple[int, ...], point: Point) -> Who | None:
        """Who needs elements of the box with that point on these axes. None: nobody."""
        for known, table in self.by_axes.items():
            if known == axes:
                who = table.get(point)
            else:
                pairs = [(k, axes.index(axis)) for k, axis in enumerate(known) if axis in axes]
                if len(pairs) == len(known):
                    who = table.get(tuple(point[at] for _, at in pairs))
                else:
                    alike = (v for one, v in table.items() if all(one[k] == point[at] for k, at in pairs))
                    who = next(alike, None)
            if who is not None:
                return who
        return None


_NONE: Mapping[Key, Copy] = {}


class Versions:
    """What the recorded gradients of a tape need. With `save`, values are copied before they are overwritten, otherwise
    overwriting them raises Overwritten with this advice. With `all`, everything that is overwritten is copied."""

    def __init__(
        self, save: bool, all: bool = False, advice: str = "use Tape(save=True), or write to other elements"
    ) -> None:
        self._save, self._all, self._advice = save, all, advice
        self._needed: dict[Hashable, Boxes] = {}
        self._known: dict[Hashable, Memory] = {}
        self._seen = set[Hashable]()  # memory that a launch reads, also if no gradient needs its values
        self._told: dict[int, Sequence[Touch]] = {}  # by its identity

    def know(self, touched: Sequence[Touch]) -> None:
        """Note the memory of a launch. Raises SharedMemory if it has two names, which could not be told apart."""
        for memory in {touch.memory.key: touch.memory for touch in touched}.values():
            if memory.key in self._known:
                continue
            other = next((one for one in self._known.values() if memory.meets(one)), None)
            if other is not None:
                raise SharedMemory(
                    f"{memory.name} has the same memory as {other.name} that was used before in the block of this "
                    "tape, but is another object: use one of them"
                )
            self._known[memory.key] = memory
            if self._save and isinstance(memory.owner, FieldTree):
                # gradients end up in the cells that were active when the block began
                self.boxes(memory).add((), ("what comes before", None))

    def see(self, memories: Iterable[Memory]) -> None:
        """Note memory that a launch reads."""
        self._seen.update(memory.key for memory in memories)

    def knows(self, memory: Memory) -> bool:
        """Whether a launch has used that memory."""
        return memory.key in self._known or memory.key in self._seen

    def need(self, kernel: str, reads: Sequence[Touch]) -> None:
        """Note what the gradient of a kernel reads."""
        for read in reads:
            self.boxes(read.memory).add(read.box, (kernel, read.span))

    def need_once(self, kernel: str, reads: Sequence[Touch]) -> None:
        """As `need`, for a list of touches that comes again and again, and does not change."""
        if id(reads) not in self._told:
            self._told[id(reads)] = reads  # it lives as long as this object, so that no other list has its identity
            self.need(kernel, reads)

    def boxes(self, memory: Memory) -> Boxes:
        """The boxes of that memory that gradients need."""
        return self._needed.setdefault(memory.key, Boxes())

    def keep(self, record: Record, writer: str, writes: Sequence[Touch], made: Mapping[Key, Copy] = _NONE) -> None:
        """Copy what `writer` is about to overwrite and gradients need. `made` are copies of it that exist already."""
        for write in writes:
            boxes = self._needed.get(write.memory.key)
            who = None if boxes is None else boxes.meets(write.box)
            if self.needs_copy(write.saved, who):
                self.copy(record, writer, write, who, made)

    def needs_copy(self, saved: bool, who: Who | None) -> bool:
        """Whether to copy what is overwritten: the gradient of the launch itself (`saved`) or `who` needs it."""
        return saved or who is not None or self._all

    def copy(
        self, record: Record, writer: str, write: Touch, who: Who | None, made: Mapping[Key, Copy] = _NONE
    ) -> None:
        """Copy what `writer` is about to overwrite. Raises Overwritten if copies are not allowed."""
        if not self._save:
            raise Overwritten(_told(writer, write, who, self._advice))
        copy = made.get(key_of(write.memory, write.box)) or write.memory.copy(write.box)
        if copy is not None:
            (record.before if write.saved else record.after).append(copy)


def _told(writer: str, write: Touch, who: Who | None, advice: str) -> str:
    by, span = who or (writer, None)
    shown = f"\n{write.span.render()}\n" if write.span is not None else ""
    where = f" at {span.file}:{span.line}" if span is not None else ""
    return (
        f"{shown}{writer} overwrites {write.memory.name}, and the gradient of {by} needs the values that it "
        f"reads{where}: {advice}"
    )


def run_back(records: Sequence[Record]) -> None:
    """Run the gradients, the last one first, each with the memory that it needs. Memory has its present values again
    afterwards."""
    latest = Latest()
    try:
        for record in reversed(records):
            record.run_back(latest)
    finally:
        latest.restore()
