"""Runs kernels that are written as CHI: by the evaluator, as machine code of the CPU, and on the GPU in software."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.emulated import EmulatedDevice
from tests.mapping import for_cpu, mapped
from weft.codegen.cpu import kernel as cpu
from weft.codegen.nvptx import kernel as nvptx
from weft.codegen.nvptx.target import gpu_target
from weft.ir.adversary import Schedule
from weft.ir.artifact import CudaTarget
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.target import CUDA
from weft.ir.tasks import tasks_of
from weft.ir.text import print_ir
from weft.runtime.cpu import CpuDevice

__all__ = [
    "EMULATED_TARGETS",
    "code_for_cpu",
    "evaluated",
    "for_device",
    "lowered",
    "mapped_on_cpu",
    "on_cpu",
    "on_emulated_gpu",
]

EMULATED_TARGETS = (CudaTarget(75, 63), CudaTarget(90, 83))
Values = Mapping[str, Any]


def lowered(kernel: Kernel, config: CompileConfig) -> Kernel:
    """A copy, at the lowest level. (A kernel that is there already is taken as it is.)"""
    if tasks_of(kernel):
        return kernel
    return run_passes(parse(print_ir(kernel)), TO_TASKS + TO_LOWERED, config)


def evaluated(
    kernel: Kernel,
    inputs: Values,
    schedule: Schedule | None = None,
    functions: Sequence[Kernel] = (),
    config: CompileConfig | None = None,
) -> dict[str, Any]:
    """What the evaluator leaves in the fields, by name."""
    memory = _memory(kernel, inputs)
    evaluate(kernel, [], memory, config or CompileConfig(), functions=functions, schedule=schedule)
    return {symbol.name: memory.read(symbol) for symbol in kernel.fields}


def on_cpu(
    kernel: Kernel, inputs: Values, threads: int = 2, functions: Sequence[Kernel] = (), opt_level: int = 3
) -> dict[str, Any]:
    """What machine code of the CPU leaves there, with so many threads."""
    return code_for_cpu(kernel, threads, functions, opt_level)(inputs)


def code_for_cpu(
    kernel: Kernel, threads: int = 2, functions: Sequence[Kernel] = (), opt_level: int = 3
) -> Callable[[Values], dict[str, Any]]:
    """The same, to be run several times."""
    config = CompileConfig(threads=threads, opt_level=opt_level)
    made = [lowered(function, config) for function in functions]
    code = for_cpu(lowered(kernel, config), config, functions=made)
    return mapped_on_cpu(code, config, made)


def mapped_on_cpu(
    kernel: Kernel, config: CompileConfig, functions: Sequence[Kernel] = ()
) -> Callable[[Values], dict[str, Any]]:
    """Machine code of a kernel that is mapped to the CPU already, to be run several times."""
    device, artifact = CpuDevice(threads=config.threads), cpu.compile_kernel(kernel, config, functions=functions)
    return lambda inputs: _run(device, artifact, kernel, inputs)


def for_device(
    kernel: Kernel, config: CompileConfig, device: CudaTarget, functions: Sequence[Kernel] = ()
) -> tuple[Kernel, list[Kernel]]:
    """The kernel and its functions, lowered and mapped to that GPU."""
    made = [lowered(function, config) for function in functions]
    return mapped(lowered(kernel, config), config, gpu_target(device), made), made


def on_emulated_gpu(
    kernel: Kernel, inputs: Values, device: CudaTarget, functions: Sequence[Kernel] = ()
) -> dict[str, Any]:
    """What code for a GPU leaves there, run by the CPU. (In a session that has ptxas, the PTX is assembled too.)"""
    config = CompileConfig(arch="cuda", traits=CUDA)
    code, made = for_device(kernel, config, device, functions)
    artifact = nvptx.compile_kernel(code, config, device=device, functions=made)
    return _run(EmulatedDevice(), artifact, kernel, inputs)


def _run(device: Any, artifact: Any, kernel: Kernel, inputs: Values) -> dict[str, Any]:
    memory = _memory(kernel, inputs)
    trees = [np.concatenate([tree, np.zeros(64, np.uint8)]) for tree in memory.trees]  # as trees have slack
    device.load(artifact)([tree.ctypes.data for tree in trees], [])
    device.synchronize()
    memory.trees[:] = [tree[:-64] for tree in trees]
    return {symbol.name: memory.read(symbol) for symbol in kernel.fields}


def _memory(kernel: Kernel, inputs: Values) -> Memory:
    memory = Memory.of(kernel.fields)
    for symbol in kernel.fields:
        if symbol.name in inputs:
            memory.write(symbol, inputs[symbol.name])
    return memory
