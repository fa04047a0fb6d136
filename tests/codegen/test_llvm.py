"""Whole LLVM modules of small kernels as golden files, for a CPU with AVX2, and what LLVM makes of them here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from weft.codegen import machine
from weft.codegen.cpu import emit_kernel
from weft.codegen.lane_choice import LanePlan, lane_decision
from weft.codegen.lane_layouts import Layouts
from weft.ir.config import CompileConfig
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
    text = emit_kernel(kernel, CompileConfig(), frozenset({"sse2", "avx2"})).text("; a golden module\n")
    llvm.parse_assembly(text).verify()
    golden(f"{name}.ll", text)


@pytest.mark.parametrize(("name", "wanted"), [("stencil", "x float>"), ("total", "x float>"), ("strided", "x i32>")])
def test_the_inner_loop_is_vectorized(name: str, wanted: str) -> None:
    host = machine.host_cpu()
    if not host.features & {"avx2", "neon", "asimd"}:
        pytest.skip(f"{host.name} has no wide vectors")
    kernel = parse((SOURCES / f"{name}.chi").read_text())
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
    text = emit_kernel(kernel, CompileConfig(), frozenset({"sse2", "avx2"})).text("; a module\n")
    llvm.parse_assembly(text).verify()
    assert ".sat." in text
    assert f"{target[1:]}.f32(float" in text
    assert ".f16(" not in text
