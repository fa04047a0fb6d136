"""The run-time library as machine code: on threads of the CPU, and on a GPU in software."""

from __future__ import annotations

import pytest

from tests.codegen.chi_runs import EMULATED_TARGETS, code_for_cpu, on_emulated_gpu
from tests.runtime_library import PROGRAMS, functions_of
from weft.ir.artifact import CudaTarget
from weft.ir.config import CompileConfig
from weft.ir.runtime_library.functions import lowered

ITERATIONS, CAPACITY = 12_000, 1 << 12  # so many that the threads share them, and more than the list holds


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("threads", "opt_level"), [(1, 3), (2, 0), (2, 3), (4, 3)])
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
    functions = lowered(functions_of(kernel), CompileConfig(arch="cuda"))
    program.check(on_emulated_gpu(kernel, {}, target, functions), iterations)
