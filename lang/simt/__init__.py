"""`ti.simt`: communication between the threads of a GPU in a parallel loop, on `arch=cuda` (see `docs/simt.md`)."""

from __future__ import annotations

from weft.lang.simt import block as block
from weft.lang.simt import grid as grid
from weft.lang.simt import subgroup as subgroup
from weft.lang.simt import warp as warp

__all__ = ["block", "grid", "subgroup", "warp"]
