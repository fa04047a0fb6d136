"""The CPU as a target that tasks are mapped to."""

from __future__ import annotations

from weft.codegen.llvm.machine import host_cpu
from weft.ir.config import CompileConfig
from weft.ir.target import Target

__all__ = ["cpu_target"]


def cpu_target(config: CompileConfig, threads: int) -> Target:
    """The host, restricted to the features that `config.cpu_features` allows, with this many threads."""
    return Target("cpu", features=host_cpu(config.opt_level, config.cpu_features).features, threads=threads)
