"""Declares where fields lie in memory: `ti.root.dense(ti.ij, (n, m)).place(x)`, and `FieldsBuilder`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from weft.ir.errors import CompilationError, TypeMismatch
from weft.ir.storage.snode import MAX_AXES
from weft.ir.storage.snode import SPARSE as KINDS
from weft.ir.storage.snode import SNode as Node
from weft.ir.types import Prim
from weft.lang.data.axes import offset_tuple, order_axes
from weft.lang.data.field_tree import FieldTree, nodes_below
from weft.lang.data.sparse_access import SPARSE
from weft.lang.program.init import program
from weft.lang.values.types import shape_tuple

__all__ = ["FieldsBuilder", "Root", "SNode", "deactivate_all_snodes", "root", "shaped_node"]

_CHUNK = 1024  # the most cells of a chunk of a list, if the program does not say how many


class SNode:
    """A node of the layout of fields. Its cells repeat over `extents`. Fields and further nodes are placed into its
    cell. `ti.root` is the root of all trees.

    In a kernel, a loop over a node visits the indices of its cells. A loop over the place of a field visits the indices
    of the field. The names that begin with an underscore are Taichi's, for programs that inspect layouts.

    Example:
        x, y = ti.field(ti.f32), ti.field(ti.i32)
        block = ti.root.dense(ti.ij, (4, 2))
        block.dense(ti.ij, 8).place(x, y)
        x.shape, x.parent().shape, block.bounds  # ((32, 16), (32, 16), [(0, 4), (0, 2)])
    """

    def __init__(self, node: Node, tree: FieldTree, offset: tuple[int, ...] = ()) -> None:
        self.node, self.tree, self._first = node, tree, offset

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of a field that is placed here."""
        return self.node.shape()

    @property
    def offset(self) -> tuple[int, ...]:
        """The index of the first element along each axis, of the place of a field; that of the first cell, of another
        node: 0, or a negative number below a hash node."""
        return self._first or self.node.first()

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """(begin, end) of a loop over the cells, for each axis."""
        return [(begin, begin + extent) for begin, extent in zip(self.offset, self.shape, strict=True)]

    def parent(self, levels: Any = 1) -> SNode | None:
        """The node `levels` above, or the node itself for 0. None above the root. Raises TypeMismatch if levels is
        negative."""
        if not isinstance(levels, int | np.integer) or levels < 0:
            raise TypeMismatch(f"parent takes a number of levels, 0 or more, not {levels!r}")
        path = self.node.path()
        return SNode(path[-1 - levels], self.tree) if levels < len(path) else None

    def weakly(self) -> Callable[[], SNode | None]:
        """A function that returns this node, or None once its tree is gone."""
        tree, node, first = weakref.ref(self.tree), self.node, self._first

        def again() -> SNode | None:
            found = tree()
            return None if found is None else SNode(node, found, first)

        return again

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
        """The number of active cells of a sparse node. Dense nodes have their cells from the start: 0."""
        return SPARSE.count(self.tree, self.node) if self.node.is_sparse and self.tree.in_use else 0

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
        return self._add("dense", axes, dimensions)

    def pointer(self, axes: Any, dimensions: int | Iterable[int]) -> SNode:
        """Add a node whose cells take memory only once they are active. Arguments and errors as for `dense`.

        Writing an element below it, from a kernel or from Python, activates its cell. Reading an element of an inactive
        cell gives 0. See the page about sparse fields."""
        return self._add("pointer", axes, dimensions)

    def bitmasked(self, axes: Any, dimensions: int | Iterable[int]) -> SNode:
        """Add a node all of whose cells have memory, and a mark for each that says whether it is active. Loops visit
        the active cells only. Arguments and errors as for `dense`."""
        return self._add("bitmasked", axes, dimensions)

    def dynamic(self, axis: Any, dimension: int, chunk_size: int | None = None, *, ordered: bool = False) -> SNode:
        """Add a list of up to `dimension` cells along one axis, for each cell of this node. It takes memory for
        `chunk_size` cells at a time (None: a quarter of the dimension, but at most 1024 and at least 1).

        A write to element j makes the list at least j + 1 long; `ti.append` makes it longer by one. With
        `ordered=True`, the elements that a parallel loop appends are in the order in which one thread would append
        them, on every run; a loop for which that is not possible raises CompilationError at the append. Raises
        CompilationError for several axes, for an axis that nodes above have, and for numbers that are not positive."""
        if isinstance(dimension, Iterable):
            raise CompilationError(f"dynamic takes the longest length of a list, not {dimension!r}")
        size: Any = max(min(dimension // 4, _CHUNK), 1) if chunk_size is None else chunk_size
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
            raise CompilationError(f"chunk_size must be a positive integer, not {chunk_size!r}")
        return self._add("dynamic", axis, dimension, int(min(size, dimension)), ordered)

    def hash(self, axes: Any, dimensions: int | Iterable[int]) -> SNode:
        """Add a node whose cells have no bounds: their indices may be negative, and large. It has as many cells as a
        `pointer` node of these dimensions, but they may be anywhere: the product of the dimensions is how many may be
        active at once. One more raises OutOfMemory, which names the node and that number.

        Along each of its axes, a field below it has 2**30 elements, from `x.offset` (-2**29) on. If extents below it
        are not powers of 2, it has fewer, but more than half of that. It may be at the root or below `dense` nodes of
        other axes: then as many cells as that may be active for each of their cells, in any of them. Raises
        CompilationError below another sparse node, and as `dense` does.

            blocks = ti.root.hash(ti.ijk, 16)  # up to 4096 blocks
            blocks.dense(ti.ijk, 8).place(x)
            x[-1000, 3, 100000] = 1.0

        Where nodes above have all of its axes, it divides their cells, and has bounds: it may be below any node but a
        list, and is the same as a `pointer` node of these dimensions.

            ti.root.hash(ti.ijk, 16).hash(ti.ijk, 4).dense(ti.ijk, 4).place(y)
        """
        above = [one for one in self.node.path() if one.kind != "root"]
        given = set(axes) if isinstance(axes, Iterable) else {axes}
        known = {axis for one in above for axis in one.axes}
        if not given <= known and not given.isdisjoint(known):
            raise CompilationError(
                "a hash node has no bounds along an axis that no node above has, and is bounded by their cells along "
                "the others: it cannot be both. Put a node with the new axes above or below it, as in "
                "ti.root.hash(ti.ij, n).dense(ti.i, 8)"
            )
        sparse = next((one.title for one in reversed(above) if one.is_sparse), None)
        if not given <= known and sparse is not None:
            instead = "" if sparse == "hash" else f", or put the {sparse} node below it"
            raise CompilationError(
                f"a hash node below a {sparse} node must divide its cells: along an axis that no node above has, its "
                f"cells would have no bounds, so that they could not lie in the cell above and go with it. Use one "
                f"hash node with the axes of both, as in ti.root.hash(ti.ij, ...){instead}"
            )
        return self._add("hash", axes, dimensions)

    def _add(
        self, kind: str, axes: Any, dimensions: int | Iterable[int], chunk: int = 0, ordered: bool = False
    ) -> SNode:
        """Add a node of that kind to the cell of this one."""
        self.tree.check_open()
        numbers: tuple[Any, ...] = tuple(axes) if isinstance(axes, Iterable) else (axes,)
        if not isinstance(axes, Iterable) or not all(isinstance(number, int | np.integer) for number in numbers):
            raise CompilationError(f"axes must be ti.i, ti.ij or ti.axes(...), not {numbers}")
        if not set(numbers) <= set(range(MAX_AXES)):
            raise CompilationError(f"a field can have at most {MAX_AXES} axes, from 0 to {MAX_AXES - 1}, not {numbers}")
        extents = shape_tuple(dimensions)
        if len(extents) == 1:
            extents = extents * len(numbers)
        if len(extents) != len(numbers):
            raise CompilationError(
                f"{kind} takes one extent for each axis, but there are {len(numbers)} axes and {len(extents)} extents"
            )
        self._check_lists(kind, numbers)
        return SNode(self.node.add(Node(kind, numbers, extents, chunk=chunk, ordered=bool(ordered))), self.tree)

    def _check_lists(self, kind: str, axes: tuple[int, ...]) -> None:
        """Raise CompilationError if a list would not be alone on its axis, or if there would be a sparse node below
        it."""
        above = self.node.path()
        if kind in KINDS and any(node.kind == "dynamic" for node in above):
            raise CompilationError(f"a {kind} node cannot be below a dynamic node: a list holds fields and dense nodes")
        if kind == "dynamic" and len(axes) != 1:
            raise CompilationError(f"a dynamic node is a list along one axis, not along {len(axes)}")
        for node in above:
            shared = set(axes) & set(node.axes)
            if shared and "dynamic" in (kind, node.kind):
                lists = "the new dynamic node" if kind == "dynamic" else f"the dynamic node above, {node.kind}"
                raise CompilationError(f"{lists} is a list along axis {min(shared)}: no other node may have that axis")

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

    def quant_array(self, *_: Any, **__: Any) -> SNode:
        """A node whose cells share words of memory. Not implemented yet: raises CompilationError."""
        raise _not_yet("quant_array", "quantized types")

    def deactivate_all(self) -> None:
        """Deactivate all cells of this node and of the sparse nodes below it: their elements are 0 then, and take no
        memory. Dense cells are always active, so dense elements that lie below no sparse node keep their values. The
        place of a field, `x.snode`, has no cells: `x.parent().deactivate_all()` deactivates those that x is in."""
        nodes = [node for node in (self.node, *nodes_below(self.node)) if node.is_sparse]
        if nodes and self.tree.in_use:
            SPARSE.deactivate_all(self.tree, nodes)

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
            f"{node.title} {list(node.shape())}" if node.parent else "ti.root" for node in self.node.path()
        )

    def __repr__(self) -> str:
        return f"<SNode {self}>"


def _not_yet(kind: str, what: str) -> CompilationError:
    return CompilationError(f"'{kind}' is not implemented yet, like all {what}: use dense nodes")


class FieldsBuilder:
    """Builds one SNode tree: place fields, call `finalize()`, use the fields, and call `destroy()` on the tree it
    returned, which frees its memory. Its methods are those of `ti.root`.

    Example:
        builder = ti.FieldsBuilder()
        x = ti.field(ti.f32)
        builder.dense(ti.i, 16).place(x)
        tree = builder.finalize()
        x[3] = 1.0
        tree.destroy()
        x[3]  # raises FieldError
    """

    def __init__(self) -> None:
        self.tree = FieldTree()

    @property
    def finalized(self) -> bool:
        """Whether the tree was closed, by `finalize` or by the use of a field."""
        return self.tree.finalized

    @property
    def empty(self) -> bool:
        """Whether the tree contains neither nodes nor fields yet."""
        return not self.tree.node.children

    @property
    def node(self) -> SNode:
        """The root of the tree: the `SNode` whose methods these are."""
        return SNode(self.tree.node, self.tree)

    root = node

    def dense(self, axes: Iterable[int], dimensions: int | Iterable[int]) -> SNode:
        """Add a dense node at the root, as `SNode.dense` does."""
        return self.node.dense(axes, dimensions)

    def place(self, *fields: Any, offset: int | Iterable[int] | None = None) -> SNode:
        """Place 0-D fields at the root: each has one element, `x[None]`."""
        return self.node.place(*fields, offset=offset)

    def pointer(self, axes: Any, dimensions: int | Iterable[int]) -> SNode:
        """Add a pointer node at the root, as `SNode.pointer` does."""
        return self.node.pointer(axes, dimensions)

    def bitmasked(self, axes: Any, dimensions: int | Iterable[int]) -> SNode:
        """Add a bitmasked node at the root, as `SNode.bitmasked` does."""
        return self.node.bitmasked(axes, dimensions)

    def hash(self, axes: Any, dimensions: int | Iterable[int]) -> SNode:
        """Add a hash node at the root, as `SNode.hash` does."""
        return self.node.hash(axes, dimensions)

    def dynamic(self, axis: Any, dimension: int, chunk_size: int | None = None, *, ordered: bool = False) -> SNode:
        """Add a dynamic node at the root, as `SNode.dynamic` does."""
        return self.node.dynamic(axis, dimension, chunk_size, ordered=ordered)

    def deactivate_all(self) -> None:
        """Deactivate all cells of the tree, as `SNode.deactivate_all` does for a node."""
        self.node.deactivate_all()

    def quant_array(self, *args: Any, **keywords: Any) -> SNode:
        """As `SNode.quant_array`."""
        return self.node.quant_array(*args, **keywords)

    def lazy_grad(self) -> None:
        """Place the gradients of the fields of the tree, as `SNode.lazy_grad` does."""
        self.node.lazy_grad()

    def lazy_dual(self) -> None:
        """Place the duals of the fields of the tree, as `SNode.lazy_dual` does."""
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
            current.builder.tree.of_root = True
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
        """As `SNode.deactivate_all`, for all trees that were begun as `ti.root`."""
        for tree in program().living():
            if isinstance(tree, FieldTree) and tree.of_root:
                SNode(tree.node, tree).deactivate_all()

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


def deactivate_all_snodes() -> None:
    """Deactivate all cells of all sparse nodes of the program, as `SNode.deactivate_all` does. Their elements read 0
    then.

    Example:
        x = ti.field(ti.f32)
        ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(x)
        x[5] = 2.0
        ti.deactivate_all_snodes()
        x[5], len(x.active()[0])  # (0.0, 0)
    """
    for tree in program().living():
        if isinstance(tree, FieldTree):
            SNode(tree.node, tree).deactivate_all()


def shaped_node(tree: FieldTree, shape: tuple[int, ...], order: str | None) -> SNode:
    """A node with the extents `shape` in this memory order, at the root of `tree`. For shape (), the root itself."""
    numbers = order_axes(order, len(shape))
    top = SNode(tree.node, tree)
    return top.dense(numbers, [shape[number] for number in numbers]) if shape else top
