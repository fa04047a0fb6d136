"""Where the gradients and duals of fields lie: `x.grad` of a field made with `needs_grad=True`, `x.dual` of one made
with `needs_dual=True`.

A companion is a field of the same type and shape. The program may place it, as in `place(x, x.grad)`. Otherwise it is
placed when `lazy_grad()` or `lazy_dual()` asks for it, and at the latest when its tree is closed: in a dense node
beside the node of its field, with the same extents. Loops that use only `x` then read contiguous memory."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from weft.ir.storage.snode import SNode as Node
from weft.ir.symbols import COMPANIONS

__all__ = ["KINDS", "Waiting", "companions_of"]

KINDS: tuple[str, ...] = tuple(sorted(COMPANIONS.values(), reverse=True))  # "grad", "dual"


def companions_of(made: Any) -> Iterable[tuple[str, Any]]:
    """The companions of a field or ndarray, each with its kind."""
    for kind in KINDS:
        found = getattr(made, kind)
        if found is not None:
            yield kind, found


class Waiting:
    """The companions of a tree's fields that have no place yet."""

    def __init__(self) -> None:
        self._fields: list[tuple[str, Any, Node, tuple[int, ...] | None]] = []  # kind, companion, node of its field
        self._twins: dict[tuple[str, Node], Node] = {}
        # the companions in this tree that kernels or Python used: only these can have other values than 0
        self.used: dict[str, weakref.WeakSet[Any]] = {kind: weakref.WeakSet() for kind in KINDS}

    def expect(self, made: Any, node: Node, offset: tuple[int, ...] | None) -> None:
        """Note the companions of a field that was placed in the cell of `node`."""
        self._fields += [(kind, companion, node, offset) for kind, companion in companions_of(made)]

    def place(self, tree: Any, kinds: Iterable[str] = KINDS, under: Node | None = None) -> None:
        """Place the companions of these kinds, of fields below the node `under`, that have no place."""
        with tree.program.lock:
            chosen = [one for one in self._fields if one[0] in kinds and (under is None or under in one[2].path())]
            self._fields = [one for one in self._fields if one not in chosen]
            for kind, companion, node, offset in chosen:
                if not companion.placed:
                    companion.attach(self._twin(kind, node), tree, offset)

    def _twin(self, kind: str, node: Node) -> Node:
        """The dense node beside `node` that holds its companions of this kind. (The root has one cell, and no twin.)"""
        if node.parent is None or node.kind != "dense":
            return node
        known = self._twins.get((kind, node))
        if known is None:
            known = self._twins[kind, node] = node.parent.add(Node("dense", node.axes, node.extents))
        return known
