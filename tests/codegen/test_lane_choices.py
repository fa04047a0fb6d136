"""How many lanes a task gets of an instruction set; and which places of memory are rows of cells."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mapping import for_cpu
from weft.codegen.cpu.kernel import emit_kernel
from weft.ir.config import CompileConfig
from weft.ir.mapping.lane_choice import FoldPlan, LanePlan, lane_decision
from weft.ir.mapping.lane_vectors import vectors_at_once
from weft.ir.mapping.layouts import Layouts
from weft.ir.mapping.rows import in_cell, is_row
from weft.ir.ops import Address, Arg, Const, TreeBase
from weft.ir.parse import parse
from weft.ir.scopes import Scope
from weft.ir.storage.path import Cells
from weft.ir.tasks import tasks_of
from weft.ir.types import Prim, f32, f64, i8, i16, i32, i64, pointer
from weft.ir.uniform import uniformity

SOURCES = Path(__file__).parent / "golden"
ALL = "avx2 avx512f avx512vl"


def planned(name: str, simd: int | None, features: str, *changes: tuple[str, str]) -> str:
    """The kind of plan for the loop of a golden kernel, with how many iterations or rounds it takes at once."""
    text = (SOURCES / f"{name}.chi").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (task,) = tasks_of(parse(text))
    task.config = replace(task.config, simd=simd)
    plan = lane_decision(task, frozenset(features.split()), Layouts(), vector_math=True)
    if isinstance(plan, LanePlan):
        return f"{plan.lanes} x {plan.many}"
    return f"{plan.lanes} rounds" if isinstance(plan, FoldPlan) else plan


@pytest.mark.parametrize(
    ("features", "lanes"),
    [
        (ALL, "16 x 1"),
        ("avx512f avx512vl", "16 x 1"),
        ("avx2 avx512f", "8 x 2"),
        ("avx2 avx512vl", "8 x 2"),
        ("avx2", "8 x 2"),
        ("avx512f", "no lanes: lanes need AVX2 or AVX-512"),
        ("avx512vl", "no lanes: lanes need AVX2 or AVX-512"),
        ("sse2", "no lanes: lanes need AVX2 or AVX-512"),
    ],
)
def test_instruction_sets(features: str, lanes: str) -> None:
    assert planned("stencil", 16, features) == lanes


PRINTS = (
    ("    %18 = load", '    print [%10], parts=("\\u0000"), types=(f32)\n    %18 = load'),
    ("indices=[%k, %j]", "indices=[%j, %k]"),
    ("%5 = const 64", "%5 = const 48"),
)


def test_what_the_program_asks_for() -> None:
    left = "no lanes: the body has neither loops nor long branches, so LLVM's vectorizer handles it"
    assert planned("stencil", None, ALL) == left
    assert planned("stencil", 1, ALL) == "no lanes: loop_config(simd=1) turns them off"
    assert planned("stencil", 2, ALL) == "2 x 1"
    assert planned("stencil", 64, ALL) == "16 x 4"
    # Iterations that print run one after another; so do their rounds, where lanes for iterations were asked for.
    assert planned("product", None, ALL, *PRINTS) == "16 rounds"
    assert planned("product", 16, ALL, *PRINTS).startswith("no lanes: ")


# Iterations j add to c[i], which all lanes have in common, in each round.
ADDS = (
    ("      %16 = load %total : f32\n      %17 = binary add %16, %15 : f32\n      store %total, %17\n",
     '      %16 = address %9, indices=[%k], strides=[%7], offset=0, scope="field:c" : *f32\n'
     "      %17 = atomic add %16, %15 : f32\n"),
)  # fmt: skip


def vectors(bits: int, *changes: tuple[str, str]) -> int:
    """How many vectors of lanes run at once, of such a kernel."""
    text = (SOURCES / "product.chi").read_text()
    for old, new in (*ADDS, *changes):
        assert old in text
        text = text.replace(old, new)
    (task,) = tasks_of(parse(text))
    return vectors_at_once(task, uniformity(task), bits)


def test_sums_of_all_lanes_run_several_vectors_at_once() -> None:
    assert (vectors(512), vectors(256)) == (4, 2)
    assert planned("product", None, ALL, *ADDS) == "64 x 1"
    assert vectors(512, ("indices=[%k], strides=[%7]", "indices=[%j], strides=[%7]")) == 1  # each lane its own place
    sum = "%17 = atomic add %16, %15 : f32\n"
    assert vectors(512, (sum, f"{sum}      store %19, %17\n"), *PLACE) == 1  # a lane needs what it found
    assert vectors(512, (sum, f"{sum}      store %19, %15\n"), *PLACE) == 1  # stores of each lane
    longer = {count: (sum, f"{sum}{sines(count)}") for count in (30, 90, 100)}
    assert [vectors(512, change) for change in longer.values()] == [4, 2, 1]


# The address of the result before the loop.
PLACE = (
    ("    %19 = address", "    %20 = address"),
    ("store %19, %18", "store %20, %18"),
    ("    store %total, %10\n",
     "    store %total, %10\n"
     '    %19 = address %9, indices=[%i, %j], strides=[%3, %7], offset=4, scope="field:c" : *f32\n'),
)  # fmt: skip


def sines(count: int) -> str:
    return "".join(f"      %{100 + k} = unary sin %15 : f32\n" for k in range(count))


def test_groups_of_vectors_look_whether_the_launch_shall_end() -> None:
    """As single vectors do: after so many of them in a long loop."""
    text = (SOURCES / "product.chi").read_text()
    unknown = ("%5 = const 64 : i64", "%5 = scalar_arg index=0, part=0 : i64")
    for old, new in (("@product()", "@product(n: i64)"), unknown, *PRINTS[:2]):
        assert old in text
        text = text.replace(old, new)
    kernel = for_cpu(parse(text), CompileConfig(), ALL)
    code = emit_kernel(kernel, CompileConfig(), frozenset(ALL.split())).text("; a module\n")
    loop = r"^body\d+:\n((?:(?!^body).)*?)^latch\d+:\n  %n\d+ = add nsw i64 %i\d+, 64$"
    (group,) = re.findall(loop, code, re.M | re.S)
    assert "<16 x float>" in group
    assert re.search(r"^check\d+:\n.*call preserve_allcc", group, re.M | re.S)


@pytest.mark.parametrize(
    ("step", "type", "row"),
    [
        (8, i32, True),
        (12, f32, True),
        (32, f32, True),
        (36, f32, True),
        (40, f32, False),
        (4, f32, False),
        (6, i32, False),
        (16, f64, True),
        (12, f64, False),
        (2, i8, False),
        (4, i16, False),
    ],
)
def test_what_is_a_row(step: int, type: Prim, row: bool) -> None:
    assert is_row(step, type) is row


def test_where_in_its_cell_an_address_is() -> None:
    cells = {Scope("field:x"): Cells(12, 100, 8)}
    layouts = Layouts(cells=cells)
    index, step = Arg(0, type=i64), Const(12, type=i64)

    def place(offset: int, scope: str = "field:x") -> Address:
        return Address(TreeBase(0), [index], [step], offset, Scope(scope), type=pointer(f32))

    assert in_cell(layouts, place(100), 12, f32) == (0, 8)
    assert in_cell(layouts, place(104), 12, f32) == (4, 8)
    assert in_cell(layouts, place(124 + 4), 12, f32) == (4, 8)
    part = Address(place(100), [], [], 4, Scope("field:x", 1), type=pointer(f32))
    assert in_cell(layouts, part, 12, f32) == (4, 8)
    assert in_cell(layouts, place(104), 24, f32) == (0, 4)  # every other cell
    assert in_cell(layouts, place(104, "field:y"), 12, f32) == (0, 4)
    assert in_cell(layouts, index, 12, f32) == (0, 4)
