"""Arrays of other libraries that kernels take: whether Python has changed them between launches.

Other libraries write such arrays, and tell nobody. A launch that is made again would read the new values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.lang.autodiff.memory import Copy
from weft.lang.autodiff.memory_use import Touch
from weft.lang.data.field import Field
from weft.lang.data.field_tree import FieldTree
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.struct_ndarray import StructNdarray
from weft.lang.errors import ArgumentError

__all__ = ["Unchanged"]


class Unchanged:
    """The values that arrays of other libraries had after the last launch that took them."""

    def __init__(self) -> None:
        self._copies: dict[int, Copy] = {}

    def check(self, name: str, touched: Sequence[Touch]) -> bool:
        """Raise ArgumentError if one of these arrays has changed since then. Gives whether there are such arrays."""
        found = False
        for touch in touched:
            owner = touch.memory.owner
            if isinstance(owner, Field | FieldTree | Ndarray | StructNdarray):
                continue
            found = True
            known = self._copies.get(id(owner))
            if known is None:
                self._copies[id(owner)] = Copy.of(touch.memory)
            elif not _equal(known.numbers, known.again().numbers):
                where = "" if touch.span is None else f"\n{touch.span.render()}\n"
                raise ArgumentError(
                    f"{where}Python has changed an array that {name} takes, which is not recorded. In a loop of "
                    "ti.ad.steps, launches are made again: use a field or a ti.ndarray, and from_numpy"
                )
        return found

    def renew(self, writes: Sequence[Touch]) -> None:
        """A launch has written this memory."""
        if not self._copies:
            return
        for touch in writes:
            if id(touch.memory.owner) in self._copies:
                self._copies[id(touch.memory.owner)] = Copy.of(touch.memory)


def _equal(before: Sequence[Any], now: Sequence[Any]) -> bool:
    return all(
        np.array_equal(np.asarray(a).reshape(-1).view(np.uint8), np.asarray(b).reshape(-1).view(np.uint8))
        for a, b in zip(before, now, strict=True)
    )
