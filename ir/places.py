"""Tables keyed by address, for passes that track the contents of memory: `forward` and `dead_stores`.

A *place* is the form of an address: its space (see `alias.py`) and a number that is equal for equal forms. A table maps
places to values and forgets those that an access may touch. Copies share their parts until one is changed, so that
entering a branch costs little. Parts that two copies still share need no comparison when the copies are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from weft.ir.alias import ANYWHERE, Overlaps, accesses, is_place, space_of, spaces_meet
from weft.ir.core import Block, Op, Value
from weft.ir.ops import Alloca, Const, If, Load
from weft.ir.types import Pointer, Prim

__all__ = ["Effects", "EffectsOf", "Place", "PlaceTable", "Places"]

Place = tuple[Hashable, int]

# Entries kept per space: an access is compared with each, so this bounds the work on long runs of accesses.
CAPACITY = 64


class Places:
    """Finds the place of a pointer."""

    def __init__(self) -> None:
        self._spellings: dict[Hashable, int] = {}
        self._numbers: dict[Value, int] = {}
        self._places: dict[Value, Place] = {}

    def __call__(self, ptr: Value) -> Place:
        """(space, number) of a pointer."""
        place = self._places.get(ptr)
        if place is None:
            self._places[ptr] = place = space_of(ptr), self._number(ptr)
        return place

    def _number(self, value: Value) -> int:
        found = self._numbers.get(value)
        if found is None:
            found = self._spellings.setdefault(self._spelling(value), len(self._spellings))
            self._numbers[value] = found
        return found

    def _spelling(self, value: Value) -> Hashable:
        if not is_place(value):
            return value
        if isinstance(value, Const):
            return Const, value.type, repr(value.value)
        attributes = [getattr(value, name) for name in value.attribute_names]
        return (type(value), value.type, *attributes, value.groups, *map(self._number, value.operands))


class PlaceTable:
    """The known contents of each place: (pointer, value)."""

    def __init__(self, spaces: dict[Hashable, dict[int, tuple[Value, Value]]] | None = None) -> None:
        self.spaces = {} if spaces is None else spaces  # the inner dicts are shared: never changed, only replaced

    def copy(self) -> PlaceTable:
        return PlaceTable(self.spaces.copy())

    def get(self, place: Place) -> Value | None:
        known = self.spaces.get(place[0])
        entry = known.get(place[1]) if known is not None else None
        return entry[1] if entry is not None else None

    def put(self, place: Place, ptr: Value, value: Value) -> None:
        space, number = place
        known = self.spaces.get(space)
        if known is None:
            self.spaces[space] = {number: (ptr, value)}
            return
        known = known.copy()
        if len(known) >= CAPACITY:
            del known[next(iter(known))]
        known[number] = (ptr, value)
        self.spaces[space] = known

    def touch(self, space: Hashable, ptr: Value) -> None:
        """Forget everything that an access to `ptr`, in that space, may touch."""
        if space != ANYWHERE and ANYWHERE not in self.spaces:
            if space in self.spaces:
                self._touch(space, ptr)
            return
        for other in [other for other in self.spaces if spaces_meet(space, other)]:
            self._touch(other, ptr)

    def _touch(self, space: Hashable, ptr: Value) -> None:
        if isinstance(space, Alloca) and isinstance(space.type, Pointer) and isinstance(space.type.elem, Prim):
            del self.spaces[space]
            return
        overlaps = Overlaps(ptr)
        self.keep(space, lambda number, entry: not overlaps.meets(entry[0]))

    def keep(self, space: Hashable, wanted: Callable[[int, tuple[Value, Value]], bool]) -> None:
        """Forget the unwanted entries of one space."""
        known = self.spaces[space]
        kept = {number: entry for number, entry in known.items() if wanted(number, entry)}
        if not kept:
            del self.spaces[space]
        elif len(kept) < len(known):
            self.spaces[space] = kept

    def keep_locals(self, locals_wanted: bool) -> None:
        """Forget all but locals, or all locals."""
        self.spaces = {s: known for s, known in self.spaces.items() if isinstance(s, Alloca) is locals_wanted}

    def meet(self, other: PlaceTable) -> None:
        """Keep the entries on which both tables agree."""
        for space in list(self.spaces):
            theirs = other.spaces.get(space)
            if theirs is None:
                del self.spaces[space]
            elif theirs is not self.spaces[space]:
                self._meet(space, theirs)

    def _meet(self, space: Hashable, theirs: dict[int, tuple[Value, Value]]) -> None:
        self.keep(space, lambda number, entry: number in theirs and theirs[number][1] is entry[1])


@dataclass
class Effects:
    """The possible effects of an op with regions: addresses read and written, by place. `barrier` is as in
    `alias.accesses`. `leaves`: it may end the kernel. `fails`: an assertion may stop it."""

    reads: dict[Place, Value] = field(default_factory=dict)
    writes: dict[Place, Value] = field(default_factory=dict)
    barrier: bool = False
    leaves: bool = False
    fails: bool = False

    def include(self, other: Effects) -> None:
        self.reads |= other.reads
        self.writes |= other.writes
        self.barrier |= other.barrier
        self.leaves |= other.leaves
        self.fails |= other.fails


class EffectsOf:
    """The effects of ops with regions, including nested ops. They are computed on first use."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._found: dict[Op, Effects] = {}

    def __call__(self, op: Op) -> Effects:
        """The effects of `op`."""
        found = self._found.get(op)
        if found is None:
            self._found[op] = found = Effects()
            for name in op.region_names:
                self._add(getattr(op, name), found)
        return found

    def _add(self, block: Block, total: Effects) -> None:
        places = self._places
        for op in block:
            if op.pure:
                continue
            if type(op) is Load:
                total.reads[places(op.operands[0])] = op.operands[0]
            elif type(op) is If:  # it is never requested by itself
                self._add(op.then, total)
                self._add(op.orelse, total)
            elif op.region_names:
                total.include(self(op))
            else:
                self._one(op, total)

    def _one(self, op: Op, total: Effects) -> None:
        reads, writes, barrier = accesses(op)
        total.reads.update((self._places(ptr), ptr) for ptr in reads)
        total.writes.update((self._places(ptr), ptr) for ptr in writes)
        total.barrier |= barrier
        total.leaves |= op.exits
        total.fails |= op.fails
