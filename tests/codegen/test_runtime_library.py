"""The run-time library as machine code: on threads of the CPU, and on a GPU in software."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.codegen.chi_runs import EMULATED_TARGETS, code_for_cpu, on_emulated_gpu
from tests.codegen.chi_runs import lowered as lowered_kernel
from tests.codegen.wasm_machine import WasmKernel, needs_wasm
from tests.mapping import GPU, mapped
from tests.runtime_library import PROGRAMS, functions_of
from tests.sampling import every, only
from weft.codegen.amdgcn import kernel as amdgcn
from weft.codegen.nvptx.target import gpu_target
from weft.codegen.wasm import kernel as wasm
from weft.ir.artifact import CudaTarget
from weft.ir.config import CompileConfig
from weft.ir.memory_model import Memory
from weft.ir.runtime_library.functions import lowered
from weft.ir.target import CUDA

ITERATIONS, CAPACITY = 12_000, 1 << 12  # so many that the threads share them, and more than the list holds


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("threads", "opt_level"), only([(2, 3)], [(1, 3), (2, 0), (2, 3), (4, 3)]))
def test_on_threads_of_the_cpu(name: str, threads: int, opt_level: int) -> None:
    program = PROGRAMS[name]
    kernel = program.kernel(ITERATIONS, CAPACITY)
    functions = lowered(functions_of(kernel), CompileConfig(threads=threads, opt_level=opt_level))
    run = code_for_cpu(kernel, threads, functions, opt_level)
    for _ in range(5):
        program.check(run({}), ITERATIONS)


@pytest.mark.emulated
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("target", EMULATED_TARGETS, ids=str)
def test_on_a_gpu_in_software(name: str, target: CudaTarget) -> None:
    program, iterations = PROGRAMS[name], 2000
    kernel = program.kernel(iterations, 1 << 10)
    functions = lowered(functions_of(kernel), CompileConfig(arch="cuda", traits=CUDA))
    program.check(on_emulated_gpu(kernel, {}, target, functions), iterations)


@needs_wasm
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_web_assembly(name: str, tmp_path: Path) -> None:
    """One thread runs it: nobody is waited for."""
    program, config = PROGRAMS[name], CompileConfig(threads=1, target=wasm.MAPPED_TO)
    kernel = program.kernel(200)
    functions = lowered(functions_of(kernel), config)
    code = mapped(lowered_kernel(kernel, config), config, wasm.MAPPED_TO, functions)
    memory = Memory.of(kernel.fields)
    WasmKernel(wasm.compile_kernel(code, config, functions=functions), tmp_path)(memory.trees, [])
    program.check({symbol.name: memory.read(symbol) for symbol in kernel.fields}, 200)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("processor", every(2, ["gfx90a", "gfx1100"]))
def test_for_gpus_of_amd(name: str, processor: str) -> None:
    """Nothing runs it here; LLVM takes it, and makes an object file."""
    target = gpu_target(GPU)
    config = replace(CompileConfig(arch="cuda", traits=CUDA), target=target)
    kernel = PROGRAMS[name].kernel(200)
    functions = lowered(functions_of(kernel), config)
    code = mapped(lowered_kernel(kernel, config), config, target, functions)
    artifact = amdgcn.compile_kernel(code, config, processor=processor, functions=functions)
    assert artifact.code[:4] == b"\x7fELF"
    assert 'syncscope("agent")' in artifact.llvm
