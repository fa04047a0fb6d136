"""Iterations write below a cell while other iterations deactivate it. What is left depends on the order, but the cell
of zeros stays zero, and no slot is lost."""

from __future__ import annotations

import pytest

from tests.ir.test_sparse_lowering import PLAIN, kernel_of
from tests.sampling import draws
from tests.sparse_trees import Declared, I, J, branch, declare, lower, place, slots, stored_cells
from weft.ir.evaluate import Memory, evaluate
from weft.ir.interleaving import Schedule
from weft.ir.storage.snode import SNode
from weft.ir.symbols import NodeSymbol
from weft.ir.types import i32

FIRST = "%p = field_ptr @x[{at}] : *i32\nstore %p, %3"
BESIDE = """
%n = const {count} : i32
parallel_for begins=[%0], ends=[%n] (%i: i32) {{
  %rest = binary and %i, %1 : i32
  %odd = binary eq %rest, %1 : u1
  %even = binary eq %rest, %0 : u1
  if %even then {{ {write} }}
  if %odd then {{ deactivate @{node} [%0] }}
}}
"""
STORE = "%p = field_ptr @x[{at}] : *i32\nstore %p, %7"
APPEND = "%j = append @D1 [%0]\n%w = cast %j : i32\n%p = field_ptr @x[%0, %w] : *i32\nstore %p, %7"


def below(*kinds: str) -> Declared:
    """Nodes of these kinds below one another."""
    node = root = SNode("root")
    for kind in kinds:
        node = branch(node, kind, (J if kind == "dynamic" else I, 8), chunk=2 if kind == "dynamic" else 0)
    place(node, "x", i32)
    return declare(root)


# The nodes, the index of an element, what an iteration writes, and what another one deactivates.
CASES: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "pointer": (("pointer", "pointer"), "%0", STORE, "P0"),
    "mask": (("pointer", "bitmasked"), "%0", STORE, "P0"),
    "two masks": (("pointer", "bitmasked", "bitmasked"), "%0", STORE, "P0"),
    "pointer below a mask": (("pointer", "bitmasked", "pointer"), "%0", STORE, "P0"),
    "list": (("pointer", "dynamic"), "%0, %3", STORE, "P0"),
    "append": (("pointer", "dynamic"), "%0, %0", APPEND, "P0"),
    "only what is active": (("pointer",), "%0", STORE.replace("]", "], activates=false"), "P0"),
    "only marks that are set": (("pointer", "bitmasked"), "%0", STORE.replace("]", "], activates=false"), "P0"),
    "only behind the begin": (("dense", "dynamic"), "%0, %1", STORE.replace("]", "], activates=false"), "D0"),
}


def zeros(memory: Memory, node: NodeSymbol) -> bool:
    """Whether the cell in slot 0 is zero."""
    raw = node.part("raw")
    return not any(memory.place(raw, [0, word]).load(raw.dtype) for word in range(raw.shape[-1]))


def lost(memory: Memory, node: NodeSymbol) -> int:
    """How many slots are neither those of active cells nor free."""
    used, free = slots(memory, node)
    return used - free - len(stored_cells(memory, node))


@pytest.mark.parametrize("name", CASES)
def test_cells_that_go_while_others_write(name: str) -> None:
    kinds, at, write, node = CASES[name]
    made = below(*kinds)
    first, functions = lower(kernel_of(made, FIRST.format(at=at)), PLAIN)
    body = BESIDE.format(count=8, write=write.format(at=at), node=node)
    beside, more = lower(kernel_of(made, body), PLAIN)
    for seed in range(draws(60)):
        memory = Memory.of(made.fields, made.nodes)
        evaluate(first, [], memory, PLAIN, functions=functions)
        evaluate(beside, [], memory, PLAIN, functions=more, schedule=Schedule(seed))
        for one in made.nodes:
            if one.has_pool:
                assert zeros(memory, one), (one.name, seed)
                assert not lost(memory, one), (one.name, seed)
