"""Running iterations in SIMD lanes changes nothing: random kernels, in lanes, against the evaluator."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.codegen.machine_code import DEVICE
from tests.generate import Program, chi_kernels
from tests.generate_tree import kernel_trees, program_of
from tests.ir.test_passes_agree import bits, outcome
from tests.mapping import for_cpu
from tests.sampling import draws
from weft.codegen.cpu.kernel import compile_kernel
from weft.ir.config import CompileConfig
from weft.ir.ops import For, Kernel
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.schedule import LoopSchedule, Schedule
from weft.ir.tasks import tasks_of
from weft.ir.text import print_ir
from weft.ir.types import flatten

EXACT = CompileConfig(fast_math=False, verify=False, opt_level=1)
examples = settings(max_examples=draws(30), deadline=None, suppress_health_check=list(HealthCheck))


def in_lanes(kernel: Kernel, lanes: int) -> None:
    """Ask for that many lanes in every loop, of a kernel that may be mapped already."""
    for task in tasks_of(kernel):
        task.config, task.schedule = replace(task.config, simd=lanes), Schedule()
        for loop in task.all_of(For):
            loop.schedule = LoopSchedule()


def native(kernel: Kernel, program: Program, config: CompileConfig) -> dict[str, Any]:
    """All that a run of the lowered kernel as machine code leaves, but for prints."""
    memory = program.memory()
    args = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in program.args]
    given: list[Any] = [
        arg if position == len(args) - 1 else np.asarray(arg).ravel().tolist() if np.ndim(arg) else arg
        for position, arg in enumerate(args)
    ]
    loaded = DEVICE.load(compile_kernel(for_cpu(kernel, config), config))
    with redirect_stdout(io.StringIO()):
        scalars = loaded([tree.__array_interface__["data"][0] for tree in memory.trees], given)
    prims = [prim for type in kernel.results for prim in flatten(type)]
    seen = {symbol.name: bits(memory.read(symbol)) for symbol in kernel.fields}
    seen |= {"results": [bits(np.array(s, p.np)) for s, p in zip(scalars, prims, strict=True)]}
    return seen | {"array": bits(args[-1])}


def unsigned_zeros(values: Any) -> Any:
    """-0.0 as 0.0 (both given by their bits): which of them `sign` gives is not settled."""
    return np.where(values == np.iinfo(values.dtype).min, 0, values)


def agree(program: Program, lanes: int) -> None:
    """The kernel leaves the same in lanes as one iteration at a time."""
    run_passes(program.kernel, TO_TASKS + TO_LOWERED, EXACT, None, "untyped")
    expected = outcome(program.kernel, program, EXACT)
    in_lanes(program.kernel, 1)
    scalar = native(program.kernel, program, EXACT)
    in_lanes(program.kernel, lanes)
    found = native(program.kernel, program, EXACT)
    for what, value in found.items():
        if not np.array_equal(value, scalar[what]):
            pytest.fail(f"{what} is {value} in lanes, {scalar[what]} one by one\n{print_ir(program.kernel)}")
        if what in expected and not np.array_equal(unsigned_zeros(value), unsigned_zeros(expected[what])):
            pytest.fail(f"{what} is {value}, evaluated {expected[what]}\n{print_ir(program.kernel)}")


@examples
@given(program=chi_kernels(mixed=True), lanes=st.sampled_from((2, 4, 8, 32, 64)))
def test_random_kernels(program: Program, lanes: int) -> None:
    agree(program, lanes)


@examples
@given(drawn=kernel_trees(), lanes=st.sampled_from((2, 4, 8, 32, 64)))
def test_random_trees(drawn: Any, lanes: int) -> None:
    agree(program_of(drawn, EXACT), lanes)
