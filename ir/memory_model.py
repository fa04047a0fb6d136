"""The memory of the evaluator: buffers of bytes, and places in them.

A pointer op evaluates to a `Place`: a buffer, and the byte offset of every scalar of the pointed-to type, in `flatten`
order. The components of a field's vector may be anywhere (structure of arrays), so a single offset is not enough.
Computing a wrong address is not a fault, because passes hoist addresses. Using it is one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np

from weft.ir.scalar import cast_value
from weft.ir.sparse_memory import SparseCell, SparseMemory
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.types import Lanes, Prim, Struct, Tensor, Type, element, flatten

__all__ = ["Fault", "Memory", "Place", "array_place", "convert", "flat_values", "packed", "unflatten"]


class Fault(Exception):
    """A run-time fault of the evaluated program. `kind`: "assert", "bounds", "arithmetic", "recursion", "memory",
    "barrier" (threads wait for others that never come) or "endless"."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind, self.message = kind, message
        super().__init__(message)


@dataclass
class Memory:
    """The memory that a kernel can access besides its arguments: one byte buffer per SNode tree, and the cells of
    sparse nodes before `lower_sparse`. It also collects prints, and the places of reported masked accesses and
    overflows in `told`. `current`: the trees with the books of lists that a host knows to be current."""

    trees: list[Any] = field(default_factory=list[Any])
    printed: list[str] = field(default_factory=list[str])
    warned: list[str] = field(default_factory=list[str])
    told: set[object] = field(default_factory=set[object])
    sparse: SparseMemory = field(default_factory=SparseMemory)
    current: set[int] = field(default_factory=set[int])

    @staticmethod
    def of(fields: Sequence[FieldSymbol], nodes: Sequence[NodeSymbol] = ()) -> Memory:
        """Zeroed trees that are just large enough for these fields and nodes."""
        sizes: dict[int, int] = {}
        for symbol in (*fields, *(part for node in nodes for part in node.parts.values())):
            sizes[symbol.tree] = max(sizes.get(symbol.tree, 0), symbol.stored.path.span[1])
        return Memory([np.zeros(sizes.get(tree, 0), np.uint8) for tree in range(max(sizes, default=-1) + 1)])

    def read(self, symbol: FieldSymbol) -> Any:
        """The values of a field as a numpy array. Its shape is the field's shape, then the element's."""
        points = np.ndindex(*symbol.shape)
        first = symbol.offset or (0,) * len(symbol.shape)
        rows = [[*_shifted(self, symbol, point, first).load_scalars()] for point in points]
        shape = symbol.dtype.shape if isinstance(symbol.dtype, Tensor) else ()
        return np.array(rows, flatten(symbol.dtype)[0].np).reshape((*symbol.shape, *shape))

    def write(self, symbol: FieldSymbol, values: Any) -> None:
        """Fill a field from an array of the shape `read` gives."""
        count = len(flatten(symbol.dtype))
        rows = np.asarray(values).reshape(-1, count)
        first = symbol.offset or (0,) * len(symbol.shape)
        for point, row in zip(np.ndindex(*symbol.shape), rows, strict=True):
            _shifted(self, symbol, point, first).store_scalars(list(row))

    def place(self, symbol: FieldSymbol, indices: Sequence[int], activates: bool = True) -> Place:
        """The element `indices` of a field. The indices are the user's, with the offset. `activates`: see
        `FieldPtr`."""
        local = [i - first for i, first in zip(indices, symbol.offset)] if symbol.offset else list(indices)
        inside = all(0 <= i < extent for i, extent in zip(local, symbol.shape, strict=True))
        error = (
            ""
            if inside
            else f"index {tuple(indices)} is out of bounds for field '{symbol.name}' of shape {symbol.shape}"
        )
        if symbol.node is not None:
            return self.sparse_place(symbol, local if inside else [0] * len(local), activates, error)
        base = symbol.path.locate(local)
        offsets = [base + start for start in symbol.components]
        return Place(self.trees[symbol.tree], offsets, flatten(symbol.dtype), error)

    def sparse_place(self, symbol: FieldSymbol, local: Sequence[int], activates: bool, error: str) -> Place:
        """An element of a sparse field, whose indices count from 0."""
        buffer, base = self.sparse.locate(symbol, local, self.trees)
        made = Place(buffer, [base + start for start in symbol.components], flatten(symbol.dtype), error)
        made.cell = SparseCell(self.sparse, symbol, tuple(local), activates)
        return made


def _shifted(memory: Memory, symbol: FieldSymbol, point: Sequence[int], first: Sequence[int]) -> Place:
    return memory.place(symbol, [i + start for i, start in zip(point, first, strict=True)])


