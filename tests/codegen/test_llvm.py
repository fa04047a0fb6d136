"""Whole LLVM modules of small kernels as golden files, for a CPU with AVX2, and what LLVM makes of them here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from tests.mapping import for_cpu
from weft.codegen.cpu.kernel import emit_kernel
from weft.codegen.llvm import machine
from weft.ir.config import CompileConfig
from weft.ir.errors import WeftError
from weft.ir.mapping.fold_choice import fold_prices
from weft.ir.mapping.lane_choice import FoldPlan, LanePlan, lane_decision
from weft.ir.mapping.layouts import Layouts
from weft.ir.parse import parse
from weft.ir.tasks import tasks_of

SOURCES = Path(__file__).parent / "golden"
KERNELS = (
    *("stencil", "total", "histogram", "guarded", "escape", "product", "neighbours", "cells", "places", "scatter"),
    *("strided", "staggered"),  # steps that could lead out of the index's type
)


@pytest.mark.parametrize("name", KERNELS)
def test_module(name: str, golden: Callable[[str, str], None]) -> None:
    kernel = parse((SOURCES / f"{name}.chi").read_text())
    for_cpu(kernel, CompileConfig(), "sse2 avx2")
    text = emit_kernel(kernel, CompileConfig(), frozenset({"sse2", "avx2"})).text("; a golden module\n")
    llvm.parse_assembly(text).verify()
    golden(f"{name}.ll", text)


@pytest.mark.parametrize(("name", "wanted"), [("stencil", "x float>"), ("total", "x float>"), ("strided", "x i32>")])
def test_the_inner_loop_is_vectorized(name: str, wanted: str) -> None:
    host = machine.host_cpu()
    if not host.features & {"avx2", "neon", "asimd"}:
        pytest.skip(f"{host.name} has no wide vectors")
    kernel = parse((SOURCES / f"{name}.chi").read_text())
    for_cpu(kernel, CompileConfig())
    module = machine.parse(emit_kernel(kernel, CompileConfig(), host.features).text(host.header))
    machine.optimize(module, host.machine, 3)
    body = str(module).split("@weft_task0(", 1)[1]
    assert wanted in body, "no vectors in the optimized loop"


_SUM = "%17 = binary add %16, %15"


@pytest.mark.parametrize(
    ("before", "after", "lanes"),
    [
        ("a: f32", "a: f32", 64),  # four vectors: their sums do not wait for one another
        ("const 64 : i64\n    yield", "const 45 : i64\n    yield", 16),  # of 64 lanes a third would be empty
        ("indices=[%k, %j]", "indices=[%j, %k]", 0),  # by columns: gathers, which LLVM's own vectors do without
        (_SUM, f"%20 = binary mul %16, %16 : f32\n{_SUM.replace('%16', '%20')}", 64),  # a round waits for the last one
    ],
)
def test_how_many_vectors_of_a_product_run_at_once(before: str, after: str, lanes: int) -> None:
    kernel = parse((SOURCES / "product.chi").read_text().replace(before, after, 1))
    (task,) = tasks_of(kernel)
    plan = lane_decision(task, frozenset({"avx2", "avx512f", "avx512vl"}), Layouts(), vector_math=True)
    assert (plan.span if isinstance(plan, LanePlan) else 0) == lanes


@pytest.mark.parametrize(
    ("features", "lanes"),
    [
        ("", 0),
        ("avx512f avx512vl", 16),
        ("avx2 avx512f avx512vl", 16),
        ("avx2 avx512f", 8),
        ("avx2 avx512vl", 8),
        ("avx2", 8),
        ("avx512f", 0),
        ("avx512vl", 0),
    ],
)
def test_lanes_as_wide_as_the_instruction_set(features: str, lanes: int) -> None:
    """Also where they would not pay: `loop_config(simd=...)` asks for them."""
    kernel = parse((SOURCES / "stencil.chi").read_text())
    (task,) = tasks_of(kernel)
    task.config = replace(task.config, simd=16)
    plan = lane_decision(task, frozenset(features.split()), Layouts(), vector_math=True)
    assert (plan.lanes if isinstance(plan, LanePlan) else 0) == lanes


@pytest.mark.parametrize(
    ("bounds", "index", "folds"),
    [
        ("%19, %22, %9", "i64", True),
        ("%18, %21, %one", "i32", True),
        ("%19, %22, %8", "i64", False),  # by two
        ("%19, %22, %row", "i64", False),  # by what is known at run time
        ("%u, %v, %unsigned", "u32", False),
    ],
)
def test_rounds_that_count_by_one_may_run_in_lanes(bounds: str, index: str, folds: bool) -> None:
    text = (SOURCES / "neighbours.chi").read_text()
    loop = "for %19, %22, %9 (%k: i64) {"
    casts = "%u = cast %18 : u32\n%v = cast %21 : u32\n%unsigned = const 1 : u32\n%one = const 1 : i32\n"
    inside = "" if index == "i64" else "%k = cast %count : i64\n"
    name = "k" if index == "i64" else "count"
    assert loop in text
    (task,) = tasks_of(parse(text.replace(loop, f"{casts}for {bounds} (%{name}: {index}) {{\n{inside}")))
    assert bool(fold_prices(task, 8, 256, vector_math=True)) == folds


def test_lanes_that_are_asked_for_and_cannot_be_had() -> None:
    """An inner loop is not run in lanes instead."""
    text = (SOURCES / "neighbours.chi").read_text()
    plans = list[object]()
    for simd, before, after in (
        (0, "", ""),
        (8, "", ""),
        (8, "%total = alloca", 'print [%i], parts=("", "\\n"), types=(i64)\n    %total = alloca'),
    ):
        (task,) = tasks_of(parse(text.replace(before, after, 1)))
        task.config = replace(task.config, simd=simd)
        plans.append(lane_decision(task, frozenset({"avx2"}), Layouts(), vector_math=True))
    assert [type(plan) for plan in plans] == [FoldPlan, LanePlan, str]
    assert plans[2] == "no lanes: it holds 'print'"


def test_eight_rounds_that_llvm_puts_side_by_side_are_not_run_in_lanes() -> None:
    """Across iterations their operands lie apart: that would be gathers, six times as slow for a cosine transform."""
    text = (SOURCES / "product.chi").read_text().replace("indices=[%k, %j]", "indices=[%j, %k]", 1)
    text = text.replace("%10 = const 0.0", "%20 = const 8 : i64\n    %10 = const 0.0")
    text = text.replace("%4, %5, %6", "%4, %20, %6")
    (task,) = tasks_of(parse(text))
    plan = lane_decision(task, frozenset({"avx2", "avx512f", "avx512vl"}), Layouts(), vector_math=True)
    assert not isinstance(plan, LanePlan)


@pytest.mark.parametrize("target", ["i8", "i16", "i32", "u16", "i64"])
def test_halves_become_integers_by_way_of_f32(target: str) -> None:
    """Where processors convert halves, LLVM's own conversion gives the least i16 for NaN."""
    kernel = parse(f"""\
kernel @k() -> ({target}) {{
  field @x: f16 tree=0 components=(0)
  task serial body {{
    %base = tree_base tree=0 : *i64
    %p = address %base, indices=[], strides=[], offset=0, scope="field:x" : *f16
    %v = load %p : f16
    %k = cast %v : {target}
    store_result %k, part=0
  }}
}}
""")
    for_cpu(kernel, CompileConfig(), "sse2 avx2")
    text = emit_kernel(kernel, CompileConfig(), frozenset({"sse2", "avx2"})).text("; a module\n")
    llvm.parse_assembly(text).verify()
    assert ".sat." in text
    assert f"{target[1:]}.f32(float" in text
    assert ".f16(" not in text


def test_an_llvm_that_miscompiles_is_refused() -> None:
    machine._check_version((22, 1, 0))
    with pytest.raises(WeftError, match=r"needs LLVM 22, but the installed llvmlite has LLVM 20\.1\.8.*pip install"):
        machine._check_version((20, 1, 8))
