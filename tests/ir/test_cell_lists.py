"""Lists of active cells: their order, whatever the threads, and how the tables are cut into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from tests.ir.test_sparse_lowering import PLAIN, kernel_of
from tests.sampling import every
from tests.sparse_trees import Declared, I, J, branch, declare, lower, place, stored_cells
from weft.ir.evaluate import Memory, evaluate
from weft.ir.interleaving import Schedule
from weft.ir.storage.snode import SNode
from weft.ir.symbols import NodeSymbol
from weft.ir.target import CPU
from weft.ir.types import i32


def tree(*levels: Sequence[tuple[int, int]], above: Sequence[tuple[int, int]] = ()) -> Declared:
    """Pointer nodes below one another, below a dense node if `above` has axes."""
    node = root = SNode("root")
    if above:
        node = branch(node, "dense", *above)
    for axes in levels:
        node = branch(node, "pointer", *axes)
    place(node, "x", i32)
    return declare(root)


TREES = {
    "one table": ([(I, 6), (J, 5)],),
    "tables in cells": ([(I, 3), (J, 2)], [(I, 2), (J, 3)]),
    "another axis in each cell": ([(I, 5)], [(J, 7)]),
    "cells of one axis only": ([(I, 3), (J, 2)], [(J, 4)]),
    "three levels": ([(I, 2), (J, 2)], [(I, 2), (J, 2)], [(I, 2), (J, 2)]),
}
FIRST = "%p{k} = field_ptr @x[%i{k}, %j{k}] : *i32\nstore %p{k}, %7\n"
LOOP = "struct_for @x (%a: i32, %b: i32) { %q = field_ptr @x[%a, %b] : *i32\n%old = atomic add %q, %1 }"


def listed(memory: Memory, node: NodeSymbol) -> list[tuple[int, ...]]:
    """The indices of the cells in the list of a node."""
    return [tuple(row) for row in memory.read(node.part("where"))[: int(memory.read(node.part("count")))].tolist()]


def check(made: Declared, piece: int, groups: int, seed: int) -> None:
    rng, memory = Random(seed), Memory.of(made.fields, made.nodes)
    shape = made.fields[0].shape
    config = replace(PLAIN, verify=False, threads=3, traits=replace(CPU, piece=piece, groups=groups))
    loop, more = lower(kernel_of(made, LOOP), config)
    for _ in range(2):
        text = ""
        for k in range(rng.randint(0, 9)):
            at = [rng.randrange(extent) for extent in shape]
            text += f"%i{k} = const {at[0]} : i32\n%j{k} = const {at[1]} : i32\n{FIRST.format(k=k)}"
        fill, functions = lower(kernel_of(made, text), config)
        evaluate(fill, [], memory, config, functions=functions)
        evaluate(loop, [], memory, config, functions=more, schedule=Schedule(seed))
        for node in made.nodes:
            assert listed(memory, node) == in_order(made, node, stored_cells(memory, node))


def in_order(made: Declared, node: NodeSymbol, cells: set[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Cells in the order of a list: that of the cells of the nodes above, then that in the cell."""

    def key(at: tuple[int, ...]) -> list[tuple[int, ...]]:
        above = node.table.above()
        return [*reversed([tuple(at[axis] // size for axis, size in block) for _, block in above]), at]

    return sorted(cells, key=key)


@pytest.mark.parametrize(("name", "piece", "groups"), every(7, product(TREES, (1, 2, 7, 1024), (1, 3))))
def test_a_list_is_in_the_order_of_the_indices(
    name: str, piece: int, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.ir.storage.layout.PIECE", 1)
    made = tree(*TREES[name])
    check(made, piece, groups, seed=piece)


def test_tables_whose_entries_do_not_lie_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table for each cell of a dense node with the same axes: entries in the order of the indices are apart."""
    monkeypatch.setattr("weft.ir.storage.layout.PIECE", 1)
    made = tree([(I, 3), (J, 2)], above=[(I, 2), (J, 3)])
    assert "entries" not in made.nodes[0].parts
    assert "entries" in tree(*TREES["three levels"]).nodes[2].parts
    for seed in range(2):
        check(made, 4, 3, seed)
