"""Sparse nodes in kernels that run as Python: `ti.activate` and the like, lists, and what loops visit.

The memory is that of compiled kernels, and compiled functions change it (`SPARSE`): gradients of kernels, which are
compiled on every arch, see the same cells. The translator has checked the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from weft.lang.data.derived import is_derived
from weft.lang.data.field import Field
from weft.lang.data.lists import LIST_METHODS, is_list_method, list_node
from weft.lang.data.snode_api import SNode
from weft.lang.data.sparse_access import DORMANT, SPARSE
from weft.lang.data.struct_field import StructElement, StructField
from weft.lang.interpret.places import flat_index
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct
from weft.runtime.errors import CapacityFault

__all__ = ["ON_CELLS", "ListOf", "dormant", "list_at", "list_method", "wake"]


# ---- cells -----------------------------------------------------------------------------------------------------------


def _on_cell(operation: str) -> Callable[..., Any]:
    def run(node: SNode, indices: Any = None) -> Any:
        if node.node.kind == "dense":  # its cells are active always
            return None
        return SPARSE.on_cell(operation, node, flat_index(indices))

    return run


def _append(node: SNode, indices: Any, val: Any) -> Any:
    """Make a list longer by one element with that value, and return the index of the element. Raises CapacityFault if
    the list is full."""
    at = flat_index(indices)
    length, most = SPARSE.on_cell("length", node, at), node.tree.layout.nodes[node.node].limit
    inner = [index - first for index, first in zip(at, _outer(node, node.node.first()), strict=True)]
    if length >= most:
        shown, name = ", ".join(map(str, inner)), node.tree.names_of_nodes()[node.node]
        raise CapacityFault(f"list [{shown}] of '{name}' is full: it has {most} elements")
    fields, axis = _fields(node), _axis(node)
    before = DORMANT.set(frozenset())  # an append makes its list longer also behind `no_activate`
    try:
        for field, part in zip(fields, _parts(val, len(fields)), strict=True):
            element = [*inner[:axis], int(length), *inner[axis:]]
            field[tuple(index + first for index, first in zip(element, field.offset, strict=True))] = part
    finally:
        DORMANT.reset(before)
    return length


def _fields(node: SNode) -> list[Any]:
    """The fields in the cell of a node, without gradients and the like, in the order of their places."""
    found: list[Any] = []
    for child in node.node.children:
        field = node.tree.fields[child]
        if not is_derived(field) and all(field is not one for one in found):
            found.append(field)
    return found


def _parts(value: Any, count: int) -> list[Any]:
    """The value for each of so many fields: the members of a struct, nested ones too, or all scalars."""
    parts = list(_members(value))
    if len(parts) == count:
        return parts
    return [scalar for one in parts for scalar in (one.values.ravel() if isinstance(one, Matrix) else [one])]


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, StructElement):
        value = value.as_constant()
    if not isinstance(value, Struct):
        yield value
        return
    for name in value.keys:
        yield from _members(value.typed(name))


def _axis(node: SNode) -> int:
    """The position of the axis of a list among those of its elements."""
    return sorted({axis for one in node.node.path() for axis in one.axes}).index(node.node.axes[0])


def _outer(node: SNode, index: Iterable[int]) -> tuple[int, ...]:
    """The index of a list, of that of one of its elements."""
    items, axis = tuple(index), _axis(node)
    return (*items[:axis], *items[axis + 1 :])


# ---- lists -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ListOf:
    """A list of the field `over`: `x[i]`, if the last axis of x is that of a dynamic node. Its indices are those of the
    field. `method`: a method of it, which can be called."""

    over: Any
    indices: tuple[int, ...]
    method: str = ""

    def __getattr__(self, name: str) -> Any:
        if name not in LIST_METHODS:
            raise AttributeError(f"a list has no attribute '{name}'")
        return ListOf(self.over, self.indices, name)

    def __call__(self, *args: Any) -> Any:
        node = list_node(self.over)
        assert node is not None
        starts = zip(self.indices, _outer(node, self.over.offset), _outer(node, node.node.first()), strict=True)
        return ON_CELLS[self.method](node, [index - own + first for index, own, first in starts], *args)


def list_at(over: Any, index: Any) -> ListOf | None:
    """The meaning of `x[i]` with one index less than x has axes. None if it is no list."""
    if not isinstance(over, Field | StructField) or list_node(over) is None:
        return None
    at = flat_index(index)
    return ListOf(over, at) if len(at) + 1 == len(over.shape) else None


def list_method(over: Any, name: str) -> ListOf | None:
    """The meaning of `x.append` and the like, where x is a field that is a list."""
    if not isinstance(over, Field | StructField) or not is_list_method(over, name):
        return None
    return ListOf(over, (), name)


# ---- loops -----------------------------------------------------------------------------------------------------------


_NEXT: ContextVar[frozenset[Any]] = ContextVar("next", default=frozenset())  # the nodes of the next loop


def wake() -> None:
    """Begin a kernel: its writes activate."""
    DORMANT.set(frozenset())
    _NEXT.set(frozenset())


def _no_activate(*over: Any) -> None:
    """Remember the nodes for the next loop."""
    _NEXT.set(_NEXT.get() | {(one if isinstance(one, SNode) else one.snode).node for one in _flat(over)})


def _flat(over: Iterable[Any]) -> Iterator[Any]:
    """Nodes and fields, with the fields of the members of fields of structs."""
    for one in over:
        yield one
        if isinstance(one, StructField):
            yield from _flat(one.members.values())


def dormant(points: Any) -> Any:
    """Go over the points of a loop. If `no_activate` stands before it, writes in it change only what is active."""
    return _dormant(points) if _NEXT.get() else points


def _dormant(points: Any) -> Iterator[Any]:
    before = DORMANT.get()
    DORMANT.set(before | _NEXT.get())
    _NEXT.set(frozenset())
    try:
        yield from points
    finally:
        DORMANT.set(before)


ON_CELLS: dict[str, Callable[..., Any]] = {
    **{name: _on_cell(name) for name in ("activate", "deactivate", "is_active", "length")},
    "append": _append,
    "no_activate": _no_activate,
}
