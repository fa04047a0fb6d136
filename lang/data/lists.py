"""What the cells of a node are to kernels: lists, which are cells of dynamic nodes, and what loops over nodes visit."""

from __future__ import annotations

from typing import Any

from weft.ir.errors import CompilationError
from weft.lang.data.snode_api import SNode
from weft.lang.data.struct_field import StructField

__all__ = ["CELLS", "LIST_METHODS", "is_list_method", "list_node", "visited_by"]

CELLS = ("pointer", "bitmasked", "hash")  # the kinds of nodes whose cells are active or not, each by itself
LIST_METHODS = ("append", "length", "deactivate")


def list_node(over: Any) -> SNode | None:
    """The dynamic node in whose cell a field lies. None if there is none."""
    while isinstance(over, StructField):
        over = next(iter(over.members.values()))
    above = over.snode.parent() if over.placed else None
    return above if above is not None and above.node.kind == "dynamic" else None


def is_list_method(over: Any, name: str) -> bool:
    """Whether `x.append` and the like is a method of a list that a field of one axis is."""
    is_member = isinstance(over, StructField) and name in over.members
    if name not in LIST_METHODS or is_member:
        return False
    return list_node(over) is not None and len(over.shape) == 1


def visited_by(node: SNode) -> Any:
    """What a loop over the cells of a node visits: the node, or the field whose active elements are its active cells.
    None if all cells are active. Raises CompilationError if there is no such field."""
    own = node.node
    if own.kind in CELLS:
        return node
    if not any(one.is_sparse for one in own.path()):
        return None
    for child in own.children if own.kind != "place" else [own]:
        made = node.tree.fields.get(child)
        if made is not None and (own.kind == "place" or made.offset == own.first()):
            return made
    raise CompilationError(f"this {own.title} node holds no field without offset: loop over a field below it")
