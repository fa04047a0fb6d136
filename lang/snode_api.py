"""Where fields lie: `ti.root.dense(ti.ij, (n, m)).place(x)`, `FieldsBuilder`, axes, layouts.

A `FieldTree` is one SNode tree with its memory. Fields given a shape have a tree each, so their memory goes when they
do; what is placed under `root` shares one tree until the first use, then `root` starts another. A tree is measured and
closed (finalized) when first used, and allocated when its bytes are first needed.
"""

from __future__ import annotations

import enum
import weakref
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from weft.ir.errors import CompilationError, WeftError
from weft.ir.layout import TreeLayout, layout_tree
from weft.ir.snode import MAX_AXES
from weft.ir.snode import SNode as Node
from weft.lang.init import program
from weft.lang.types import shape_tuple

__all__ = ["AXES", "Axes", "FieldError", "FieldTree", "FieldsBuilder", "Layout", "Placeable", "SNode", "axes", "root"]


class FieldError(WeftError, RuntimeError):
    """A field, tree or builder used in a state that does not allow it: not placed, placed twice, destroyed."""


class Layout(enum.Enum):
    """How the components of vectors, matrices and structs lie: element by element, or component by component."""

    AOS = 0
    SOA = 1


class Axes(tuple[int, ...]):
    """Axis numbers, as `ti.ij` is (0, 1)."""

    __slots__ = ()


def axes(*numbers: int) -> Axes:
    """The axes with those numbers (0..7), slowest first. CompilationError for others or for repeats."""
    if len(set(numbers)) != len(numbers) or not all(0 <= number < MAX_AXES for number in numbers):
        raise CompilationError(f"axes are distinct numbers from 0 to {MAX_AXES - 1}, not {numbers}")
    return Axes(numbers)


# i, j, k, l and their ascending combinations: the names `ti.i` .. `ti.ijkl`.
AXES: dict[str, Axes] = {
    "".join(name for bit, name in enumerate("ijkl") if mask >> bit & 1): Axes(
        bit for bit in range(4) if mask >> bit & 1
    )
    for mask in range(1, 16)
}


class Placeable(Protocol):
    """What `place` takes: a field."""

    def attach(self, node: Node, tree: FieldTree, offset: tuple[int, ...] | None) -> None:
        """Put this field's scalar components into `node`'s cell."""


class FieldTree:
    """One SNode tree and its memory. `node` is its root. Also what `FieldsBuilder.finalize` returns."""

    def __init__(self) -> None:
        self.node = Node("root")
        self.program = program()
        self._layout: TreeLayout | None = None
        self._buffer: Any = None
        self._gone = ""
        self.readers: weakref.WeakSet[Any] = weakref.WeakSet()  # fields with a window onto the bytes
        self.program.trees.add(self)

    @property
    def finalized(self) -> bool:
        """Whether the tree was measured; nothing can be placed any more."""
        return self._layout is not None

    @property
    def layout(self) -> TreeLayout:
        """The measured tree; finalizes it."""
        if self._layout is None:
            self._layout = layout_tree(self.node)
        return self._layout

    @property
    def destroyed(self) -> bool:
        """Whether its memory is gone for good."""
        return bool(self._gone)

    def check(self, name: str = "this field") -> None:
        """FieldError if the tree was destroyed: says why."""
        if self._gone:
            raise FieldError(f"{name} no longer exists: {self._gone}")

    def check_open(self) -> None:
        """FieldError if nothing can be placed any more."""
        self.check("this SNode tree")
        if self.finalized:
            raise FieldError(
                "this SNode tree is finalized: place every field before the first use of any of them, "
                "or start another tree (`ti.root` or `ti.FieldsBuilder()`)"
            )

    def buffer(self) -> Any:
        """The tree's bytes: a zeroed, 64-byte aligned uint8 array, allocated at the first call. FieldError when
        destroyed; OutOfMemory when there is no room."""
        if self._buffer is None:
            with self.program.lock:  # two threads may come here at once
                if self._buffer is None:
                    self.check()
                    self._buffer = self.program.device.memory.allocate(self.layout.size, self._label())
        return self._buffer

    def destroy(self, why: str = "its SNode tree was destroyed") -> None:
        """Free the memory. Every later use of its fields is a FieldError."""
        self._gone = self._gone or why
        self._buffer = None
        self.program.touch()
        for reader in list(self.readers):
            reader.forget()

    def _label(self) -> str:
        names = [place.name for place in self.layout.places if place.name]
        return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "") or "fields"


