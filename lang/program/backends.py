"""What Weft compiles for: one record for each arch, in `BACKENDS`.

A record says how lowered kernels become code, which device runs that, and what else differs. The rest of `lang` asks
the record and never compares names of arches. To add a target, write a folder in `codegen/`, add a row here, and list
the folder's package in `pyproject.toml` (see docs/contributing.md).

Everything is imported where it is used: a program that finds its kernels in the disk cache needs no compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from weft.ir.config import MANY_THREADS
from weft.ir.errors import WeftError
from weft.ir.target import Target

if TYPE_CHECKING:
    from weft.codegen.llvm.crew import Helpers
    from weft.ir.artifact import Artifact
    from weft.ir.config import CompileConfig
    from weft.ir.ops import Kernel
    from weft.runtime.device import Device

__all__ = ["BACKENDS", "Backend", "Compile", "backend_of", "threads_of"]


class Compile(Protocol):
    """Lowered kernels to code."""

    def __call__(
        self,
        kernel: Kernel,
        config: CompileConfig,
        timer: Any,
        machine: Any,
        functions: Sequence[Kernel],
        helpers: Helpers | None = None,
    ) -> Artifact:
        """The code of a kernel with the functions that it calls. `timer(stage)` is called as each stage begins;
        `machine` is what `Backend.machine` gives; `helpers` are threads that may compile parts of it."""
        ...


@dataclass(frozen=True)
class Backend:
    """What Weft knows of an arch."""

    arch: str  # its name
    lowered_as: str  # the arch that passes are told of: "cpu" or "cuda"
    compile: Compile
    machine: Callable[[Device | None], Any]  # what to compile for, to run on that device; None: on none that is here
    mapping: Callable[[CompileConfig, Any], Target]  # what passes know of that machine
    optimized: Callable[[Artifact, CompileConfig], str]  # the LLVM IR after LLVM's passes
    processor: Callable[[str], Any] | None = None  # the machine of that name, where there are several to choose from
    assembly: Callable[[Artifact, str, CompileConfig], str] | None = None  # of that optimized LLVM IR; None: see `ptx`
    links: bool = False  # whether the code is an object file for linkers
    interprets: bool = False  # whether kernels run as Python


def backend_of(arch: str) -> Backend:
    """The record of that arch. WeftError where there is none."""
    found = BACKENDS.get(arch)
    if found is None:
        raise WeftError(f"Weft compiles for {', '.join(BACKENDS)}, not for {arch!r}")
    return found


def threads_of(device: Any) -> int:
    """How many threads kernels are compiled for, on that device; 0: any number. (Others have none of the CPU's.)"""
    return min(getattr(device, "threads", 0), MANY_THREADS)


# ---- the CPU ---------------------------------------------------------------------------------------------------------


def _for_cpu(
    kernel: Kernel,
    config: CompileConfig,
    timer: Any,
    machine: int,
    functions: Sequence[Kernel],
    helpers: Helpers | None = None,
) -> Artifact:
    from weft.codegen.cpu.kernel import compile_kernel

    return compile_kernel(kernel, replace(config, threads=machine), timer, functions, helpers)


def _map_to_cpu(config: CompileConfig, machine: int) -> Target:
    from weft.codegen.cpu.target import cpu_target

    return cpu_target(config, machine)


def _optimized_for_cpu(artifact: Artifact, config: CompileConfig) -> str:
    from weft.codegen.llvm.machine import optimized

    return str(optimized(artifact.llvm, config.opt_level, config.cpu_features))


def _assembly_for_cpu(artifact: Artifact, optimized: str, config: CompileConfig) -> str:
    from weft.codegen.llvm.machine import assembly_of, parse

    return assembly_of(parse(optimized), config.opt_level, config.cpu_features)


# ---- NVIDIA's GPUs ---------------------------------------------------------------------------------------------------


def _for_cuda(
    kernel: Kernel,
    config: CompileConfig,
    timer: Any,
    machine: Any,
    functions: Sequence[Kernel],
    helpers: Helpers | None = None,
) -> Artifact:
    from weft.codegen.nvptx.kernel import compile_kernel

    return compile_kernel(kernel, config, timer, machine, functions)


def _cuda_machine(device: Any) -> Any:
    """The device's own, or the oldest that will do."""
    from weft.ir.artifact import CudaTarget

    return CudaTarget() if device is None else device.target


def _map_to_cuda(config: CompileConfig, machine: Any) -> Target:
    from weft.codegen.nvptx.target import gpu_target

    return gpu_target(machine)


def _cuda_processor(name: str) -> Any:
    from weft.ir.artifact import CudaTarget

    if not re.fullmatch(r"sm_\d+", name):
        raise WeftError(f"a processor of arch=cuda is written as sm_90, not {name!r}")
    return CudaTarget(int(name[3:]), _NEWEST_PTX)


_NEWEST_PTX = 999  # LLVM's newest is taken


# ---- targets that other programs run ---------------------------------------------------------------------------------


def _for_amdgcn(
    kernel: Kernel,
    config: CompileConfig,
    timer: Any,
    machine: str,
    functions: Sequence[Kernel],
    helpers: Helpers | None = None,
) -> Artifact:
    from weft.codegen.amdgcn.kernel import compile_kernel

    return compile_kernel(kernel, config, timer, machine, functions)


def _amdgcn_processor(name: str) -> str:
    target: str = import_module("weft.codegen.amdgcn.target").target_of(name).processor
    return target


def _for_wasm32(
    kernel: Kernel,
    config: CompileConfig,
    timer: Any,
    machine: None,
    functions: Sequence[Kernel],
    helpers: Helpers | None = None,
) -> Artifact:
    from weft.codegen.wasm.kernel import compile_kernel

    return compile_kernel(kernel, replace(config, threads=1), timer, functions)


def _map_to_wasm32(config: CompileConfig, machine: None) -> Target:
    from weft.codegen.wasm.kernel import MAPPED_TO

    return MAPPED_TO


def _cross_optimized(artifact: Artifact, config: CompileConfig) -> str:
    from weft.codegen.llvm.cross import optimized

    return optimized(artifact.llvm, artifact.native, config.opt_level)


def _cross_assembly(artifact: Artifact, optimized: str, config: CompileConfig) -> str:
    from weft.codegen.llvm.cross import assembly

    return assembly(artifact.llvm, artifact.native, config.opt_level)


_CPU = Backend(
    "cpu",
    lowered_as="cpu",
    compile=_for_cpu,
    machine=threads_of,
    mapping=_map_to_cpu,
    optimized=_optimized_for_cpu,
    assembly=_assembly_for_cpu,
    links=True,
)
_CUDA = Backend(
    "cuda",
    lowered_as="cuda",
    compile=_for_cuda,
    machine=_cuda_machine,
    mapping=_map_to_cuda,
    optimized=lambda artifact, config: str(artifact.native),
    processor=_cuda_processor,
)
_AMDGCN = Backend(
    "amdgcn",
    lowered_as="cuda",
    compile=_for_amdgcn,
    machine=lambda device: "gfx90a",
    mapping=lambda config, machine: Target("gpu"),
    optimized=_cross_optimized,
    processor=_amdgcn_processor,
    assembly=_cross_assembly,
    links=True,
)
_WASM32 = Backend(
    "wasm32",
    lowered_as="cpu",
    compile=_for_wasm32,
    machine=lambda device: None,
    mapping=_map_to_wasm32,
    optimized=_cross_optimized,
    assembly=_cross_assembly,
    links=True,
)
_PYTHON = replace(_CPU, arch="python", interprets=True, links=False)  # (some checks compile kernels)

BACKENDS = {one.arch: one for one in (_CPU, _CUDA, _PYTHON, _AMDGCN, _WASM32)}
