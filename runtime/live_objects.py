"""A set of objects that does not keep them alive, and tells them apart by identity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

__all__ = ["LiveObjects"]


class LiveObjects:
    """The objects that were added and are alive. A `WeakSet` would compare an object that is added again by `==`, and
    that of fields and ndarrays computes elements. Any thread may use it at any time; it has no lock."""

    def __init__(self) -> None:
        self._ones: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by `id`

    def add(self, one: Any) -> None:
        """Add an object. Adding it again changes nothing."""
        self._ones[id(one)] = one

    def __iter__(self) -> Iterator[Any]:
        """Those that are alive now."""
        refs = self._ones.valuerefs()  # one step: other threads may add some meanwhile
        return iter([one for ref in refs if (one := ref()) is not None])
