"""How `vectorize` writes accesses to memory: the text of the ops on vectors, and their results in the evaluator.

The body of each case (see `vector_cases.py`) as vectors is `golden/vectors/NAME.txt`. Vectors give what iterations one
after another give, also if the evaluator interleaves groups of iterations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.ir.test_schedules import CONFIGS
from tests.ir.vector_cases import CASES, kernel_text
from weft.ir.adversary import Schedule
from weft.ir.core import Op
from weft.ir.evaluate import evaluate
from weft.ir.mapping.cell_parts import CellParts
from weft.ir.mapping.layouts import layouts_of
from weft.ir.mapping.moves import is_legal_move
from weft.ir.memory_model import Memory
from weft.ir.ops import Atomic, Binary, Kernel, Load, Store
from weft.ir.parse import parse
from weft.ir.tasks import parallel_tasks
from weft.ir.text import print_ir
from weft.ir.transforms.mapping.choose_moves import choose_moves
from weft.ir.transforms.mapping.vectorize import vectorize
from weft.ir.uniform import Uniformity
from weft.ir.verify import verify

COUNTS = {"atomics that do not commute": 1}  # with more iterations, their order decides
SHAPES = ("lanes=8", "lanes=4, vectors=2", "lanes=2", "lanes=32")


def vectorized(body: str, schedule: str, count: int = 11, moves: dict[type[Op], str] | None = None) -> Kernel:
    """The kernel as vectors. `moves`: how accesses are moved, where that is legal."""
    kernel = parse(kernel_text(body, schedule, count))
    choose_moves(kernel, CONFIGS["cpu"])
    for task in parallel_tasks(kernel) if moves else ():
        facts, parts = Uniformity(task), CellParts(layouts_of(kernel))
        for op in task.all_of(Load, Store, Atomic):
            usual, op.move = op.move, (moves or {}).get(type(op), op.move)
            op.move = op.move if is_legal_move(facts, parts, op) else usual
    verify(kernel, "mapped")
    vectorize(kernel, CONFIGS["cpu"])
    verify(kernel, "vectors")
    return kernel


@cache
def start() -> Memory:
    """What the fields hold at first. No two iterations have the same `idx`."""
    kernel = parse(kernel_text(""))
    memory, rng = Memory.of(kernel.fields), np.random.default_rng(1)
    known = {"idx": 40 + np.arange(96) * 17 % 50, "n": (2, 5, 8, 11)}
    for symbol in kernel.fields:
        shape = memory.read(symbol).shape
        memory.write(symbol, known.get(symbol.name, rng.integers(0, 2 if symbol.name == "t" else 50, shape)))
    return memory


def outcome(kernel: Kernel, schedule: Schedule | None = None) -> tuple[dict[str, Any], list[str]]:
    """The bytes of the fields in the end, and the first warning."""
    memory = Memory([tree.copy() for tree in start().trees])
    evaluate(kernel, [], memory, CONFIGS["cpu"], schedule=schedule)
    return {symbol.name: memory.trees[symbol.tree] for symbol in kernel.fields}, memory.warned[:1]


@pytest.mark.parametrize("name", CASES)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    _, _, body = print_ir(vectorized(CASES[name], "lanes=4")).partition("} body ")
    golden(f"vectors/{name.replace(' ', '_')}.txt", body)


def agrees(kernel: Kernel, body: str, count: int) -> None:
    """Vectors give what iterations one after another give."""
    expected, told = outcome(parse(kernel_text(body, "", count)))
    for schedule in (None, Schedule(5)):
        found, warned = outcome(kernel, schedule)
        for field in expected:
            np.testing.assert_array_equal(found[field], expected[field], f"{field}, {schedule}\n{print_ir(kernel)}")
        assert bool(warned) == bool(told)
        assert schedule is not None or warned == told


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CASES)
def test_meaning(name: str, shape: str) -> None:
    agrees(vectorized(CASES[name], shape, COUNTS.get(name, 11)), CASES[name], COUNTS.get(name, 11))


@pytest.mark.parametrize("moves", [{Load: "gather", Store: "scatter", Atomic: "each"}, {Load: "row", Atomic: "wait"}])
@pytest.mark.parametrize("name", CASES)
def test_each_legal_move_means_the_same(name: str, moves: dict[type[Op], str]) -> None:
    count = COUNTS.get(name, 11)
    agrees(vectorized(CASES[name], "lanes=8", count, moves), CASES[name], count)


def test_indices_of_large_fields_are_multiplied_in_64_bits() -> None:
    """`index * stride` of a field of more than a GiB may not fit 32 bits."""
    text = kernel_text("%a = load &h[k] : f16\nstore &h[i], %a", "lanes=4")
    field, size = "f16[SIZE] tree=7 components=(0) terms=((0, 1, SIZE, 2))", "96"
    assert field.replace("SIZE", size) in text
    for more, type in ((size, "i32"), ("900000000", "i64")):
        kernel = parse(text.replace(field.replace("SIZE", size), field.replace("SIZE", more)))
        choose_moves(kernel, CONFIGS["cpu"])
        vectorize(kernel, CONFIGS["cpu"])
        products = [op for op in parallel_tasks(kernel)[0].all_of(Binary) if op.kind == "mul"]
        assert [str(op.type) for op in products] == [f"<4 x {type}>"]
