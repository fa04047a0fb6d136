"""Routines that are lowered apart from kernels: they are those that the kernels would have."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from random import Random
from typing import Any

import pytest

from tests.ir.test_sparse_lowering import PLAIN as VERIFIED
from tests.ir.test_sparse_lowering import kernel_of
from tests.sampling import draws
from tests.sparse_programs import Draw, drawn_tree, twin_tree
from tests.sparse_trees import Declared, I, J, branch, declare, lower, place
from weft.codegen.cpu.kernel import emit_kernel
from weft.codegen.cpu.target import cpu_target
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.evaluate import Memory, evaluate
from weft.ir.mapping.routines import Routine, routines_in
from weft.ir.ops import Kernel, RunRoutine
from weft.ir.parse import parse
from weft.ir.pipeline import map_to_target
from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Dense, Term
from weft.ir.storage.path import Path
from weft.ir.storage.snode import SNode
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.target import CPU
from weft.ir.tasks import tasks_of
from weft.ir.text import print_ir
from weft.ir.transforms import apart as module
from weft.ir.transforms.apart import routines_apart
from weft.ir.types import i32
from weft.ir.verify import verify

PLAIN = replace(VERIFIED, verify=False)
VISIT = """
struct_for @{0} (%i: i32) {{
  %p = field_ptr @{0}[%i] : *i32
  %r = load %p
  %q = field_ptr @{1}[%i] : *i32
  store %q, %r
}}
"""


@pytest.fixture(autouse=True)
def short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of a few iterations ask for cells ahead, too."""
    monkeypatch.setattr("weft.ir.transforms.activate_ahead._FEW", 0)


def of_kernel(made: Declared, body: str, config: CompileConfig) -> tuple[Kernel, list[Routine]]:
    """A kernel with its routines apart, and these routines."""
    config = replace(config, apart=True)
    mapped = mapped_of(made, body, config)
    return mapped, routines_apart(mapped, replace(config, target=cpu_target(config, config.threads)))


def mapped_of(made: Declared, body: str, config: CompileConfig) -> Kernel:
    kernel, functions = lower(kernel_of(made, body), config)
    config = replace(config, target=cpu_target(config, config.threads))
    map_to_target(kernel, functions, config)
    return kernel


def own_tasks(kernel: Kernel) -> str:
    """The text of a kernel without its routines, temporaries numbered by their first use."""
    for task in tasks_of(kernel):
        if task.routine:
            task.erase()
        else:  # says which trees any serial task joins
            task.schedule = replace(task.schedule, joined=())
    numbers = dict[str, int]()
    text = "".join(print_ir(kernel).partition("\n  task")[1:])
    text = re.sub(r"touched=\([^)]*\)", "", text)  # of functions: only fields that the kernel lists are named
    numbered = lambda found: f"temp {numbers.setdefault(found[1], len(numbers))}"  # noqa: E731
    return re.sub(r"(?:temp_ptr offset=|temp:)(\d+)", numbered, text)


def alike(made: Declared, body: str, config: CompileConfig) -> int:
    """Compare the routines of a kernel, and the rest of it, with those of a kernel that has them inside of it; gives
    how many there are."""
    whole = mapped_of(made, body, config)
    inside = routines_in(whole)
    kernel, found = of_kernel(made, body, config)
    verify(kernel, "vectors")
    assert routines_in(kernel) == []
    for one, other in zip(inside, found, strict=True):
        assert print_ir(one.kernel) == print_ir(other.kernel)
        assert (one.trees, one.begins) == (other.trees, other.begins)
        assert other.shared
    if len(inside) == len({task.routine for task in tasks_of(whole)} - {""}):
        assert own_tasks(whole) == own_tasks(kernel)
    return len(found)


@pytest.mark.parametrize("seed", range(draws(32)))
def test_routines_are_those_of_the_kernel(seed: int) -> None:
    rng = Random(f"apart {seed}")
    count = 0
    for _ in range(3):
        made = rng.choice((drawn_tree, twin_tree))(rng)
        body = Draw(rng, made).body()
        traits = replace(CPU, piece=rng.choice((2, 5, 1024)), groups=rng.choice((1, 3)))
        options: dict[str, Any] = {"debug": rng.random() < 0.2, "fast_math": rng.random() < 0.5}
        count += alike(made, body, replace(PLAIN, verify=seed % 8 == 7, traits=traits, **options))
    assert count or seed


def tree(*sizes: int, before: int = 0, dtype: Any = i32, kind: str = "pointer", inner: int = 4) -> Declared:
    """Fields `x0`, `x1` ... below a node of so many cells each. `before`: elements of the root's memory before them."""
    root = SNode("root")
    if before:
        place(branch(root, "dense", (I, before)), "before", i32)
    for number, size in enumerate(sizes):
        place(branch(branch(root, kind, (I, size)), "dense", (I, inner)), f"x{number}", dtype)
    return declare(root)


def kernels_of(made: Declared, config: CompileConfig = PLAIN) -> set[int]:
    """The routines of a copy between the fields of a tree, by their identity."""
    return {id(one.kernel) for one in of_kernel(made, VISIT.format("x0", "x1"), config)[1]}


def test_equal_layouts_share_their_routines() -> None:
    one = kernels_of(tree(16, 16))
    assert len(one) == 3  # a list, what forgets its marks, and what gives out slots
    assert kernels_of(tree(16, 16, before=16)) == one  # 64 bytes further on
    assert kernels_of(tree(16, 16, 16)) == one
    assert alike(tree(16, 16, before=7), VISIT.format("x0", "x1"), PLAIN) == 3


