"""PTX of representative kernels: the instructions that matter are there, and NVIDIA's assembler takes it."""

from __future__ import annotations

import dataclasses
import importlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.codegen.cuda_target import libdevice
from weft.demos.runner import NAMES
from weft.ir.artifact import Artifact, CudaTarget
from weft.lang import init as state
from weft.runtime.null import NullDevice

pytestmark = pytest.mark.skipif(libdevice() is None, reason="no libdevice.10.bc: pip install nvidia-nvvm")


class Recorder(NullDevice):
    """Keeps what is loaded, and runs nothing."""

    arch = "cuda"

    def __init__(self, target: CudaTarget) -> None:
        super().__init__()
        self.target, self.loaded = target, list[Artifact]()

    def load(self, artifact: Artifact) -> Any:
        self.loaded.append(artifact)
        return super().load(artifact)


@pytest.fixture
def compiling() -> Iterator[Callable[..., Recorder]]:
    """`compiling(sm, ptx, **options)` starts a program whose kernels are only compiled; gives what collects them."""

    def start(sm: int = 90, ptx: int = 83, **options: Any) -> Recorder:
        ti.init(arch=ti.cpu, **options)
        program, device = state.program(), Recorder(CudaTarget(sm, ptx))
        program.config = dataclasses.replace(program.config, arch="cuda")
        program._device = device
        return device

    yield start
    ti.reset()


