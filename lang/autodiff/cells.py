"""Which sparse trees a launch reads and changes.

The active cells of a tree are memory: what is active decides what loops visit, where gradients can be added, and what
`ti.is_active` gives. A kernel that uses a sparse field or node reads the cells of its tree. It changes them where it
writes an element that may not be active, and where it activates and deactivates cells. Cells that go take the values of
all fields below them along."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from weft.ir import tree
from weft.ir.errors import Span
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.transforms.lower_tree_facts import walk
from weft.lang.autodiff.accesses import Access
from weft.lang.autodiff.memory import Memory, memory_of
from weft.lang.data.derived import is_derived, with_siblings
from weft.lang.data.reserved import ReservedMemory

__all__ = ["CellUses", "fields_in"]

_CHANGES = ("activate", "append", "deactivate")


class CellUses:
    """What a translated kernel does with the cells of sparse trees, as accesses of the places "cells:0" and so on, one
    for each tree. The places "emptied:0" and so on are fields that it may set to 0 as cells go."""

    def __init__(self, translation: Any) -> None:
        self.reads, self.writes = list[Access](), list[Access]()
        self._trees, self._emptied = list[weakref.ref[Any]](), list[tuple[weakref.ref[Any], int]]()
        self._numbers: dict[int, int] = {}
        if not translation.tree.nodes:
            return
        changed, emptied = dict[int, Span | None](), dict[int, Span | None]()
        for symbol, span, change in _uses(translation.tree):
            number = self._number(translation, symbol)
            if change:
                changed.setdefault(number, span)
            if change == "deactivate":
                emptied.setdefault(number, span)
        self.reads = [Access(f"cells:{number}", (), None) for number in range(len(self._trees))]
        self.writes = [Access(f"cells:{number}", (), span) for number, span in changed.items()]
        for number, span in emptied.items():
            for one in fields_in(self._trees[number]()):
                self.writes.append(Access(f"emptied:{len(self._emptied)}", (), span))
                self._emptied.append((weakref.ref(one), number))

    def _number(self, translation: Any, node: NodeSymbol) -> int:
        """The number of the tree of a node."""
        while node.parent is not None:
            node = node.parent
        of = translation.trees[node.table.tree]
        of = of.tree if isinstance(of, ReservedMemory) else of
        if id(of) not in self._numbers:
            self._numbers[id(of)] = len(self._trees)
            self._trees.append(weakref.ref(of))
        return self._numbers[id(of)]

    def memory(self, place: str) -> Memory:
        """The memory of such a place; of a field that the program has dropped since, that of the cells of its tree."""
        kind, text = place.split(":")
        number = int(text)
        if kind == "emptied":
            emptied, number = self._emptied[number]
            if (field := emptied()) is not None:
                return memory_of(field)
        found = self._trees[number]()
        assert found is not None, "the tape calls this while the kernel is called"
        return memory_of(found)


def _uses(root: tree.KernelTree) -> Iterator[tuple[NodeSymbol, Span | None, str]]:
    """The sparse nodes that a kernel and its functions use, each with the place, and how its cells may change."""
    for made in (root, *root.functions):
        own = {id(target) for loop in walk(made) if isinstance(loop, tree.StructFor) for target in _own(loop)}
        for node in walk(made):
            if isinstance(node, tree.CellOp):
                yield node.node, node.span, node.kind if node.kind in _CHANGES else ""
            elif isinstance(node, tree.StructFor) and node.is_listed:
                over = node.over
                yield over if isinstance(over, NodeSymbol) else over.node, node.span, ""  # type: ignore[union-attr, misc]
            elif isinstance(node, tree.FieldElement) and node.field.node is not None:
                yield node.field.node, node.span, ""
            elif isinstance(node, tree.Invoke):
                for symbol in node.touched:
                    if symbol.node is not None:
                        yield symbol.node, node.span, "" if symbol in node.only_read else "activate"
            target = _target(node)
            if target is not None and target.field.node is not None and target.activates and id(target) not in own:
                yield target.field.node, target.span, "activate"


def _target(node: tree.Node) -> tree.FieldElement | None:
    """The element of a field that a statement writes."""
    if not isinstance(node, (tree.Assign, tree.AugAssign, tree.Atomic)):
        return None
    target = node.target
    while isinstance(target, (tree.Element, tree.Member)):
        target = target.base
    return target if isinstance(target, tree.FieldElement) else None


def _own(loop: tree.StructFor) -> Iterator[tree.FieldElement]:
    """The written elements that a loop over active elements visits: they are active."""
    over = loop.over
    if not isinstance(over, FieldSymbol):
        return
    for node in walk(loop):
        target = _target(node)
        if target is None or _place(target.field) != _place(over):
            continue
        if [one.variable for one in target.indices if isinstance(one, tree.Var)] == list(loop.variables):
            yield target


def _place(symbol: FieldSymbol) -> object:
    return symbol.shape, symbol.space.first, symbol.node, symbol.block


def fields_in(of: Any) -> list[Any]:
    """The sparse fields of a tree, without gradients and duals."""
    found = dict[Any, Any]()
    for one in list(of.fields.values()):
        whole = with_siblings(one)
        if not is_derived(one) and whole.describe().node is not None:
            found.setdefault(whole._slots[0], whole)
    return list(found.values())
