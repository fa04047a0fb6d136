"""Code generation changes no IR: the text of kernels and functions is the same before and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from tests.codegen.ptx import Recorder, compiling
from tests.mapping import GPU, for_cpu, for_gpu
from weft.codegen.cpu import kernel as cpu
from weft.codegen.nvptx import kernel as gpu
from weft.ir.config import CompileConfig
from weft.ir.parse import parse
from weft.ir.target import CUDA
from weft.ir.text import print_ir

FOLDER = Path(__file__).parent
LOWERED = sorted(FOLDER.glob("golden/*.chi"))
MAPPED = sorted((FOLDER.parent / "ir" / "golden" / "mapping").glob("*.before.chi"))
__all__ = ["compiling"]


@pytest.mark.parametrize("path", LOWERED, ids=lambda path: path.stem)
def test_for_cpus(path: Path) -> None:
    config = CompileConfig(threads=4)
    kernel = for_cpu(parse(path.read_text()), config, "sse2 avx2")
    before = print_ir(kernel)
    cpu.emit_kernel(kernel, config, frozenset({"sse2", "avx2"}))
    assert print_ir(kernel) == before


@pytest.mark.parametrize("path", LOWERED, ids=lambda path: path.stem)
def test_for_gpus(path: Path) -> None:
    config = CompileConfig(arch="cuda", traits=CUDA)
    kernel = for_gpu(parse(path.read_text()), config)
    before = print_ir(kernel)
    gpu.emit_kernel(kernel, config, GPU)
    assert print_ir(kernel) == before


def test_kernels_with_functions(compiling: Callable[..., Recorder], monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that call themselves, loops that are coarsened, peeled and shared by warps, copies, rows of sums."""
    compile_kernel, seen = gpu.compile_kernel, list[str]()

    def watched(kernel: Any, config: Any, timer: Any, device: Any, functions: Any) -> Any:
        before = [print_ir(one) for one in (kernel, *functions)]
        made = compile_kernel(kernel, config, timer, device, functions)
        assert [print_ir(one) for one in (kernel, *functions)] == before
        seen.extend(before)
        return made

    monkeypatch.setattr(gpu, "compile_kernel", watched)
    compiling()
    x, y, bins = ti.field(ti.f32, 5000), ti.field(ti.f32, 5000), ti.field(ti.i32, 16)
    a, v = ti.field(ti.f32, (64, 512)), ti.Vector.field(2, ti.f32, 20000)

    @ti.real_func
    def factorial(n: ti.i32) -> ti.i32:
        result = 1
        if n > 1:
            result = n * factorial(n - 1)
        return result

    @ti.kernel
    def everything(n: ti.i32) -> ti.i32:
        for i in x:
            y[i] = x[ti.max(0, i - 2)] + x[ti.min(4999, i + 2)]
        for i in range(64):
            total = 0.0
            for j in range(512):
                total += a[i, j]
            y[i] = total
        for i in x:
            bins[int(x[i]) % 16] += 1
        for i in x:
            v[i % 100 * 3] += ti.Vector([1.0, x[i]])
        for i in range(n):
            x[i] += float(factorial(i % 5))
        return bins[0]

    everything(5)
    text = "".join(seen)
    for word in ("clamp min", "warp=true", "across=4", "privatized=", "atomic_row", "stack_left", "guarded=true"):
        assert word in text, word
