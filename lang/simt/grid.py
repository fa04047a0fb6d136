"""`ti.simt.grid`: operations on all threads of a launch."""

from __future__ import annotations

from weft.lang.simt.intrinsic import intrinsic

__all__ = ["memfence"]

memfence = intrinsic("grid.memfence", "What this thread wrote so far, all see before what it writes later.")
