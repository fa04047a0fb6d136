"""The targets LLVM compiles for, behind one small table, and the optimization pipeline they share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

__all__ = ["HostCpu", "assembly", "host_cpu", "optimize", "parse"]


@dataclass(frozen=True)
class HostCpu:
    """The CPU we run on: its LLVM target machine, name, features and the header of a module for it."""

    machine: Any
    name: str
    features: frozenset[str]
    header: str


@cache
def host_cpu(opt_level: int = 3) -> HostCpu:
    """The host, with all its features (a CPU that LLVM does not know by name still has them)."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=features.flatten(), opt=opt_level, jit=True, reloc="pic", codemodel="small"
    )
    header = f'target datalayout = "{machine.target_data}"\ntarget triple = "{machine.triple}"\n'
    return HostCpu(machine, name, frozenset(k for k, on in features.items() if on), header)


def parse(text: str) -> Any:
    """An LLVM module from its text, verified."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    return module


def optimize(module: Any, machine: Any, level: int, vectorize: bool = True) -> None:
    """LLVM's own pipeline at that level, with both vectorizers (they are off by default) if `vectorize`."""
    import llvmlite.binding as llvm

    tuning = llvm.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = vectorize
    tuning.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def assembly(module: Any, opt_level: int = 3) -> str:
    """What the host's instructions for an optimized module are, as text."""
    text: str = host_cpu(opt_level).machine.emit_assembly(module)
    return text
