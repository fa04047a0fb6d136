"""Sparse trees for tests: the declarations of a program, and what a kernel is given of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from weft.ir.config import CompileConfig
from weft.ir.memory_model import Memory, Place
from weft.ir.nodes import declare_nodes
from weft.ir.ops import Kernel
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.runtime_library.sparse import functions_of
from weft.ir.storage.layout import TreeLayout, layout_tree
from weft.ir.storage.snode import SNode
from weft.ir.symbols import Block, FieldSymbol, NodeSymbol
from weft.ir.text import print_ir
from weft.ir.types import Prim, f32, i32, u32

__all__ = [
    "Declared",
    "branch",
    "cells_in",
    "declare",
    "elements_near",
    "lower",
    "meant_values",
    "place",
    "slots",
    "stored_cells",
    "stored_lengths",
    "stored_place",
    "stored_slots",
    "stored_value",
    "stored_values",
]

I, J, K = range(3)


def branch(parent: SNode, kind: str, *axes: tuple[int, int], chunk: int = 0) -> SNode:
    """A node of (axis, extent) pairs."""
    return parent.add(SNode(kind, tuple(a for a, _ in axes), tuple(n for _, n in axes), chunk=chunk))


def place(parent: SNode, name: str, dtype: Prim = f32) -> SNode:
    """A place of one scalar."""
    return parent.add(SNode("place", dtype=dtype, name=name))


@dataclass(frozen=True)
class Declared:
    """A tree as a kernel sees it."""

    layout: TreeLayout
    nodes: tuple[NodeSymbol, ...]
    fields: tuple[FieldSymbol, ...]

    @property
    def text(self) -> str:
        """The declarations, as a kernel's text begins with them."""
        return "\n".join(print_ir(Kernel("k", fields=self.fields, nodes=self.nodes)).splitlines()[1:-1])


def declare(root: SNode, offsets: dict[str, tuple[int, ...]] | None = None, most: int = 1 << 40) -> Declared:
    """Lay the tree out, and name its sparse nodes P0, B1 ... by their kind and number."""
    layout = layout_tree(root, most)
    names = {node: f"{node.kind[0].upper()}{number}" for number, node in enumerate(layout.nodes)}
    nodes = declare_nodes(layout, lambda memory: memory, names)
    fields = tuple(
        FieldSymbol(
            node.name,
            found.shape,
            found.memory,
            found.path.collapsed(),
            (offsets or {}).get(node.name, ()),
            found.order,
            node=nodes[found.node] if found.node is not None else None,
        )
        for node, found in layout.places.items()
    )
    return Declared(layout, tuple(nodes.values()), fields)


