"""Computes the layout of an SNode tree, once, and gives each place the path of levels that leads to it.

Extents are exact. Children follow one another in a cell, each aligned to its largest scalar. The size of a cell is a
multiple of its alignment. In the root's cell there is an unused gap between children of different fields. If indices
are not checked, an access that misses a field by one index does not touch another field.

A sparse node has a table (or marks) in its parent's cell. The cells of a pointer or dynamic node lie in a memory of
their own, the pool, and its book is another one (`book.py`). Memory 0 is the root's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

from weft.ir.storage.book import PIECE, book_size
from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Dense, Term
from weft.ir.storage.level import Level
from weft.ir.storage.path import Path
from weft.ir.storage.snode import SNode
from weft.ir.storage.sparse import Sparse
from weft.ir.types import Prim, i32, u8, u32

__all__ = ["LEVEL_READERS", "NodeLayout", "PlaceLayout", "TreeLayout", "layout_tree"]

# How a level is made of the attribute of a field's text that shows it (see `Level.text`).
LEVEL_READERS: dict[str, Callable[[Any], Level]] = {"terms": Dense.read, "cells": Sparse.read}


_LINE, _MOST = 64, 64 << 10  # bytes: a cache line, where data after a gap begins; the longest gap
_RESERVED = 1 << 40  # bytes of address space for a pool and its book
_SLOTS = 2**31 - 1
_HASHED = 2**28  # the most slots of a hash node, whose table has up to four times as many entries


@dataclass(frozen=True)
class PlaceLayout:
    """How a place's elements are stored: their number along each axis (axes renumbered from 0), a level for each node
    above the place, and the axes from the slowest to the fastest in memory. `node`: the nearest sparse node above it.
    `memory`: the number of the memory in which the elements lie."""

    shape: tuple[int, ...]
    path: Path
    order: tuple[int, ...]
    node: SNode | None = None
    memory: int = 0


@dataclass(frozen=True)
class NodeLayout:
    """How a sparse node is stored. `table`: its slots (u32) or marks (u8), an element for each cell of its index space.
    `length`: the lengths of lists (i32), an element for each list. `seen`: what its marks, or lengths, were when a loop
    over them began. `body`: the first byte of each cell, if all cells have memory. `pool` and `book`: the numbers of
    these memories, or -1. `capacity`: how many slots the pool has, including slot 0, which is not used. `pieces`: of
    all its tables, for `book.py`. `limit`: the longest length of a list, whose axis is number `axis` of the node.
    `ordered`: the order of its lists does not depend on threads. `unbounded`: a bit for each axis without bounds of a
    hash node."""

    table: PlaceLayout
    cell_bytes: int
    length: PlaceLayout | None = None
    seen: PlaceLayout | None = None
    body: PlaceLayout | None = None
    pool: int = -1
    book: int = -1
    capacity: int = 0
    pieces: int = 0
    limit: int = 0
    axis: int = 0
    chunk: int = 0
    unbounded: int = 0
    ordered: bool = False


@dataclass(frozen=True)
class TreeLayout:
    """A measured tree: bytes of the root's memory, each place's layout, and each node's (cell bytes, offset in parent's
    cell). `reach`: how many bytes outside of the tree an index that is wrong by one may lead. `nodes`: the layout of
    each sparse node, parents first. `memories`: the bytes of each memory, the root's first. Those of pools and books
    are address space to reserve: memory that is never touched."""

    size: int
    places: dict[SNode, PlaceLayout]
    cells: dict[SNode, tuple[int, int]]
    reach: int = 0
    nodes: dict[SNode, NodeLayout] = field(default_factory=dict[SNode, NodeLayout])
    memories: tuple[int, ...] = ()


def layout_tree(root: SNode, most: int = _RESERVED) -> TreeLayout:
    """Measure the tree under `root`. `most`: the bytes of address space that a pool and its book may take together. The
    capacity of a pool is the number of cells that its extents allow, unless that takes more."""
    measured = _Measured()
    size, _ = measured.measure(root)
    measured.cells[root] = (size, 0)
    laid = _Laid(measured, most, [size])
    laid.descend(root, [])
    reach = max((measured.step(child) for child in root.children), default=0)
    return TreeLayout(size, laid.places, measured.cells, reach, laid.nodes, tuple(laid.memories))


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit


@dataclass
class _Measured:
    """`sizes`: (bytes in the parent's cell, alignment) of each node. `inner`: the bytes of one of its own cells.
    `body`: where its cells begin, after its marks. `cells`: see `TreeLayout`."""

    sizes: dict[SNode, tuple[int, int]] = field(default_factory=dict[SNode, tuple[int, int]])
    inner: dict[SNode, int] = field(default_factory=dict[SNode, int])
    body: dict[SNode, int] = field(default_factory=dict[SNode, int])
    cells: dict[SNode, tuple[int, int]] = field(default_factory=dict[SNode, tuple[int, int]])

    def measure(self, node: SNode) -> tuple[int, int]:
        """(bytes, alignment) of everything that `node` has in its parent's cell. Sets the offset of each child."""
        if node.kind == "place":
            assert node.dtype is not None
            self.inner[node] = node.dtype.size
            self.sizes[node] = (node.dtype.size, node.dtype.size)
            return self.sizes[node]
        cursor, alignment = 0, 1
        for number, child in enumerate(node.children):
            size, align = self.measure(child)
            if node.kind == "root" and number:
                cursor = self.behind_gap(cursor, node.children[number - 1], child)
            cursor = _up(cursor, align)
            self.cells[child] = (self.inner[child], cursor)
            cursor += size
            alignment = max(alignment, align)
        cell, count = _up(cursor, alignment), prod(node.counts)
        self.inner[node] = cell
        if node.has_pool:  # the table, and before it the two lengths of a list
            cell = _up(cell * max(node.chunk, 1), 8)
            self.body[node] = cell if cell < _LINE else _up(cell, _LINE)
            self.sizes[node] = (4 * count + (8 if node.kind == "dynamic" else 0), 4)
            if node.kind == "hash":  # its table is in its book
                self.sizes[node] = (0, 1)
        elif node.kind == "bitmasked":
            self.body[node] = _up(2 * count, alignment)
            self.sizes[node] = (self.body[node] + cell * count, alignment)
        else:
            self.sizes[node] = (cell * count, alignment)
        return self.sizes[node]

    def step(self, node: SNode) -> int:
        """Bytes from one index to the next along the slowest axis."""
        return self.inner[node] * node.step() if node.kind == "dense" else 0

    def behind_gap(self, end: int, before: SNode, child: SNode) -> int:
        """Where `child` may begin, if `before` ends there."""
        if before.kind == child.kind == "place" or before.fields() & child.fields():
            return end
        gap = min(max(self.step(before), self.step(child)), _MOST)
        return _up(end + gap, _LINE)


@dataclass(frozen=True)
class _Digits:
    """The digits that a node adds to an index: axis, extent and stride of each, the slowest first. `offset`: that of
    the first cell in the cell above. `pool`: the cells are in a pool, and the digits choose a slot. `node`: the sparse
    node whose cells the digits choose."""

    digits: tuple[tuple[int, int, int], ...]
    offset: int = 0
    node: SNode | None = None

    @property
    def pool(self) -> bool:
        return self.node is not None and self.node.has_pool


def _digits(
    axes: tuple[int, ...], extents: tuple[int, ...], stride: int, offset: int, node: SNode | None = None
) -> _Digits:
    found: list[tuple[int, int, int]] = []
    for axis, extent in zip(reversed(axes), reversed(extents), strict=True):
        found.insert(0, (axis, extent, stride))
        stride *= extent
    return _Digits(tuple(found), offset, node)


@dataclass
class _Laid:
    """Gives each place and each sparse node its layout."""

    measured: _Measured
    most: int
    memories: list[int]
    places: dict[SNode, PlaceLayout] = field(default_factory=dict[SNode, PlaceLayout])
    nodes: dict[SNode, NodeLayout] = field(default_factory=dict[SNode, NodeLayout])

    def descend(self, node: SNode, levels: list[_Digits]) -> None:
        """Fill in the layouts of all places and sparse nodes under `node`, which the levels so far lead to."""
        start = self.measured.cells[node][1]
        if node.kind == "place":
            assert node.dtype is not None
            self.places[node] = self.place(node, levels, node.dtype, start, node.shape())
            return
        if node.is_sparse:
            self.nodes[node] = self.sparse(node, levels, start)
        inner, below = self.measured.inner[node], levels
        if node.has_pool:
            below = [*levels, _digits(node.axes, node.counts, 0, 0, node)]
            below += [_digits(node.axes, (node.chunk,), inner, 0)] if node.kind == "dynamic" else []
        elif node.kind != "root":
            begin = start + self.measured.body.get(node, 0)
            below = [*levels, _digits(node.axes, node.extents, inner, begin, node if node.is_sparse else None)]
        for child in node.children:
            self.descend(child, below)

    def sparse(self, node: SNode, levels: list[_Digits], start: int) -> NodeLayout:
        shape = _cell_shape(node)
        if not node.has_pool:
            inner, marks = self.measured.inner[node], _digits(node.axes, node.extents, 1, start)
            cells = _digits(node.axes, node.extents, inner, start + self.measured.body[node])
            table = self.place(node, [*levels, marks], u8, 0, shape)
            seen = self.place(node, [*levels, marks], u8, prod(node.extents), shape)
            return NodeLayout(table, inner, None, seen, self.place(node, [*levels, cells], u8, 0, shape))
        length: PlaceLayout | None = None
        lengths: PlaceLayout | None = None
        if node.kind == "dynamic":
            assert node.parent is not None
            length = self.place(node, levels, i32, start, _cell_shape(node.parent))
            lengths = self.place(node, levels, i32, start + 4, _cell_shape(node.parent))
            start += 8
        bytes, home, hashed = self.measured.body[node], node.home(), node.kind == "hash"
        parents = 1 if home is None else self.nodes[home].capacity
        # the cells of one table of its home
        local = prod(shape) if home is None else prod(shape) // prod(_cell_shape(home))
        slot = bytes + book_size(1024, len(shape), 1024, (1, 1024), hashed) // 1024
        most = local * max(parents - 1, 1)
        if hashed:  # below dense nodes: as many in each of their cells
            most = node.room * prod(prod(above.extents) for above in node.path()[:-1])
        capacity = max(min(most + 1, self.most // slot, _HASHED if hashed else _SLOTS), 2)
        pieces = (0 if hashed else parents * -(-local // PIECE)) + 1  # and the sum of all
        tables = (0, 0) if hashed else (parents, local)
        lists = parents * (local // node.counts[0]) if node.kind == "dynamic" else 0
        self.memories += [capacity * bytes, book_size(capacity, len(shape), pieces, tables, hashed, lists)]
        number = len(self.memories)
        table = self.place(node, [*levels, _digits(node.axes, node.counts, 4, start)], u32, 0, shape)
        if hashed:  # it is not stored as such: the run-time library finds slots
            table = PlaceLayout(shape, Path((), Cell(u32, (0,))), table.order, memory=number - 1)
        limit, axis = (node.extents[0], _axes(node).index(node.axes[0])) if node.kind == "dynamic" else (0, 0)
        unbounded = sum(1 << _axes(node).index(one) for one in node.axes) if hashed else 0
        numbers = number - 2, number - 1, capacity, pieces, limit, axis, node.chunk, unbounded
        return NodeLayout(table, bytes, length, lengths, None, *numbers, node.ordered)

    def place(self, node: SNode, levels: list[_Digits], dtype: Prim, start: int, shape: tuple[int, ...]) -> PlaceLayout:
        """The path to an element: axes are numbered from 0, and each axis' last digit varies fastest."""
        digits = [digit for level in levels for digit in level.digits]
        axes = sorted({axis for axis, _, _ in digits})
        number = {axis: position for position, axis in enumerate(axes)}
        divisor = dict.fromkeys(axes, 1)
        found: list[Level] = []
        home, above = node.home(), node.above()
        block: tuple[tuple[int, int], ...] = ()
        for level in reversed(levels):
            if above is not None and level.node is above:
                block = tuple((number[axis], divisor[axis]) for axis in _axes(above))
            if level.pool:
                break
            terms: list[Term] = []
            for axis, extent, stride in reversed(level.digits):
                terms.insert(0, Term(number[axis], divisor[axis], extent, stride))
                divisor[axis] *= extent
            found.insert(0, Dense(tuple(terms), level.offset))
        if above is not None:
            found.insert(0, Sparse(block))
        last = {number[axis]: position for position, (axis, _, _) in enumerate(digits)}
        order = tuple(sorted(last, key=last.__getitem__))
        memory = 0 if home is None else self.nodes[home].pool
        return PlaceLayout(shape, Path(tuple(found), Cell(dtype, (start,))), order, above, memory)


def _axes(node: SNode) -> tuple[int, ...]:
    """The axes of the cells of a node."""
    return tuple(sorted({axis for one in node.path() for axis in one.axes}))


def _cell_shape(node: SNode) -> tuple[int, ...]:
    """How many cells a node has along each of its axes, in all cells above it."""
    extents: dict[int, int] = {}
    for one in node.path():
        for axis, extent in zip(one.axes, one.counts, strict=True):
            extents[axis] = extents.get(axis, 1) * extent
    return tuple(extents[axis] for axis in sorted(extents))