class SNode:
    """A node of the layout: its cells repeat over `extents`; fields and further nodes are put into its cell."""

    def __init__(self, node: Node, tree: FieldTree) -> None:
        self.node, self.tree = node, tree

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of a field placed here."""
        return self.node.shape()

    def parent(self, levels: int = 1) -> SNode | None:
        """The node `levels` above; None above the root."""
        node: Node | None = self.node
        for _ in range(levels):
            node = None if node is None else node.parent
        return None if node is None else SNode(node, self.tree)

    @property
    def _cell_size_bytes(self) -> int:
        """Bytes of one cell. (Finalizes the tree.)"""
        return self.tree.layout.cells[self.node][0]

    @property
    def _offset_bytes_in_parent_cell(self) -> int:
        """Where this node begins in its parent's cell. (Finalizes the tree.)"""
        return self.tree.layout.cells[self.node][1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SNode) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)

    def dense(self, axes: Iterable[int], dimensions: int | Iterable[int]) -> SNode:
        """A dense node in this one's cell: `dimensions` (one number for all axes, or one each) along `axes`, the
        first axis slowest. CompilationError where the two do not match or an extent is not positive."""
        self.tree.check_open()
        numbers = tuple(axes)
        extents = shape_tuple(dimensions)
        if not isinstance(dimensions, Iterable):
            extents = extents * len(numbers)
        if len(extents) != len(numbers):
            raise CompilationError(f"dense takes an extent for each axis: {len(numbers)} axes, {len(extents)} extents")
        return SNode(self.node.add(Node("dense", numbers, extents)), self.tree)

    def place(self, *fields: Any, offset: int | Iterable[int] | None = None) -> SNode:
        """Put fields (or tuples of fields) into this node's cell, one after another. `offset`: the index of the first
        element along each axis. FieldError for a field placed before. Gives this node back."""
        self.tree.check_open()
        start = None if offset is None else offset_tuple(offset, len(self.shape))
        for field in fields:
            if isinstance(field, tuple | list):
                self.place(*field, offset=start)
            elif hasattr(field, "attach"):
                field.attach(self.node, self.tree, start)
            else:
                raise CompilationError(f"place takes fields, not {type(field).__name__}")
        return self

    def pointer(self, *_: Any, **__: Any) -> SNode:
        """A sparse node: not there yet."""
        raise _no_sparse("pointer")

    def bitmasked(self, *_: Any, **__: Any) -> SNode:
        """A node with an activity mask: not there yet."""
        raise _no_sparse("bitmasked")

    def dynamic(self, *_: Any, **__: Any) -> SNode:
        """A growing list: not there yet."""
        raise _no_sparse("dynamic")

    def deactivate_all(self) -> None:
        """Zero the memory of a sparse tree; dense nodes are always active, so nothing happens."""

    def __repr__(self) -> str:
        return f"<SNode {self.node.kind} shape={self.shape}>"


def _no_sparse(kind: str) -> CompilationError:
    return CompilationError(f"{kind} SNodes are not supported; use dense ones")


class FieldsBuilder:
    """Builds one SNode tree of its own: place fields, `finalize()`, use them, `destroy()` the tree that gave."""

    def __init__(self) -> None:
        self.tree = FieldTree()

    @property
    def finalized(self) -> bool:
        """Whether `finalize` was called (or a field was used, which does it)."""
        return self.tree.finalized

    @property
    def node(self) -> SNode:
        """The root of the tree."""
        return SNode(self.tree.node, self.tree)

    def dense(self, axes: Iterable[int], dimensions: int | Iterable[int]) -> SNode:
        """As `SNode.dense`, at the root."""
        return self.node.dense(axes, dimensions)

    def place(self, *fields: Any, offset: int | Iterable[int] | None = None) -> SNode:
        """0-D fields, at the root."""
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

    def finalize(self, raise_warning: bool = True) -> FieldTree:
        """Close the tree and give it. FieldError if that was done before."""
        del raise_warning
        self.tree.check_open()
        self.tree.layout  # noqa: B018 - measures, which closes it
        return self.tree


class Root:
    """`ti.root`: the tree that is being built. Its first use closes it; then `root` is a new one."""

    def _open(self) -> SNode:
        current = program()
        if current.builder is None or current.builder.finalized:
            current.builder = FieldsBuilder()
        node: SNode = current.builder.node
        return node

    @property
    def shape(self) -> tuple[int, ...]:
        """()."""
        return ()

    def parent(self, levels: int = 1) -> None:
        """None: nothing is above the root."""
        del levels

    def lazy_grad(self) -> None:
        """Place the gradients of fields made with `needs_grad`; they are placed beside their fields anyway."""

    def deactivate_all(self) -> None:
        """As `SNode.deactivate_all`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._open(), name)

    def __repr__(self) -> str:
        return "ti.root"


root = Root()


def offset_tuple(offset: int | Iterable[int], ndim: int) -> tuple[int, ...]:
    """An offset, checked: `ndim` integers."""
    values: tuple[Any, ...] = (offset,) if isinstance(offset, int | np.integer) else tuple(offset)
    if len(values) != ndim:
        raise CompilationError(f"offset has {len(values)} numbers, shape has {ndim}: they must be as many")
    if not all(isinstance(value, int | np.integer) for value in values):
        raise CompilationError(f"an offset consists of integers, not {values}")
    return tuple(int(value) for value in values)


def order_axes(order: str | None, ndim: int) -> tuple[int, ...]:
    """The axis numbers of `order` ("ij": first axis slowest, "ji": first axis fastest), checked against `ndim`."""
    if order is None:
        return tuple(range(ndim))
    numbers = tuple("ijkl".find(letter) if letter in "ijkl" else -1 for letter in order)
    if len(order) != ndim:
        raise CompilationError(f"order={order!r} names {len(order)} axes, shape has {ndim}: they must be as many")
    if sorted(numbers) != list(range(ndim)):
        raise CompilationError(f"order is a permutation of {'ijkl'[:ndim]!r}, not {order!r}")
    return numbers


def shaped_node(tree: FieldTree, shape: tuple[int, ...], order: str | None) -> SNode:
    """A node of extents `shape` in that memory order at the root of `tree`; the root itself for shape ()."""
    numbers = order_axes(order, len(shape))
    top = SNode(tree.node, tree)
    return top.dense(numbers, [shape[number] for number in numbers]) if shape else top
