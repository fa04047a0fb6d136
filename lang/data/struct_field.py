"""Fields of structs: a field for each member, and elements that write to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.storage.snode import SNode as Node
from weft.lang.data.elements import FieldIndexError, SliceGiven
from weft.lang.data.field import Field
from weft.lang.data.field_annotations import Subscripted
from weft.lang.data.field_tree import FieldTree
from weft.lang.data.slots import Slot, all_slots
from weft.lang.data.snode_api import SNode
from weft.lang.data.sparse_access import Active
from weft.lang.values.struct import Struct, convert
from weft.lang.values.types import StructType

__all__ = ["StructContainer", "StructElement", "StructField"]


class StructElement(Struct):
    """One element of a StructField or of an ndarray of structs. Reads and writes access the field or array."""

    def __init__(self, over: Any, key: Any) -> None:
        object.__setattr__(self, "struct_type", over.struct_type)
        object.__setattr__(self, "_over", over)
        object.__setattr__(self, "_at", key)

    @property
    def entries(self) -> dict[str, Any]:  # type: ignore[override]
        """The current values of the members."""
        return {name: self._get(name) for name in self.keys}

    def _get(self, name: str) -> Any:
        return self._over.members[name][self._at]

    def _set(self, name: str, value: Any) -> None:
        self._over.members[name][self._at] = value


class StructContainer:
    """What fields and ndarrays of structs have in common: their members, by name."""

    _what = "container"
    struct_type: StructType
    members: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        members = self.__dict__.get("members", {})
        if name in members:
            return members[name]
        raise AttributeError(f"this {self._what} of {self.__dict__.get('struct_type')!r} has no member '{name}'")

    @property
    def dtype(self) -> StructType:
        """The type of the elements."""
        return self.struct_type

    def _repr_html_(self) -> str:
        """How a notebook shows the members."""
        from weft.lang.notebook.arrays import html_of_members  # only notebooks need it

        return html_of_members(repr(self), {name: member._repr_html_() for name, member in self.members.items()})

    @property
    def keys(self) -> list[str]:
        """The names of the members, a list of strings in the order of the type."""
        return list(self.members)

    def get_member_field(self, key: Any) -> Any:
        """The field or ndarray of member `key`. Raises KeyError if there is none."""
        if not isinstance(key, str) or key not in self.members:
            raise KeyError(f"{self.struct_type!r} has no member {key!r}")
        return self.members[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        for name, member in convert(value, self.struct_type).items:
            self.members[name][key] = member

    def fill(self, val: Any) -> None:
        """Set every element. A number sets all scalars; a struct is the value of one element."""
        if isinstance(val, (int, float, np.generic)):
            for member in self.members.values():
                member.fill(val)
            return
        for name, value in convert(val, self.struct_type).items:
            self.members[name].fill(value)

    def to_torch(self, device: Any = None) -> dict[str, Any]:
        """Copy the members to new tensors: {member: torch tensor}, on `device` if given."""
        return {name: member.to_torch(device) for name, member in self.members.items()}


class StructField(Subscripted, StructContainer, Active):
    """A field of structs. `S[i]` is a struct whose writes go to the field. `S.a` (or `S.members["a"]`) is the field of
    member `a`. The members are stored together in each cell, or separately with `layout=Layout.SOA`. `S.grad` and
    `S.dual` are fields of structs with the gradients and duals of the members (`S.grad.a` is `S.a.grad`), or None.

    Example:
        ball = ti.types.struct(pos=ti.math.vec2, radius=ti.f32)
        balls = ball.field(shape=2)
        balls[0].radius = 1.5
        balls.pos.fill(2)
        balls[0]  # {'pos': [2.0, 2.0], 'radius': 1.5}
        balls.keys, balls.get_member_field("radius").to_numpy().tolist()  # (['pos', 'radius'], [1.5, 0.0])
    """

    _what = "field"

    def __init__(self, struct_type: Any, name: str = "", members: Mapping[str, Any] | None = None) -> None:
        if not isinstance(struct_type, StructType) or members is None:
            raise TypeMismatch(
                "create a field of structs with the method `field` of their type, as in Particle.field(shape=100)"
            )
        self.struct_type: StructType = struct_type
        self.name = name
        self.members: dict[str, Any] = dict(members)
        self.grad, self.dual = self._companion("grad"), self._companion("dual")

    @property
    def element_type(self) -> Any:
        """The type of an element."""
        return self.struct_type

    def is_a(self, kind: type) -> bool:
        """Whether this is a field of that class."""
        return kind is Field or isinstance(self, kind)

    @property
    def companions(self) -> dict[str, StructField]:
        """The gradients and the duals of the members, by kind."""
        return {kind: one for kind, one in (("grad", self.grad), ("dual", self.dual)) if one is not None}

    def _companion(self, kind: str) -> StructField | None:
        """The field of structs with the gradients or duals of the members that have one. None if no member has one."""
        found = {name: one for name, member in self.members.items() if (one := member.companions.get(kind)) is not None}
        if not found:
            return None
        own = self.struct_type.members
        types = {name: one.struct_type if isinstance(one, StructField) else own[name] for name, one in found.items()}
        return StructField(StructType(types), self.name and f"{self.name}.{kind}", found)

    @property
    def _slots(self) -> list[Slot]:
        return [slot for member in self.members.values() for slot in all_slots(member)]

    @property
    def _first(self) -> Field:
        first: Any = next(iter(self.members.values()))
        return first._first if isinstance(first, StructField) else first

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._first.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._first.ndim

    @property
    def offset(self) -> tuple[int, ...]:
        """The index of the first element along each axis."""
        return self._first.offset

    @property
    def snode(self) -> SNode:
        """The place of the first scalar component."""
        return self._first.snode

    def parent(self, levels: int = 1) -> SNode | None:
        """The node `levels` above the place of the first scalar component."""
        return self.snode.parent(levels)

    def attach(self, node: Node, tree: FieldTree, offset: tuple[int, ...] | None) -> None:
        """Place all members in the cell of `node`, for `SNode.place`."""
        for member in self.members.values():
            member.attach(node, tree, offset)

    def _leader(self) -> Field:
        return self._first

    def _read_at(self, indices: Any) -> dict[str, Any]:
        return {name: member._read_at(indices) for name, member in self.members.items()}

    def _write_at(self, indices: Any, values: Any) -> None:
        for name, member in self._matched(values):
            member._write_at(indices, values[name])

    def __getitem__(self, key: Any) -> StructElement:
        try:
            self._first._position(key)
        except SliceGiven:
            raise FieldIndexError(f"{self!r} has no slices, but its members have: x.{self.keys[0]}[1:]") from None
        return StructElement(self, key)

    load = __getitem__

    def to_numpy(self, dtype: Any = None) -> dict[str, Any]:
        """A numpy array for each member."""
        return {name: member.to_numpy(dtype=dtype) for name, member in self.members.items()}

    def from_numpy(self, array_dict: Any) -> None:
        """Set all elements from {member: array}, with a dict in it for a member that is a struct. Raises KeyError
        unless its keys are exactly the members."""
        for name, member in self._matched(array_dict):
            member.from_numpy(array_dict[name])

    def _matched(self, given: Any) -> Any:
        if not isinstance(given, Mapping):
            raise TypeMismatch(f"{self!r} takes a dict with an array for each member, not {given!r}")
        if set(given) != set(self.members):
            raise KeyError(
                f"{self!r} takes a dict with the keys {', '.join(self.members)}, got {', '.join(map(str, given))}"
            )
        return self.members.items()

    def from_torch(self, array_dict: Mapping[str, Any]) -> None:
        """Set all members from {member: torch tensor}, as `from_numpy` does."""
        for key, member in self._matched(array_dict):
            member.from_torch(array_dict[key])

    def copy_from(self, other: Any) -> None:
        """Set all elements from a struct field with the same members and shape."""
        if not isinstance(other, StructField) or other.keys != self.keys:
            raise TypeMismatch("a struct field can copy only from a struct field with the same members")
        for name, member in self.members.items():
            member.copy_from(other.members[name])

    def __str__(self) -> str:
        return str(self.to_numpy())

    def __repr__(self) -> str:
        return f"<field of {self.struct_type!r}>"
