"""Memory that a tape saves and restores: boxes of fields and arrays, and which cells of a tree are active.

A sparse field is saved as a whole: its active elements. Restoring them activates their cells. The cells of its tree are
memory of their own, whose owner is the tree."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.lang.data.borrow import view_of
from weft.lang.data.field import Field
from weft.lang.data.field_tree import NOT_HELD, FieldTree
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.sparse_access import CellsOf
from weft.lang.data.struct_ndarray import StructNdarray

__all__ = ["Copy", "Key", "Memory", "cells_around", "is_sparse", "key_of", "memory_of"]

Index = tuple[int | None, ...]  # of the first axes of an array; None keeps an axis whole
Key = tuple[int, Index]  # a box of a field or array: equal keys of living objects are the same elements


@dataclass(frozen=True, eq=False)
class Memory:
    """The elements of a field or an array. Two with the same `key` may share memory. `whole`: boxes are not told apart,
    since another view of the same memory may have other indices. `lent`: another object owns it, so that memory with
    another key may share it. `name` is that of messages."""

    key: Hashable
    owner: Any
    name: str
    whole: bool = False
    lent: bool = False

    def meets(self, other: Memory) -> bool:
        """Whether the bytes of the two are at the same addresses, as far as their first and last ones tell."""
        if not self.lent and not other.lent:
            return False
        pairs = [(a, b) for a in _cells(self.owner) for b in _cells(other.owner)]
        arrays = [(a, b) for a, b in pairs if isinstance(a, np.ndarray) and isinstance(b, np.ndarray)]
        return any(np.may_share_memory(a, b) for a, b in arrays)

    def copy(self, box: tuple[int | None, ...]) -> Copy | None:
        """A copy of the elements in a box. None if the box is empty, since an index is out of range."""
        index = _place(self.owner, box)
        if index is None:
            return None
        with _held(self.owner):
            return Copy(self, index, [_saved(cells, index) for cells in _cells(self.owner)])

    def clear(self, box: tuple[int | None, ...]) -> None:
        """Set the elements in a box to 0. Memory that is no array of numpy becomes 0 as a whole."""
        index = _place(self.owner, box)
        if index is None:
            return
        with _held(self.owner):
            for cells in _cells(self.owner):
                if not isinstance(cells, np.ndarray):
                    self.owner.fill(0)
                    return
                _part(cells, index)[...] = 0


@dataclass(frozen=True, eq=False)
class Copy:
    """Numbers that elements of a memory had."""

    memory: Memory
    index: Index
    numbers: list[Any]

    def put_back(self) -> Copy:
        """Give the elements these numbers. Returns the numbers that they had until now."""
        before = self.again()
        self.put()
        return before

    def put(self) -> None:
        """Give the elements these numbers."""
        with _held(self.memory.owner):
            for cells, numbers in zip(_cells(self.memory.owner), self.numbers, strict=True):
                if isinstance(cells, np.ndarray):
                    _part(cells, self.index)[...] = numbers
                else:
                    cells.chosen(self.index).put(numbers)

    def again(self) -> Copy:
        """A copy of what the elements have now."""
        with _held(self.memory.owner):
            return Copy(self.memory, self.index, [_saved(cells, self.index) for cells in _cells(self.memory.owner)])

    @classmethod
    def of(cls, memory: Memory) -> Copy:
        """A copy of all elements."""
        with _held(memory.owner):
            return cls(memory, (), [_saved(cells, ()) for cells in _cells(memory.owner)])

    @property
    def size(self) -> int:
        """The number of bytes."""
        return sum([numbers.nbytes for numbers in self.numbers])

    @property
    def key(self) -> Key:
        """The key of the box."""
        return id(self.memory.owner), self.index


def is_sparse(field: Field) -> bool:
    """Whether elements of a field may be inactive."""
    return field.describe().node is not None


def cells_around(owner: Any) -> Memory | None:
    """The cells in which a sparse field lies. None for other memory."""
    return memory_of(owner.describe().tree) if isinstance(owner, Field) and is_sparse(owner) else None


def key_of(memory: Memory, box: Index) -> Key:
    """The key of a box. `()` stands for all elements."""
    return id(memory.owner), (() if all(number is None for number in box) else box)


def memory_of(value: Any) -> Memory:
    """The memory of a field or of an array argument; of a tree, its cells."""
    if isinstance(value, Field):
        slot = value._slots[0]
        name = f"field '{value.name}'" if value.name else "a field"
        return Memory(("field", id(slot.whole or slot)), value, name, whole=is_sparse(value))
    if isinstance(value, FieldTree):
        return Memory(("cells", id(value)), value, "which cells are active", whole=True)
    if isinstance(value, Ndarray) and value.base is not None:  # its indices are not those of the memory
        return replace(memory_of(value.base), whole=True)
    if isinstance(value, StructNdarray):
        return Memory(("array", id(_root(value.first.array()))), value, "an ndarray of structs", whole=True)
    cells = value.array() if isinstance(value, Ndarray) else view_of(value)
    if isinstance(cells, np.ndarray) and not isinstance(value, Ndarray | np.ndarray):  # a new view for each call
        return Memory(("address", cells.ctypes.data, cells.nbytes), value, "an array", whole=True, lent=True)
    if isinstance(cells, np.ndarray):
        root = _root(cells)
        whole = not isinstance(value, Ndarray) and cells.base is not None
        lent = not isinstance(value, Ndarray) and not (isinstance(root, np.ndarray) and root.flags.owndata)
        return Memory(("array", id(root)), value, "an array", whole, lent)
    if isinstance(value, Ndarray):
        return Memory(("array", id(value)), value, "an array")
    return Memory("arrays of other libraries on a GPU", value, "an array", whole=True)


def _root(cells: Any) -> Any:
    """The object that owns the memory of a numpy array."""
    while getattr(cells, "base", None) is not None:
        cells = cells.base
    return cells


def _held(owner: Any) -> AbstractContextManager[Any]:
    """What `_cells` are used in, see `FieldTree.held`."""
    tree = owner if isinstance(owner, FieldTree) else owner._slots[0].tree if isinstance(owner, Field) else None
    return NOT_HELD if tree is None else tree.held()


def _cells(owner: Any) -> list[Any]:
    """The elements, as arrays that share the memory."""
    if isinstance(owner, Field):
        return [owner._window()]
    if isinstance(owner, FieldTree):
        return [CellsOf(owner)]
    if isinstance(owner, Ndarray):
        return [owner.array()]
    if isinstance(owner, StructNdarray):
        return [cells for member in owner.members.values() for cells in _cells(member)]
    if hasattr(owner, "members"):  # a struct in a struct
        return [cells for member in owner.members.values() for cells in _cells(member)]
    return [view_of(owner)]


def _part(cells: Any, index: Index) -> Any:
    """A view of the elements of a numpy array."""
    return cells[(*(slice(None) if number is None else number for number in index), ...)]


def _saved(cells: Any, index: Index) -> Any:
    """A copy of the elements."""
    return np.array(_part(cells, index)) if isinstance(cells, np.ndarray) else cells.chosen(index).saved()


def _place(owner: Any, box: tuple[int | None, ...]) -> Index | None:
    """The index of a box in the arrays of `_cells`. None if it is out of range."""
    if all(number is None for number in box):
        return ()
    if not isinstance(owner, Field):
        shape = owner.shape
        if any(number is not None and not 0 <= number < extent for number, extent in zip(box, shape)):
            return None
        return box
    numbers = [None if number is None else number - first for number, first in zip(box, owner.offset, strict=True)]
    if any(number is not None and not 0 <= number < extent for number, extent in zip(numbers, owner.shape)):
        return None
    owner._window()
    index = list[int | None]()
    for axis, divisor, modulus in owner._digits:
        number = numbers[axis]
        index.append(None if number is None else number // divisor % modulus)
    return tuple(index)
