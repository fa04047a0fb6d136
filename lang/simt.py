"""`ti.simt`: what the threads of a GPU do together in a parallel loop, on `arch=cuda` (see `docs/simt.md`)."""

from __future__ import annotations

from weft.lang import simt_block as block
from weft.lang import simt_grid as grid
from weft.lang import simt_subgroup as subgroup
from weft.lang import simt_warp as warp

__all__ = ["block", "grid", "subgroup", "warp"]
