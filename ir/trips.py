"""Loops that count their trips: each index that the user named is computed of a trip's number.

parallel_for [0, %n) (%trip) {
  %1 = cast %trip : i32
  %2 = binary mul %1, %step
  %i = binary add %begin, %2
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir import ops
from weft.ir.core import BlockArg, Op, Value

__all__ = ["ONCE", "TRIP", "indices_of", "is_counter"]

TRIP = "trip"  # the name of such a loop's own index
ONCE = "once"  # the same for the loop of a field without axes
_STEPS = 3  # from the number of a trip to the index: see the picture


def is_counter(arg: BlockArg) -> bool:
    """Whether the index of a loop is one that the user did not name."""
    return arg.name in (TRIP, ONCE)


def indices_of(arg: BlockArg) -> Iterator[Op]:
    """The named values that are computed of a trip's number, the nearest first: the index is the first of them."""
    values: list[Value] = [arg]
    for _ in range(_STEPS):
        values = [user for value in values for user in value.users if isinstance(user, ops.Binary | ops.Cast)]
        yield from (value for value in values if value.name and isinstance(value, Op))
