"""Computes the layout of an SNode tree, once, and gives each place the path of levels that leads to it.

Extents are exact. Children follow one another in a cell, each aligned to its largest scalar. The size of a cell is a
multiple of its alignment. In the root's cell there is an unused gap between children of different fields. If indices
are not checked, an access that misses a field by one index does not touch another field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Dense, Term
from weft.ir.storage.level import Level
from weft.ir.storage.path import Path
from weft.ir.storage.snode import SNode
from weft.ir.types import Prim

__all__ = ["LEVEL_READERS", "PlaceLayout", "TreeLayout", "layout_tree"]

# How a level is made of the attribute of a field's text that shows it (see `Level.text`).
LEVEL_READERS: dict[str, Callable[[Any], Level]] = {"terms": Dense.read}


_LINE, _MOST = 64, 64 << 10  # bytes: a cache line, where data after a gap begins; the longest gap


@dataclass(frozen=True)
class PlaceLayout:
    """How a place's elements are stored: their number along each axis (axes renumbered from 0), a level for each node
    above the place, and the axes from the slowest to the fastest in memory."""

    shape: tuple[int, ...]
    path: Path
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
    _descend(root, [], sizes, cells, places)
    reach = max((_step(child, sizes) for child in root.children), default=0)
    return TreeLayout(size, places, cells, reach)


def _measure(node: SNode, sizes: dict[SNode, tuple[int, int]], cells: dict[SNode, tuple[int, int]]) -> tuple[int, int]:
    """(bytes, alignment) of everything that `node` contains. Sets the offset of each child in its cell."""
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


def _descend(
    node: SNode,
    levels: list[Dense],
    sizes: dict[SNode, tuple[int, int]],
    cells: dict[SNode, tuple[int, int]],
    places: dict[SNode, PlaceLayout],
) -> None:
    """Fill in the paths to all places under `node`, which the levels so far lead to. Digits are axis, extent and stride
    at first, in terms without a divisor: that depends on the levels below."""
    start = cells[node][1] if node.parent is not None else 0
    if node.kind == "place":
        assert node.dtype is not None
        places[node] = _place(levels, node.dtype, start)
        return
    stride = _cell_size(node, sizes)
    terms: list[Term] = []
    for axis, extent in zip(reversed(node.axes), reversed(node.extents), strict=True):
        terms.insert(0, Term(axis, 1, extent, stride))
        stride *= extent
    below = levels if node.parent is None else [*levels, Dense(tuple(terms), start)]
    for child in node.children:
        _descend(child, below, sizes, cells, places)


def _place(levels: list[Dense], dtype: Prim, start: int) -> PlaceLayout:
    """The path to a place: axes are numbered from 0, and each axis' last digit varies fastest."""
    digits = [term for level in levels for term in level.terms]
    axes = sorted({digit.axis for digit in digits})
    number = {axis: position for position, axis in enumerate(axes)}
    divisor = dict.fromkeys(axes, 1)
    found: list[Dense] = []
    for level in reversed(levels):
        terms: list[Term] = []
        for digit in reversed(level.terms):
            terms.insert(0, Term(number[digit.axis], divisor[digit.axis], digit.modulus, digit.stride))
            divisor[digit.axis] *= digit.modulus
        found.insert(0, Dense(tuple(terms), level.offset))
    last = {number[digit.axis]: position for position, digit in enumerate(digits)}
    order = tuple(sorted(last, key=last.__getitem__))
    return PlaceLayout(tuple(divisor[axis] for axis in axes), Path(tuple(found), Cell(dtype, (start,))), order)