def assembled(ptx: str, sm: int, folder: Path) -> str:
    """What ptxas says about it: how many registers, how much stack. Fails where it refuses."""
    ptxas = shutil.which("ptxas")
    if ptxas is None:
        return ""
    source = folder / "kernel.ptx"
    source.write_text(ptx)
    run = subprocess.run(
        [ptxas, "-v", f"-arch=sm_{sm}", "-o", "/dev/null", str(source)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stderr


@pytest.mark.parametrize("name", NAMES)
def test_demos(name: str, compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    importlib.import_module(f"weft.demos.{name}").build()(0)
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


def compiled(device: Recorder, kernel: Any, *args: Any) -> str:
    """The PTX of a kernel."""
    kernel(*args)
    return device.loaded[-1].ptx


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
    assert ".cas." not in ptx


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
    device = compiling()
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


def test_neighbours_move_in_one_piece(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    x, y, total = ti.field(ti.f32, 1 << 20), ti.field(ti.f32, 1 << 20), ti.field(ti.f32, ())
    a, b = ti.field(ti.f32, (64, 96)), ti.field(ti.f32, (64, 96))
    u, v = ti.field(ti.u8, (64, 96)), ti.field(ti.u8, (64, 97))

    @ti.kernel
    def saxpy(k: ti.f32):
        for i in x:
            y[i] = k * x[i] + y[i]

    @ti.kernel
    def add():
        for i in x:
            total[None] += x[i]

    @ti.kernel
    def heat():
        for i, j in ti.ndrange((1, 63), (1, 95)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] - 4 * a[i, j]

    @ti.kernel
    def count():
        for i, j in ti.ndrange(64, (1, 95)):
            u[i, j] = u[i, j] + 1

    @ti.kernel
    def odd():
        for i, j in ti.ndrange(64, (1, 95)):
            v[i, j] = v[i, j] + 1

    for kernel, loads, stores in ((lambda: saxpy(2.0), 2, 1), (add, 2, 0), (heat, 9, 5), (count, 1, 1), (odd, 0, 0)):
        ptx = compiled(device, kernel)
        assert len(re.findall(r"ld\.global\S*\.v4\.b32", ptx)) == loads
        assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == stores
        assembled(ptx, 90, tmp_path)


def test_histograms_are_counted_in_the_block(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    x, bins, sums = ti.field(ti.u8, 1 << 20), ti.field(ti.i32, 256), ti.Vector.field(2, ti.f32, 64)
    large, seen = ti.field(ti.i32, 1 << 14), ti.field(ti.i32, 256)

    @ti.kernel
    def histogram():
        for i in x:
            bins[x[i]] += 1

    @ti.kernel
    def moments():
        for i in x:
            sums[x[i] % 64] += ti.Vector([1.0, i])

    @ti.kernel
    def others():
        for i in x:
            large[x[i]] += 1
            seen[x[i]] += bins[i % 256]
            if seen[x[i] // 2] > 5:
                large[0] -= 1

    ptx = compiled(device, histogram)
    assert len(re.findall(r"(atom|red)\.shared\.add", ptx)) >= 16
    assert len(re.findall(r"(atom|red)\.global\S*\.add", ptx)) == 1
    assert "ld.global.nc.v4.b32" in ptx
    assembled(ptx, 90, tmp_path)
    ptx = compiled(device, moments)
    assert re.search(r"atom\.shared\.add\.f32", ptx)
    assert "16384 bytes smem" in assembled(ptx, 90, tmp_path) or shutil.which("ptxas") is None
    assert "others_0_share" not in compiled(device, others)


def test_filters_read_each_neighbour_once(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    n = 512
    x, y = ti.Vector.field(3, ti.f32, (n, n)), ti.Vector.field(3, ti.f32, (n, n))

    @ti.kernel
    def inside():
        for i, j in ti.ndrange((2, n - 2), (2, n - 2)):
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-2, 3), (-2, 3)):
                total += x[i + p, j + q]
            y[i, j] = total

    @ti.kernel
    def clamped():
        for i, j in y:
            total = ti.Vector([0.0, 0.0, 0.0])
            for p, q in ti.ndrange((-2, 3), (-2, 3)):
                total += x[ti.max(0, ti.min(n - 1, i + p)), ti.max(0, ti.min(n - 1, j + q))]
            y[i, j] = total

    for kernel in (inside, clamped):
        ptx = compiled(device, kernel)
        wide = re.findall(r"ld\.global\.nc\.v4\.b32", ptx)
        pairs = re.findall(r"ld\.global\.nc\.v2\.b32", ptx)
        # A row of four pixels and their neighbours: 96 bytes from byte -24 on.
        assert len(wide) >= 5
        assert len(pairs) >= 1
        assert len(re.findall(r"st\.global\.v4\.b32", ptx)) >= 3
        assembled(ptx, 90, tmp_path)


def test_rounds_of_a_loop_stand_side_by_side(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    n = 4096
    x, f = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)

    @ti.kernel
    def attract(count: ti.i32):
        for i in range(n):
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(count):
                d = x[j] - x[i]
                inverse = 1.0 / ti.sqrt(d.dot(d) + 1e-3)
                a += d * (inverse * inverse * inverse)
            f[i] = a

    ptx = compiled(device, attract, 100)
    blocks = [
        (block.count("rsqrt.approx.ftz"), len(re.findall(r"ld\.global\.nc\.v4", block)), block)
        for block in re.split(r"^\$L__BB\w+:", ptx, flags=re.M)
    ]
    loops = {(roots, loads) for roots, loads, block in blocks if roots}
    assert (4, 3) in loops  # four rounds for one i
    assert (8, 3) in loops  # the same for two i
    assert ".minnctapersm 1" in ptx  # all the registers that it wants
    assert "div." not in ptx
    assembled(ptx, 90, tmp_path)


@pytest.mark.parametrize(
    ("sm", "ptx_version", "wide"), [(90, 83, True), (100, 88, True), (89, 83, False), (90, 80, False)]
)
def test_sums_of_vectors(
    sm: int, ptx_version: int, wide: bool, compiling: Callable[..., Recorder], tmp_path: Path
) -> None:
    device = compiling(sm, ptx_version)
    v, w = ti.Vector.field(2, ti.f32, 1 << 16), ti.Vector.field(3, ti.f32, 1 << 16)
    m = ti.Matrix.field(2, 2, ti.f32, 1 << 16)

    @ti.kernel
    def scatter(n: ti.i32):
        for i in range(n):
            v[i * 7 % 1000] += ti.Vector([1.0, i])
            w[i * 7 % 1000] += ti.Vector([1.0, i, 2.0])
            m[i * 7 % 1000] += ti.Matrix([[1.0, i], [2.0, 3.0]])

    ptx = compiled(device, scatter, 9)
    assert ("red.relaxed.gpu.global.add.v2.f32" in ptx) == wide
    assert ("red.relaxed.gpu.global.add.v4.f32" in ptx) == wide
    assert len(re.findall(r"(atom|red)\.global\.add\.f32", ptx)) == (3 if wide else 9)
    assembled(ptx, sm, tmp_path)


def test_threads_that_work_together(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    x = ti.field(ti.f32, 1024)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=96)
        for i in x:
            pad = ti.simt.block.SharedArray((96,), ti.f32)
            pad[i % 96] = x[i]
            ti.simt.block.sync()
            value = ti.simt.warp.shfl_xor_f32(ti.simt.warp.active_mask(), pad[95 - i % 96], 1)
            votes = ti.simt.warp.ballot(value > 0.5) + ti.simt.warp.match_any(0xFFFFFFFF, i)
            x[i] = value + votes + ti.simt.block.sync_count_nonzero(i)

    ptx = compiled(device, run)
    assert ".reqntid 96" in ptx
    for wanted in (
        "st.shared.b32",
        "ld.shared.b32",
        "bar.sync",
        "shfl.sync.bfly",
        "vote.sync.ballot",
        "match.any.sync",
    ):
        assert wanted in ptx, wanted
    assert "barrier.cta.red.popc" in ptx or "bar.red.popc" in ptx or "barrier.red.popc" in ptx
    assert "384 bytes smem" in assembled(ptx, 90, tmp_path) or shutil.which("ptxas") is None
    assert device.loaded[-1].shared == (0,)


def test_shared_memory_beyond_what_code_may_bring(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()
    x = ti.field(ti.f32, 1024)

    def kernel(rows: int) -> Any:
        @ti.kernel
        def run():
            for i in x:
                a = ti.simt.block.SharedArray((rows, 256), ti.f32)
                b = ti.simt.block.SharedArray((5,), ti.f64)
                a[i % rows, i % 256] = i
                b[i % 5] = i
                ti.simt.block.sync()
                x[i] = a[0, i % 256] + b[0]

        return run

    ptx = compiled(device, kernel(100))
    assert device.loaded[-1].shared == (100 * 1024 + 48,)
    assert ".extern .shared" in ptx
    assembled(ptx, 90, tmp_path)
    with pytest.raises(ti.CompilationError, match=r"a block of this GPU \(sm_90\) has 232448"):
        kernel(300)()


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


def test_neighbours_in_arrays_move_in_one_piece(compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling()

    @ti.kernel
    def saxpy(a: ti.f32, x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            y[i] = a * x[i] + y[i]

    @ti.kernel
    def heat(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 2)):
        for i, j in ti.ndrange((1, x.shape[0] - 1), (1, x.shape[1] - 1)):
            y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4 * x[i, j]

    line, plane = ti.ndarray(ti.f32, 1024), ti.ndarray(ti.f32, (64, 64))
    for kernel, args, loads, stores in ((saxpy, (2.0, line, line), 2, 1), (heat, (plane, plane), 9, 5)):
        ptx = compiled(device, kernel, *args)
        assert len(re.findall(r"ld\.global\S*\.v4\.b32", ptx)) == loads
        assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == stores
        assert not re.search(r"\b(ld|st)\.(b|u|f|s|v)\d", ptx)
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
