"""Scopes: the memory that an address is in.

    field:x            an element of field x            field:x#2     component 2 of such an element
    array:0            an element of an array argument  shared:0      of an array that a block of threads shares
    local:3            a local of several scalars       temp:16       temporaries of the kernel
    tree:0             any field of an SNode tree

Addresses of different scopes never overlap, with two exceptions. A scope without a component overlaps those of its
components. An *exposed* field or array may overlap any other exposed one, because the caller passed overlapping memory
(see docs/adr/0027).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

__all__ = ["ALL", "UNKNOWN", "Scope", "array_scope", "field_scope"]

ALL = -1  # components
_TEXT = re.compile(r"(exposed )?(.*?)(?:#(\d+))?\Z", re.S)


@dataclass(frozen=True)
class Scope:
    """`space` names the memory: its kind, a colon, and a name or a number. It is empty if the memory is unknown.
    `component` is the number of a scalar in each element, or `ALL`. `exposed`: it may overlap other exposed memory."""

    space: str
    component: int = ALL
    exposed: bool = False

    @cached_property
    def whole(self) -> Scope:
        """All components of this space."""
        return self if self.component == ALL else Scope(self.space, ALL, self.exposed)

    @cached_property
    def kind(self) -> str:
        """ "field", "array", "shared", "local" or "temp", or "" if the memory is unknown."""
        return self.space.partition(":")[0]

    @cached_property
    def name(self) -> str:
        """The name of the field, or the number of the array."""
        return self.space.partition(":")[2]

    def may_overlap(self, other: Scope) -> bool:
        """Whether addresses of the two scopes may be equal. An exposed array may be any array of the caller too. Any
        field may be in any tree."""
        if self.space == other.space:
            return self.component == other.component or ALL in (self.component, other.component)
        if {self.kind, other.kind} == {"field", "tree"}:
            return True
        if self.exposed and other.exposed:
            return True
        return (self.exposed or other.exposed) and self.kind == other.kind == "array"

    def __str__(self) -> str:
        component = "" if self.component == ALL else f"#{self.component}"
        return f"{'exposed ' if self.exposed else ''}{self.space}{component}"

    @classmethod
    def parse(cls, text: str) -> Scope:
        """The scope with this text."""
        found = _TEXT.match(text)
        assert found is not None
        exposed, space, component = found.groups()
        return cls(space, ALL if component is None else int(component), bool(exposed))


UNKNOWN = Scope("")


def field_scope(name: str, exposed: bool = False) -> Scope:
    """The scope of the elements of a field."""
    return Scope(f"field:{name}", ALL, exposed)


def array_scope(number: int, exposed: bool = False) -> Scope:
    """The scope of the elements of array argument `number`."""
    return Scope(f"array:{number}", ALL, exposed)
