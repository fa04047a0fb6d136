"""Declares the sparse nodes of a tree in a kernel (`NodeSymbol` in `symbols.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weft.ir.storage.layout import NodeLayout, PlaceLayout, TreeLayout
from weft.ir.storage.snode import SNode
from weft.ir.symbols import FieldSymbol, NodeSymbol

__all__ = ["declare_nodes", "lies_below", "tree_count"]


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
        numbers = found.capacity, found.pieces, found.limit, found.axis, found.chunk, found.unbounded
        parts = part(node, "length", found.length), part(node, "seen", found.seen), part(node, "body", found.body)
        made[node] = NodeSymbol(
            names[node], node.kind, table, found.cell_bytes, *parts, pool, book, *numbers, found.ordered
        )

    for node, found in layout.nodes.items():
        declare(node, found)
    return made


def lies_below(symbol: FieldSymbol, node: NodeSymbol) -> bool:
    """Whether a field lies in cells of a sparse node, or below them."""
    above = symbol.node
    while above is not None and above is not node:
        above = above.parent
    return above is node


def tree_count(fields: Sequence[FieldSymbol], nodes: Sequence[NodeSymbol]) -> int:
    """How many trees a launch of a kernel passes: those of its fields, and the memories of its sparse nodes."""
    numbers = [symbol.tree for symbol in fields]
    numbers += [number for node in nodes for number in (node.table.tree, node.pool, node.book)]
    return 1 + max(numbers, default=-1)
