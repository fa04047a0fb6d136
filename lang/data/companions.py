"""Where the gradients and duals of fields lie: `x.grad` of a field made with `needs_grad=True`, `x.dual` of one made
with `needs_dual=True`.

A companion is a field of the same type and shape. The program may place it, as in `place(x, x.grad)`. Otherwise it is
placed when `lazy_grad()` or `lazy_dual()` asks for it, and at the latest when its tree is closed: in a dense node
beside the node of its field, with the same extents. Loops that use only `x` then read contiguous memory.

A field of floats that was made without `needs_grad` and without a shape offers a gradient: `place(x, x.grad)` and
`lazy_grad()` make it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.ir.storage.snode import SNode as Node
from weft.runtime.live_objects import LiveObjects

__all__ = ["KINDS", "Differentiable", "Waiting", "companions_of"]

KINDS = ("grad", "dual")  # those that a program can ask for


def companions_of(made: Any) -> Iterable[tuple[str, Any]]:
    """The companions of a field or ndarray, each with its kind."""
    return [(kind, made.companions[kind]) for kind in KINDS if kind in made.companions]


class Differentiable:
    """What all fields have: a gradient and a dual, or none."""

    _slots: list[Any]
    dtype: Any
    placed: Any

    def __init__(self) -> None:
        self._derived: dict[str, Any] = {}  # its gradient and its dual
        self._offers: dict[str, Callable[[], Any]] = {}  # what makes those that the program may place
        self._optional = False  # a gradient or dual that the program may place
        self._owner: Any = None  # of a gradient or dual: a weak reference to the field that has it
        self._derives = ""  # "grad" or "dual", if it is one that the program has made
        self.role = ""  # "grad" or "dual", if it is one
        self.shown = False  # whether anybody but the compiler and tapes has it, if it is one
        self.made: dict[str, Any] = {}  # see `derived.py`

    @property
    def grad(self) -> Any:
        """The gradient: a field of the same type and shape. None if it has none. A field of floats that is not in use
        yet has a gradient to be placed, as in `place(x, x.grad)`, even without `needs_grad`."""
        return _shown(self._companion("grad"))

    @property
    def dual(self) -> Any:
        """The dual: a field of the same type and shape. None if it has none. `ti.ad.FwdMode` computes it."""
        return _shown(self._companion("dual"))

    def _companion(self, kind: str) -> Any:
        tree = self._slots[0].tree
        if kind in self._offers and (tree is None or not tree.finalized):
            self.derive(kind, self._offers.pop(kind)())
            self._derived[kind]._optional = True
        found = self._derived.get(kind)
        late = found is not None and found._optional and not found.placed and tree is not None and tree.finalized
        return None if late else found

    @property
    def companions(self) -> dict[str, Any]:
        """The gradient and the dual that it has, by kind. One that the program may place counts once it is placed."""
        return {kind: _shown(one) for kind in self._derived if (one := self.hidden(kind)) is not None}

    def hidden(self, kind: str) -> Any:
        """The same for one kind. None if it has none. Who calls this writes nothing to it that tapes do not know of."""
        one = self._derived.get(kind)
        return one if one is not None and (one.placed or not one._optional) else None

    def offer(self, kind: str, make: Callable[[], Any]) -> None:
        """Let the program place a gradient or dual that it did not ask for."""
        if self.dtype.is_float:
            self._offers[kind] = make

    def derive(self, kind: str, companion: Any) -> None:
        """Make `companion` the gradient or the dual of this field. Raises TypeMismatch if its scalars are integers."""
        if not self.dtype.is_float:
            what = {"grad": "gradients", "dual": "duals"}[kind]
            raise TypeMismatch(
                f"only fields of floats can have {what}, not fields of {self.dtype}: remove needs_{kind}"
            )
        self._derived[kind] = companion
        companion._owner, companion._derives, companion.role = weakref.ref(self), kind, kind

    @property
    def shadowed(self) -> bool:
        """Whether instrumentations watch it. Gradients and duals are not watched: they are 0 from the start. Nor are
        sparse fields: what is not active is 0."""
        node = self._slots[0].node
        return self._owner is None and not (node is not None and any(one.is_sparse for one in node.path()))


def _shown(companion: Any) -> Any:
    """A gradient or dual, or None, which from now on may be written without a word."""
    if companion is not None:
        companion.shown = True
    return companion


class Waiting:
    """The fields of a tree whose gradients and duals may have no place yet."""

    def __init__(self) -> None:
        self._fields: list[tuple[Any, Node, tuple[int, ...] | None]] = []  # each with its node and its offset
        self._twins: dict[tuple[str, Node], Node] = {}
        # the companions in this tree that kernels or Python used: only these can have other values than 0
        self.used = {kind: LiveObjects() for kind in KINDS}

    def expect(self, made: Any, node: Node, offset: tuple[int, ...] | None) -> None:
        """Note a field that was placed in the cell of `node`."""
        self._fields.append((made, node, offset))

    def place(self, tree: Any, kinds: Iterable[str] = KINDS, under: Node | None = None, offered: bool = False) -> None:
        """Place the companions of these kinds, of fields below the node `under`, that have no place. `offered`: also
        those that the program did not ask for with `needs_grad` or `needs_dual`."""
        with tree.program.lock:
            for made, node, offset in [one for one in self._fields if under is None or under in one[1].path()]:
                for kind in kinds:
                    companion = getattr(made, kind) if offered else made.hidden(kind)
                    if companion is not None and not companion.placed:
                        companion.attach(self.twin(kind, node), tree, offset)

    def close(self, tree: Any) -> None:
        """Place what has no place yet, because the layout of the tree is computed."""
        self.place(tree)
        self._fields = []

    def twin(self, kind: str, node: Node) -> Node:
        """The dense node beside `node` that holds its companions of this kind. (The root has one cell, and no twin.)"""
        if node.parent is None or node.kind != "dense":
            return node
        known = self._twins.get((kind, node))
        if known is None:
            known = self._twins[kind, node] = node.parent.add(Node("dense", node.axes, node.extents))
        return known
