"""A loop that deactivates each cell that it visits, and does nothing else: the cells are collected without marks."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.ir.test_sparse_loops import FILL, LOOPS
from tests.ir.test_sparse_lowering import PLAIN, agree, compare, kernel_of
from tests.sampling import draws, only
from tests.sparse_programs import Draw, drawn_tree
from tests.sparse_trees import declare, lower, mixed
from weft.ir.evaluate import Memory, evaluate
from weft.ir.interleaving import Schedule
from weft.ir.ops import FieldPtr
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.symbols import NodeSymbol
from weft.ir.target import CPU
from weft.ir.transforms import enumerate_cells

QUICK = replace(PLAIN, verify=False, threads=3, traits=replace(CPU, piece=2, groups=3))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a table may have a few entries."""
    monkeypatch.setattr("weft.ir.storage.layout.PIECE", 1)


def empty(node: NodeSymbol, more: str = "", last: str = "") -> str:
    """A loop over the cells of a node that deactivates them. `last`: the last index, in place of that of the cell."""
    axes = [f"%at{k}" for k in range(len(node.shape))]
    given = ", ".join([*axes[:-1], last or axes[-1]])
    visits = ", ".join(f"{axis}: i32" for axis in axes)
    return f"struct_for @{node.name}.table, cells=true ({visits}) {{\n{more}deactivate @{node.name}[{given}]\n}}"


def pools(nodes: tuple[NodeSymbol, ...]) -> list[NodeSymbol]:
    return [node for node in nodes if node.has_pool and node.length is None]


def marks(body: str, node: NodeSymbol) -> bool:
    """Whether marks of slots of the node are counted after a kernel."""
    kernel = kernel_of(declare(mixed()), body)
    run_passes(kernel, TO_TASKS[: TO_TASKS.index("enumerate_cells") + 1], QUICK)
    return any(op.field.name == f"{node.name}.dropped_sums" for op in kernel.all_of(FieldPtr))


def test_when_no_marks_are_needed() -> None:
    outer, inner = pools(declare(mixed()).nodes)[:2]
    assert outer.home is None
    assert inner.home is outer
    assert not marks(empty(outer), outer)
    assert marks(empty(outer), inner)
    assert marks(empty(inner), inner)
    assert marks(empty(outer, last="%1"), outer)
    assert marks(empty(outer, "activate @P0[%0, %1]\n"), outer)
    assert marks(empty(outer).removesuffix("}") + "activate @P0[%0, %1]\n}", outer)
    assert marks(f"deactivate @{outer.name}[%0, %1]", outer)


@pytest.mark.parametrize("series", only(["once"], ["once", "again"]))
def test_every_kind_of_node_below(series: str) -> None:
    made = declare(mixed())
    again = [FILL, LOOPS] if series == "again" else []
    for node in pools(made.nodes)[:1]:
        bodies = [FILL, LOOPS, empty(node), LOOPS, FILL, empty(node), *again]
        compare(made, [(body, "") for body in bodies], QUICK)


@pytest.mark.parametrize("seed", range(draws(24)))
def test_random_nodes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.ir.transforms.activate_ahead._FEW", 0)
    rng = Random(f"emptied {seed}")
    made = drawn_tree(rng)
    while not pools(made.nodes) or any(node.hashed for node in made.nodes):
        made = drawn_tree(rng)
    draw, memories = Draw(rng, made), [Memory.of(made.fields, made.nodes) for _ in range(2)]
    meant, stored = memories
    node = rng.choice(pools(made.nodes))
    for body in (draw.scatter(), draw.drop(), empty(node), draw.visit(), draw.scatter(), empty(node), draw.scatter()):
        evaluate(kernel_of(made, body), [], meant, QUICK)
        kernel, functions = lower(kernel_of(made, body), QUICK)
        evaluate(kernel, [], stored, QUICK, functions=functions, schedule=Schedule(seed) if seed % 2 else None)
        agree(made, meant, stored)


@pytest.mark.parametrize("more", ["activate @P0[%0, %1]\n", ""])
def test_a_loop_that_leaves_cells_needs_marks(more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = declare(mixed())
    outer = pools(made.nodes)[0]
    monkeypatch.setattr(enumerate_cells, "_empties", lambda loop, nodes: outer if loop.cells else None)
    body = empty(outer, more, "" if more else "%1")
    with pytest.raises(AssertionError):
        compare(made, [(FILL, ""), (body, ""), (LOOPS, "")], QUICK)
