"""Which cells of a tree are active: read, and set again. Blocks of `ti.ad` go back to an earlier state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import prod
from typing import Any

import numpy as np

from weft.ir.storage.snode import SNode as Node
from weft.lang.data.derived import path_of, with_siblings
from weft.lang.data.field_tree import FieldTree, nodes_below
from weft.lang.data.snode_api import SNode
from weft.lang.data.sparse_access import ActiveCells
from weft.lang.functions.func import func
from weft.lang.kernels.own import compiled_kernel
from weft.lang.sparse_fields.elements import active, deactivate_all, read, write
from weft.lang.values.builtins import activate, deactivate, static
from weft.lang.values.kinds import Constant, LongTable, i64
from weft.lang.values.matrix import Vector
from weft.runtime.errors import OutOfMemory

__all__ = [
    "among",
    "cells",
    "check_room",
    "contents",
    "dropped",
    "gradients",
    "put_contents",
    "put_gradients",
    "set_cells",
]


@func
def _cell(node: Constant, indices: LongTable, row: i64) -> Any:
    return Vector([indices[row, axis] for axis in static(range(len(node.shape)))])


@compiled_kernel
def _activate(node: Constant, indices: LongTable) -> None:
    for row in range(indices.shape[0]):
        activate(node, _cell(node, indices, row))


@compiled_kernel
def _deactivate(node: Constant, indices: LongTable) -> None:
    for row in range(indices.shape[0]):
        deactivate(node, _cell(node, indices, row))


def _nodes(tree: FieldTree) -> Iterator[tuple[Node, Any]]:
    """The sparse nodes, parents first. Of a list, also a field in it, which says how long it is."""
    for node in nodes_below(tree.node):
        if node.is_sparse:
            below = (tree.fields[place] for place in nodes_below(node) if place in tree.fields)
            yield node, next(below, None) if node.kind == "dynamic" else None


def cells(tree: FieldTree) -> ActiveCells:
    """Return which cells are active, and how long the lists are."""
    if not tree.in_use:
        return ActiveCells({})
    return ActiveCells({node: _found(tree, node, field) for node, field in _nodes(tree)})


def set_cells(tree: FieldTree, wanted: ActiveCells, fresh: bool = False) -> None:
    """Activate and deactivate cells so that these are active. What stays active keeps its values. `fresh`: nothing is
    active yet."""
    if not (tree.in_use or fresh):
        return
    for node, field in _nodes(tree):
        goal, now = wanted.of(node), _found(tree, node, field)
        extra, missing = _without(now, goal), _without(goal, now)
        if node.kind == "dynamic":
            _set_lists(tree, node, field, goal, extra, missing)
            continue
        if len(extra):
            _deactivate(SNode(node, tree), extra)
        if len(missing):
            _activate(SNode(node, tree), missing)


def dropped(tree: FieldTree, wanted: ActiveCells, kind: str) -> Any:
    """Return a field whose companions of that kind are not all 0 in the cells that `set_cells` would deactivate. None:
    there is none."""
    if not tree.in_use:
        return None
    for node, field in _nodes(tree):
        extra = _without(_found(tree, node, field), wanted.of(node))
        for one in _fields_below(tree, node) if len(extra) else ():
            if one.role == kind:
                indices = active(one)
                gone = among(_cells_of(one, node, indices), extra)
                if read(one, indices[gone]).any():
                    return one._owner()
    return None


def contents(tree: FieldTree) -> tuple[ActiveCells, list[tuple[Any, Any, Any]]]:
    """Return which cells are active, and of each field its elements: those that are active, or all, with their marks
    (`data/marks.py`)."""
    found = list[tuple[Any, Any, Any]]()
    for one in _fields_below(tree, tree.node):
        window = one._window()
        marks = None if one._marks is None else np.array(one._marks)
        found.append((one, np.array(window) if one.describe().node is None else window.saved(), marks))
    return cells(tree), found


def put_contents(tree: FieldTree, found: tuple[ActiveCells, list[tuple[Any, Any, Any]]]) -> None:
    """Set such cells and elements in a tree that has no memory yet."""
    set_cells(tree, found[0], fresh=True)
    for one, numbers, marks in found[1]:
        window = one._window()
        if one.describe().node is None:
            window[...] = numbers
        elif len(numbers.indices):
            write(one, numbers.indices, numbers.values)
        if marks is not None:
            one._marks[...] = marks


def gradients(tree: FieldTree) -> list[tuple[Any, Any, Any]]:
    """Return the gradients, and the duals of gradients, that lie in active cells of a tree: of each field such a field,
    and the indices and values of its elements."""
    found = list[tuple[Any, Any, Any]]()
    for one in _fields_below(tree, tree.node) if tree.in_use else ():
        if path_of(one).startswith("grad") and one.describe().node is not None:
            indices = active(one)
            found.append((one, indices, read(one, indices)))
    return found


def put_gradients(found: list[tuple[Any, Any, Any]]) -> None:
    """Set such gradients again where their cells are active."""
    for one, indices, values in found:
        here = among(indices, active(one))
        write(one, indices[here], values[here])


def check_room(wanted: Iterable[tuple[Any, Any]], emptied: Collection[Node] = ()) -> None:
    """Raise OutOfMemory if a pool has too few cells to activate the elements with these indices, besides those that are
    active. `wanted`: fields, each with its indices. `emptied`: nodes all of whose cells will be deactivated before."""
    found: dict[Node, list[Any]] = {}
    homes: dict[Node, FieldTree] = {}
    for field, indices in wanted:
        tree = field.snode.tree
        for node in field.snode.node.path():
            known = tree.layout.nodes.get(node)
            if known is None or not node.has_pool or node.kind == "dynamic" or not len(indices):
                continue
            if known.capacity - 1 < prod(known.table.shape):  # otherwise there is a slot for each cell
                found.setdefault(node, []).append(_cells_of(field, node, indices))
                homes[node] = tree
    for node, groups in found.items():
        tree = homes[node]
        if tree.in_use and not any(above in emptied for above in node.path()):
            groups.append(active(SNode(node, tree)))
        count, known = len(np.unique(_keys(np.concatenate(groups)))), tree.layout.nodes[node]
        if count > known.capacity - 1:
            raise OutOfMemory(
                f"no memory for {count} cells of '{tree.names_of_nodes()[node]}': its pool has {known.capacity - 1} "
                f"cells of {known.cell_bytes} bytes"
            )


# ---- lists -----------------------------------------------------------------------------------------------------------


def _set_lists(tree: FieldTree, node: Node, field: Any, goal: Any, extra: Any, missing: Any) -> None:
    """Make lists as long as they were. A list can only become longer, or empty: if one is too long, all are emptied,
    and what they shall keep is written again."""
    if len(extra):
        kept = list[tuple[Any, Any, Any]]()
        for one in _fields_below(tree, node):
            indices = active(one)
            indices = indices[among(_cells_of(one, node, indices), goal)]
            kept.append((one, indices, read(one, indices)))
        deactivate_all(tree, [node])
        for one, indices, values in kept:
            write(one, indices, values)
    if len(missing):
        indices = np.zeros((len(missing), len(field.shape)), np.int64) + np.array(field.offset, np.int64)
        for (place, size), (start, number) in zip(_spans(field, node), zip(node.first(), missing.T), strict=True):
            indices[:, place] += (number - start) * size
        write(field, indices, np.zeros((len(indices), *field.element_shape), field.dtype.np))


def _fields_below(tree: FieldTree, node: Node) -> list[Any]:
    """The fields below a node, those of all components of a vector once."""
    found = dict[Any, Any]()
    for place in nodes_below(node):
        if place in tree.fields:
            one = with_siblings(tree.fields[place])
            found.setdefault(one._slots[0], one)
    return list(found.values())


# ---- sets of cells ---------------------------------------------------------------------------------------------------


def _found(tree: FieldTree, node: Node, field: Any) -> Any:
    """The indices of the active cells of a node, or of the elements of its lists: an array of shape (n, axes)."""
    if node.kind != "dynamic":
        return active(SNode(node, tree))
    elements = np.zeros((0, len(node.shape())), np.int64) if field is None else _cells_of(field, node, active(field))
    return np.unique(elements, axis=0)


def _cells_of(field: Any, node: Node, indices: Any) -> Any:
    """The indices of the cells, or of the elements of lists, in which these elements of a field are."""
    spans = zip(_spans(field, node), node.first(), strict=True)
    at = [(indices[:, place] - field.offset[place]) // size + start for (place, size), start in spans]
    return np.stack(at, axis=1)


def _spans(field: Any, node: Node) -> list[tuple[int, int]]:
    """For each axis of a node: the axis of a field below it, and how many elements a cell spans there."""
    own = sorted({axis for one in node.path() for axis in one.axes})
    axes = sorted({axis for one in field.snode.node.path() for axis in one.axes})
    return [
        (axes.index(axis), field.shape[axes.index(axis)] // extent)
        for axis, extent in zip(own, node.shape(), strict=True)
    ]


def _keys(indices: Any) -> Any:
    """One key for each row."""
    rows = np.ascontiguousarray(indices, np.int64)
    return rows.view([("", np.int64)] * rows.shape[1]).reshape(-1)


def among(indices: Any, others: Any) -> Any:
    """Return which of these indices are among others."""
    if not len(others) or not len(indices):
        return np.zeros(len(indices), bool)
    return np.isin(_keys(indices), _keys(others))


def _without(indices: Any, others: Any) -> Any:
    """The rows that are not among others."""
    return np.ascontiguousarray(indices[~among(indices, others)])