@pytest.mark.parametrize(
    ("other", "config"),
    [
        (tree(17, 17), PLAIN),
        (tree(16, 16, inner=8), PLAIN),
        (tree(16, 16), replace(PLAIN, fast_math=True)),
        (tree(16, 16), replace(PLAIN, debug=True)),
        (tree(16, 16), replace(PLAIN, traits=replace(CPU, piece=3))),
        (tree(16, 16), replace(PLAIN, advanced_optimization=False)),
    ],
)
def test_other_layouts_and_options_do_not(other: Declared, config: CompileConfig) -> None:
    assert kernels_of(other, config).isdisjoint(kernels_of(tree(16, 16)))
    assert alike(other, VISIT.format("x0", "x1"), config) == 3


NODE = tree(16).nodes[0]
TABLE, PATH = NODE.table, NODE.table.path
(LEVEL,) = PATH.levels
assert isinstance(LEVEL, Dense)


def with_table(**changes: object) -> NodeSymbol:
    return replace(NODE, table=replace(TABLE, **changes))  # type: ignore[arg-type]


LIST = FieldSymbol.dense("n.length", i32, (16,), 0, (128,), (Term(0, 1, 16, 4),))
CHANGED: dict[str, list[NodeSymbol]] = {
    "kind": [replace(NODE, kind="dynamic")],
    "table": [
        with_table(shape=(15,)),
        with_table(order=(1, 0)),
        with_table(offset=(1,)),
        with_table(exposed=True),
        with_table(hidden="sparse"),
        with_table(path=Path((Dense((Term(0, 1, 16, 8),)),), PATH.cell)),
        with_table(path=Path((Dense(LEVEL.terms, 4),), PATH.cell)),
        with_table(path=Path(PATH.levels, Cell(i32, PATH.cell.components))),
        with_table(path=Path(PATH.levels, replace(PATH.cell, components=(4,)))),
        with_table(path=Path(PATH.levels, replace(PATH.cell, halo=((1, 0),)))),
        with_table(tree=NODE.pool),
        with_table(node=NODE),
    ],
    "cell_bytes": [replace(NODE, cell_bytes=20)],
    "length": [replace(NODE, length=LIST)],
    "seen": [replace(NODE, seen=LIST)],
    "body": [replace(NODE, body=LIST)],
    "pool": [replace(NODE, pool=NODE.book)],
    "book": [replace(NODE, book=NODE.pool)],
    "capacity": [replace(NODE, capacity=3)],
    "pieces": [replace(NODE, pieces=3)],
    "limit": [replace(NODE, limit=3)],
    "axis": [replace(NODE, axis=1)],
    "chunk": [replace(NODE, chunk=2)],
    "unbounded": [replace(NODE, unbounded=1)],
    "ordered": [replace(NODE, ordered=True)],
}


def layout(node: NodeSymbol) -> object:
    return module._Reader(node).layout


@pytest.mark.parametrize("name", [one.name for one in fields(NodeSymbol) if one.name != "name"])
def test_each_number_of_a_node_is_part_of_its_layout(name: str) -> None:
    """A node that differs in one number has another layout. A new number of nodes needs a row."""
    for other in CHANGED[name]:
        assert layout(other) != layout(NODE), other
    assert layout(replace(NODE, name="other", table=replace(TABLE, name="other.table", tree=7))) == layout(NODE)


def test_a_node_can_be_made_of_its_layout() -> None:
    """And has the same layout again."""
    root = SNode("root")
    place(branch(branch(branch(root, "bitmasked", (I, 4)), "pointer", (I, 4), (J, 2)), "dense", (I, 2)), "x")
    for made in (tree(16, before=3), declare(root), tree(16, kind="hash")):
        for node in made.nodes:
            found = module._Reader(node).layout
            again = module._nodes(found)[-1]
            assert module._Reader(again).layout == found
            assert [one.shape for one in again.parts.values()] == [one.shape for one in node.parts.values()]


def test_a_routine_that_calls_functions_stays_in_the_kernel() -> None:
    """The lists of hash nodes."""
    made = tree(200, 16, kind="hash")
    kernel, found = of_kernel(made, VISIT.format("x0", "x0"), PLAIN)
    inside = [op for op in kernel.walk() if isinstance(op, RunRoutine)]
    assert len(inside) == len(found) == alike(made, VISIT.format("x0", "x0"), PLAIN)


def test_what_is_apart_is_not_evaluated_or_emitted() -> None:
    made = tree(16, 16)
    kernel, _ = of_kernel(made, VISIT.format("x0", "x1"), PLAIN)
    with pytest.raises(InternalError, match="compiled apart"):
        evaluate(kernel, [], Memory.of(made.fields, made.nodes), PLAIN)
    with pytest.raises(InternalError, match="is not compiled"):
        emit_kernel(kernel, PLAIN, frozenset())


def test_a_kernel_with_routines_apart_can_be_printed_and_read() -> None:
    kernel, _ = of_kernel(tree(16, 16), VISIT.format("x0", "x1"), PLAIN)
    assert print_ir(kernel).count("run_routine") == 3
    assert print_ir(parse(print_ir(kernel))) == print_ir(kernel)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('routine="list P0"', 'routine=""'), "is not the only op"),
        (lambda text: text.replace("run_routine", "hold_interrupts held=true\n run_routine", 1), "is not the only op"),
    ],
)
def test_such_a_task_holds_nothing_else(change: Callable[[str], str], message: str) -> None:
    kernel, _ = of_kernel(tree(16, 16), VISIT.format("x0", "x1"), PLAIN)
    changed = parse(change(print_ir(kernel)))
    with pytest.raises(InternalError, match=message):
        verify(changed, "vectors")
