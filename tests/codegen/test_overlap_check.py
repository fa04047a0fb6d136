"""What a kernel counts on, and what its launches compare: arrays that do not overlap (docs/adr/0027)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import pytest

import weft as ti
from tests.codegen.ptx import Recorder, assembled, compiled, compiling
from tests.mapping import for_cpu
from weft.codegen.cpu.kernel import emit_kernel, target_hooks
from weft.codegen.llvm import machine
from weft.codegen.llvm.overlap_check import write_check
from weft.codegen.nvptx.target import libdevice
from weft.ir.config import CompileConfig
from weft.ir.overlaps import Apart, apart, span_of, written_arrays
from weft.ir.parse import parse
from weft.lang.program import init as state

__all__ = ["compiling"]  # a fixture

needs_libdevice = pytest.mark.skipif(libdevice() is None, reason="no libdevice.10.bc: pip install nvidia-nvvm")

# Reads array 0 and field x, writes array 1 (strided) and field y; array 2 is not touched.
KERNEL = """
kernel @k(a: [f32; 2], b: [f32; 1 strided], c: [f32; 1]) -> () {
  field @x: f32[8] tree=0 components=(4) terms=((0, 1, 8, 8)) order=(0)
  field @y: f32x2[8] tree=1 components=(0, 32) terms=((0, 1, 8, 4)) order=(0)
  task serial body {
    %0 = const 0 : i64
    %4 = const 4 : i64
    %a = array_base index=0 : *i64
    %b = array_base index=1 : *i64
    %s = array_stride index=1, axis=0 : i64
    %x = tree_base tree=0 : *i64
    %y = tree_base tree=1 : *i64
    %pa = address %a, indices=[%0], strides=[%4], offset=0, scope="array:0" : *f32
    %pb = address %b, indices=[%0], strides=[%s], offset=0, scope="array:1" : *f32
    %px = address %x, indices=[], strides=[], offset=4, scope="field:x" : *f32
    %py = address %y, indices=[], strides=[], offset=0, scope="field:y" : *f32
    %u = load %pa : f32
    %v = load %px : f32
    store %pb, %u
    store %py, %v
  }
}
"""


# Passes arrays 1 and 3, of which the latter may overlap others, and a number to a function that touches field x.
CALLS = """
kernel @k(n: i32, a: [f32; 1], b: [f32; 1], c: [f32; 1 exposed]) -> () {
  field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
  field @y: f32[8] tree=1 components=(0) terms=((0, 1, 8, 4)) order=(0)
  field @z: f32[8] tree=2 components=(0) terms=((0, 1, 8, 4)) order=(0)
  task serial body {
    %n = arg index=0 : i32
    %a = arg index=1 : [f32; 1]
    %c = arg index=3 : [f32; 1 exposed]
    %o = invoke function=f, [%n, %a, %c], touched=(x) : i32
    %base = array_base index=2 : *i64
    %tree = tree_base tree=1 : *i64
    %b = address %base, indices=[], strides=[], offset=0, scope="array:2" : *f32
    %y = address %tree, indices=[], strides=[], offset=0, scope="field:y" : *f32
    %local = alloca : *f32
    %u = load %b : f32
    %v = load %y : f32
    store %local, %v
  }
}
"""


@pytest.fixture
def cpu() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def test_what_is_compared() -> None:
    kernel = parse(KERNEL)
    assert apart(kernel) == Apart(arrays=((0, 1),), trees=((0, 1), (1, 0), (1, 1)))
    assert written_arrays(kernel) == (1,)
    assert [span_of(kernel, tree) for tree in (0, 1)] == [(4, 64), (0, 64)]
    read = parse(KERNEL.replace("store %pb, %u", "%w = load %pb : f32"))
    assert apart(read) == Apart(arrays=(), trees=((0, 1), (1, 1)))
    exposed = parse(KERNEL.replace("strided]", "strided exposed]").replace('"array:1"', '"exposed array:1"'))
    assert apart(exposed) == Apart(arrays=(), trees=((0, 1),))


def test_functions_write_what_they_are_given() -> None:
    kernel = parse(CALLS)
    assert written_arrays(kernel) == (1, 3)
    assert apart(kernel) == Apart(arrays=((1, 2),), trees=((1, 0), (1, 1), (2, 0)))


def test_module(golden: Callable[[str, str], None]) -> None:
    kernel = parse(KERNEL)
    features = frozenset({"sse2", "avx2"})
    module = emit_kernel(for_cpu(kernel, CompileConfig(), "sse2 avx2"), CompileConfig(), features)
    assert write_check(module, target_hooks(features, fast_math=True), kernel) == "weft_overlaps"
    llvm.parse_assembly(module.text("; a golden module\n")).verify()
    golden("overlap_check.ll", module.functions[-1])


def optimized(kernel: Any) -> str:
    """What LLVM makes of the kernel that was compiled last."""
    module = machine.parse(kernel.last.artifact.llvm)
    machine.optimize(module, machine.host_cpu().machine, 3)
    return str(module)


def test_loops_do_not_compare_addresses(cpu: None) -> None:
    array = ti.types.ndarray(ti.f32, 1)

    @ti.kernel
    def serial(a: array, b: array, c: array):
        for _ in range(1):
            for i in range(a.shape[0]):
                c[i] = a[i] * b[i] + b[0]

    one, two, three = (ti.ndarray(ti.f32, 64) for _ in range(3))
    serial(one, two, three)
    quick = optimized(serial)
    serial(one, two, one)
    careful = optimized(serial)
    assert "conflict" not in quick  # as LLVM calls it that pointers overlap
    assert "conflict" in careful
    assert "x float>" in quick


def test_loops_in_loops_are_one_box(cpu: None) -> None:
    array = ti.types.ndarray(ti.f32, 2)

    @ti.kernel
    def nested(x: array, y: array):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = 2 * x[i, j]

    x, y = ti.ndarray(ti.f32, (32, 32)), ti.ndarray(ti.f32, (32, 32))
    nested(x, y)
    assert re.search(r"body \(%\w+: i\d+, %\w+: i\d+\)", nested.last.lowered)
    nested(x, x)
    assert re.search(r"body \(%\w+: i\d+\)", nested.last.lowered)


@needs_libdevice
def test_arrays_are_read_as_fields_are(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """Arguments are taken not to overlap: what a filter reads does not change, and loops in loops are one box."""
    device = compiling(mask_out_of_bounds=False)  # (else there are two versions, since shapes may differ)
    vectors, numbers = ti.types.ndarray(ti.math.vec3, 2), ti.types.ndarray(ti.f32, 2)

    @ti.kernel
    def blur(x: vectors, y: vectors):
        for i, j in ti.ndrange((2, x.shape[0] - 2), (2, x.shape[1] - 2)):
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-2, 3), (-2, 3)):
                total += x[i + p, j + q]
            y[i, j] = total

    @ti.kernel
    def nested(x: numbers, y: numbers):
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]

    image, plane = ti.Vector.ndarray(3, ti.f32, (64, 64)), ti.ndarray(ti.f32, (64, 64))
    for kernel, one, wide in ((blur, image, 5), (nested, plane, 9)):
        ptx = compiled(device, kernel, one, one)  # (nothing runs, so nothing compares them)
        assert not re.search(r"ld\.global\.(b|v)", ptx)
        assert len(re.findall(r"ld\.global\.nc\.v4", ptx)) >= wide
        assert re.search(r"st\.global\.v4\.b32", ptx)
        assert "ctaid.y" in ptx
        assembled(ptx, 90, tmp_path)


@needs_libdevice
def test_the_careful_variant_reads_what_may_change(compiling: Callable[..., Recorder]) -> None:
    device = compiling()
    numbers = ti.types.ndarray(ti.f32, 2)

    @ti.kernel
    def heat(x: numbers, y: numbers):
        for i, j in ti.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
            y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]

    plane = ti.ndarray(ti.f32, (64, 64))
    heat(plane, plane)
    (instance,) = heat._instances.values()
    heat._careful(state.program(), instance, None, (plane, plane))
    quick, careful = (artifact for artifact in device.loaded if artifact.name.startswith("heat"))
    assert (quick.check, careful.check) == ("weft_overlaps", "")
    assert "ld.global.nc" in quick.ptx
    assert "ld.global.nc" not in careful.ptx
