"""Finds the accesses of a block to parts of the same wide cells, which lanes move as tiles.

    load x[%i, 0], load x[%i, 1], ... load x[%i, 14]     rows of 15 numbers: each lane loads its row as two vectors, and
                                                         shuffles turn the rows of 8 lanes into a vector for each number

All loads of a group are executed at the first one, all stores at the last one. So these conditions hold:

- The distance from lane to lane is a constant, and the parts of a group are less than that apart. So no two lanes
  access the same number, and parts at different offsets never meet.
- From the first op of a group to the last, no lane leaves the block, and nothing else may access what the group moves:
  what is in between computes, accesses other memory, or another part of the same cells.

A load that nothing writes while the task runs (`invariant`) may pass stores.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from weft.ir.addresses import root_of
from weft.ir.alias import is_access, space_of, spaces_meet
from weft.ir.core import Block, Op, Value, pointee
from weft.ir.mapping.cell_parts import place_of
from weft.ir.mapping.rows import WIDEST
from weft.ir.ops import Address, Alloca, Load, Store
from weft.ir.scopes import Scope
from weft.ir.types import Prim, element
from weft.ir.uniform import Uniformity

__all__ = ["Group", "Tiles", "groups_of", "is_tiled", "offset_of", "tile_price", "width_of"]

Access = Load | Store
Group = tuple[Access, ...]  # either loads or stores, in program order

_BYTES = 64  # of the widest tile
_SIZES = (4, 8)  # of an element


def is_tiled(facts: Uniformity, ptr: Value) -> bool:
    """Whether the addresses of the lanes are so far apart, always by the same distance, that a tile may move them."""
    step, type = facts.step(ptr), pointee(ptr)
    if facts.is_split(ptr) or step is None or not isinstance(ptr, Address) or not isinstance(type, Prim):
        return False
    size = type.size
    return size in _SIZES and step % size == 0 and step > WIDEST * size


class Tiles:
    """The groups of the blocks of a body. They are computed for a block on first use. `masks`: whether the CPU has
    masks for its vectors, as AVX-512 does. There are no groups without: masked stores of AVX2 are slower than stores
    lane by lane (AMD), and its masked loads are no faster."""

    def __init__(self, masks: bool) -> None:
        self.masks = masks
        self._groups: dict[Block, dict[Access, Group]] = {}

    def group(self, facts: Uniformity, op: Access) -> Group:
        """The accesses that a tile moves together with this one, or nothing if it is alone."""
        if not self.masks:
            return ()
        assert op.block is not None
        if op.block not in self._groups:
            found = [group for group in groups_of(facts, op.block) if len({offset_of(one) for one in group}) > 1]
            self._groups[op.block] = {one: group for group in found for one in group}
        return self._groups[op.block].get(op, ())


@dataclass
class _Open:
    """A group that may still grow. `passed`: where in the cells the stores write that are behind a group of loads.
    `waiting`: the stores to these cells that were before a group of loads, and may be executed behind it."""

    key: Hashable
    step: int
    ops: list[Access] = field(default_factory=list[Access])
    passed: set[int] = field(default_factory=set[int])
    waiting: _Open | None = None

    def takes(self, op: Access) -> bool:
        """Whether the op may be moved to the others."""
        behind = self.waiting.ops if self.waiting is not None else []
        return self.is_alike(op) and offset_of(op) not in {*self.passed, *map(offset_of, behind)}

    def is_alike(self, op: Access) -> bool:
        """Whether all parts are within one cell, also with this one, and they are equal or do not overlap."""
        size, offsets = _size(op), [*map(offset_of, self.ops), *self.passed, offset_of(op)]
        within = max(offsets) + size - min(offsets) <= self.step
        return within and all((offset - offsets[0]) % size == 0 for offset in offsets)


def groups_of(facts: Uniformity, block: Block, marked: bool = False) -> list[Group]:
    """The groups of loads and stores directly in a block. `marked`: only of those whose `move` is `tile`."""
    finder = _Finder(facts)
    for op in block:
        joins = isinstance(op, (Load, Store)) and is_tiled(facts, op.ptr)  # (no local is)
        joins = joins and (op.move == "tile" or not marked)  # type: ignore[attr-defined]
        finder.meet(op, joins)
        if joins:
            assert isinstance(op, (Load, Store))
            finder.take(op)
    return [tuple(one.ops) for one in finder.groups]


class _Finder:
    """The groups so far, and those that may still grow: loads and stores by their cells."""

    def __init__(self, facts: Uniformity) -> None:
        self.facts, self.groups = facts, list[_Open]()
        self.open: dict[tuple[str, Hashable], _Open] = {}

    def take(self, op: Access) -> None:
        """Add the access to the group of its cells."""
        at = _kind(op), _key(op)
        group = self.open.get(at)
        if group is None or not group.takes(op):
            group = self.open[at] = _Open(at[1], self.facts.step(op.ptr) or 0)
            group.waiting = self.open.get(("store", at[1])) if at[0] == "load" else None
            self.groups.append(group)
        group.ops.append(op)

    def meet(self, op: Op, joins: bool) -> None:
        """Close the groups that must not grow beyond an op. `joins`: it is added to a group itself."""
        if is_access(op):
            if not isinstance(root_of(op.ptr), Alloca):
                self.open = {at: one for at, one in self.open.items() if not self._stops(op, joins, at[0], one)}
        elif not (op.pure or isinstance(op, Alloca)):
            self.open.clear()

    def _stops(self, op: Op, joins: bool, kind: str, group: _Open) -> bool:
        """Whether a group of this kind must not grow beyond an access to memory."""
        if not isinstance(op, (Load, Store)):
            return True
        if kind == "invariant" or (isinstance(op, Load) and (kind == "load" or op.invariant)):
            return False
        if isinstance(op.ptr, Address) and _key(op) == group.key:
            if kind == _kind(op) and joins:
                return False
            if not group.is_alike(op):
                return True
            if kind == "load":
                group.passed.add(offset_of(op))
            return kind == "store" and any(offset_of(one) == offset_of(op) for one in group.ops)
        return spaces_meet(_space(op), _space(group.ops[0]))


def _kind(op: Access) -> str:
    if isinstance(op, Store):
        return "store"
    return "invariant" if op.invariant else "load"


def _key(op: Access) -> Hashable:
    """What the parts of the same cells have in common."""
    assert isinstance(op.ptr, Address)
    return (*place_of(op.ptr), pointee(op.ptr))


def _space(op: Access) -> Hashable:
    """The memory that an access is in, with all parts of the cells."""
    space = space_of(op.ptr)
    return space.whole if isinstance(space, Scope) else space


def _size(op: Access) -> int:
    return element(pointee(op.ptr)).size


def offset_of(op: Access) -> int:
    """Where in its cell an access is, in bytes."""
    assert isinstance(op.ptr, Address)
    return op.ptr.offset


# ---- what a tile costs -----------------------------------------------------------------------------------------------


def width_of(parts: int, lanes: int, size: int) -> int:
    """The numbers of a cell that a tile has, a power of two."""
    return min(lanes, _BYTES // size, 1 << (parts - 1).bit_length())


def tile_price(group: Group, lanes: int) -> float:
    """The instructions for each access of a group: loads or stores of rows, and shuffles of pairs of them."""
    size, offsets = _size(group[0]), [offset_of(op) for op in group]
    parts = (max(offsets) - min(offsets)) // size + 1
    width = width_of(parts, lanes, size)
    shuffles = lanes - width + width * (width.bit_length() - 1)
    return -(-parts // width) * (lanes + shuffles) / len(group)
