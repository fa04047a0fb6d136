"""What the methods of fields and ndarrays call in Python (`MAKERS.arrays`). It is imported at the first use."""

from __future__ import annotations

from weft.lang.arrays.operators import apply_function, compare, copy_into, operate, update
from weft.lang.arrays.summaries import reduced

__all__ = ["apply_function", "compare", "copy_into", "operate", "reduced", "update"]
