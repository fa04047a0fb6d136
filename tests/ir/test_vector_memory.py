"""How `vectorize` writes accesses to memory: the text of the ops on vectors, and their results in the evaluator.

The body of each case (see `vector_cases.py`) as vectors is `golden/vectors/NAME.chi`. Vectors give what iterations one
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
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.text import print_ir
from weft.ir.transforms.mapping.choose_moves import choose_moves
from weft.ir.transforms.mapping.vectorize import vectorize
from weft.ir.verify import verify

SHAPES = ("lanes=8", "lanes=4, vectors=2", "lanes=2", "lanes=32")


def vectorized(body: str, schedule: str, count: int = 11) -> Kernel:
    kernel = parse(kernel_text(body, schedule, count))
    choose_moves(kernel, CONFIGS["cpu"])
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
    golden(f"vectors/{name.replace(' ', '_')}.chi", body)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", CASES)
def test_meaning(name: str, shape: str) -> None:
    count = 1 if name == "atomics that do not commute" else 11  # their order in other iterations is not known
    kernel = vectorized(CASES[name], shape, count)
    expected, told = outcome(parse(kernel_text(CASES[name], "", count)))
    for schedule in (None, Schedule(5)):
        found, warned = outcome(kernel, schedule)
        for field in expected:
            np.testing.assert_array_equal(found[field], expected[field], f"{field}, {schedule}\n{print_ir(kernel)}")
        assert bool(warned) == bool(told)
        assert schedule is not None or warned == told
