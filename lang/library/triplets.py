"""`A[i, j] += v` in kernels, where A is a builder: append a triplet (i, j, v) to its arrays.

A builder is passed to a kernel as an argument pack of three arrays, whose names identify them.
"""

from __future__ import annotations

from typing import Any

from weft.lang.functions.func import func
from weft.lang.values.argpack import Members
from weft.lang.values.builtins import atomic_add, cast
from weft.lang.values.matrix import Vector
from weft.lang.values.types import i32

__all__ = ["HOW", "MEMBERS", "add_triplet", "append", "is_builder"]

MEMBERS = ("triplet_count", "triplet_places", "triplet_values")
HOW = "a sparse matrix builder A supports only A[i, j] += v and A[i, j] -= v"


def is_builder(value: Any) -> bool:
    """Return whether an argument pack of a kernel is a builder."""
    return isinstance(value, Members) and tuple(vars(value)) == MEMBERS


@func
def add_triplet(builder: Any, row: Any, column: Any, value: Any) -> None:
    """Append a triplet, if there is room. Triplets that do not fit are counted, and `build` reports them."""
    at = atomic_add(builder.triplet_count[0], 1)
    if at < builder.triplet_values.shape[0]:
        builder.triplet_places[at] = Vector([cast(row, i32), cast(column, i32)])
        builder.triplet_values[at] = cast(value, builder.triplet_values.dtype)


def append(builder: Any, place: Any, value: Any) -> None:
    """Append a triplet in a kernel that runs as Python, where the arrays are cells."""
    at = int(builder.triplet_count.load((0,)))
    builder.triplet_count.store((0,), at + 1)
    if at < builder.triplet_values.shape[0]:
        builder.triplet_places.array[at] = place
        builder.triplet_values.store((at,), value)
