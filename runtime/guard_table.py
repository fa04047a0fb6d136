"""A table of the addresses between Weft's guards, which native code reads without a lock: the signal handler uses it.

    chunk    the next chunk or 0, then ENTRIES entries of three words: begin, end, a text that names the owner

The handler may read at any moment. An entry is therefore written with its `begin` last, and removed with its `begin`
first; 0 means that there is none. Chunks are never freed.
"""

from __future__ import annotations

import ctypes
from threading import RLock
from typing import Any

from weft.runtime.forks import forkable

__all__ = ["ENTRIES", "ENTRY", "GuardTable"]

ENTRIES, ENTRY = 340, 3
_BEGIN, _END, _TEXT = range(ENTRY)


class GuardTable:
    """A table that grows. Entries have numbers. The numbers of removed entries are reused."""

    def __init__(self) -> None:
        self._lock = forkable(RLock())
        self._chunks: list[Any] = [_chunk()]
        self._free = list(range(ENTRIES - 1, -1, -1))
        self._texts: dict[int, Any] = {}  # the texts that entries point to

    @property
    def address(self) -> int:
        """The address of the first chunk."""
        return ctypes.addressof(self._chunks[0])

    def add(self, begin: int, end: int) -> int:
        """Add an entry and return its number."""
        try:
            number = self._free.pop()
        except IndexError:
            number = self._grow()
        words, at = self._place(number)
        words[at + _END] = end
        words[at + _BEGIN] = begin
        return number

    def call(self, number: int, text: str) -> None:
        """Set the name of the owner of the memory."""
        told = ctypes.create_string_buffer(text.encode())
        words, at = self._place(number)
        words[at + _TEXT] = ctypes.addressof(told)
        self._texts[number] = told

    def remove(self, number: int) -> None:
        """Remove the entry, because the memory is gone."""
        words, at = self._place(number)
        words[at + _BEGIN] = words[at + _TEXT] = 0
        self._texts.pop(number, None)
        self._free.append(number)

    def _place(self, number: int) -> tuple[Any, int]:
        chunk, position = divmod(number, ENTRIES)
        return self._chunks[chunk], 1 + ENTRY * position

    def _grow(self) -> int:
        chunk = _chunk()
        with self._lock:
            first = ENTRIES * len(self._chunks)
            self._chunks[-1][0] = ctypes.addressof(chunk)
            self._chunks.append(chunk)
            self._free.extend(range(first + ENTRIES - 1, first, -1))
        return first


def _chunk() -> Any:
    return (ctypes.c_int64 * (1 + ENTRY * ENTRIES))()
