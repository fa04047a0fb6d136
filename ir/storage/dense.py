"""The dense level: an array of cells, all of which exist.

    root.dense(i, 4).dense(i, 8)        two levels; element %i is in block %i // 8, at place %i % 8 of it

    address     base + (%i // 8) * 32 + (%i % 8) * 4
    activate    nothing
    enumerate   the box from 0 to the shape

Consecutive dense levels are one dense level (`collapse`). A field of plain arrays therefore costs one multiplication
for each axis, and blocks cost a division and a remainder for each digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from weft.ir.storage.level import Box, Chi, Place, Space

if TYPE_CHECKING:
    from weft.ir.core import Value

__all__ = ["Dense", "Term", "merged"]


@dataclass(frozen=True)
class Term:
    """One digit of an index: element `i` along `axis` adds `(i // divisor % modulus) * stride` bytes.

    A plain axis is one term with divisor 1 and modulus equal to the extent; nested blocks give several."""

    axis: int
    divisor: int
    modulus: int
    stride: int

    def bytes(self, index: Any) -> Any:
        """What it adds for an index that counts from 0."""
        return index // self.divisor % self.modulus * self.stride

    @property
    def reach(self) -> int:
        """The most that it adds."""
        return (self.modulus - 1) * self.stride

    def __str__(self) -> str:
        return f"{self.axis}: {self.modulus} x {self.stride}" + (f" // {self.divisor}" if self.divisor > 1 else "")


@dataclass(frozen=True)
class Dense:
    """Cells at `offset + sum of the terms` bytes from the beginning of the group."""

    terms: tuple[Term, ...]
    offset: int = 0

    @property
    def kind(self) -> str:
        return "dense"

    @property
    def text(self) -> tuple[str, Any]:
        return "terms", self.terms

    @staticmethod
    def read(terms: Iterable[tuple[int, int, int, int]]) -> Dense:
        """The level of which the text of a field says that it has these terms."""
        return Dense(tuple(Term(*term) for term in terms))

    @property
    def is_full(self) -> bool:
        return True

    def address(self, chi: Chi, place: Place, index: Sequence[Value], space: Space) -> None:
        place.offset += self.offset
        for axis, value in enumerate(index):
            terms = [term for term in self.terms if term.axis == axis]
            if len(terms) == 1 and terms[0].modulus >= space.shape[axis]:  # all of the index
                chi.add_index(place, value, terms[0].stride, space.first[axis])
            elif terms:
                _add_digits(chi, place, value, terms, space.first[axis], space.shape[axis])

    def activate(self, chi: Chi, place: Place, index: Sequence[Value], space: Space) -> None:
        """Every cell exists."""

    def enumerate(self, space: Space, halo: Sequence[tuple[int, int]], constant: Callable[[int], Any]) -> Box:
        margins = halo or ((0, 0),) * len(space.shape)
        begins = [constant(margins[axis][0]) for axis in space.order] or [constant(0)]
        ends = [constant(space.shape[axis] - margins[axis][1]) for axis in space.order] or [constant(1)]
        return Box(space.order, begins, ends)

    def locate(self, index: Any) -> Any:
        return self.offset + sum(term.bytes(index[term.axis]) for term in self.terms)

    @property
    def count(self) -> int:
        """How many cells there are."""
        return prod(term.modulus for term in self.terms)

    @property
    def reach(self) -> int:
        """The distance in bytes from the first cell to the last."""
        return sum(term.reach for term in self.terms)

    def __str__(self) -> str:
        return f"dense({', '.join(map(str, self.terms))})" + (f" + {self.offset}" if self.offset else "")


def _add_digits(chi: Chi, place: Place, index: Value, terms: Sequence[Term], first: int, extent: int) -> None:
    """One axis that is split into blocks: each digit of the index has a stride of its own."""
    known = chi.literal(index)
    if known is not None:
        place.offset += sum(term.bytes(known - first) for term in terms)
        return
    value = chi.from_zero(index, first)
    for term in terms:
        digit = chi.quotient(value, term.divisor)
        if term.divisor * term.modulus < extent:  # not the most significant digit
            digit = chi.remainder(digit, term.modulus)
        chi.add_digit(place, digit, term.stride)


def merged(levels: Iterable[Dense]) -> Dense:
    """Consecutive dense levels as one. Digits of extent 1 are always 0 and have no term, unless the axis has no other
    digit. Two digits of one axis with the same stride (blocks of one line) are one digit."""
    levels = list(levels)
    terms = [term for level in levels for term in level.terms]
    alone = {term.axis for term in terms} - {term.axis for term in terms if term.modulus > 1}
    kept: list[Term] = []
    for term in reversed(terms):
        if term.modulus > 1 or term.axis in alone:
            kept.insert(0, term)
            alone.discard(term.axis)
    return Dense(_joined(kept), sum(level.offset for level in levels))


def _joined(terms: Iterable[Term]) -> tuple[Term, ...]:
    found: list[Term] = []
    for term in terms:
        before = found[-1] if found else None
        if (
            before is not None
            and before.axis == term.axis
            and before.divisor == term.divisor * term.modulus
            and before.stride == term.stride * term.modulus
        ):
            found[-1] = Term(term.axis, term.divisor, term.modulus * before.modulus, term.stride)
        else:
            found.append(term)
    return tuple(found)
