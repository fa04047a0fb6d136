"""PTX of representative kernels: the instructions that matter are there, and NVIDIA's assembler takes it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import weft as ti
from tests.codegen.ptx import Recorder, assembled, compiled, compiling
from tests.machine_code import LEARNING
from tests.sampling import every
from weft.codegen.nvptx.target import libdevice
from weft.demos.runner import NAMES

__all__ = ["compiling"]  # a fixture

pytestmark = pytest.mark.skipif(libdevice() is None, reason="no libdevice.10.bc: pip install nvidia-nvvm")


@pytest.mark.parametrize("name", every(5, NAMES))
def test_demos(name: str, compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    importlib.import_module(f"weft.demos.{name}").build(**LEARNING.get(name, {}))(0)
    assert device.loaded
    for artifact in device.loaded:
        said = assembled(artifact.ptx, 90, tmp_path)
        assert not said or len(re.findall("Used .* registers", said)) == len(artifact.tasks)
        assert not re.search(r"\b(ld|st|atom)\.(b|u|f|s|v)\d", artifact.ptx), "generic addresses are slow"


@pytest.mark.parametrize(
    ("sm", "ptx", "chosen"), [(70, 70, 70), (75, 75, 75), (80, 80, 80), (89, 83, 89), (90, 90, 90), (120, 90, 120)]
)
def test_targets(sm: int, ptx: int, chosen: int, compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling(sm, ptx)
    x, h = ti.field(ti.f32, 100), ti.field(ti.f16, 4)

    @ti.kernel
    def run() -> ti.f32:
        total = 0.0
        for i in x:
            total += ti.sin(x[i])
            h[i % 4] += 1
        return total

    run()
    (artifact,) = device.loaded
    assert f".target sm_{chosen}" in artifact.ptx
    assert "atom.add.noftz.f16" in artifact.ptx or "atom.global.add.noftz.f16" in artifact.ptx
    if chosen >= 75:  # the newest assembler has dropped sm_70
        assembled(artifact.ptx, chosen, tmp_path)


def test_a_map(compiling: Callable[..., Recorder]) -> None:
    device = compiling()
    x, y = ti.field(ti.f32, 1 << 20), ti.field(ti.f32, 1 << 20)

    @ti.kernel
    def saxpy(a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]

    ptx = compiled(device, saxpy, 2.0)
    assert "fma.rn.f32" in ptx
    assert len(re.findall(r"ld\.global\.nc", ptx)) >= 1  # x
    assert len(re.findall(r"ld\.global\.(?!nc)", ptx)) >= 1  # y is written
    assert "%nctaid.x" in ptx
    assert not re.search(r"\b(div|rem)\.[us]", ptx)


def test_boxes_have_no_divisions(compiling: Callable[..., Recorder]) -> None:
    device = compiling()
    a, b = ti.field(ti.f32, (60, 70)), ti.field(ti.f32, (60, 70))
    c = ti.field(ti.f32, (20, 30, 40))

    @ti.kernel
    def heat():
        for i, j in ti.ndrange((1, 59), (1, 69)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4 * a[i, j]

    @ti.kernel
    def shift(n: ti.i32):
        for i, j, k in ti.ndrange(n, 30, n):
            c[i, j, k] += 1

    for ptx, axes in ((compiled(device, heat), "xy"), (compiled(device, shift, 5), "xyz")):
        assert not re.search(r"\b(div|rem)\.[us]", ptx)
        assert all(f"%ctaid.{axis}" in ptx for axis in axes)


def test_sums_are_reduced_in_the_block(compiling: Callable[..., Recorder]) -> None:
    device = compiling()
    x, total = ti.field(ti.f32, 1000), ti.field(ti.f32, ())

    @ti.kernel
    def add():
        for i in x:
            total[None] += x[i]

    ptx = compiled(device, add)
    assert len(re.findall(r"shfl\.sync\.down", ptx)) == 10
    assert "bar.sync" in ptx
    assert len(re.findall(r"(atom|red)\.\S*add\.f32", ptx)) == 1


def test_atomics_are_native(compiling: Callable[..., Recorder]) -> None:
    device = compiling()
    f, d, i = ti.field(ti.f32, 9), ti.field(ti.f64, 9), ti.field(ti.i32, 9)

    @ti.kernel
    def scatter(n: ti.i32):
        for k in range(n):
            f[k % 9] += 1
            d[k % 9] -= 1
            ti.atomic_max(f[k % 7], k - 4.5)
            ti.atomic_min(i[k % 9], k)

    ptx = compiled(device, scatter, 9)
    for wanted in (r"add\.f32", r"add\.f64", r"max\.s32", r"min\.u32", r"min\.s32"):
        assert re.search(rf"(atom|red)\.\S*{wanted}", ptx), wanted
    assert len(re.findall(r"\.cas\.", ptx)) == 1  # the greatest value takes the place of a NaN


@pytest.mark.parametrize("fast", [True, False])
def test_exact_and_fast_arithmetic(fast: bool, compiling: Callable[..., Recorder]) -> None:
    device = compiling(fast_math=fast)
    x, y = ti.field(ti.f32, 64), ti.field(ti.f32, 64)

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.sqrt(x[i]) / (y[i] * x[i] + 1)

    ptx = compiled(device, run)
    assert ("div.full.ftz.f32" in ptx) == fast
    assert ("sqrt.approx.ftz.f32" in ptx) == fast
    assert ("fma.rn.f32" in ptx) == fast
    assert ("div.rn.f32" in ptx) != fast


def test_vectors_move_in_one_piece(compiling: Callable[..., Recorder]) -> None:
    device = compiling()
    x, y = ti.Vector.field(4, ti.f32, 100), ti.Vector.field(2, ti.f32, 100)

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i].xy + x[i].zw

    ptx = compiled(device, run)
    assert "ld.global.nc.v4.b32" in ptx
    assert "st.global.v2.b32" in ptx


def test_serial_parts_are_one_launch(compiling: Callable[..., Recorder]) -> None:
    device = compiling(mask_out_of_bounds=False)  # (else the loop has two versions)
    n, x = ti.field(ti.i32, ()), ti.field(ti.f32, 100)

    @ti.kernel
    def run(k: ti.i32) -> ti.f32:
        n[None] = k
        for i in range(n[None]):
            x[i] += 1
        total = x[0] * 2
        return total + x[1]

    run(3)
    assert len(device.loaded[-1].tasks) == 3


def test_asserts_and_prints(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling(debug=True)
    x = ti.field(ti.f32, (10, 10))

    @ti.kernel
    def run(a: ti.types.ndarray(), n: ti.i32):
        for i, j in ti.ndrange(n, n):
            x[i, j] = a[i] / 2
            assert x[i, j] >= 0, "negative"
            if i == j:
                print("diagonal", i, x[i, j])

    run(np.zeros(5, np.float32), 3)
    (artifact,) = device.loaded
    assembled(artifact.ptx, 90, tmp_path)
    assert {site.kind for site in artifact.sites} == {"bounds", "assert", "print"}
    assert "atom" in artifact.ptx


def test_lines_of_the_program(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling(line_info=True)
    x = ti.field(ti.f32, 1024)

    @ti.kernel
    def run():
        x[0] = 1
        for i in x:
            if x[i] > 0.5:
                x[i] = ti.sin(x[i])

    ptx = compiled(device, run)
    first = run.function.__code__.co_firstlineno
    named = {int(line) for line in re.findall(r"\.loc\s+\d+ (\d+) \d+", ptx)} - {0}
    assert {first + 2, first + 4, first + 5} <= named <= set(range(first, first + 6))
    assert re.search(r'\.file\s+1 "\S*test_ptx\.py"', ptx)
    assembled(ptx, 90, tmp_path)


@pytest.mark.parametrize(("sm", "ptx"), [(75, 63), (80, 77), (90, 83), (120, 87)])
def test_real_functions_are_called(sm: int, ptx: int, compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling(sm, ptx, cuda_stack_limit=4096)
    x = ti.field(ti.i32, 100)

    @ti.real_func
    def climb(n: ti.i32, a: ti.types.ndarray(dtype=ti.f32, ndim=1)) -> ti.f32:
        if n < 2:
            return ti.random()
        a[n] += 1
        return climb(n - 1, a) + climb(n - 2, a)

    @ti.kernel
    def k(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            x[i] = ti.i32(climb(i, a))

    text = compiled(device, k, np.zeros(100, np.float32))
    assert text.count(".func ") == 1
    assert text.count("weft_fn_climb_0,") == 3  # called from the kernel, and twice from itself
    assert device.loaded[-1].stack_bytes == 4096
    assert ("cvta.param" in text) == (ptx >= 77)  # the context is read where it is
    assembled(text, sm, tmp_path)


def test_arrays_take_no_stack_from_calls(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """Those of the kernel lie above the address from which it counts, or below. Those of the function are below the
    address that it looks at."""
    device = compiling(90, 83, cuda_stack_limit=4096)
    x = ti.field(ti.i32, 100)
    table, small = ti.types.vector(1000, ti.i32), ti.types.vector(50, ti.i32)

    @ti.real_func
    def climb(n: ti.i32) -> ti.i32:
        own = small(n)
        own[n % 50] += 1
        return climb(n - 1) + own[(n + 7) % 50] if n > 0 else 0

    @ti.kernel
    def k():
        for i in x:
            seen = table(i)
            seen[climb(i) % 1000] += 1
            x[i] = seen[i]

    text = compiled(device, k)
    assert device.loaded[-1].stack_bytes == 4096 + 2 * 4000
    assert re.search(rf"add\.s64 \t%rd\d+, %rd\d+, -{3 * 1024 + 4000};", text)  # a quarter is for other functions
    assert re.search(r"add\.s64 \t%rd\d+, %rd\d+, 200;", text)
    assembled(text, 90, tmp_path)


def test_the_search_for_a_note_is_not_unrolled(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    """A body may warn in many places, and several iterations of a thread have it."""
    device = compiling(90, 83)
    x, y = ti.field(ti.f32, (64, 64)), ti.field(ti.f32, (64, 64))

    @ti.kernel
    def k(far: ti.i32):
        for i, j in x:
            y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + far] + x[far, j]

    text = compiled(device, k, 1)
    assert text.count("atom.relaxed.gpu.global.cas") == text.count("atom.global.exch") >= 2 * 5
    assembled(text, 90, tmp_path)
