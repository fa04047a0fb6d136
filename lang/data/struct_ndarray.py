"""Ndarrays of structs. The elements are contiguous, and each has the layout of a C struct.

A member is a strided ndarray over the same memory: `s.pos` can be read, filled, exported and passed to a kernel by
itself. Kernels see the array as one of a packed IR struct. Its padding is members of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from weft.ir import types as ir
from weft.ir.errors import TypeMismatch
from weft.ir.types import Type, u8
from weft.lang.data.elements import check_bounds, element_index
from weft.lang.data.marks import allocate, behind
from weft.lang.data.ndarray import Ndarray, ndarray_over
from weft.lang.data.struct_field import StructContainer, StructElement
from weft.lang.logs.topics import MEMORY
from weft.lang.program.init import program
from weft.lang.values.types import NdarrayType, StructType, shape_tuple, to_ir
from weft.runtime.recorded import Recorded

__all__ = ["StructLayout", "StructMembers", "StructNdarray", "current_layout", "struct_layout"]


@dataclass(frozen=True)
class StructLayout:
    """The layout of a struct in an ndarray: the byte offset of each member by dotted name, the size, and the packed IR
    struct with the same layout."""

    offsets: Mapping[str, int]
    size: int
    ir: ir.Struct


@cache
def struct_layout(struct_type: StructType, default_fp: Any, default_ip: Any) -> StructLayout:
    """The C layout: each scalar is aligned to its size, and the size of the struct is a multiple of the largest one.
    `defaults` are the types of `float` and `int`."""
    members: list[tuple[str, Type]] = []
    offsets: dict[str, int] = {}
    size, widest = 0, 1

    def pad(to: int) -> None:
        nonlocal size
        if gap := -size % to:
            members.append((f"gap {size}", u8 if gap == 1 else ir.tensor(u8, (gap,))))
            size += gap

    def add(prefix: str, kind: StructType) -> None:
        nonlocal size, widest
        for name, annotation in kind.members.items():
            if isinstance(annotation, StructType):
                pad(_alignment(annotation))
                add(f"{prefix}{name}.", annotation)
                pad(_alignment(annotation))
                continue
            type = to_ir(annotation)
            widest = max(widest, ir.element(type).size)
            pad(ir.element(type).size)
            members.append((prefix + name, type))
            offsets[prefix + name] = size
            size += ir.element(type).size * ir.flat_size(type)

    add("", struct_type)
    pad(widest)
    return StructLayout(offsets, size, ir.struct(tuple(members)))


def _alignment(annotation: Any) -> int:
    if isinstance(annotation, StructType):
        return max(map(_alignment, annotation.members.values()))
    return ir.element(to_ir(annotation)).size


def current_layout(struct_type: StructType) -> StructLayout:
    """The layout under the current defaults."""
    config = program().config
    return struct_layout(struct_type, config.default_fp, config.default_ip)


class StructMembers(StructContainer):
    """The members and elements of structs in arrays, for the array and for its nested structs. Writes go to the
    array."""

    _what = "ndarray"

    def __init__(self, struct_type: StructType, shape: tuple[int, ...], members: dict[str, Any]) -> None:
        self.struct_type, self.shape, self.members = struct_type, shape, members

    @property
    def offset(self) -> tuple[int, ...]:
        """The index of the first element on each axis: zeros."""
        return (0,) * len(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __getitem__(self, key: Any) -> StructElement:
        check_bounds(element_index(key), self.shape, (0,) * len(self.shape), "this ndarray")
        return StructElement(self, key)

    load = __getitem__

    def to_numpy(self) -> dict[str, Any]:
        """A numpy array for each member, copied."""
        return {name: member.to_numpy() for name, member in self.members.items()}

    def from_numpy(self, array_dict: Any) -> None:
        """Set members from arrays by name. Raises KeyError for an unknown member and ValueError for another shape."""
        for name, array in self._arrays(array_dict):
            self.get_member_field(name).from_numpy(array)

    def _arrays(self, given: Any) -> Any:
        if not isinstance(given, Mapping):
            raise TypeMismatch(f"{self!r} takes a dict with an array for each member, not {given!r}")
        return given.items()

    def from_torch(self, array_dict: Any) -> None:
        """Set members from {member: torch tensor}."""
        for name, tensor in self._arrays(array_dict):
            self.get_member_field(name).from_torch(tensor)

    def copy_from(self, other: Any) -> None:
        """Set all elements from an ndarray of the same structs and shape."""
        if not isinstance(other, StructMembers) or other.struct_type != self.struct_type:
            raise TypeMismatch(f"{self!r} can copy only from an ndarray of the same structs")
        for name, member in self.members.items():
            member.copy_from(other.members[name])

    def __repr__(self) -> str:
        return f"<ndarray {self.struct_type!r}, shape={self.shape}>"


class StructNdarray(Recorded, StructMembers):
    """An ndarray of structs, filled with zeros. `s[i].pos` reads and writes an element; `s.pos` is the ndarray of a
    member.

    Raises FieldIndexError for a wrong index and FieldError after a reset. Structs have no gradients."""

    grad = dual = None

    def __init__(self, struct_type: StructType, shape: Any) -> None:
        extents, layout = shape_tuple(shape), current_layout(struct_type)
        self._memory = program().device.memory
        size, label = math.prod(extents) * layout.size, f"ndarray {struct_type!r} {extents}"
        self._steps = tuple(layout.size * math.prod(extents[axis + 1 :]) for axis in range(len(extents)))
        reach = max(self._steps, default=0)
        self._buffer, self._marks = allocate(program(), size, label, reach), behind(program(), size)
        if MEMORY.on:
            MEMORY.info("%s: %d bytes", label, size)
        super().__init__(struct_type, extents, self._parts("", struct_type, extents, layout.offsets))

    def _parts(
        self, prefix: str, kind: StructType, extents: tuple[int, ...], offsets: Mapping[str, int]
    ) -> dict[str, Any]:
        """The members: strided ndarrays over the buffer, or further structs."""
        made: dict[str, Any] = {}
        for name, annotation in kind.members.items():
            if isinstance(annotation, StructType):
                parts = self._parts(f"{prefix}{name}.", annotation, extents, offsets)
                made[name] = StructMembers(annotation, extents, parts)
                continue
            type = to_ir(annotation)
            inner, prim = ir.shape_of(type), ir.element(type)
            rows = tuple(prim.size * math.prod(inner[axis + 1 :]) for axis in range(len(inner)))
            place = offsets[prefix + name]
            strides = (*self._steps, *rows)
            cells, marks = (
                self._memory.view(self._buffer, prim.np, extents + inner, place + distance, strides)
                for distance in (0, self._marks)
            )
            made[name] = ndarray_over(annotation, extents, cells, marks if self._marks else None)
        return made

    @property
    def first(self) -> Ndarray:
        """The ndarray of the first scalar, vector or matrix member, also inside nested structs."""
        found: Any = next(iter(self.members.values()))
        while isinstance(found, StructMembers):
            found = next(iter(found.members.values()))
        return found  # type: ignore[no-any-return]

    def get_type(self) -> NdarrayType:
        """The annotation that accepts only arrays of this type and number of axes."""
        return NdarrayType(self.struct_type, self.ndim)

    def place(self) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """The address, the extents and the byte strides. Raises FieldError after a reset."""
        self.first.array()
        return self._memory.address(self._buffer), self.shape, self._steps

    def __deepcopy__(self, memo: dict[int, Any]) -> StructNdarray:
        made = memo[id(self)] = StructNdarray(self.struct_type, self.shape)
        made.copy_from(self)
        return made

    def __reduce__(self) -> Any:
        return _unpickled, (self.struct_type, self.shape, self.to_numpy())


def _unpickled(struct_type: StructType, shape: tuple[int, ...], values: Any) -> StructNdarray:
    made = StructNdarray(struct_type, shape)
    made.from_numpy(values)
    return made
