"""Machine code of kernels that are given as CHI, for the checks of derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.codegen.chi_runs import for_device, lowered
from tests.emulated import EmulatedDevice
from tests.fuzz.configurations import Configuration
from tests.mapping import for_cpu
from weft.codegen.cpu import kernel as cpu
from weft.codegen.nvptx import kernel as nvptx
from weft.ir.artifact import Artifact
from weft.ir.config import CompileConfig
from weft.ir.memory_model import flat_values, unflatten
from weft.ir.ops import Kernel
from weft.ir.target import CUDA
from weft.ir.types import Array, Prim, Type, flatten
from weft.runtime.cpu import CpuDevice
from weft.runtime.cuda import CudaDevice

__all__ = ["Machine"]

_SLACK = 64  # bytes behind each tree, as trees have


class Machine:
    """Compiles kernels for an arch, and runs them on trees and arguments as the evaluator does. The arch "emulated" is
    a GPU that the CPU emulates. Each launch has the random numbers of a first one."""

    def __init__(self, configuration: Configuration, arch: str) -> None:
        self.threads = int(configuration.options.get("cpu_max_num_threads", 1))
        self.seed = int(configuration.options.get("random_seed", 0))
        makers = {"cpu": lambda: CpuDevice(threads=self.threads), "cuda": CudaDevice, "emulated": EmulatedDevice}
        self.device: Any = makers[arch]()
        self.on_gpu = arch != "cpu"

    def __call__(
        self, kernel: Kernel, functions: Sequence[Kernel], config: CompileConfig
    ) -> Callable[[list[Any], list[Any]], list[Any]]:
        code, artifact = (self._for_gpu if self.on_gpu else self._for_cpu)(kernel, functions, config)
        loaded, count = self.device.load(artifact), artifact.slots.trees

        def run(trees: list[Any], args: list[Any]) -> list[Any]:
            self.device.reseed(self.seed)
            flat_args = [arg if isinstance(one.type, (Array, Prim)) else flat_values(arg, one.type)
                         for arg, one in zip(args, code.params)]  # fmt: skip
            flat = list((self._on_gpu if self.on_gpu else _on_cpu)(loaded, trees[:count], flat_args))
            return [_regrouped(flat, type) for type in code.results]

        return run

    def _for_cpu(self, kernel: Kernel, functions: Sequence[Kernel], config: CompileConfig) -> tuple[Kernel, Artifact]:
        config = replace(config, threads=self.threads, opt_level=1)
        made = [lowered(one, config) for one in functions]
        code = for_cpu(lowered(kernel, config), config, functions=made)
        return code, cpu.compile_kernel(code, config, functions=made)

    def _for_gpu(self, kernel: Kernel, functions: Sequence[Kernel], config: CompileConfig) -> tuple[Kernel, Artifact]:
        config, target = replace(config, arch="cuda", traits=CUDA), self.device.target
        code, made = for_device(kernel, config, target, functions)
        return code, nvptx.compile_kernel(code, config, device=target, functions=made)

    def _on_gpu(self, loaded: Any, trees: list[Any], args: list[Any]) -> Any:
        arrays = [arg for arg in args if isinstance(arg, np.ndarray) and arg.ndim]
        lent = [self.device.memory.allocate(one.nbytes, "fuzz", _SLACK) for one in (*trees, *arrays)]
        for buffer, one in zip(lent, (*trees, *arrays), strict=True):
            buffer.write(0, one)
        free = iter(lent[len(trees) :])
        given = [(next(free).address, arg.shape, arg.strides) if isinstance(arg, np.ndarray) and arg.ndim else arg
                 for arg in args]  # fmt: skip
        flat = loaded([buffer.address for buffer in lent[: len(trees)]], given)
        self.device.synchronize()
        for buffer, one in zip(lent, (*trees, *arrays), strict=True):
            one.reshape(-1).view(np.uint8)[:] = buffer.read(0, one.nbytes)
        return flat


def _on_cpu(loaded: Any, trees: list[Any], args: list[Any]) -> Any:
    lent = [np.concatenate([tree, np.zeros(_SLACK, np.uint8)]) for tree in trees]
    flat = loaded([tree.ctypes.data for tree in lent], args)
    for tree, one in zip(trees, lent):
        tree[:] = one[: len(tree)]
    return flat


def _regrouped(flat: list[Any], type: Type) -> Any:
    count = len(flatten(type))
    part = flat[:count]
    del flat[:count]
    return unflatten(part, type)
