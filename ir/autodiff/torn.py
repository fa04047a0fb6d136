"""The error for a kernel whose gradient needs values that memory does not have."""

from __future__ import annotations

from weft.ir.errors import CompilationError

__all__ = ["Torn"]


class Torn(CompilationError):
    """A gradient needs values that memory has neither before nor after the kernel, and that cannot be computed again.
    Memory may have them between two loops of the kernel (see `ir/pieces.py`), or the kernel can record them (see
    `records.py`)."""
