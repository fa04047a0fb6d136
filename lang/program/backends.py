"""The backends of Weft: one record for each arch, in `BACKENDS`.

A record says how lowered kernels are compiled, which device runs the code, and in what else the arch differs. The rest
of `lang` reads the record and never compares names of arches. To add a target, write a folder in `codegen/`, add a row
here, and list the folder's package in `pyproject.toml` (see docs/contributing.md).

Modules are imported in the functions that use them, because a program that finds its kernels in the disk cache needs no
compiler."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.ir.config import MANY_THREADS
from weft.ir.errors import WeftError
from weft.ir.target import CPU, CUDA, GPU, Target, Traits
from weft.lang.program.options import environment, parse

if TYPE_CHECKING:
    from weft.codegen.llvm.crew import Helpers
    from weft.codegen.llvm.machine import Keep
    from weft.ir.artifact import Artifact, CudaTarget
    from weft.ir.config import CompileConfig
    from weft.ir.mapping.routines import Routine
    from weft.ir.ops import Kernel
    from weft.runtime.device import Device

__all__ = ["BACKENDS", "Backend", "Request", "threads_of"]


Emit = Callable[[str], bytes]


@dataclass(frozen=True)
class Request:
    """What a backend compiles to code."""

    kernel: Kernel  # in lowered CHI, mapped to `config.target`
    functions: Sequence[Kernel]  # those that it calls
    config: CompileConfig
    machine: Any  # the result of `Backend.machine`
    timer: Callable[[str], object] | None = None  # called with the name of each stage when the stage begins
    helpers: Helpers | None = None  # threads that may compile parts of the kernel
    keep: Keep | None = None  # keeps object files that several kernels have
    apart: Sequence[Routine] = ()  # the routines that the kernel runs and does not have


class Backend(NamedTuple):
    """The record of an arch."""

    arch: str  # its name
    lowered_as: str  # the arch that kernels are compiled for: "cpu" for `python`, else its own name
    traits: Traits  # how its machines differ for passes
    compile: Callable[[Request], Artifact]
    machine: Callable[[Device | None], Any]  # the machine to compile for, given the device; None: no device is open
    mapping: Callable[[CompileConfig, Any], Target]  # the facts about that machine that passes use
    optimized: Callable[[Artifact, CompileConfig], str]  # the LLVM IR after LLVM's passes
    processor: Callable[[str], Any] | None = None  # the machine with this name, if there are several
    assembly: Callable[[Artifact, str, CompileConfig], str] | None = None  # from the optimized LLVM IR; None: see `ptx`
    # Opens the device with this number. Also takes the function that makes object files for the host, and the function
    # that returns the program's store. None: Weft compiles for this arch but cannot run the code.
    open: Callable[[CompileConfig, int, Emit, Callable[[], Any]], Device] | None = None
    missing: Callable[[int], str] = lambda number: ""  # why the device with this number cannot be used; "" if it can
    depends_on: Callable[[Device], str] = lambda device: ""  # what code depends on besides the kernel and the host
    compiles_apart: bool = False  # whether routines of the run-time library may be left out of kernels (`config.apart`)
    links: bool = False  # whether the code is an object file for linkers
    interprets: bool = False  # whether kernels run as Python
    blocks: bool = False  # whether threads run in blocks, as on a GPU: `ti.simt` works, algorithms use it
    own_memory: bool = False  # whether fields are in memory of the device, which Python accesses by copies
    times_tasks: bool = False  # whether the device measures each task of a kernel


def threads_of(device: Device | None) -> int:
    """The number of threads on this device that kernels are compiled for. 0 means any number."""
    return 0 if device is None else min(device.threads, MANY_THREADS)


# ---- the CPU ---------------------------------------------------------------------------------------------------------


def _for_cpu(request: Request) -> Artifact:
    from weft.codegen.cpu.kernel import compile_kernel

    config = replace(request.config, threads=request.machine)
    return compile_kernel(
        request.kernel, config, request.timer, request.functions, request.helpers, request.keep, request.apart
    )


def _open_cpu(config: CompileConfig, number: int, emit: Emit, store: Callable[[], Any]) -> Device:
    from weft.runtime.cpu import CpuDevice

    return CpuDevice(config.threads, config.random_seed, emit=emit)


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


def _for_cuda(request: Request) -> Artifact:
    from weft.codegen.nvptx.kernel import compile_kernel

    return compile_kernel(request.kernel, request.config, request.timer, request.machine, request.functions)


def _cuda_machine(device: Device | None) -> CudaTarget:
    """The target of the device. Without one, the oldest target that Weft supports."""
    from weft.ir.artifact import CudaTarget

    if device is None or device.target is None:
        return CudaTarget()
    return device.target


def _open_cuda(config: CompileConfig, number: int, emit: Emit, store: Callable[[], Any]) -> Device:
    from weft.runtime.cuda import CudaDevice

    return CudaDevice(config.random_seed, number, emit, store())


def _cuda_missing(number: int) -> str:
    if (text := environment("enable_cuda")) and not parse("enable_cuda", bool, text):
        return "the environment variable WEFT_ENABLE_CUDA or TI_ENABLE_CUDA turns it off"
    try:
        from weft.runtime.cuda import missing
    except ImportError as error:
        return str(error)
    return missing(number)


def _cuda_depends_on(device: Device) -> str:
    from weft.codegen.nvptx.target import libdevice

    library = libdevice()
    return f"{device.target} " + ("" if library is None else f"{library} {library.stat().st_mtime_ns}")


def _map_to_cuda(config: CompileConfig, machine: Any) -> Target:
    from weft.codegen.nvptx.target import gpu_target

    return gpu_target(machine)


def _cuda_processor(name: str) -> Any:
    from weft.ir.artifact import CudaTarget

    if not re.fullmatch(r"sm_\d+", name):
        raise WeftError(f"a processor of arch=cuda must be written like sm_90, not {name!r}")
    return CudaTarget(int(name[3:]), _NEWEST_PTX)


_NEWEST_PTX = 999  # use the newest version that LLVM knows


# ---- targets that other programs run ---------------------------------------------------------------------------------


def _for_amdgcn(request: Request) -> Artifact:
    from weft.codegen.amdgcn.kernel import compile_kernel

    return compile_kernel(request.kernel, request.config, request.timer, request.machine, request.functions)


def _amdgcn_processor(name: str) -> str:
    target: str = import_module("weft.codegen.amdgcn.target").target_of(name).processor
    return target


def _for_wasm32(request: Request) -> Artifact:
    from weft.codegen.wasm.kernel import compile_kernel

    config = replace(request.config, threads=1)
    return compile_kernel(request.kernel, config, request.timer, request.functions)


def _map_to_wasm32(config: CompileConfig, machine: None) -> Target:
    from weft.codegen.wasm.kernel import MAPPED_TO

    return MAPPED_TO


def _not_run(number: int) -> str:
    return "Weft can compile for it, but cannot run it"


def _cross_optimized(artifact: Artifact, config: CompileConfig) -> str:
    from weft.codegen.llvm.cross import optimized

    return optimized(artifact.llvm, artifact.native, config.opt_level)


def _cross_assembly(artifact: Artifact, optimized: str, config: CompileConfig) -> str:
    from weft.codegen.llvm.cross import assembly

    return assembly(artifact.llvm, artifact.native, config.opt_level)


_CPU = Backend(
    "cpu",
    lowered_as="cpu",
    traits=CPU,
    compile=_for_cpu,
    machine=threads_of,
    mapping=_map_to_cpu,
    optimized=_optimized_for_cpu,
    assembly=_assembly_for_cpu,
    open=_open_cpu,
    compiles_apart=True,
    links=True,
)
_CUDA = Backend(
    "cuda",
    lowered_as="cuda",
    traits=CUDA,
    compile=_for_cuda,
    machine=_cuda_machine,
    mapping=_map_to_cuda,
    optimized=lambda artifact, config: str(artifact.native),
    processor=_cuda_processor,
    open=_open_cuda,
    missing=_cuda_missing,
    depends_on=_cuda_depends_on,
    blocks=True,
    own_memory=True,
    times_tasks=True,
)
_AMDGCN = Backend(
    "amdgcn",
    lowered_as="amdgcn",
    traits=GPU,
    compile=_for_amdgcn,
    machine=lambda device: "gfx90a",
    mapping=lambda config, machine: Target("gpu"),
    optimized=_cross_optimized,
    processor=_amdgcn_processor,
    assembly=_cross_assembly,
    missing=_not_run,
    links=True,
    blocks=True,
    own_memory=True,
)
_WASM32 = Backend(
    "wasm32",
    lowered_as="wasm32",
    traits=CPU,
    compile=_for_wasm32,
    machine=lambda device: None,
    mapping=_map_to_wasm32,
    optimized=_cross_optimized,
    assembly=_cross_assembly,
    missing=_not_run,
    links=True,
)
# (the checks of races and of uninitialised elements compile kernels)
_PYTHON = _CPU._replace(arch="python", interprets=True, links=False)

BACKENDS = {one.arch: one for one in (_CPU, _CUDA, _PYTHON, _AMDGCN, _WASM32)}
