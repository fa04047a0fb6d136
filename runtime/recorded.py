"""What native calls know of an array without asking Python."""

from __future__ import annotations

from typing import Any

__all__ = ["Record", "Recorded"]


class Record(bytes):
    """What a kernel takes of an array, behind an 8-byte word that says of what kind it is. A launch keeps the record,
    and the record the memory that it tells of."""

    memory: Any = None


class Recorded:
    """An object whose only slot, `record`, lies where native code looks for it."""

    __slots__ = ("record",)
    record: bytes
