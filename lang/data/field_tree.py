"""The memory of fields: a `FieldTree` is one SNode tree with its memory.

A field with a shape has a tree of its own, so its memory is freed with it. Fields that are placed under `root` share
one tree until its first use; then `root` starts another. The first use of a tree computes its layout and closes it
(finalizes it). Its memory is allocated when its bytes are first needed."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import TYPE_CHECKING, Any

from weft.ir.errors import WeftError
from weft.ir.storage.snode import SNode as Node
from weft.lang.data.companions import Waiting
from weft.lang.data.marks import SLACK, places_of
from weft.lang.data.reserved import ReservedMemory
from weft.lang.data.shadows import ShadowTree, shadows_kept
from weft.lang.data.sparse_access import SPARSE
from weft.lang.logs.topics import MEMORY
from weft.lang.program.init import compiling, program
from weft.runtime.epochs import keep
from weft.runtime.live_objects import LiveObjects

if TYPE_CHECKING:
    from weft.ir.storage.layout import TreeLayout

__all__ = ["NOT_HELD", "FieldError", "FieldTree", "nodes_below"]

NOT_HELD = nullcontext()  # what memory is used in that never moves
_MOST = 1 << 40  # bytes of address space for a pool and its book
_SMALL = 1 << 16  # bytes that are not worth a reservation


class FieldError(WeftError, RuntimeError):
    """A field, a tree or a builder is in a state that does not allow this use: not placed, placed twice, or destroyed.

    Example:
        x = ti.field(ti.f32)
        x[0] = 1  # raises FieldError
    """


def nodes_below(node: Node) -> Iterator[Node]:
    """The nodes below a node, parents first."""
    for child in node.children:
        yield child
        yield from nodes_below(child)


class FieldTree:
    """One SNode tree and its memory. `node` is its root. `FieldsBuilder.finalize` returns a FieldTree.

    Example:
        builder = ti.FieldsBuilder()
        x = ti.field(ti.f32)
        builder.dense(ti.i, 16).place(x)
        tree = builder.finalize()
        tree.destroyed  # False
        tree.destroy()
        tree.destroyed  # True
    """

    def __init__(self) -> None:
        self._buffer: Any = None
        self._shadows: dict[str, ShadowTree] = {}
        self._reserved: list[ReservedMemory] = []  # the memories of the layout after the first one
        self.grown = 0  # how often places were added after the layout was computed, see `grow`
        self.may_grow = False  # whether the layout is computed, and has nodes whose cells may be inactive
        self.companions = Waiting()
        self.node = Node("root")
        self.of_root = False  # whether it was begun as `ti.root`
        self.program = program()
        self._layout: TreeLayout | None = None
        self._gone = ""
        # the fields that are placed in the tree, by their places
        self.fields: weakref.WeakValueDictionary[Node, Any] = weakref.WeakValueDictionary()
        self.readers = LiveObjects()  # fields with a view of the bytes
        self.program.adopt(self)

    @property
    def finalized(self) -> bool:
        """Whether the layout is computed. Then nothing can be placed any more."""
        return self._layout is not None

    @property
    def layout(self) -> TreeLayout:
        """The computed layout. This finalizes the tree."""
        if self._layout is None:
            with self.program.lock:
                self.companions.close(self)
                self._layout = self._layout or self._laid()
        return self._layout

    def _laid(self) -> TreeLayout:
        from weft.ir.storage.layout import layout_tree  # not needed to declare fields

        self.may_grow = self.is_sparse
        return layout_tree(self.node, self._most())

    def _most(self) -> int:
        """The most bytes of address space that a pool and its book take together."""
        if not self.is_sparse:
            return 0
        return min(int(self.program.device.memory.most_reserved), _MOST)

    @property
    def is_sparse(self) -> bool:
        """Whether it has a node whose cells may be inactive."""
        return any(node.is_sparse for node in nodes_below(self.node))

    @property
    def in_use(self) -> bool:
        """Whether its memory was allocated, so that something may be active."""
        return self._buffer is not None

    def names_of_nodes(self, place: Node | None = None, name: str = "") -> dict[Node, str]:
        """A name of each sparse node, parents first: the name of the first field below it that has one, and its kind.
        The field at `place` is called `name`."""
        names: dict[Node, str] = {}
        for node in nodes_below(self.node):
            if node.is_sparse:
                places = [one for one in nodes_below(node) if one.kind == "place"]
                below = (name if one is place else one.name for one in places if one is place or one.name)
                names[node] = f"{next(below, 'node')}.{node.title}"
        return names

    def __str__(self) -> str:
        return f"an SNode tree that does not exist any more: {self._gone}" if self._gone else SPARSE.describe(self)

    def memory(self, number: int) -> FieldTree | ReservedMemory:
        """What owns memory `number` of the layout: the tree itself owns memory 0, that of the root."""
        if number and not self._reserved:
            with self.program.lock:
                if not self._reserved:
                    pools = {found.pool for found in self.layout.nodes.values()}
                    sizes = list(enumerate(self.layout.memories))[1:]
                    self._reserved = [ReservedMemory(self, self._label(), size, k in pools) for k, size in sizes]
        return self._reserved[number - 1] if number else self

    @property
    def destroyed(self) -> bool:
        """Whether the memory was freed for good, by `destroy` or by `ti.reset`."""
        return bool(self._gone)

    def check(self, name: str = "this field") -> None:
        """Raise a FieldError that says why, if the tree was destroyed."""
        if self._gone:
            raise FieldError(f"{name} no longer exists: {self._gone}")

    def check_open(self) -> None:
        """Raise FieldError if nothing can be placed any more."""
        self.check("this SNode tree")
        if self.finalized:
            raise FieldError(
                "this SNode tree is finalized: place every field before the first use of any of them, "
                "or start another tree (`ti.root` or `ti.FieldsBuilder()`)"
            )

    def buffer(self) -> Any:
        """The bytes of the tree: a zeroed uint8 array, aligned to 64 bytes, allocated at the first call. Raises
        FieldError if the tree was destroyed, and OutOfMemory if there is not enough memory."""
        if self._buffer is None:
            with self.program.lock:  # two threads may call this at once
                if self._buffer is None:
                    self.check()
                    self._buffer = self._allocate()
                    if MEMORY.on:
                        MEMORY.info("%s: %d bytes", self._label(), self.layout.size)
        return self._buffer

    def _allocate(self) -> Any:
        size, reach, memory = self.layout.size, self.layout.reach, self.program.device.memory
        slack = SLACK * reach
        if 2 * self._table_bytes() > size > _SMALL:  # few of its pages may ever be used
            buffer = memory.reserve(size, self._label(), slack=slack)
        else:
            buffer = memory.allocate(size, self._label(), slack)
        marks = self.shadow("marks")
        if marks is not None and size:
            start = memory.address(buffer)
            places_of(self.program).add(start, size, memory.address(marks.buffer()) - start, buffer)
        return buffer

    def _table_bytes(self) -> int:
        """The bytes of the tables and marks of sparse nodes in the root's memory."""
        tables = self.layout.nodes.values()
        return sum(
            (4 if found.pool >= 0 else 1) * prod(found.table.shape) for found in tables if found.table.memory == 0
        )

    def shadow(self, kind: str) -> ShadowTree | None:
        """The shadow of this kind for all fields of the tree. None if the program keeps none."""
        if kind not in shadows_kept(self.program):
            return None
        if kind not in self._shadows:
            with self.program.lock:
                made = ShadowTree(self.program, f"{kind} of {self._label()}", self.layout.size, self.layout.reach)
                self._shadows.setdefault(kind, made)
        return self._shadows[kind]

    def held(self) -> AbstractContextManager[Any]:
        """What other threads cannot change the layout in (`grow`). Memory of fields is used in it."""
        return self.program.layouts.held() if self.may_grow else NOT_HELD

    def grow(self, add: Callable[[], None], lacks: Callable[[], bool]) -> None:
        """Add places to a sparse tree whose layout is computed, by `add`, unless `lacks` says that another thread has
        done so. Elements keep their values, and cells stay active. Their memory is another one then, and kernels are
        compiled anew. If an error occurs meanwhile, the tree is destroyed. Launches of other threads wait."""
        with compiling, self.program.layouts.changing(self.program.touch):
            if not lacks():
                return
            found = SPARSE.contents(self) if self.in_use else None
            self._change_layout(add)
            for reader in self.readers:
                if reader.lends:
                    reader.lends = False
                    warnings.warn(
                        f"{reader._label()} lies in other memory now, because its tree has grown for a derivative: "
                        "arrays of other libraries that shared its memory do not share it any more",
                        stacklevel=2,
                    )
                reader.forget()
            try:
                if found is not None:
                    SPARSE.put_contents(self, found)
            except BaseException:  # there may be too little memory
                self.end("its elements were lost when its SNode tree grew for a derivative, and an error stopped that")
                raise

    def _change_layout(self, add: Callable[[], None]) -> None:
        """Add places, and begin with new memory. (This launches no kernels: a thread that compiles one may wait for
        this lock.)"""
        with self.program.lock:
            add()
            self.grown += 1  # first, so that nothing uses the old memory any more
            self.program.growths += 1
            self._let_go()
            self._shadows, self._reserved = {}, []
            self._layout = self._laid()

    def destroy(self) -> None:
        """Free the memory. Every later use of its fields raises FieldError, and so does destroying it again."""
        self.check("this SNode tree")
        self.end("its SNode tree was destroyed")

    def end(self, why: str) -> None:
        """Free the memory if it was not freed yet. A later use of its fields raises a FieldError with the message
        `why`."""
        self._gone = self._gone or why
        if MEMORY.on and self._buffer is not None:
            MEMORY.info("%s: freed", self._label())
        self._let_go()
        for reader in self.readers:
            reader.forget()

    def read_by(self, reader: Any) -> None:
        """Register a field with a view of the bytes. `forget` is called on it when they are freed."""
        self.readers.add(reader)

    def _let_go(self) -> None:
        before, self._buffer = [self._buffer], None
        before += [shadow.let_go() for shadow in self._shadows.values()]
        before += [memory.let_go() for memory in self._reserved]
        self.program.touch()  # first, so that no call finds the memory any more
        for buffer in before:
            if buffer is not None:
                keep(buffer)

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        if (self._buffer is not None or self._reserved) and not ends():
            self._let_go()

    def _label(self) -> str:
        """The fields of the tree, for messages: their names, else their types and shapes."""
        places = self.layout.places
        nameless = Counter(f"{place.dtype} {place.shape()}" for place in places if not place.name)
        told = list(dict.fromkeys(place.name for place in places if place.name))
        told += [what if count == 1 else f"{count} x {what}" for what, count in nameless.items()]
        return ", ".join(told[:4]) + (", ..." if len(told) > 4 else "") or "an empty tree"
