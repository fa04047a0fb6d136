"""In which order loops visit what is active, and which numbers their iterations have: as in compiled kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ir.storage.snode import SNode as Node
from weft.lang.data.snode_api import SNode
from weft.lang.sparse_fields.elements import active

__all__ = ["visits"]


def visits(x: Any) -> tuple[Any, Any]:
    """Return the indices (n, axes) of the active elements of a field, or of the active cells of a node, in the order of
    loops over it, and the number of each iteration.

    A loop visits one cell after another of the outermost node that has a pool, in each the cells of the next such node,
    and so on. An iteration has the number of its innermost such cell among the active ones, times the elements of a
    cell, plus its place in the cell. Where no node has a pool, its number is its place in the field."""
    indices, path = active(x), _path(x)
    pools = [node for node in path if node.has_pool]
    cells = [_cells(x, node, indices) for node in pools]
    order = np.lexsort([column for part in (indices, *cells[::-1]) for column in part.T[::-1]])
    indices = indices[order]
    sizes = _sizes(x, pools[-1]) if pools else tuple(x.shape)
    inside = (indices - np.array(x.offset, np.int64)) % np.array(sizes, np.int64)
    numbers, step = np.zeros(len(indices), np.int64), 1
    for axis in reversed(_memory_order(x)):
        numbers += inside[:, axis] * step
        step *= sizes[axis]
    return indices, numbers + step * _ranks(x, pools[-1], cells[-1][order]) if pools else numbers


def _ranks(x: Any, node: Node, cells: Any) -> Any:
    """The number of each of these cells among the active ones of their node, which holds x."""
    if node.kind == "dynamic":  # a chunk that holds no element is at the end of a list
        new = np.ones(len(cells), bool)
        new[1:] = (cells[1:] != cells[:-1]).any(axis=1)
        return np.cumsum(new) - 1
    known = (
        visits(SNode(node, x.tree if isinstance(x, SNode) else x.snode.tree))[0] if node is not _path(x)[-1] else cells
    )
    ranks = {tuple(at): number for number, at in enumerate(known.tolist())}
    return np.array([ranks[tuple(at)] for at in cells.tolist()], np.int64)


def _path(x: Any) -> Sequence[Node]:
    return (x.node if isinstance(x, SNode) else x.snode.node).path()


def _memory_order(x: Any) -> Sequence[int]:
    """The axes from slowest to fastest in memory."""
    return tuple(range(len(x.shape))) if isinstance(x, SNode) else x.describe().order


def _sizes(x: Any, node: Node) -> tuple[int, ...]:
    """How many elements a cell of a node above x spans along each axis of x; the cells of a list are its chunks."""
    axes = sorted({axis for one in _path(x) for axis in one.axes})
    own = dict(zip(sorted({axis for one in node.path() for axis in one.axes}), node.shape(), strict=True))
    sizes = [extent // own.get(axis, 1) for axis, extent in zip(axes, x.shape, strict=True)]
    if node.kind == "dynamic":
        sizes[axes.index(node.axes[0])] *= node.chunk
    return tuple(sizes)


def _cells(x: Any, node: Node, indices: Any) -> Any:
    """The cells of a node in which these elements of x are, along the axes of the node. Those of a list are its
    chunks."""
    axes = sorted({axis for one in _path(x) for axis in one.axes})
    own = sorted({axis for one in node.path() for axis in one.axes})
    sizes, first = _sizes(x, node), np.array(node.first(), np.int64)
    columns = [(indices[:, axes.index(axis)] - x.offset[axes.index(axis)]) // sizes[axes.index(axis)] for axis in own]
    return np.stack(columns, axis=1) + first
