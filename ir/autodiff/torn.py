"""The error for a kernel whose gradient needs values that are gone."""

from __future__ import annotations

from weft.ir.errors import CompilationError

__all__ = ["Torn"]


class Torn(CompilationError):
    """A gradient needs values that memory has neither before nor after the kernel. It may have them between two of its
    loops (see `ir/pieces.py`)."""
