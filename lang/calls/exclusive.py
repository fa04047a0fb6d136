"""Kernels with sparse fields on a CPU run one at a time.

Two threads may launch kernels at once, which is fine for dense fields in different memory. Lists of active cells are
made in one task of a kernel and read in another, and another launch must not activate or free cells in between. On a
GPU, the stream orders launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any

from weft.ir.symbols import FieldSymbol
from weft.ir.transforms.lower_tree_facts import walk, writes_of
from weft.ir.tree import CellOp, KernelTree, StructFor
from weft.runtime.forks import forkable

__all__ = ["Exclusive", "takes_turns"]

_turn = forkable(RLock())


class Exclusive:
    """A loaded kernel that waits for the others. Native code does not call it directly."""

    def __init__(self, run: Callable[[Sequence[int], Sequence[Any]], Any]) -> None:
        self.inner = run
        self.overlap = getattr(run, "overlap", None)

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> Any:
        with _turn:
            return self.inner(trees, args)


def takes_turns(tree: KernelTree) -> bool:
    """Whether a kernel lists active cells, or may activate or free some. One that only reads elements does not."""
    if not tree.nodes:
        return False
    trees = {"": tree} | {function.name: function for function in tree.functions}
    nodes = (node for one in trees.values() for node in walk(one))
    if any(isinstance(node, CellOp) or (isinstance(node, StructFor) and node.is_listed) for node in nodes):
        return True
    return any(isinstance(one, FieldSymbol) and one.node is not None for one in writes_of(trees)[""])