class Place:
    """The location of a value: a scalar at each of `offsets`, of the primitive type with the same position. `error`:
    the reason why it must not be used, or "". `cell`: the sparse cell in which it is."""

    __slots__ = ("buffer", "cell", "error", "offsets", "prims")

    def __init__(self, buffer: Any, offsets: Sequence[int], prims: Sequence[Prim], error: str = "") -> None:
        self.buffer, self.offsets, self.prims, self.error = buffer, offsets, prims, error
        self.cell: SparseCell | None = None

    def touch(self) -> bool:
        """Something writes here: activate the cell, if it is sparse. Gives whether the write has an effect."""
        return self.cell is None or bool(self.error) or self.cell.touch()

    def load_scalars(self) -> list[Any]:
        """Every scalar, in order."""
        self.check()
        buffer = self.buffer
        return [np.ndarray((), p.np, buffer, at)[()] for at, p in zip(self.offsets, self.prims)]

    def store_scalars(self, values: Sequence[Any]) -> None:
        """Put those scalars there, cast to the types of the place."""
        self.check()
        if not self.touch():
            return
        for at, prim, value in zip(self.offsets, self.prims, values, strict=True):
            np.ndarray((), prim.np, self.buffer, at)[()] = cast_value(value, prim)

    def load(self, type: Type) -> Any:
        """The value of that type at this place."""
        return self._cell()[()] if isinstance(type, Prim) else unflatten(self.load_scalars(), type)

    def store(self, value: Any, type: Type) -> None:
        """Store a value of type `type` at this place."""
        if isinstance(type, Prim):
            scalar = self._cell()
            if self.touch():
                scalar[()] = cast_value(value, self.prims[0])
        else:
            self.store_scalars(flat_values(value, type))

    def _cell(self) -> Any:
        """The only scalar, as an array without axes."""
        (at,), (prim,) = self.offsets, self.prims
        if self.error or not 0 <= at <= len(self.buffer) - prim.np.itemsize:
            self.check()
        return np.ndarray((), prim.np, self.buffer, at)

    def check(self) -> None:
        """Raise the fault of an address outside its object."""
        if self.error:
            raise Fault("bounds", self.error)
        size = len(self.buffer)
        for at, prim in zip(self.offsets, self.prims, strict=True):
            if not 0 <= at <= size - prim.size:
                raise Fault("memory", f"access of {prim} at byte {at} of an object of {size} bytes")

    def part(self, start: int, count: int, error: str = "") -> Place:
        """The scalars from number `start` on."""
        stop = start + count
        made = Place(self.buffer, self.offsets[start:stop], self.prims[start:stop], self.error or error)
        made.cell = self.cell
        return made


def packed(type: Type, start: int = 0) -> list[int]:
    """Byte offsets of the scalars of a value that are adjacent from `start` on."""
    return [*accumulate((prim.size for prim in flatten(type)[:-1]), initial=start)]


def array_place(array: Any) -> tuple[Any, int]:
    """The bytes that a numpy array spans, and the offset of its first element, which is not 0 for negative strides."""
    reach = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides)]
    if array.size == 0:
        return np.zeros(0, np.uint8), 0
    before = -sum(step for step in reach if step < 0)
    size = before + sum(step for step in reach if step > 0) + array.itemsize
    raw = (ctypes.c_uint8 * size).from_address(array.ctypes.data - before)
    return np.frombuffer(raw, np.uint8), before


def flat_values(value: Any, type: Type) -> list[Any]:
    """The scalars of a value in memory order. A dict is accepted for a struct."""
    if isinstance(type, Prim):
        return [value]
    if isinstance(type, Tensor):
        full = value.__class__ is np.ndarray and value.shape == type.shape
        return list(value.ravel() if full else np.broadcast_to(np.asarray(value), type.shape).ravel())
    if isinstance(type, Lanes):
        return list(value)
    assert isinstance(type, Struct), type
    members = [value[name] for name, _ in type.members] if isinstance(value, dict) else value
    return [s for member, (_, inner) in zip(members, type.members, strict=True) for s in flat_values(member, inner)]


def unflatten(scalars: Sequence[Any], type: Type) -> Any:
    """The value with these scalars: a numpy scalar, a numpy array, or a tuple of members."""
    if isinstance(type, Prim):
        return cast_value(scalars[0], type)
    if isinstance(type, Tensor):
        return np.array([cast_value(value, type.elem) for value in scalars], type.elem.np).reshape(type.shape)
    if isinstance(type, Lanes):
        return np.array([cast_value(value, element(type)) for value in scalars], element(type).np)
    assert isinstance(type, Struct), type
    members: list[Any] = []
    start = 0
    for _, inner in type.members:
        count = len(flatten(inner))
        members.append(unflatten(scalars[start : start + count], inner))
        start += count
    return tuple(members)


def convert(value: Any, type: Type) -> Any:
    """`value` cast to `type` by the rules of `scalar.py`. A scalar fills a tensor."""
    if isinstance(type, Prim):
        return cast_value(value, type)
    if isinstance(type, Tensor):
        return np.broadcast_to(cast_value(value, type.elem), type.shape).copy()
    if isinstance(type, Lanes):
        return cast_value(value, element(type))
    return unflatten(flat_values(value, type), type)
