"""The sparse nodes of a kernel: which cells are above a field, and in which field its elements are stored.

A field below a sparse node names it as its `node` (`NodeSymbol` in `symbols.py`). Everything that a node needs is a
field: its table lies in its parent's cell, and is therefore a sparse field itself if the parent is sparse. `cells_of`
gives the dense field of all cells of a pool that the pass `lower_sparse` puts in place of a sparse one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Dense, Term
from weft.ir.storage.layout import NodeLayout, PlaceLayout, TreeLayout
from weft.ir.storage.path import Path
from weft.ir.storage.snode import SNode
from weft.ir.storage.sparse import Sparse
from weft.ir.symbols import FieldSymbol, NodeSymbol

__all__ = ["block_of", "blocks_above", "cells_of", "declare_nodes"]

Block = tuple[tuple[int, int], ...]


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
