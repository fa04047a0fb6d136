"""What sparse fields mean: the evaluator's memory of them, before the pass `lower_sparse`.

A pool is kept as the bytes of each cell of its node, active or not, by the index of the cell. Inactive cells are zero.
The active cells of each node are a set of indices, and the lengths of lists are a dict. Slots, tables
and books play no part, so the evaluator judges them. (A mask over a dense array in the root's memory has its cells in
the root's tree, as after lowering.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from weft.ir.symbols import Block, FieldSymbol, NodeSymbol

__all__ = ["SparseCell", "SparseMemory", "visited"]

Cell = tuple[int, ...]


@dataclass
class SparseMemory:
    """The cells of all sparse nodes. Nodes are known by their names."""

    # the bytes of cells, by the number of the pool and the index of the cell
    contents: dict[tuple[int, Cell], Any] = field(default_factory=dict[tuple[int, Cell], Any])
    active: dict[str, set[Cell]] = field(default_factory=dict[str, set[Cell]])
    lengths: dict[str, dict[Cell, int]] = field(default_factory=dict[str, dict[Cell, int]])

    def cells(self, node: NodeSymbol) -> set[Cell]:
        """The active cells of a node."""
        return self.active.setdefault(node.name, set())

    def length(self, node: NodeSymbol, at: Cell) -> int:
        """The length of a list."""
        return self.lengths.setdefault(node.name, {}).get(at, 0)

    def is_active(self, node: NodeSymbol, at: Cell) -> bool:
        """Whether a cell is active; of a list, whether it is longer than the last index."""
        if node.length is not None:
            return at[node.axis] < self.length(node, node.list_of(at))
        return at in self.cells(node)

    def number(self, node: NodeSymbol, at: Cell) -> int:
        """A number that stands for the slot of a cell, or of the chunk of an element: its place among the active ones,
        from 1 on. 0: it is not active."""
        if not self.is_active(node, at):
            return 0
        cells = self.cells(node)
        if node.length is not None:
            at = (*at[: node.axis], at[node.axis] // node.chunk, *at[node.axis + 1 :])
            cells = cells | {at}
        return 1 + sorted(cells).index(at)

    def locate(self, symbol: FieldSymbol, index: Sequence[int], trees: Sequence[Any]) -> tuple[Any, int]:
        """The bytes in which an element lies (its index counts from 0), and where its cell begins in them."""
        inside = sum((level.locate(index) for level in symbol.path.levels[1:]), 0)
        for node, block in symbol.above():
            if node.has_pool:
                return self.content(node, _within(index, block)), inside
        return trees[symbol.tree], inside

    def content(self, node: NodeSymbol, at: Cell) -> Any:
        """The bytes of a cell of a node with a pool."""
        place = node.pool, at
        if place not in self.contents:
            self.contents[place] = np.zeros(node.cell_bytes, np.uint8)
        return self.contents[place]

    def exists(self, symbol: FieldSymbol, index: Sequence[int]) -> bool:
        """Whether the element of that index (from 0 on) is active."""
        node = symbol.node
        if node is None:
            return True
        if node.length is not None:
            element = index[symbol.block[node.axis][0]]
            return element < self.length(node, node.list_of(_within(index, symbol.block)))
        return _within(index, symbol.block) in self.cells(node)

    def touch(self, symbol: FieldSymbol, index: Sequence[int]) -> None:
        """Activate the cells above an element, which is written. A list becomes long enough to hold it."""
        node, block = symbol.node, symbol.block
        assert node is not None
        at = _within(index, block)
        self.activate(node, at)
        if node.length is not None:
            self.grow(node, node.list_of(at), index[block[node.axis][0]] + 1)

    def grow(self, node: NodeSymbol, at: Cell, length: int) -> None:
        """Make a list at least that long."""
        lists = self.lengths.setdefault(node.name, {})
        lists[at] = max(lists.get(at, 0), length)
        if node.parent is not None:
            assert node.length is not None
            self.activate(node.parent, _within(at, node.length.block))

    def activate(self, node: NodeSymbol, at: Cell) -> None:
        """Activate a cell and the cells above it."""
        self.cells(node).add(at)
        if node.parent is not None:
            self.activate(node.parent, _within(at, node.table.block))

    def deactivate(self, node: NodeSymbol, at: Cell, nodes: Sequence[NodeSymbol], trees: Sequence[Any]) -> None:
        """Deactivate a cell, or a list, and what is below it."""
        if node.length is not None:
            self.lengths.setdefault(node.name, {}).pop(at, None)
        own: Callable[[Cell], Cell] = node.list_of if node.length is not None else tuple
        for cell in [cell for cell in self.cells(node) if own(cell) == at]:
            self.cells(node).discard(cell)
            self.clear(node, cell, trees)
        for below in nodes:
            if below.parent is node:
                for cell in self.below(below, node, at):
                    self.deactivate(below, cell, nodes, trees)

    def below(self, node: NodeSymbol, parent: NodeSymbol, at: Cell) -> list[Cell]:
        """The active cells, or the lists, of a node that are in such a cell, or list, of its parent."""
        cells, outer = self.cells(node), (node.table if node.length is None else node.length).block
        if node.length is not None:
            cells = {node.list_of(cell) for cell in cells} | set(self.lengths.get(node.name, {}))
        inside = ((cell, _within(cell, outer)) for cell in cells)
        listed = parent.length is not None
        return sorted(cell for cell, above in inside if (parent.list_of(above) if listed else above) == at)

    def clear(self, node: NodeSymbol, at: Cell, trees: Sequence[Any]) -> None:
        """Make the bytes of a cell 0."""
        if node.body is None:
            buffer, start = self.content(node, at), 0
        elif node.body.node is None:
            buffer, start = trees[node.body.tree], node.body.path.locate(at) + node.body.components[0]
        else:
            buffer, start = self.locate(node.body, at, trees)
            start += node.body.components[0]
        buffer[start : start + node.cell_bytes] = 0


@dataclass(frozen=True)
class SparseCell:
    """Which element of a sparse field a place is. `activates`: a write activates it."""

    memory: SparseMemory
    symbol: FieldSymbol
    index: Cell
    activates: bool

    def touch(self) -> bool:
        """Something writes here. Gives whether the write has an effect."""
        if self.activates:
            self.memory.touch(self.symbol, self.index)
        return self.activates or self.memory.exists(self.symbol, self.index)


def _within(index: Sequence[int], block: Block) -> Cell:
    """The cell in which an element is."""
    return tuple(index[axis] // size for axis, size in block)


def visited(memory: SparseMemory, symbol: FieldSymbol, cells: bool, nodes: Sequence[NodeSymbol]) -> Iterator[Cell]:
    """The indices, from 0 on, that a loop over a sparse field visits, or (`cells`) one over the node whose table the
    field is."""
    if cells:
        yield from sorted(memory.cells(next(node for node in nodes if node.table is symbol)))
        return
    boxes = [[range(extent) for extent in symbol.shape]]
    for node, block in symbol.above():
        if node.hashed:  # there is no end of what is not active
            boxes = [_box(symbol, block, at) for at in memory.cells(node)]
    yield from sorted(index for box in boxes for index in product(*box) if memory.exists(symbol, index))


def _box(symbol: FieldSymbol, block: Block, at: Cell) -> list[range]:
    """The elements of a field in a cell of a node above it, along each axis."""
    box = [range(extent) for extent in symbol.shape]
    for (axis, size), index in zip(block, at, strict=True):
        box[axis] = range(index * size, min((index + 1) * size, symbol.shape[axis]))
    return box
