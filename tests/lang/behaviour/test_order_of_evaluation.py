"""Operands are evaluated from left to right, and as far as Python evaluates them: random expressions, whose leaves
write a log, give the log and the values of CPython."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PROGRAMS = 16  # for each seed

FIELDS = """
import weft as ti

count = ti.field(ti.i32, 1)
log = ti.field(ti.i32, 400)
values = ti.field(ti.i32, 3)
written = ti.field(ti.i32, 3)


@ti.func
def leaf(number, value: ti.i32):
    log[count[0]] = number
    count[0] += 1
    return value


@ti.func
def twice_less(a: ti.i32, b: ti.i32):
    return a * 2 - b


@ti.func
def larger(a: ti.i32, b: ti.i32):
    r = 0
    if a > b:
        r = a
    else:
        r = leaf(99, b)
    return r


@ti.func
def of_list(pair):
    return pair[0] - 3 * pair[1]


@ti.func
def add_to(place, value: ti.i32):
    return ti.atomic_add(values[place], value)
"""

LISTS = """
count, log, values, written = [0], [0] * 400, [0] * 3, [0] * 3


def leaf(number, value):
    log[count[0]] = number
    count[0] += 1
    return value


def twice_less(a, b):
    return a * 2 - b


def larger(a, b):
    return a if a > b else leaf(99, b)


def of_list(pair):
    return pair[0] - 3 * pair[1]


def add_to(place, value):
    old = values[place]
    values[place] += value
    return old
"""

FORMS = (
    "({0} and {1})",
    "({0} or {1})",
    "({0} < {1} <= {2})",
    "({0} if {1} > 1 else {2})",
    "max({0}, {1})",
    "twice_less({0}, {1})",
    "larger({0}, {1})",
    "of_list([{0}, {1}])",
    "of_list([{0}, {1}][::1])",
    "(-{0})",
    "(not {0})",
    "add_to(0, {0})",
    "values[({0}) % 3]",
    "({0} + {1})",
    "({0} * {1})",
    "({0} - {1})",
)
BODIES = (
    "return {0}",
    "y = x\n    y += {0}\n    return y",
    "written[({1}) % 3] = {0}\n    return 0",
    "written[({1}) % 3] += {0}\n    return 0",
    "a, b = {0}, {1}\n    return a - 2 * b",
    "y = (z := {0}) - {1} - z\n    return y",
    "y = {1} - (z := {0})\n    return y",
)


class Expressions:
    """Draws expressions. Each leaf that writes to the log has a number of its own."""

    def __init__(self, seed: int) -> None:
        self.random, self.number = random.Random(seed), 0

    def leaf(self) -> str:
        self.number += 1
        logged = f"leaf({self.number}, {self.random.choice((0, 1, 2, 3, 'x'))})"
        kinds = (*[logged] * 6, "count[0]", "x", f"values[leaf({self.number}, 2)]", "1")
        return self.random.choice(kinds)

    def draw(self, depth: int) -> str:
        if not depth:
            return self.leaf()
        return self.random.choice(FORMS).format(*(self.draw(depth - 1) for _ in range(3)))

    def body(self) -> str:
        return self.random.choice(BODIES).format(self.draw(3), self.draw(2))


def module_of(path: Path, source: str) -> ModuleType:
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    del sys.modules[path.stem]
    return module


def outcome(module: Any, run: Any, x: int) -> list[Any]:
    """What a program returns, writes and logs."""
    for place, start in ((module.count, (0,)), (module.values, (1, 0, 5)), (module.written, (0, 0, 0))):
        for k, value in enumerate(start):
            place[k] = value
    result = int(run(x))
    logged = [int(module.log[k]) for k in range(int(module.count[0]))]
    return [result, logged, *([int(place[k]) for k in range(3)] for place in (module.values, module.written))]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore")
def test_expressions_evaluate_as_in_python(ti: Any, tmp_path: Path, seed: int) -> None:
    bodies = [Expressions(100 * seed + number).body() for number in range(PROGRAMS)]
    kernels = "".join(f"\n\n@ti.kernel\ndef k{n}(x: ti.i32) -> ti.i32:\n    {body}\n" for n, body in enumerate(bodies))
    functions = "".join(f"\n\ndef k{n}(x):\n    {body}\n" for n, body in enumerate(bodies))
    compiled = module_of(tmp_path / f"kernels_{seed}.py", FIELDS + kernels)
    python = module_of(tmp_path / f"functions_{seed}.py", LISTS + functions)
    for number, body in enumerate(bodies):
        for x in (0, 2):
            found = outcome(compiled, getattr(compiled, f"k{number}"), x)
            assert found == outcome(python, getattr(python, f"k{number}"), x), body


def test_sides_of_vectors_are_all_evaluated(ti: Any) -> None:
    calls = ti.field(ti.i32, ())

    @ti.func
    def pair(a: ti.i32, b: ti.i32):
        calls[None] += 1
        return ti.Vector([a, b])

    @ti.kernel
    def run() -> ti.types.vector(2, ti.i32):
        return pair(1, 5) < pair(2, 4) < pair(3, 3)

    assert run().to_list() == [1, 0]
    assert calls[None] == 3


def test_constants_decide_a_chain(ti: Any) -> None:
    calls = ti.field(ti.i32, ())

    @ti.func
    def one():
        calls[None] += 1
        return 1

    @ti.kernel
    def run() -> ti.types.vector(4, ti.i32):
        return ti.Vector([int(1 < 0 < one()), int(one() < 2 < 1), int(0 < 1 < one() + 1 < 3), int(0 < 5 < one())])

    assert run().to_list() == [0, 0, 1, 0]
    assert calls[None] == 3


def test_texts_and_structs_are_evaluated_in_order(ti: Any, capfd: pytest.CaptureFixture[str]) -> None:
    count = ti.field(ti.i32, ())
    Pair = ti.types.struct(a=ti.i32, b=ti.i32)

    @ti.func
    def next_number() -> ti.i32:
        count[None] += 1
        return count[None]

    @ti.func
    def next_pair() -> Pair:
        return Pair(a=next_number(), b=next_number())

    @ti.kernel
    def run():
        print(next_number(), next_pair(), next_number(), f"{next_number()} {next_pair()}")

    run()
    ti.sync()
    assert capfd.readouterr().out == "1 {a: 2, b: 3} 4 5 {a: 6, b: 7}\n"
