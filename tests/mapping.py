"""Lowered kernels that tests map to a target themselves, to give them to a code generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.codegen.cpu.target import cpu_target
from weft.codegen.nvptx.target import gpu_target
from weft.ir.artifact import CudaTarget
from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.pipeline import map_to_target
from weft.ir.target import Target

__all__ = ["GPU", "for_cpu", "for_gpu", "mapped"]

GPU = CudaTarget(90, 83)


def mapped(kernel: Kernel, config: CompileConfig, target: Target, functions: Sequence[Kernel] = ()) -> Kernel:
    """The kernel, mapped in place, each pass verified."""
    map_to_target(kernel, functions, replace(config, target=target, verify=True))
    return kernel


def for_cpu(kernel: Kernel, config: CompileConfig, features: str = "", functions: Sequence[Kernel] = ()) -> Kernel:
    """The kernel, mapped to a CPU that has those features; to the host if none are given."""
    host = cpu_target(config, config.threads)
    target = replace(host, features=frozenset(features.split())) if features else host
    return mapped(kernel, config, target, functions)


def for_gpu(
    kernel: Kernel, config: CompileConfig, device: CudaTarget = GPU, functions: Sequence[Kernel] = ()
) -> Kernel:
    """The kernel, mapped to that GPU."""
    return mapped(kernel, config, gpu_target(device), functions)
