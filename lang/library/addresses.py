"""Where an element of a field lies in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.ir.errors import CompilationError, TypeMismatch
from weft.ir.storage.dense import Dense
from weft.ir.types import u64
from weft.lang.data.field import Field
from weft.lang.data.snode_api import SNode
from weft.lang.data.sparse_access import SPARSE
from weft.lang.values.builtins import Builtin, cast, pyfunc, static

if TYPE_CHECKING:
    Template = Any  # to type checkers, a template argument is what it is bound to
else:
    from weft.lang.values.types import Template

__all__ = ["cell_slot", "get_addr"]

_ALIGNED = 64  # bytes

_Terms = tuple[tuple[int, int, int, int], ...]


def _on_cell(name: str, doc: str) -> Builtin:
    """An operation on cells, also in Python scope."""
    act: Callable[[Any, Any], Any] = lambda node, indices: SPARSE.on_cell(name, node, [int(i) for i in indices])  # noqa: E731
    return Builtin(name, act, doc)


cell_slot = _on_cell(
    "cell_slot", "Return the slot of a cell, or of the chunk with an element of a list. 0: there is none."
)
_is_active = _on_cell("is_active", "Return whether a cell of a node is active.")


@dataclass(frozen=True)
class _Cells:
    """The cells of a node above a field. `axes`: the axis of the field for each axis of the node, the index of its
    first element, how many elements a cell spans, and the index of the first cell."""

    node: SNode
    axes: tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True)
class _Layout:
    """Where the elements of a field lie. `start`: the first byte of those in the root, or in slot 0 of a pool. `terms`:
    (axis, divisor, modulus, stride) of each digit, in the cell of the pool if there is one. `first`: the index of the
    first element. `node`: the cells that may be inactive. `pool`: the cells that have slots, of so many `bytes`."""

    start: int
    terms: _Terms
    first: tuple[int, ...]
    node: _Cells | None
    pool: _Cells | None
    bytes: int


def _layout(f: Any) -> _Layout:
    """The layout of a field, or of a component at a place."""
    made = f if isinstance(f, Field) else f.tree.fields.get(f.node) if isinstance(f, SNode) else None
    if made is None:
        raise TypeMismatch(f"get_addr takes a field, or its node x.snode, not {f!r}")
    parts = made.describe()
    tree, own = parts.tree, f.node if isinstance(f, SNode) else made.snode.node
    path = tree.layout.places[own].path.collapsed()
    levels: Sequence[Any] = path.levels if parts.node is None else path.levels[1:]
    start, terms = path.cell.components[0], list[tuple[int, int, int, int]]()
    for level in levels:
        if not isinstance(level, Dense):
            raise CompilationError("get_addr takes a field all of whose elements have a place")
        start += level.offset
        terms += [(term.axis, term.divisor, term.modulus, term.stride) for term in level.terms]
    home, bytes = own.home(), 0
    if home is not None:  # as if the memories of the tree lay one after another, each aligned
        known = tree.layout.nodes[home]
        start += sum(-(-size // _ALIGNED) * _ALIGNED for size in tree.layout.memories[: known.pool])
        bytes = known.cell_bytes
    node = None if parts.node is None else _cells(made, SNode(parts.node, tree))
    return _Layout(
        start, tuple(terms), made.offset, node, None if home is None else _cells(made, SNode(home, tree)), bytes
    )


def _cells(x: Any, node: SNode) -> _Cells:
    """The cells of a node above x; of a list, its elements."""
    axes, extents = sorted({axis for one in x.snode.node.path() for axis in one.axes}), node.node.shape()
    rows = list[tuple[int, int, int, int]]()
    for axis, extent, first in zip(
        sorted({a for one in node.node.path() for a in one.axes}), extents, node.node.first()
    ):
        place = axes.index(axis)
        rows.append((place, x.offset[place], x.shape[place] // extent, first))
    return _Cells(node, tuple(rows))


@pyfunc
def get_addr(f: Template, indices: Any) -> Any:
    """Return the place in memory of an element of the field or component f (u64): the number of its first byte, from
    the beginning of the memory of its SNode tree. For two fields of a tree, differences are those of addresses. No
    kernel knows where the tree itself lies, so compiled kernels can be kept on disk and run again.

    Of a sparse field, it is 0 where the element is not active. Cells that a `pointer`, `hash` or `dynamic` node has
    made are counted behind the memory of the root. They may be elsewhere after they were deactivated. Differences of
    places in one cell are those of addresses.

    `indices`: one index for each axis, as a list or a vector. Raises TypeMismatch unless f is a field or its node
    `x.snode`."""
    layout = static(_layout(f))
    place = cast(static(layout.start), u64)
    for axis, divisor, modulus, stride in static(layout.terms):
        place += cast((indices[axis] - layout.first[axis]) // divisor % modulus, u64) * cast(stride, u64)
    if static(layout.pool is not None):
        slot = cell_slot(layout.pool.node, [(indices[a] - o) // n + c for a, o, n, c in static(layout.pool.axes)])
        place += cast(slot, u64) * cast(static(layout.bytes), u64)
        if slot == 0:
            place = cast(0, u64)
    if static(layout.node is not None):
        active = _is_active(layout.node.node, [(indices[a] - o) // n + c for a, o, n, c in static(layout.node.axes)])
        if active == 0:
            place = cast(0, u64)
    return place
