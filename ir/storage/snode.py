"""SNode trees: the memory layout of the elements of fields. This module declares them, and `layout.py` computes the
layout.

A tree grows from a root. Each dense SNode repeats its cell over a small box. A place is a leaf with one scalar
component of a field. `root.dense(ij, (4, 4)).dense(ij, (8, 8)).place(x)` is a 32 x 32 field in 8 x 8 blocks. The cells
of a sparse node (SPARSE) exist only where they are active.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from weft.ir.types import Prim

__all__ = ["MAX_AXES", "SPARSE", "SNode"]

MAX_AXES = 8

# The kinds of nodes whose cells may be inactive, and what makes them active.
SPARSE: dict[str, str] = {
    "pointer": "a table of slots; the cells lie in a pool",
    "bitmasked": "an array of cells, all of which have memory, and a mark for each",
    "dynamic": "a list: a length, and a table of the slots of its chunks, which lie in a pool",
    "hash": "a hash table of slots, in the book; the cells lie in a pool, and their indices have no bounds",
}

_REACH = 30  # bits: the indices of the elements below a hash node, along each of its axes


@dataclass(eq=False)
class SNode:
    """A node of a layout tree.

    `kind` is "root", "dense", "place" or a row of SPARSE. A node with cells has `axes` (numbers 0..7, slowest first)
    and an extent for each. A dynamic node has one axis, whose extent is the longest length of its lists, and a `chunk`:
    how many elements each allocation holds. `ordered`: the order of its lists does not depend on threads. A hash node
    is declared with the extents of a `box` that has as many cells as can be active at once (`room`). Its `extents` are
    as many cells as indices of 30 bits allow, and become fewer as nodes are added below it: cell number extents / 2 is
    the one at index 0. Where nodes above have all of its axes, a cell of theirs bounds it: its extents are then the
    box, and it is a pointer node. (A table of the box takes fewer bytes than a hash table for as many cells.) A place
    has a `dtype`, a name and the field that it is a component of. Children are consecutive in the parent's cell, each
    aligned to its scalar size. `root.dense(i, n).place(x, y)` is therefore an array of structures."""

    kind: str
    axes: tuple[int, ...] = ()
    extents: tuple[int, ...] = ()
    parent: SNode | None = None
    dtype: Prim | None = None
    name: str = ""
    whole: object = None  # the same for all components of a field
    chunk: int = 0
    ordered: bool = False
    children: list[SNode] = field(default_factory=list["SNode"])
    room: int = 0
    box: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.kind == "hash":
            self.room, self.box = prod(self.extents), self.extents
            self.extents = (1 << _REACH,) * len(self.axes)

    def add(self, child: SNode) -> SNode:
        """Append `child` to this node's cell."""
        child.parent = self
        self.children.append(child)
        if child.kind == "hash" and {axis for above in self.path() for axis in above.axes}.issuperset(child.axes):
            child.kind, child.extents, child.room = "pointer", child.box, 0
        for above in self.path():
            if above.kind == "hash":
                bits = [_REACH - (above.span(axis) - 1).bit_length() for axis in above.axes]
                above.extents = tuple(1 << max(bit, 1) for bit in bits)
        return child

    def span(self, axis: int) -> int:
        """How many elements one of its cells has along an axis."""
        along = [dict(zip(child.axes, child.extents, strict=True)).get(axis, 1) for child in self.children]
        return max((extent * child.span(axis) for extent, child in zip(along, self.children, strict=True)), default=1)

    @property
    def title(self) -> str:
        """The kind that the program declared."""
        return "hash" if self.box else self.kind

    def first(self) -> tuple[int, ...]:
        """The index of its first cell along each axis, which is negative below a hash node."""
        found: dict[int, int] = {}
        for node in self.path():
            for axis, extent in zip(node.axes, node.counts, strict=True):
                found[axis] = found.get(axis, 0) * extent - (extent // 2 if node.kind == "hash" else 0)
        return tuple(found[axis] for axis in sorted(found))

    @property
    def is_unbounded(self) -> bool:
        """Whether it is a hash node, or lies below one."""
        return any(node.kind == "hash" for node in self.path())

    @property
    def is_sparse(self) -> bool:
        """Whether its cells may be inactive."""
        return self.kind in SPARSE

    @property
    def has_pool(self) -> bool:
        """Whether its cells lie in a pool, by slots."""
        return self.kind in ("pointer", "dynamic", "hash")

    @property
    def counts(self) -> tuple[int, ...]:
        """How many cells its table has along each of its axes."""
        return (-(-self.extents[0] // self.chunk),) if self.kind == "dynamic" else self.extents

    def above(self) -> SNode | None:
        """The nearest sparse node above it."""
        return next((node for node in reversed(self.path()[:-1]) if node.is_sparse), None)

    def home(self) -> SNode | None:
        """The nearest node above it in whose pool it lies; None: it lies in the root's memory."""
        return next((node for node in reversed(self.path()[:-1]) if node.has_pool), None)

    def path(self) -> list[SNode]:
        """The nodes from the root to this one."""
        nodes: list[SNode] = []
        node: SNode | None = self
        while node is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    def step(self) -> int:
        """The number of its cells between two consecutive indices along its slowest axis."""
        return prod(self.extents[1:])

    def fields(self) -> set[object]:
        """What the places under it are components of."""
        if self.kind == "place":
            return {self if self.whole is None else self.whole}
        return set[object]().union(*(child.fields() for child in self.children))

    def shape(self) -> tuple[int, ...]:
        """The extents of a field placed here, by axis number: the product over all dense nodes on the path."""
        extents: dict[int, int] = {}
        for node in self.path():
            for axis, extent in zip(node.axes, node.extents, strict=True):
                extents[axis] = extents.get(axis, 1) * extent
        return tuple(extents[axis] for axis in sorted(extents))
