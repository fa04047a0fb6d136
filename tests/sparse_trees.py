"""Sparse trees for tests: the declarations of a program, and what a kernel is given of them."""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.nodes import declare_nodes
from weft.ir.ops import Kernel
from weft.ir.storage.layout import TreeLayout, layout_tree
from weft.ir.storage.snode import SNode
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.text import print_ir
from weft.ir.types import Prim, f32

__all__ = ["Declared", "branch", "declare", "place"]

I, J, K = range(3)


def branch(parent: SNode, kind: str, *axes: tuple[int, int], chunk: int = 0) -> SNode:
    """A node of (axis, extent) pairs."""
    return parent.add(SNode(kind, tuple(a for a, _ in axes), tuple(n for _, n in axes), chunk=chunk))


def place(parent: SNode, name: str, dtype: Prim = f32) -> SNode:
    """A place of one scalar."""
    return parent.add(SNode("place", dtype=dtype, name=name))


@dataclass(frozen=True)
class Declared:
    """A tree as a kernel sees it."""

    layout: TreeLayout
    nodes: tuple[NodeSymbol, ...]
    fields: tuple[FieldSymbol, ...]

    @property
    def text(self) -> str:
        """The declarations, as a kernel's text begins with them."""
        return "\n".join(print_ir(Kernel("k", fields=self.fields, nodes=self.nodes)).splitlines()[1:-1])


def declare(root: SNode, offsets: dict[str, tuple[int, ...]] | None = None) -> Declared:
    """Lay the tree out, and name its sparse nodes P0, B1 ... by their kind and number."""
    layout = layout_tree(root)
    names = {node: f"{node.kind[0].upper()}{number}" for number, node in enumerate(layout.nodes)}
    nodes = declare_nodes(layout, lambda memory: memory, names)
    fields = tuple(
        FieldSymbol(
            node.name,
            found.shape,
            found.memory,
            found.path.collapsed(),
            (offsets or {}).get(node.name, ()),
            found.order,
            node=nodes[found.node] if found.node is not None else None,
        )
        for node, found in layout.places.items()
    )
    return Declared(layout, tuple(nodes.values()), fields)