def stored_place(memory: Memory, symbol: FieldSymbol, index: Sequence[int]) -> Place:
    """An element in the memory of lowered kernels: where the tables lead to. `index` counts from 0."""
    at = list(index)
    pooled = next(((node, block) for node, block in symbol.above() if node.has_pool), None)
    if pooled is not None:
        node, block = pooled
        cell = tuple(index[axis] // size for axis, size in block)
        slot = stored_slots(memory, node).get(cell, 0) if node.hashed else int(stored_value(memory, node.table, cell))
        inside = dict(block)
        at = [slot, *(i % inside.get(axis, symbol.shape[axis]) for axis, i in enumerate(index))]
    first = symbol.stored.space.first
    return memory.place(symbol.stored, [i + start for i, start in zip(at, first, strict=True)])


def stored_value(memory: Memory, symbol: FieldSymbol, index: Sequence[int]) -> Any:
    """An element in the memory of lowered kernels. `index` counts from 0."""
    return stored_place(memory, symbol, index).load(symbol.dtype)


def stored_slots(memory: Memory, node: NodeSymbol) -> dict[tuple[int, ...], int]:
    """The slots of the active cells of a hash node, by their indices."""
    found: dict[tuple[int, ...], int] = {}
    entries, owner, gone = node.part("hash_table"), node.part("owner"), 2**32 - 1
    for number in range(entries.shape[0]):
        slot = int(memory.place(entries, [number]).load(u32))
        if slot not in (0, gone):
            at = tuple(int(memory.place(owner, [slot, axis]).load(i32)) for axis in range(len(node.shape)))
            assert at not in found
            found[at] = slot
    return found


def stored_values(memory: Memory, symbol: FieldSymbol) -> Any:
    """All elements in the memory of lowered kernels; below a hash node, those in active cells."""
    places = elements_near(symbol, lambda node: stored_cells(memory, node))
    return [stored_value(memory, symbol, at) for at in places]


def meant_values(memory: Memory, symbol: FieldSymbol) -> Any:
    """The same in the memory of kernels that are not lowered."""
    places, first = elements_near(symbol, memory.sparse.cells), symbol.space.first
    found = [memory.place(symbol, [i + start for i, start in zip(at, first, strict=True)]) for at in places]
    return [place.load(symbol.dtype) for place in found]


def stored_cells(memory: Memory, node: NodeSymbol) -> set[tuple[int, ...]]:
    """The active cells in the memory of lowered kernels."""
    if any(above.hashed for above, _ in node.table.above()):
        holder, block = next((above, block) for above, block in node.table.above() if above.hashed)
        boxes = [cells_in(node.table, block, at) for at in stored_cells(memory, holder)]
        return {at for box in boxes for at in box if stored_value(memory, node.table, at)}
    if node.hashed:
        return set(stored_slots(memory, node))
    return {at for at in np.ndindex(*node.shape) if stored_value(memory, node.table, at)}


def cells_in(symbol: FieldSymbol, block: Block, at: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The elements of a field in a cell of a node above it."""
    box = [range(extent) for extent in symbol.shape]
    for (axis, size), index in zip(block, at, strict=True):
        box[axis] = range(index * size, (index + 1) * size)
    return [*product(*box)]


def elements_near(symbol: FieldSymbol, cells: Callable[[NodeSymbol], set[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """The elements of a field that may be active: all, or those in these cells of the hash node above."""
    for node, block in symbol.above():
        if node.hashed:
            return [at for cell in sorted(cells(node)) for at in cells_in(symbol, block, cell)]
    return [*np.ndindex(*symbol.shape)]


def stored_lengths(memory: Memory, node: NodeSymbol) -> dict[tuple[int, ...], int]:
    """The lengths of all lists that are not empty."""
    assert node.length is not None
    places = elements_near(node.length, lambda above: stored_cells(memory, above))
    found = {at: int(stored_value(memory, node.length, at)) for at in places}
    return {at: length for at, length in found.items() if length}


def slots(memory: Memory, node: NodeSymbol) -> tuple[int, int]:
    """How many slots of a pool were used, and how many of these are free."""
    first, last, fresh = (int(memory.read(node.part(role))) for role in ("first", "last", "fresh"))
    return min(fresh + max(first - last, 0), node.capacity - 1), max(last - first, 0)


def lower(kernel: Kernel, config: CompileConfig) -> tuple[Kernel, list[Kernel]]:
    """Lowered CHI, and the functions of the library that it calls."""
    run_passes(kernel, TO_TASKS + TO_LOWERED, config)
    return kernel, functions_of([kernel], config)


def mixed() -> SNode:
    """Every kind of node, nested and beside one another."""
    root = SNode("root")
    outer = branch(root, "pointer", (I, 4), (J, 4))
    place(outer, "coarse", i32)
    place(branch(branch(outer, "pointer", (I, 2), (J, 2)), "dense", (I, 3), (J, 3)), "x")
    place(branch(branch(outer, "dense", (I, 2), (J, 2)), "bitmasked", (I, 2), (J, 1)), "m")
    place(branch(root, "bitmasked", (I, 10)), "y")
    place(branch(branch(root, "dense", (J, 5)), "dynamic", (I, 20), chunk=8), "z", i32)
    return root
