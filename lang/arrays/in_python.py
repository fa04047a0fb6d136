"""What the methods of fields and ndarrays call in Python (`MAKERS.arrays`). It is imported at the first use."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from weft.lang.arrays.intermediates import is_intermediate
from weft.lang.arrays.operators import apply_function, compare, copy_into, operate, update
from weft.lang.arrays.summaries import reduced

__all__ = ["apply_function", "compare", "copy_into", "operate", "operator", "reduced", "update"]


def operator(text: str, operands: Sequence[Any]) -> Any:
    """The value of an operator, for a method that Python calls. It waits for the operator that takes it, if there is
    one in the same expression."""
    return operate(text, operands, is_intermediate(sys._getframe(2)))
