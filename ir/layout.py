"""Turns an SNode tree into byte offsets and strides, once. Code generation, field views and the evaluator read this.

Extents are exact. In a cell, children follow one another, each aligned to the largest scalar inside it; a cell's size
is a multiple of its own alignment. In the root's, between children of different fields there is a gap that is nobody's:
what misses one of them by an index, where nothing checks indices, does not meet the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.snode import SNode
from weft.ir.symbols import Term
from weft.ir.types import Struct, Type, flatten

__all__ = ["PlaceLayout", "TreeLayout", "alignment_of", "layout_tree", "member_offset", "size_of"]


_LINE, _MOST = 64, 64 << 10  # bytes: a cache line, at which what follows a gap begins; the longest gap but for that


@dataclass(frozen=True)
class PlaceLayout:
    """Where a place's elements lie: `offset` bytes from the tree's base, plus its terms (axes renumbered from 0)."""

    offset: int
    shape: tuple[int, ...]
    terms: tuple[Term, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class TreeLayout:
    """A measured tree: bytes in all, each place's layout, and each node's (cell bytes, offset in parent's cell).
    `reach`: how many bytes outside of the tree an index that is wrong by one may lead."""

    size: int
    places: dict[SNode, PlaceLayout]
    cells: dict[SNode, tuple[int, int]]
    reach: int = 0


def layout_tree(root: SNode) -> TreeLayout:
    """Measure the tree under `root`."""
    sizes: dict[SNode, tuple[int, int]] = {}
    cells: dict[SNode, tuple[int, int]] = {root: (0, 0)}
    size, _ = _measure(root, sizes, cells)
    places: dict[SNode, PlaceLayout] = {}
    _descend(root, 0, [], sizes, cells, places)
    reach = max((_step(child, sizes) for child in root.children), default=0)
    return TreeLayout(size, places, cells, reach)


def _measure(node: SNode, sizes: dict[SNode, tuple[int, int]], cells: dict[SNode, tuple[int, int]]) -> tuple[int, int]:
    """(bytes, alignment) of everything `node` stands for; fills in where each child lies in its cell."""
    if node.kind == "place":
        assert node.dtype is not None
        sizes[node] = (node.dtype.size, node.dtype.size)
        return sizes[node]
    cursor, alignment = 0, 1
    for number, child in enumerate(node.children):
        size, align = _measure(child, sizes, cells)
        if node.kind == "root" and number:
            cursor = _behind_gap(cursor, node.children[number - 1], child, sizes)
        cursor = -(-cursor // align) * align
        cells[child] = (_cell_size(child, sizes), cursor)
        cursor += size
        alignment = max(alignment, align)
    cell = -(-cursor // alignment) * alignment
    count = 1
    for extent in node.extents:
        count *= extent
    sizes[node] = (cell * count, alignment)
    if node.parent is None:
        cells[node] = (cell, 0)
    return sizes[node]


def _cell_size(node: SNode, sizes: dict[SNode, tuple[int, int]]) -> int:
    count = 1
    for extent in node.extents:
        count *= extent
    return sizes[node][0] // count if count else 0


def _step(node: SNode, sizes: dict[SNode, tuple[int, int]]) -> int:
    """Bytes from one index to the next along the slowest axis."""
    return _cell_size(node, sizes) * node.step() if node.kind == "dense" else 0


def _behind_gap(end: int, before: SNode, child: SNode, sizes: dict[SNode, tuple[int, int]]) -> int:
    """Where `child` may begin, if `before` ends there."""
    if before.kind == child.kind == "place" or before.fields() & child.fields():
        return end
    gap = min(max(_step(before, sizes), _step(child, sizes)), _MOST)
    return -(-(end + gap) // _LINE) * _LINE


@dataclass(frozen=True)
class _Digit:
    axis: int
    extent: int
    stride: int


def _descend(
    node: SNode,
    offset: int,
    digits: list[_Digit],
    sizes: dict[SNode, tuple[int, int]],
    cells: dict[SNode, tuple[int, int]],
    places: dict[SNode, PlaceLayout],
) -> None:
    if node.kind == "place":
        places[node] = _place(offset, digits)
        return
    stride = _cell_size(node, sizes)
    inner: list[_Digit] = []
    for axis, extent in zip(reversed(node.axes), reversed(node.extents), strict=True):
        inner.append(_Digit(axis, extent, stride))
        stride *= extent
    for child in node.children:
        _descend(child, offset + cells[child][1], digits + inner[::-1], sizes, cells, places)


def _place(offset: int, digits: list[_Digit]) -> PlaceLayout:
    """Digits come outermost first; each axis' last digit varies fastest. A digit of extent 1 is always 0 and has no
    term, unless the axis has no other: so no two terms of an axis have the same divisor."""
    axes = sorted({digit.axis for digit in digits})
    number = {axis: position for position, axis in enumerate(axes)}
    divisor = dict.fromkeys(axes, 1)
    alone = {axis for axis in axes if all(digit.extent == 1 for digit in digits if digit.axis == axis)}
    terms: list[Term] = []
    for digit in reversed(digits):
        if digit.extent > 1 or digit.axis in alone:
            terms.append(Term(number[digit.axis], divisor[digit.axis], digit.extent, digit.stride))
            alone.discard(digit.axis)
        divisor[digit.axis] *= digit.extent
    last = {number[digit.axis]: position for position, digit in enumerate(digits)}
    order = tuple(sorted(last, key=last.__getitem__))
    return PlaceLayout(offset, tuple(divisor[axis] for axis in axes), _merged(terms[::-1]), order)


def _merged(terms: list[Term]) -> tuple[Term, ...]:
    """Two digits of one axis that lie at one stride (blocks of one line) are one digit."""
    merged: list[Term] = []
    for term in terms:
        previous = merged[-1] if merged else None
        if (
            previous is not None
            and previous.axis == term.axis
            and previous.divisor == term.divisor * term.modulus
            and previous.stride == term.stride * term.modulus
        ):
            merged[-1] = Term(term.axis, term.divisor, term.modulus * previous.modulus, term.stride)
        else:
            merged.append(term)
    return tuple(merged)


# ---- values ----------------------------------------------------------------------------------------------------------


def alignment_of(type: Type) -> int:
    """What the address of such a value is a multiple of: the size of its largest scalar."""
    return max((scalar.size for scalar in flatten(type)), default=1)


def size_of(type: Type) -> int:
    """Bytes of a value in a temporary: each member aligned to its largest scalar, the whole to its own."""
    if not isinstance(type, Struct):
        return sum(scalar.size for scalar in flatten(type))
    end = member_offset(type, len(type.members))
    return -(-end // alignment_of(type)) * alignment_of(type)


def member_offset(type: Struct, index: int) -> int:
    """Where member number `index` lies in such a value; for the number of members: the byte after the last."""
    cursor = 0
    for position, (_, member) in enumerate(type.members):
        align = alignment_of(member)
        cursor = -(-cursor // align) * align
        if position == index:
            return cursor
        cursor += size_of(member)
    return cursor
