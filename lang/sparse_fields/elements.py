"""Kernels that read and write sparse fields for Python scope. They run on every arch, for every tree.

Values go through ndarrays with elements of the field's type."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from threading import RLock
from typing import Any

import numpy as np

from weft.ir.storage.snode import SNode as Node
from weft.lang.data.field_tree import FieldError, FieldTree, nodes_below
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.snode_api import SNode
from weft.lang.data.sparse_access import DORMANT
from weft.lang.functions.func import func
from weft.lang.kernels.own import compiled_kernel
from weft.lang.sparse_fields.on_cells import without_place
from weft.lang.values.builtins import any as any_of
from weft.lang.values.builtins import atomic_add, cast, deactivate, grouped, ndrange, no_activate, static
from weft.lang.values.kinds import Cells, Constant, FieldOf, Longs, LongTable, i64
from weft.lang.values.matrix import Vector
from weft.lang.values.types import MatrixType, VectorType
from weft.runtime.errors import KernelFault
from weft.runtime.forks import forkable
from weft.runtime.memory import readable_size

__all__ = [
    "active",
    "assign",
    "bounded",
    "copy",
    "count",
    "deactivate_all",
    "fill",
    "gather",
    "load",
    "put_active",
    "read",
    "scatter",
    "store",
    "write",
]


_turn = forkable(RLock())  # threads take turns with the arrays of single elements


# ---- one element -----------------------------------------------------------------------------------------------------


@func
def _index(x: FieldOf, at: Longs) -> Any:
    return Vector([at[axis] for axis in static(range(len(x.shape)))])


@compiled_kernel
def _load(x: FieldOf, at: Longs, out: Cells) -> None:
    out[0] = x[_index(x, at)]


@compiled_kernel
def _store(x: FieldOf, at: Longs, values: Cells) -> None:
    x[_index(x, at)] = values[0]


@compiled_kernel
def _store_active(x: FieldOf, at: Longs, values: Cells) -> None:
    no_activate(x)
    for _ in range(1):
        x[_index(x, at)] = values[0]


def _array(x: Any, shape: Any) -> Any:
    """An ndarray whose elements have the type of those of a field."""
    inner = x.element_shape
    if len(inner) == 2:
        made = ndarray(MatrixType(inner[0], inner[1], x.dtype), shape)
    else:
        made = ndarray(VectorType(inner[0], x.dtype) if inner else x.dtype, shape)
    made._mark()  # it is 0 from the start
    return made


def _cell(x: Any) -> Any:
    """The array through which single elements of a field go."""
    made = x.made.get("cell")
    if made is None:
        made = x.made["cell"] = _array(x, 1)
    return made


def load(x: Any, index: Sequence[int]) -> Any:
    """Return an element as a numpy array."""
    with x._held(), _turn:  # in this order: whoever has the turn does not wait for a change of the layout
        cell = _cell(x)
        _load(x, np.array(index, np.int64), cell)
        return cell.to_numpy()[0]


def _storing(x: Any) -> tuple[Any, Any, Any]:
    """A launch that sets one element, and the arrays of its arguments: the index, and the element. (Native code does
    not call kernels that activate, and a call through Python takes twice the time of a launch.)"""
    made: tuple[Any, Any, Any] | None = x.made.get("store")
    if made is None:
        at, cell = np.array(x.offset, np.int64), _cell(x)
        made = x.made["store"] = _store.bind((x, at, cell), {}), at, cell
    return made


def store(x: Any, index: Sequence[int], value: Any) -> None:
    """Set an element, which activates it, unless a kernel that runs as Python has said `no_activate`. Raises the fault
    of a compiled kernel, without its place."""
    dormant = DORMANT.get()
    with x._held(), _turn:
        launch, at, cell = _storing(x)
        at[:] = index
        cell.from_numpy(np.ascontiguousarray(value[None], x.dtype.np))
        if dormant and not dormant.isdisjoint(x.snode.node.path()):
            _store_active(x, at, cell)
            return
        try:
            launch()
        except KernelFault as fault:
            raise without_place(fault) from None


# ---- all elements ----------------------------------------------------------------------------------------------------


@func
def _first(x: FieldOf) -> Any:
    return Vector([x.offset[axis] for axis in static(range(len(x.shape)))])


@compiled_kernel
def _gather(x: FieldOf, out: Cells) -> None:
    for at in grouped(x):
        out[at - _first(x)] = x[at]


@compiled_kernel
def _scatter_active(x: FieldOf, values: Cells) -> None:
    for at in grouped(x):
        x[at] = values[at - _first(x)]


@compiled_kernel
def _scatter(x: FieldOf, values: Cells, inner: Constant) -> None:
    for at in grouped(ndrange(*x.shape)):
        value = values[at]
        if static(inner):
            if any_of(value != 0):
                x[at + _first(x)] = value
        elif value != 0:
            x[at + _first(x)] = value


@compiled_kernel
def _fill(x: FieldOf, values: Cells) -> None:
    for at in grouped(x):
        x[at] = values[0]


@compiled_kernel
def _copy_active(x: FieldOf, y: FieldOf) -> None:
    for at in grouped(x):
        x[at] = y[at - _first(x) + _first(y)]


@compiled_kernel
def _copy(x: FieldOf, y: FieldOf) -> None:
    for at in grouped(y):
        x[at - _first(y) + _first(x)] = y[at]


def _elements(x: Any) -> Any:
    return _array(x, x.shape)


def bounded(x: Any) -> None:
    """Raise FieldError for a field below a hash node."""
    if x.snode.node.is_unbounded:
        raise FieldError(
            f"{x._label()} lies below a hash node, so that there is no array of all its elements: x.active() gives the "
            "indices and values of those that are active, and x.from_active(indices, values) sets some"
        )


def gather(x: Any) -> Any:
    """Return all elements as a numpy array; 0 where nothing is active. Raises FieldError below a hash node."""
    bounded(x)
    out = _elements(x)
    _gather(x, out)
    return out.to_numpy().reshape(*x.shape, *x.element_shape)


def scatter(x: Any, values: Any) -> None:
    """Set all elements. Those that are not 0 become active. Raises FieldError below a hash node."""
    bounded(x)
    given = _given(x, values)
    _scatter_active(x, given)
    _scatter(x, given, bool(x.element_shape))


def put_active(x: Any, values: Any) -> None:
    """Set the active elements to those of an array of all elements."""
    _scatter_active(x, _given(x, values))


def _given(x: Any, values: Any) -> Any:
    given = _elements(x)
    given.from_numpy(np.ascontiguousarray(values, x.dtype.np))
    return given


def fill(x: Any, value: Any) -> None:
    """Set the active elements."""
    with x._held(), _turn:
        cell = _cell(x)
        cell.from_numpy(np.ascontiguousarray(value[None], x.dtype.np))
        _fill(x, cell)


def copy(x: Any, y: Any) -> None:
    """Set x to the elements of the sparse field y. What is active in y becomes active in x."""
    _copy_active(x, y)
    _copy(x, y)


# ---- what is active --------------------------------------------------------------------------------------------------


@compiled_kernel
def _count(x: FieldOf) -> i64:
    number: i64 = cast(0, i64)
    for _ in grouped(x):
        number += 1
    return number


@compiled_kernel
def _list(x: FieldOf, indices: LongTable, counter: Longs) -> None:
    for at in grouped(x):
        place = atomic_add(counter[0], 1)
        if place < indices.shape[0]:  # another thread may have activated more since these were counted
            for axis in static(range(len(x.shape))):
                indices[place, axis] = at[axis]


@func
def _row(x: FieldOf, indices: LongTable, place: i64) -> Any:
    return Vector([indices[place, axis] for axis in static(range(len(x.shape)))])


@compiled_kernel
def _read(x: FieldOf, indices: LongTable, values: Cells) -> None:
    for place in range(values.shape[0]):
        values[place] = x[_row(x, indices, place)]


@compiled_kernel
def _write(x: FieldOf, indices: LongTable, values: Cells) -> None:
    for place in range(values.shape[0]):
        x[_row(x, indices, place)] = values[place]


@compiled_kernel
def _deactivate(node: Constant) -> None:
    for at in grouped(node):
        deactivate(node, at)


@compiled_kernel
def _deactivate_lists(x: FieldOf, node: Constant, first: Constant, others: Constant) -> None:
    for at in grouped(x):
        if at[first[0]] < first[1] + first[2]:
            deactivate(node, [(at[k[0]] - k[1]) // k[2] + k[3] for k in static(others)])


def active(x: Any) -> Any:
    """Return the indices (n, axes) of the active elements, in order."""
    found = int(_count(x))
    indices = np.zeros((0, len(x.shape)), np.int64)
    while found > len(indices):
        indices, counter = np.zeros((found, len(x.shape)), np.int64), np.zeros(1, np.int64)
        _list(x, indices, counter)
        found = int(counter[0])
    indices = indices[:found]
    return indices[np.lexsort(indices.T[::-1])]


def read(x: Any, indices: Any) -> Any:
    """Return the elements with these indices."""
    if not len(indices):
        return np.zeros((0, *x.element_shape), x.dtype.np)
    values = _array(x, len(indices))
    _read(x, np.ascontiguousarray(indices, np.int64), values)
    return values.to_numpy()


def write(x: Any, indices: Any, values: Any) -> None:
    """Set the elements with these indices."""
    if len(indices):
        given = _array(x, len(indices))
        given.from_numpy(np.ascontiguousarray(values, x.dtype.np))
        _write(x, np.ascontiguousarray(indices, np.int64), given)


def assign(x: Any, indices: Any, values: Any) -> None:
    """As `write`, with copies of what it is given: a block of `ti.ad` may need them later."""
    write(x, np.array(indices, np.int64), np.array(values))


def deactivate_all(tree: FieldTree, nodes: Sequence[Node]) -> None:
    """Deactivate all cells of these nodes. Those below another one of them are deactivated with its cells."""
    for node in nodes:
        if not any(above in nodes for above in node.path()[:-1]):
            made = SNode(node, tree)
            if node.kind == "dynamic":
                x = _field_below(tree, node)
                if x is not None:
                    _deactivate_lists(x, made, *_list_axes(x, node))
            else:
                _deactivate(made)


def _field_below(tree: FieldTree, node: Node) -> Any:
    """A field in the cells of a node. None if there is none any more."""
    return next((tree.fields[place] for place in nodes_below(node) if place in tree.fields), None)


def _list_axes(x: Any, node: Node) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """For the axis of a list and for each other axis of its node: the axis of the field x below it, the first index
    there, how many elements a cell spans, and the index of the first cell."""
    shape, found = _shape(node), dict[int, tuple[int, ...]]()
    first = dict(zip(shape, node.first(), strict=True))
    for place, (axis, extent) in enumerate(_shape(x.snode.node).items()):
        if axis in shape:
            found[axis] = place, x.offset[place], extent // shape[axis], first[axis]
    return found.pop(node.axes[0]), tuple(found.values())


def _shape(node: Node) -> dict[int, int]:
    """The extents of a node or a field, by axis, in order."""
    axes = sorted({axis for one in node.path() for axis in one.axes})
    return dict(zip(axes, node.shape(), strict=True))


def count(tree: FieldTree, node: Node) -> int:
    """Return the number of active cells of a node; of a dynamic node, that of the elements of its lists."""
    if node.kind != "dynamic":
        return int(_count(SNode(node, tree)))
    x = _field_below(tree, node)
    return 0 if x is None else int(_count(x)) * prod(_shape(node).values()) // prod(x.shape)


def describe(tree: FieldTree) -> str:
    """Return the nodes of a tree as text: how many cells are active, and how many bytes they take."""
    layout, lines = tree.layout, [f"an SNode tree with {readable_size(tree.layout.size)} that are always in memory"]

    def told(node: Node) -> str:
        if node.kind == "place":
            return f"{node.name or 'a field'}: {node.dtype}"
        text = f"{node.title} {'without bounds' if node.kind == 'hash' else list(node.extents)}"
        if not node.is_sparse:
            return text
        known = layout.nodes[node]
        if node.kind == "dynamic":
            return f"{text}, {count(tree, node) if tree.in_use else 0} elements"
        number = count(tree, node) if tree.in_use else 0
        all_of_them = known.capacity - 1 if node.is_unbounded and node.has_pool else prod(known.table.shape)
        bytes = f", {readable_size(number * known.cell_bytes)}" if node.has_pool else ""
        return f"{text}, {number} of {all_of_them} cells are active{bytes}"

    def show(node: Node, depth: int) -> None:
        for child in node.children:
            lines.append("  " * depth + told(child))
            show(child, depth + 1)

    show(tree.node, 1)
    return "\n".join(lines)
