"""Declares where fields lie in memory: `ti.root.dense(ti.ij, (n, m)).place(x)`, and `FieldsBuilder`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.ir.errors import CompilationError, TypeMismatch
from weft.ir.storage.snode import MAX_AXES
from weft.ir.storage.snode import SNode as Node
from weft.ir.types import Prim
from weft.lang.data.axes import offset_tuple, order_axes
from weft.lang.data.field_tree import FieldTree
from weft.lang.program.init import program
from weft.lang.values.types import shape_tuple

__all__ = ["FieldsBuilder", "Root", "SNode", "root", "shaped_node"]


class SNode:
    """A node of the layout. Its cells repeat over `extents`. Fields and further nodes are placed into its cell.

    In a kernel, a loop over a node visits the indices of its cells. A loop over the place of a field visits the indices
    of the field. The names that begin with an underscore are Taichi's, for programs that inspect layouts."""

    def __init__(self, node: Node, tree: FieldTree, offset: tuple[int, ...] = ()) -> None:
        self.node, self.tree, self._first = node, tree, offset

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of a field that is placed here."""
        return self.node.shape()

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """(begin, end) of a loop over the cells, for each axis."""
        first = self._first or (0,) * len(self.shape)
        return [(begin, begin + extent) for begin, extent in zip(first, self.shape, strict=True)]

    def parent(self, levels: Any = 1) -> SNode | None:
        """The node `levels` above, or the node itself for 0. None above the root. Raises TypeMismatch if levels is
        negative."""
        if not isinstance(levels, int | np.integer) or levels < 0:
            raise TypeMismatch(f"parent takes a number of levels, 0 or more, not {levels!r}")
        path = self.node.path()
        return SNode(path[-1 - levels], self.tree) if levels < len(path) else None

    @property
    def _name(self) -> str:
        return self.node.name

    @property
    def _dtype(self) -> Prim | None:
        return self.node.dtype

    @property
    def _cell_size_bytes(self) -> int:
        """The number of bytes of one cell. This finalizes the tree."""
        return self.tree.layout.cells[self.node][0]

    @property
    def _offset_bytes_in_parent_cell(self) -> int:
        """The offset in bytes of this node in the cell of its parent. This finalizes the tree."""
        return self.tree.layout.cells[self.node][1]

    @property
    def _num_dynamically_allocated(self) -> int:
        """The number of cells that were created since the tree was allocated. Dense nodes have their cells from the
        start."""
        return 0

    def _path_from_root(self) -> list[SNode]:
        return [SNode(node, self.tree) for node in self.node.path()]

    def _get_children(self) -> list[SNode]:
        return [SNode(node, self.tree) for node in self.node.children]

    def _physical_index_position(self) -> dict[int, int]:
        """For each axis, the position of its index among the indices of a field placed here: {axis number:
        position}."""
        axes = {axis for node in self.node.path() for axis in node.axes}
        return {axis: position for position, axis in enumerate(sorted(axes))}

    def _loop_range(self) -> SNode:
        """What a loop over this node visits."""
        return self

    def __eq__(self, other: object) -> bool:
        same_root = isinstance(other, Root) and self.node.parent is None
        return same_root or (isinstance(other, SNode) and other.node is self.node)

    def __hash__(self) -> int:
        return hash(Root) if self.node.parent is None else id(self.node)

    def dense(self, axes: Any, dimensions: int | Iterable[int]) -> SNode:
        """Add a dense node to the cell of this one. `dimensions` is one number for all axes, or one for each of `axes`.
        The first axis varies slowest. Raises CompilationError if their numbers differ or an extent is not positive."""
        self.tree.check_open()
        numbers: tuple[Any, ...] = tuple(axes) if isinstance(axes, Iterable) else (axes,)
        if not isinstance(axes, Iterable) or not all(isinstance(number, int | np.integer) for number in numbers):
            raise CompilationError(f"axes must be ti.i, ti.ij or ti.axes(...), not {numbers}")
        if not set(numbers) <= set(range(MAX_AXES)):
            raise CompilationError(f"a field can have at most {MAX_AXES} axes, from 0 to {MAX_AXES - 1}, not {numbers}")
        extents = shape_tuple(dimensions)
        if not isinstance(dimensions, Iterable):
            extents = extents * len(numbers)
        if len(extents) != len(numbers):
            raise CompilationError(
                f"dense takes one extent for each axis, but there are {len(numbers)} axes and {len(extents)} extents"
            )
        return SNode(self.node.add(Node("dense", numbers, extents)), self.tree)

    def place(self, *fields: Any, offset: int | Iterable[int] | None = None) -> SNode:
        """Put fields, or tuples of fields, into the cell of this node, one after another. `offset` is the index of the
        first element on each axis. Returns this node. Raises FieldError for a field that was placed before."""
        self.tree.check_open()
        start = None if offset is None else offset_tuple(offset, len(self.shape))
        for field in fields:
            if isinstance(field, tuple | list):
                self.place(*field, offset=start)
            elif hasattr(field, "attach"):
                field.attach(self.node, self.tree, start)
            else:
                hint = ": a field has `x.grad` if it was made with needs_grad=True" if field is None else ""
                raise CompilationError(f"place takes fields, not {type(field).__name__}{hint}")
        return self

    def pointer(self, *_: Any, **__: Any) -> SNode:
        """A sparse node. Not implemented yet: raises CompilationError."""
        raise _not_yet("pointer", "sparse SNodes")

    def bitmasked(self, *_: Any, **__: Any) -> SNode:
        """A node with an activity mask. Not implemented yet: raises CompilationError."""
        raise _not_yet("bitmasked", "sparse SNodes")

    def dynamic(self, *_: Any, **__: Any) -> SNode:
        """A list of variable length. Not implemented yet: raises CompilationError."""
        raise _not_yet("dynamic", "sparse SNodes")

    def quant_array(self, *_: Any, **__: Any) -> SNode:
        """A node whose cells share words of memory. Not implemented yet: raises CompilationError."""
        raise _not_yet("quant_array", "quantized types")

    def deactivate_all(self) -> None:
        """Zero the memory of a sparse tree. Dense nodes are always active, so this does nothing."""

    def lazy_grad(self) -> None:
        """Place the gradients of all fields of floats below this node that have no place yet. Fields that were made
        without `needs_grad` get one too. Otherwise gradients are placed when the tree is first used. Each lies in a
        dense node beside the node of its field."""
        self._place_companions("grad")

    def lazy_dual(self) -> None:
        """Place the duals of the fields below this node, as `lazy_grad` places gradients."""
        self._place_companions("dual")

    def _place_companions(self, kind: str) -> None:
        self.tree.check_open()
        self.tree.companions.place(self.tree, (kind,), self.node, offered=True)

    def __str__(self) -> str:
        return " => ".join(
            f"{node.kind} {list(node.shape())}" if node.parent else "ti.root" for node in self.node.path()
        )

    def __repr__(self) -> str:
        return f"<SNode {self}>"


def _not_yet(kind: str, what: str) -> CompilationError:
    return CompilationError(f"'{kind}' is not implemented yet, like all {what}: use dense nodes")


class FieldsBuilder:
    """Builds one SNode tree: place fields, call `finalize()`, use the fields, and call `destroy()` on the tree it
    returned."""

    def __init__(self) -> None:
        self.tree = FieldTree()

    @property
    def finalized(self) -> bool:
        """Whether the tree was closed, by `finalize` or by the use of a field."""
        return self.tree.finalized

    @property
    def empty(self) -> bool:
        """Whether the tree contains nothing yet."""
        return not self.tree.node.children

    @property
    def node(self) -> SNode:
        """The root of the tree."""
        return SNode(self.tree.node, self.tree)

    root = node

    def dense(self, axes: Iterable[int], dimensions: int | Iterable[int]) -> SNode:
        """Add a dense node at the root, as `SNode.dense` does."""
        return self.node.dense(axes, dimensions)

    def place(self, *fields: Any, offset: int | Iterable[int] | None = None) -> SNode:
        """Place 0-D fields at the root."""
        return self.node.place(*fields, offset=offset)

    def pointer(self, *args: Any, **keywords: Any) -> SNode:
        """As `SNode.pointer`."""
        return self.node.pointer(*args, **keywords)

    def bitmasked(self, *args: Any, **keywords: Any) -> SNode:
        """As `SNode.bitmasked`."""
        return self.node.bitmasked(*args, **keywords)

    def dynamic(self, *args: Any, **keywords: Any) -> SNode:
        """As `SNode.dynamic`."""
        return self.node.dynamic(*args, **keywords)

    def quant_array(self, *args: Any, **keywords: Any) -> SNode:
        """As `SNode.quant_array`."""
        return self.node.quant_array(*args, **keywords)

    def lazy_grad(self) -> None:
        """As `SNode.lazy_grad`."""
        self.node.lazy_grad()

    def lazy_dual(self) -> None:
        """As `SNode.lazy_dual`."""
        self.node.lazy_dual()

    def finalize(self, raise_warning: bool = True) -> FieldTree:
        """Close the tree and return it. Raises FieldError if it was closed before."""
        del raise_warning
        self.tree.check_open()
        self.tree.layout  # noqa: B018 - computes the layout, which closes the tree
        return self.tree


class Root:
    """`ti.root`: the tree that is being built. Its first use closes it, and `root` becomes a new one. `ti.root`
    compares equal to the root of every tree, because `parent` returns such a root at the top."""

    finalized = False

    def _open(self) -> FieldsBuilder:
        current = program()
        if current.builder is None or current.builder.finalized:
            current.builder = FieldsBuilder()
        builder: FieldsBuilder = current.builder
        return builder

    @property
    def shape(self) -> tuple[int, ...]:
        """()."""
        return ()

    def parent(self, levels: int = 1) -> None:
        """None: the root has no parent."""
        del levels

    @property
    def empty(self) -> bool:
        """Whether nothing was placed under it since its last use."""
        return self._open().empty

    def deactivate_all(self) -> None:
        """As `SNode.deactivate_all`."""

    def _get_children(self) -> list[SNode]:
        return self._open().node._get_children()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Root) or (isinstance(other, SNode) and other == self)

    def __hash__(self) -> int:
        return hash(Root)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._open().node, name)

    def __repr__(self) -> str:
        return "ti.root"


root = Root()


def shaped_node(tree: FieldTree, shape: tuple[int, ...], order: str | None) -> SNode:
    """A node with the extents `shape` in this memory order, at the root of `tree`. For shape (), the root itself."""
    numbers = order_axes(order, len(shape))
    top = SNode(tree.node, tree)
    return top.dense(numbers, [shape[number] for number in numbers]) if shape else top
