"""What native calls know of an array without asking Python."""

from __future__ import annotations

__all__ = ["Recorded"]


class Recorded:
    """An object whose only slot, `record`, lies where native code looks for it: bytes that begin with an 8-byte word,
    its kind, and go on with what a kernel takes of it."""

    __slots__ = ("record",)
    record: bytes
