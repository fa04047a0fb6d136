"""Where an index lies in terms of the cells that a loop visits.

A loop over the cells of a node computes the indices of elements as (index of the visited cell) x (size of a cell) + (a
place in the cell). `place_of` finds these parts again, and the interval of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.ir.affine import affine
from weft.ir.core import Value
from weft.ir.intervals import interval
from weft.ir.ops import VisitedIndex

__all__ = ["CellPlace", "place_of"]


@dataclass(frozen=True)
class CellPlace:
    """An index that is `factor` times the index of a visited cell (`leaf`), plus a rest: the sum of `terms` and
    `constant`, which is in [low, high]. Without a leaf, it is the rest alone."""

    leaf: VisitedIndex | None
    factor: int
    terms: Mapping[Value, int]
    constant: int
    low: int
    high: int

    def stays(self, size: int) -> bool:
        """Whether the rest is in the visited cell, which has that size."""
        return self.low >= 0 and self.high < size


def place_of(value: Value) -> CellPlace | None:
    """The parts of an index. None if it depends on several visited cells, or on something that is no index."""
    form = affine(value)
    leaf, factor, terms = None, 0, dict[Value, int]()
    low = high = form.constant
    for term, times in form.terms:
        if not isinstance(term, Value) or (isinstance(term, VisitedIndex) and leaf is not None):
            return None
        if isinstance(term, VisitedIndex):
            leaf, factor = term, times
            continue
        ends = sorted(times * end for end in interval(term))
        terms[term], low, high = times, low + ends[0], high + ends[1]
    return CellPlace(leaf, factor, terms, form.constant, low, high)
