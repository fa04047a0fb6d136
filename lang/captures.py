"""What a compiled kernel took from the program around it: globals, outer variables, attributes.

Such a value is a constant in the compiled code. Before each launch it is compared with what its name means now; a
kernel whose constants have changed is compiled anew.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, CellType, ModuleType
from typing import Any

import numpy as np

from weft.ir.types import Type
from weft.lang.builtins import Builtin
from weft.lang.matrix import Matrix

__all__ = ["Captures", "is_watched"]

_NUMBERS = (bool, int, float, np.generic)
_FIXED = (ModuleType, BuiltinFunctionType, Builtin, Type, type)  # that nobody rebinds


def is_watched(owner: Any, value: Any) -> bool:
    """Whether `value`, found in a function's surroundings (`owner` None) or as an attribute of `owner`, can change."""
    if owner is not None:
        return isinstance(value, (*_NUMBERS, str))
    return not isinstance(value, _FIXED)


class Captures:
    """The values of one compilation: (namespace or cell, name, value) each."""

    def __init__(self, seen: Iterable[tuple[Any, str, Any]]) -> None:
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._cells: list[tuple[CellType, Any]] = []
        self._held: list[tuple[Any, str, Any]] = []  # by weak references: fields and the like
        self.contents: list[tuple[Any, Any]] = []  # what can change inside
        for space, name, value in seen:
            self._add(space, name, value)

    def _add(self, space: Any, name: str, value: Any) -> None:
        if isinstance(value, (list, Matrix)):
            self.contents.append((value, _contents(value)))
        if not isinstance(value, (*_NUMBERS, str, tuple)):
            try:
                self._held.append((space, name, weakref.ref(value)))
            except TypeError:
                pass
            else:
                return
        if isinstance(space, CellType):
            self._cells.append((space, value))
        else:
            self._names.append((space, name, value))

    def changed(self) -> bool:
        """Whether a name means another value than when the kernel was compiled."""
        for space, name, value in self._names:
            now = space.get(name)
            if now is not value and not _same(now, value):
                return True
        for cell, value in self._cells:
            now = cell.cell_contents
            if now is not value and not _same(now, value):
                return True
        for space, name, ref in self._held:
            now = space.cell_contents if isinstance(space, CellType) else space.get(name)
            if now is not ref():
                return True
        return self.contents_changed()

    def contents_changed(self) -> bool:
        """Whether a list or matrix holds other values."""
        return any(_contents(value) != before for value, before in self.contents)

    def watched(self) -> Iterator[tuple[Any, str, Any, bool]]:
        """(namespace or cell, name, value, whether it is held weakly) of each capture whose value is alive."""
        yield from ((space, name, value, False) for space, name, value in self._names)
        yield from ((cell, "", value, False) for cell, value in self._cells)
        yield from ((space, name, ref(), True) for space, name, ref in self._held)


def _same(now: Any, value: Any) -> bool:
    """Whether two objects are the same constant."""
    if type(now) is not type(value):
        return False
    return bool(now == value) if isinstance(value, (*_NUMBERS, str)) else False


def _contents(value: Any) -> Any:
    return (value.values.tobytes(), value.values.dtype) if isinstance(value, Matrix) else list(value)
