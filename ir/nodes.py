"""The sparse nodes of a kernel, and the fields in which they are kept.

A `NodeSymbol` is a sparse node as a kernel sees it. A field below it names it as its `node`. Everything that a node
needs is a field: its table lies in its parent's cell, and is therefore a sparse field itself if the parent is sparse.
`cells_of` gives the dense field of all cells of a pool that the pass `lower_sparse` puts in place of a sparse one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeVar

from weft.ir.storage.book import book_fields
from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Dense, Term
from weft.ir.storage.layout import NodeLayout, PlaceLayout, TreeLayout
from weft.ir.storage.path import Path
from weft.ir.storage.snode import SNode
from weft.ir.storage.sparse import Sparse
from weft.ir.symbols import FieldSymbol
from weft.ir.types import u8, u16, u32, u64

__all__ = ["NodeSymbol", "block_of", "blocks_above", "cells_of", "declare_nodes"]

T = TypeVar("T")
Block = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class NodeSymbol:
    """A sparse node: `kind` is a row of SPARSE in `storage/snode.py`.

    `table` holds the slot (u32) or the mark (u8) of each cell, 0 for a cell that is not active. Its shape is that of
    the index space of the node's cells, and its own `node` is the nearest sparse node above. `length` (of a list) holds
    the length, an element for each list. `body`, of a node without a pool, holds the first byte of each cell. `pool`
    and `book` are the numbers of the trees with the cells and with the book, or -1. The other numbers are as in
    `NodeLayout`."""

    name: str
    kind: str
    table: FieldSymbol
    cell_bytes: int
    length: FieldSymbol | None = None
    body: FieldSymbol | None = None
    pool: int = -1
    book: int = -1
    capacity: int = 0
    pieces: int = 0
    limit: int = 0
    axis: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells it has along each axis, active or not."""
        return self.table.shape

    @property
    def asked(self) -> tuple[int, ...]:
        """The extents of the indices that `is_active` takes: cells, or the elements of lists."""
        limit = (self.limit,) if self.length is not None else self.shape[self.axis : self.axis + 1]
        return (*self.shape[: self.axis], *limit, *self.shape[self.axis + 1 :])

    @property
    def units(self) -> tuple[int, ...]:
        """The extents of the indices that `deactivate` takes: cells, or lists."""
        return self.shape if self.length is None else self.list_of(self.shape)

    def list_of(self, indices: Sequence[T]) -> tuple[T, ...]:
        """The index of the list in which a cell (a chunk), or an element, is."""
        return (*indices[: self.axis], *indices[self.axis + 1 :])

    @property
    def parent(self) -> NodeSymbol | None:
        """The nearest sparse node above."""
        return self.table.node

    @property
    def has_pool(self) -> bool:
        """Whether its cells lie in a pool, by slots."""
        return self.pool >= 0

    @property
    def holder(self) -> NodeSymbol | None:
        """The node in whose pool its cells lie: itself, or one above. None: they lie in the root's memory."""
        return self if self.has_pool else self.home

    @property
    def home(self) -> NodeSymbol | None:
        """The node in whose pool its table lies. None: it lies in the root's memory."""
        return None if self.parent is None else self.parent.holder

    @cached_property
    def parts(self) -> dict[str, FieldSymbol]:
        """The fields in which the node is kept, by their role: "table", "length", "body", "raw" (the words of the
        cells), and those of its book."""
        found = {"table": self.table}
        found |= {"length": self.length} if self.length is not None else {}
        found |= {"body": self.body} if self.body is not None else {}
        found["raw"] = self._raw()
        if self.has_pool:
            rows = book_fields(self.capacity, len(self.shape), self.pieces)
            for role, (dtype, shape, start) in rows.items():
                name = f"{self.name}.{role}"
                found[role] = FieldSymbol.dense(name, dtype, shape, self.book, (start,), _rows(shape, dtype.size))
        return found

    def part(self, role: str) -> FieldSymbol:
        """The field of that role."""
        return self.parts[role]

    def _raw(self) -> FieldSymbol:
        """All bytes of its cells, as words: by slot, or by the index of the cell."""
        word = next(dtype for dtype in (u64, u32, u16, u8) if self.cell_bytes % dtype.size == 0)
        words, name = self.cell_bytes // word.size, f"{self.name}.raw"
        if self.body is None:
            terms = (Term(0, 1, self.capacity, self.cell_bytes), Term(1, 1, words, word.size))
            return FieldSymbol.dense(name, word, (self.capacity, words), self.pool, (0,), terms)
        body, axes = self.body, len(self.shape)
        *outer, last = body.path.levels or (Dense(()),)
        assert isinstance(last, Dense)
        levels = (*outer, Dense((*last.terms, Term(axes, 1, words, word.size)), last.offset))
        order = (*(body.order or range(axes)), axes)
        path = Path(levels, Cell(word, body.components))
        return replace(body, name=name, shape=(*body.shape, words), path=path, order=order)

    def __str__(self) -> str:
        return self.name


