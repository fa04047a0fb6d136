"""The data of arrays that native calls read without calling Python."""

from __future__ import annotations

from typing import Any

__all__ = ["Record", "Recorded"]


class Record(bytes):
    """The data of an array that a kernel needs, behind an 8-byte word that gives its kind. A launch keeps the record
    alive, and the record keeps the memory alive."""

    memory: Any = None


class Recorded:
    """An object whose only slot, `record`, is at the offset where native code expects it."""

    __slots__ = ("record",)
    record: bytes
