"""`ti.simt.grid`: operations on all threads of a launch."""

from __future__ import annotations

from weft.lang.simt.intrinsic import intrinsic

__all__ = ["memfence"]

memfence = intrinsic(
    "grid.memfence", "A memory fence: all threads see the writes of this thread before the fence before those after it."
)