def _rows(shape: tuple[int, ...], size: int) -> tuple[Term, ...]:
    """The terms of an array in row-major order."""
    return tuple(Term(axis, 1, shape[axis], size * prod(shape[axis + 1 :])) for axis in range(len(shape)))


def block_of(symbol: FieldSymbol) -> Block:
    """For each axis of the node above a field: the axis of the field, and how many elements of the field a cell spans
    along it."""
    level = symbol.path.levels[0] if symbol.path.levels else None
    return level.block if isinstance(level, Sparse) else ()


def blocks_above(symbol: FieldSymbol) -> Iterator[tuple[NodeSymbol, Block]]:
    """The sparse nodes above a field, the nearest one first, each with a block as in `block_of`."""
    node, block = symbol.node, block_of(symbol)
    while node is not None:
        yield node, block
        outer = block_of(node.table)
        block = tuple((block[axis][0], block[axis][1] * size) for axis, size in outer)
        node = node.parent


def cells_of(symbol: FieldSymbol) -> FieldSymbol:
    """The dense field in which the elements of a sparse field are stored: by slot, and by the place in the cell along
    each axis. Without a pool: by the index that counts from 0. It is a new object at each call."""
    levels, axes = symbol.path.levels[1:], len(symbol.shape)
    terms = levels[0].terms if levels and isinstance(levels[0], Dense) else ()
    offset = levels[0].offset if levels and isinstance(levels[0], Dense) else 0
    cell = replace(symbol.path.cell, components=tuple(offset + start for start in symbol.components), shadows=())
    order = symbol.order or tuple(range(axes))
    holder = None if symbol.node is None else symbol.node.holder
    name = f"{symbol.name}.cells"
    if holder is None:
        return replace(symbol, name=name, path=_path(terms, cell), offset=(), node=None, grad=None, dual=None)
    inside = dict(next(block for node, block in blocks_above(symbol) if node is holder))
    shape = (holder.capacity, *(inside.get(axis, symbol.shape[axis]) for axis in range(axes)))
    slots = Term(0, 1, holder.capacity, holder.cell_bytes)
    moved = [replace(term, axis=term.axis + 1) for term in terms]
    return FieldSymbol(
        name, shape, symbol.tree, _path((slots, *moved), cell), (), (0, *(axis + 1 for axis in order)), symbol.exposed
    )


def _path(terms: tuple[Term, ...], cell: Cell) -> Path:
    return Path((Dense(terms),) if terms else (), cell)


def declare_nodes(
    layout: TreeLayout, number: Callable[[int], int], names: Mapping[SNode, str]
) -> dict[SNode, NodeSymbol]:
    """The symbols of all sparse nodes of a tree, for one kernel, parents first. `number` gives the kernel's number of
    the tree that memory `k` of the layout is; `names` names the nodes."""
    made: dict[SNode, NodeSymbol] = {}

    def part(node: SNode, role: str, place: PlaceLayout | None) -> FieldSymbol | None:
        if place is None:
            return None
        above = None if place.node is None else made[place.node]
        name, path = f"{names[node]}.{role}", place.path.collapsed()
        return FieldSymbol(name, place.shape, number(place.memory), path, (), place.order, node=above)

    def declare(node: SNode, found: NodeLayout) -> None:
        table = part(node, "table", found.table)
        assert table is not None
        pool, book = (number(found.pool), number(found.book)) if found.pool >= 0 else (-1, -1)
        length, body = part(node, "length", found.length), part(node, "body", found.body)
        numbers = found.capacity, found.pieces, found.limit, found.axis
        made[node] = NodeSymbol(names[node], node.kind, table, found.cell_bytes, length, body, pool, book, *numbers)

    for node, found in layout.nodes.items():
        declare(node, found)
    return made
