"""NVIDIA GPUs as a target of LLVM: the compute capabilities and PTX versions, and NVIDIA's math library.

The driver assembles PTX for the GPU at hand, so older PTX runs on newer GPUs. It must not be newer than the driver. The
target is therefore the newest one that device, driver and LLVM all support.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from weft.codegen.llvm import machine
from weft.ir.artifact import CudaTarget
from weft.ir.errors import WeftError
from weft.ir.target import ADDS_VECTORS, Target

__all__ = [
    "LIBDEVICE",
    "adds_vectors",
    "device_machine",
    "gpu_target",
    "header",
    "libdevice",
    "link_math",
    "most_arguments",
    "most_shared",
    "newest",
    "optimize",
]

_ADDS_VECTORS = CudaTarget(90, 81)  # the first that does
LIBDEVICE = "libdevice.10.bc"
_TRIPLE = "nvptx64-nvidia-cuda"

# Compute capability, and the first PTX version that knows it.
_FIRST_PTX = {70: 60, 72: 61, 75: 63, 80: 70, 86: 71, 87: 74, 89: 78, 90: 78, 100: 86, 103: 88, 120: 87, 121: 88}
# The KiB of shared memory that a block may have, if not 96.
_SHARED = {75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 100: 227, 103: 227, 120: 99, 121: 99}
_PTX = (63, 64, 65, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88)


def newest(device: CudaTarget) -> CudaTarget:
    """The target to compile for, given the device's compute capability and the newest PTX that its driver takes."""
    ptx = max((version for version in _PTX if version <= device.ptx), default=_PTX[0])
    known = [sm for sm, first in _FIRST_PTX.items() if sm <= device.sm and first <= ptx]
    if not known:
        raise WeftError(f"sm_{device.sm} is too old: Weft needs a GPU of compute capability 7.0 (Volta) or newer")
    return CudaTarget(max(known), ptx)


def gpu_target(device: CudaTarget) -> Target:
    """What tasks are mapped to for that device."""
    return Target("gpu", features=frozenset({ADDS_VECTORS} if adds_vectors(newest(device)) else ()))


def adds_vectors(target: CudaTarget) -> bool:
    """Whether one instruction adds several floats to memory."""
    return target.sm >= _ADDS_VECTORS.sm and target.ptx >= _ADDS_VECTORS.ptx


def most_shared(target: CudaTarget) -> int:
    """How many bytes of shared memory a block may have."""
    return _SHARED.get(target.sm, 96) << 10


def most_arguments(target: CudaTarget) -> int:
    """How many bytes a launch may hand over."""
    return 32764 if target.ptx >= 81 else 4096


@cache
def device_machine(target: CudaTarget, opt_level: int = 3) -> Any:
    """LLVM's target machine."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    kind = llvm.Target.from_triple(_TRIPLE)
    return kind.create_target_machine(cpu=f"sm_{target.sm}", features=f"+ptx{target.ptx}", opt=opt_level)


def header(target: CudaTarget, opt_level: int = 3) -> str:
    """The first lines of a module."""
    layout = device_machine(target, opt_level).target_data
    return f'target datalayout = "{layout}"\ntarget triple = "{_TRIPLE}"\n'


# ---- libdevice -------------------------------------------------------------------------------------------------------


@cache
def libdevice() -> Path | None:
    """The path of NVIDIA's math library: the file in WEFT_LIBDEVICE, else the one in an NVIDIA package (nvidia-nvvm),
    else what `cuda.pathfinder` finds (conda, CUDA_HOME), else a CUDA toolkit of the system, else another package's
    copy."""
    named = os.environ.get("WEFT_LIBDEVICE")
    if named:
        return Path(named)
    site = [Path(entry) for entry in sys.path if entry.endswith("-packages")]
    system = [Path("/usr/local/cuda"), *sorted(Path("/usr/local").glob("cuda-*"), reverse=True), Path("/opt/cuda")]
    places = [(folder, "nvvm/libdevice") for folder in system]
    places += [(Path("/usr/lib"), "cuda/nvvm/libdevice"), (Path("/usr/lib"), "nvidia-cuda-toolkit/libdevice")]
    places += [(folder, f"*/{inside}") for inside in ("backends/nvidia/lib", "native/libdevice") for folder in site]
    packaged = _first([(folder, "nvidia/*/nvvm/libdevice") for folder in site])  # pathfinder takes long to import
    return packaged or _by_pathfinder() or _first(places)


def _first(places: list[tuple[Path, str]]) -> Path | None:
    return next((found for folder, inside in places for found in sorted(folder.glob(f"{inside}/{LIBDEVICE}"))), None)


def _by_pathfinder() -> Path | None:
    """None where the package cuda-pathfinder is not installed, or is older than 1.4, or finds nothing."""
    try:
        pathfinder: Any = import_module("cuda.pathfinder")
        return Path(pathfinder.find_bitcode_lib("device"))
    except (ImportError, AttributeError, RuntimeError):  # its BitcodeLibNotFoundError is a RuntimeError
        return None


@cache
def _functions_of(names: frozenset[str], target: CudaTarget, opt_level: int) -> bytes:
    """The part of libdevice that those functions need, as bitcode."""
    import llvmlite.binding as llvm

    path = libdevice()
    if path is None or not path.exists():
        raise WeftError(
            f"{sorted(names)[0]} needs NVIDIA's math library, but the file {LIBDEVICE} was not found: type "
            "`pip install weft[cuda]`, or set WEFT_LIBDEVICE to the path of the file"
        )
    module = llvm.parse_bitcode(path.read_bytes())
    module.triple, module.data_layout = _TRIPLE, str(device_machine(target, opt_level).target_data)
    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    for variable in module.global_variables:
        variable.linkage = "internal"
    _drop_dead(module, target, opt_level)
    return bytes(module.as_bitcode())


def _drop_dead(module: Any, target: CudaTarget, opt_level: int) -> None:
    import llvmlite.binding as llvm

    builder = llvm.create_pass_builder(device_machine(target, opt_level), llvm.create_pipeline_tuning_options())
    with machine.disposing(llvm.create_new_module_pass_manager()) as passes:
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, builder)


def link_math(module: Any, names: frozenset[str], target: CudaTarget, opt_level: int) -> None:
    """Link those functions of libdevice into `module`; they are its own then."""
    import llvmlite.binding as llvm

    if not names:
        return
    part = llvm.parse_bitcode(_functions_of(names, target, opt_level))
    inside = [function.name for function in part.functions if not function.is_declaration]
    module.link_in(part)
    for name in inside:
        module.get_function(name).linkage = "internal"


def optimize(module: Any, target: CudaTarget, level: int) -> None:
    """LLVM's pipeline for a GPU: threads are the vector, so loops are not vectorized."""
    machine.optimize(module, device_machine(target, level), level, vectorize=False)
