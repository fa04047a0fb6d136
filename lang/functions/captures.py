"""The values that a compiled kernel captured from the program: globals, outer variables and attributes.

Such a value is a constant in the compiled code. Before each launch, it is compared with the current value of its name.
A kernel whose constants have changed is compiled again. Captures keep nothing alive: they refer to fields and other
objects by weak references, and store the contents of lists, tuples and dicts."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from enum import Enum, EnumMeta
from operator import is_
from types import BuiltinFunctionType, CellType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from weft.ir.types import Type
from weft.lang.values.builtins import Builtin
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct

__all__ = ["Attributes", "Captures", "is_ours", "is_watched", "space_of"]

_NUMBERS = (bool, int, float, np.generic)
_FIXED = (ModuleType, BuiltinFunctionType, Builtin, Type, type)  # their attributes are never rebound
_PARTS = (*_FIXED, FunctionType, MethodType)  # their attributes in a class are never rebound
_PLAIN = (*_NUMBERS, str, bytes, complex, type(None), range, slice, type(...))  # these contain no other objects
_ARRAYS = (Matrix, np.ndarray)
_CONTAINERS = (tuple, list, dict, Struct, *_ARRAYS)
_DEEPEST = 4  # the deepest nesting of containers that is compared
_MOST_PARTS = 64  # the most objects in a container that is compared
_MOST_BYTES = 1 << 16  # the largest array, in bytes: each launch compares the contents


def is_watched(owner: Any, value: Any) -> bool:
    """Whether `value` can change. It was found in the surroundings of a function (`owner` is None) or as an attribute
    of `owner`."""
    if owner is None:
        return not isinstance(value, _FIXED)
    home = owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__
    if home == "weft" or home.startswith(("weft.lang", "weft.ir")):
        return False
    return not isinstance(value, _PARTS if isinstance(owner, type) else _FIXED)


def is_ours(space: Any) -> bool:
    """Return whether this is the namespace of one of Weft's own modules, whose names are never rebound."""
    name = space.get("__name__") if isinstance(space, dict) else None
    return isinstance(name, str) and name.startswith(("weft.lang.", "weft.ir."))


class Attributes:
    """The attributes of an object that are not in its own dictionary, but in its class or in slots."""

    __slots__ = ("_ref",)

    def __init__(self, owner: Any) -> None:
        self._ref = _remembered(owner)

    @property
    def owner(self) -> Any:
        """The object. None if it is gone."""
        return self._ref() if isinstance(self._ref, weakref.ref) else self._ref

    def get(self, name: str) -> Any:
        """The attribute of this name."""
        return getattr(self.owner, name, None)


def space_of(owner: Any, name: str, value: Any) -> Any:
    """The place of the attribute `name` of `owner`, whose value is `value`: a dictionary or `Attributes`. None if the
    attribute is computed."""
    space = getattr(owner, "__dict__", None)
    if isinstance(space, dict) and name in space:
        return space
    if isinstance(owner, EnumMeta) or isinstance(value, Enum):  # members of an enumeration are not reassigned
        return None
    for part in getattr(owner if isinstance(owner, type) else type(owner), "__mro__", ()):
        if name in vars(part):
            member = vars(part)[name]
            in_slot = isinstance(member, MemberDescriptorType) and "__slots__" in vars(part)
            return Attributes(owner) if member is value or in_slot else None
    return None


class Captures:
    """The captured values of one compilation: (namespace or cell, name, value) each."""

    def __init__(self, seen: Iterable[tuple[Any, str, Any]]) -> None:
        self._seen = [(space, name, _remembered(value)) for space, name, value in seen]
        self._checked = [one for one in self._seen if isinstance(one[2], _Contents) or isinstance(one[0], Attributes)]

    def changed(self) -> bool:
        """Whether a name has another value than when the kernel was compiled."""
        for space, name, was in self._seen:
            now = _now(space, name)
            if now is not was and not _still(now, was):
                return True
        return False

    def changed_inside(self) -> bool:
        """As `changed`, for the captures where it is not enough to compare the object in a namespace or cell by
        identity."""
        for space, name, was in self._checked:
            now = space.cell_contents if type(space) is CellType else space.get(name)
            if not (was.still(now) if type(was) is _Contents else _still(now, was)):
                return True
        return False

    @property
    def may_change_inside(self) -> bool:
        """Whether there are such captures."""
        return any(isinstance(s, Attributes) or was.may_change for s, _, was in self._checked)

    def objects(self) -> Iterator[Any]:
        """The objects that are held weakly. If one of them is gone, the instance can never be valid again."""
        return (ref() for _, _, was in self._seen for ref in _weak(was) if ref() is not None)

    def keeps_more(self) -> bool:
        """Whether this keeps an object alive that the program may have dropped."""
        return any(_is_kept(was) and _now(space, name) is not was for space, name, was in self._seen)

    @property
    def containers(self) -> bool:
        """Whether a container was captured. A plan keeps containers alive (see `direct.py`)."""
        return any(isinstance(was, _Contents) for _, _, was in self._checked)

    def watched(self) -> Iterator[tuple[Any, str, Any, bool]]:
        """For each capture in a namespace or cell: (namespace or cell, name, value, whether it is held weakly). The
        value of a container is the current one."""
        for space, name, was in self._seen:
            if isinstance(space, Attributes):
                continue
            weak = isinstance(was, weakref.ref)
            yield space, name, _now(space, name) if isinstance(was, _Contents) else was() if weak else was, weak


