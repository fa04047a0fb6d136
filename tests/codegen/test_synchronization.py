"""Atomic accesses with a memory order, and fences, as machine code: what is written, and what runs of it leave."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.codegen.chi_runs import EMULATED_TARGETS, code_for_cpu, evaluated, for_device, lowered, on_emulated_gpu
from tests.mapping import GPU, for_cpu
from tests.sampling import every
from weft.codegen.cpu.kernel import emit_kernel
from weft.codegen.nvptx import kernel as nvptx
from weft.ir.artifact import CudaTarget
from weft.ir.config import CompileConfig
from weft.ir.core import Builder
from weft.ir.mapping.lane_choice import LanePlan, lane_decision
from weft.ir.mapping.layouts import Layouts
from weft.ir.ops import Fence, Kernel
from weft.ir.parse import parse
from weft.ir.target import CUDA
from weft.ir.tasks import tasks_of

HEAD = """\
kernel @k() -> () {
  field @lock: i32 tree=0 components=(0)
  field @y: i32[64] tree=1 components=(0) terms=((0, 1, 64, 4)) order=(0)
  field @x: i64[64] tree=2 components=(0) terms=((0, 1, 64, 8)) order=(0)
  field @f: f32[64] tree=3 components=(0) terms=((0, 1, 64, 4)) order=(0)
  field @d: f64[64] tree=4 components=(0) terms=((0, 1, 64, 8)) order=(0)
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : i32
  %64 = const 64 : i32
  %many = const 20000 : i32
"""
ALL = """
    %y0 = field_ptr @y[%0] : *i32
    %y1 = field_ptr @y[%1] : *i32
    %y2 = field_ptr @y[%2] : *i32
    %a = atomic_load %y0 : i32
    %b = atomic_load %y0, order=acquire : i32
    atomic_store %y1, %a
    atomic_store %y1, %b, order=release
    %r = exchange %y0, %1 : i32
    %s = exchange %y0, %r, order=acquire : i32
    %t = exchange %y0, %s, order=release : i32
    %u = exchange %y0, %t, order=acq_rel : i32
    %v = compare_exchange %y2, %u, %1 : i32
    %w = compare_exchange %y2, %v, %1, order=acquire : i32
    %x = compare_exchange %y2, %w, %1, order=release : i32
    %z = compare_exchange %y2, %x, %1, order=acq_rel : i32
    fence order=acquire
    fence order=release
    fence order=acq_rel
    fence order=acq_rel, scope=block
    %f = field_ptr @f[%0] : *f32
    %g = atomic_load %f, order=acquire : f32
    %h = exchange %f, %g : f32
    %k = compare_exchange %f, %h, %g, order=acq_rel : f32
    atomic_store %f, %k
    %d = field_ptr @d[%0] : *f64
    %e = atomic_load %d : f64
    %ee = compare_exchange %d, %e, %e : f64
    %p = field_ptr @x[%0] : *i64
    %q = atomic_load %p, order=acquire : i64
    %qq = compare_exchange %p, %q, %q, order=acquire : i64
    %qqq = exchange %p, %qq, order=release : i64"""
SPIN = """
    %lock = field_ptr @lock[] : *i32
    while {
      %held = compare_exchange %lock, %0, %1, order=acquire : i32
      %mine = binary eq %held, %0 : u1
      if %mine then { break }
    }"""
FREE = "\n    atomic_store %lock, %0, order=release"


def parallel(body: str, extent: str = "%many") -> Kernel:
    return parse(f"{HEAD}  parallel_for begins=[%0], ends=[{extent}] (%i: i32) {{\n{body}\n  }}\n}}\n")


SYNCHRONIZING = re.compile(r"load atomic|store atomic|atomicrmw|cmpxchg|fence")


def test_llvm_ir(golden: Callable[[str, str], None]) -> None:
    """All ops, for a CPU and for a GPU."""
    texts: list[str] = []
    cpu = CompileConfig()
    module = emit_kernel(for_cpu(lowered(parallel(ALL), cpu), cpu, "sse2 avx2"), cpu, frozenset({"sse2", "avx2"}))
    llvm.parse_assembly(module.text("; CPU\n")).verify()
    gpu = CompileConfig(arch="cuda", traits=CUDA)
    emitted, _ = nvptx.emit_kernel(for_device(parallel(ALL), gpu, GPU)[0], gpu, GPU)
    for name, text in (("CPU", module.text("")), ("GPU", emitted.module.text(""))):
        texts += [f"; {name}", *(line for line in text.splitlines() if SYNCHRONIZING.search(line))]
    golden("synchronization.ll", "\n".join(texts) + "\n")


@pytest.mark.parametrize(("sm", "ptx"), [(70, 63), (90, 83)])
def test_ptx(sm: int, ptx: int, golden: Callable[[str, str], None]) -> None:
    """What LLVM makes of them for the oldest GPUs and for new ones. `ptxas` reads it at the end of the session."""
    config = CompileConfig(arch="cuda", traits=CUDA)
    device = CudaTarget(sm, ptx)
    artifact = nvptx.compile_kernel(for_device(parallel(ALL), config, device)[0], config, device=device)
    found = [
        line.strip() for line in artifact.ptx.splitlines() if re.search(r"atom|fence|acquire|release|relaxed", line)
    ]
    golden(f"synchronization_sm_{sm}.ptx.txt", "\n".join(re.sub(r"%\w+", "%r", line) for line in found) + "\n")


def test_an_exchange_of_a_gpu_orders_by_fences() -> None:
    """LLVM's NVPTX backend makes `atom.exch` without an order of an `atomicrmw xchg acq_rel`."""
    config = CompileConfig(arch="cuda", traits=CUDA)
    body = "%p = field_ptr @y[%0] : *i32\n%old = exchange %p, %i, order=acq_rel : i32\n"
    body += "%q = field_ptr @y[%1] : *i32\nstore %q, %old"
    artifact = nvptx.compile_kernel(for_device(parallel(body), config, GPU)[0], config, device=GPU)
    order = re.findall(r"(fence\.\w+\.gpu|atom\.\S*exch)", artifact.ptx)
    assert [word.split(".")[0] for word in order] == ["fence", "atom", "fence"]


# ---- what runs leave: the evaluator, threads of the CPU, a GPU in software -------------------------------------------

COUNT_UNDER_A_LOCK = f"""{SPIN}
    %p = field_ptr @y[%1] : *i32
    %v = load %p : i32
    %w = binary add %v, %1 : i32
    store %p, %w{FREE}"""
COMPARE_AND_SWAP = """
    %r = binary mod %i, %64 : i32
    %p = field_ptr @y[%r] : *i32
    while {
      %seen = atomic_load %p : i32
      %w = binary add %seen, %i : i32
      %old = compare_exchange %p, %seen, %w : i32
      %done = binary eq %old, %seen : u1
      if %done then { break }
    }"""
_COUNTED = "%one = const 1.0 : f64\n      %w = binary add %seen, %one : f64"
FLOATS = (
    COMPARE_AND_SWAP.replace("@y[%r] : *i32", "@d[%r] : *f64")
    .replace("%w = binary add %seen, %i : i32", _COUNTED)
    .replace("%p : i32", "%p : f64")
    .replace("%w : i32", "%w : f64")
)
# Who sees the flag of another iteration sees what that has written. (Errors are counted in y[0].)
PUBLISHED = """
    %r = binary mod %i, %64 : i32
    %data = field_ptr @x[%r] : *i64
    %flag = field_ptr @y[%r] : *i32
    %seven = const 7 : i64
    store %data, %seven, relaxed=true
    atomic_store %flag, %1, order=release
    %five = const 5 : i32
    %by = binary mul %i, %five : i32
    %other = binary mod %by, %64 : i32
    %theirs = field_ptr @y[%other] : *i32
    %seen = atomic_load %theirs, order=acquire : i32
    %there = binary eq %seen, %1 : u1
    if %there then {
      %from = field_ptr @x[%other] : *i64
      %got = load %from : i64
      %wrong = binary ne %got, %seven : u1
      if %wrong then {
        %errors = field_ptr @lock[] : *i32
        %before = atomic add %errors, %1 : i32
      }
    }"""
PROGRAMS = {
    "count under a lock": COUNT_UNDER_A_LOCK,
    "compare and swap": COMPARE_AND_SWAP,
    "compare and swap of floats": FLOATS,
    "published by a release": PUBLISHED,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("threads", "opt_level"), every(2, [(1, 3), (2, 0), (4, 3)]))
def test_on_threads_of_the_cpu(name: str, threads: int, opt_level: int) -> None:
    made = parallel(PROGRAMS[name])
    wanted = evaluated(made, {})
    run = code_for_cpu(made, threads, opt_level=opt_level)
    for _ in range(5):
        found = run({})
        for field, values in wanted.items():
            np.testing.assert_array_equal(found[field], values, field)


@pytest.mark.emulated
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("target", EMULATED_TARGETS, ids=str)
def test_on_a_gpu_in_software(name: str, target: CudaTarget) -> None:
    made = parallel(PROGRAMS[name])
    wanted, found = evaluated(made, {}), on_emulated_gpu(made, {}, target)
    for field, values in wanted.items():
        np.testing.assert_array_equal(found[field], values, field)


def test_iterations_that_synchronise_do_not_run_in_lanes() -> None:
    """Lanes run in lockstep: one that waits for another one of its vector would wait for ever."""
    kernel = parse((Path(__file__).parent / "golden" / "escape.chi").read_text())
    (task,) = tasks_of(kernel)
    features = frozenset({"avx2", "avx512f", "avx512vl"})
    assert isinstance(lane_decision(task, features, Layouts(), vector_math=True), LanePlan)
    Builder(task.body, task.body.first).add(Fence("acquire"))
    assert not isinstance(lane_decision(task, features, Layouts(), vector_math=True), LanePlan)