class _Contents:
    """The contents of a container: its parts, or the bytes of an array or matrix."""

    __slots__ = ("dtype", "items", "kind", "may_change", "shape")

    def __init__(self, value: Any, depth: int) -> None:
        self.kind = type(value)
        self.may_change = not isinstance(value, tuple)
        self.items: Any = ()
        self.dtype: Any = None
        if isinstance(value, _ARRAYS):
            cells = _cells(value)
            self.shape, self.dtype, self.items = cells.shape, cells.dtype, cells.tobytes()
            return
        parts = _parts(value)
        inner = depth + 1 if len(parts) + sum(map(_length, parts)) <= _MOST_PARTS else _DEEPEST
        self.items = [_remembered(part, inner) for part in parts]
        self.may_change |= any(isinstance(part, _Contents) and part.may_change for part in self.items)

    def still(self, now: Any) -> bool:
        """Whether `now` is a container with the same contents."""
        if type(now) is not self.kind:
            return False
        if self.dtype is not None:
            cells = _cells(now)
            same = cells.shape == self.shape and cells.dtype == self.dtype and cells.tobytes() == self.items
            return bool(same)
        parts = _parts(now)
        if len(parts) != len(self.items):
            return False
        return all(map(is_, parts, self.items)) or all(map(_still, parts, self.items))


def _length(value: Any) -> int:
    return len(value) if isinstance(value, (tuple, list, dict)) else 0


def _parts(value: Any) -> Any:
    """The parts of a container, one after another."""
    if isinstance(value, Struct):
        return [*value.entries.values()]
    return [part for pair in value.items() for part in pair] if isinstance(value, dict) else value


def _cells(value: Any) -> Any:
    """The numbers of a matrix or array."""
    return value.values if isinstance(value, Matrix) else value


def _is_container(value: Any) -> bool:
    """Whether launches compare the contents of this object."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufc" and value.nbytes <= _MOST_BYTES
    return isinstance(value, _CONTAINERS)


def _remembered(value: Any, depth: int = 0) -> Any:
    """What is stored to test later whether something is still this value."""
    if isinstance(value, _PLAIN):
        return value
    if depth < _DEEPEST and _is_container(value):
        return _Contents(value, depth)
    try:
        return weakref.ref(value)
    except TypeError:
        return value


def _now(space: Any, name: str) -> Any:
    if type(space) is CellType:
        try:
            return space.cell_contents
        except ValueError:  # the variable was deleted
            return None
    return space.get(name)


def _still(now: Any, was: Any) -> bool:
    """Whether `now` is the constant that was stored."""
    if isinstance(was, weakref.ref):
        return now is not None and now is was()
    if isinstance(was, _Contents):
        return was.still(now)
    if now is was:
        return True
    if type(now) is not type(was) or not isinstance(was, (*_NUMBERS, str)) or now != was:
        return False
    return bool(was) or repr(now) == repr(was)  # -0.0 and 0.0 are different constants


def _weak(was: Any) -> Iterator[weakref.ref[Any]]:
    """The weak references in a stored value."""
    if isinstance(was, weakref.ref):
        yield was
    elif isinstance(was, _Contents) and was.dtype is None:
        for part in was.items:
            yield from _weak(part)


def _is_kept(was: Any) -> bool:
    """Whether this is an object that cannot be referenced weakly."""
    if isinstance(was, _Contents):
        return was.dtype is None and any(map(_is_kept, was.items))
    return not isinstance(was, (weakref.ref, *_PLAIN))
