"""The machine that a kernel is mapped to, as far as schedules depend on it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ADDS_VECTORS", "Target"]

ADDS_VECTORS = "adds_vectors"  # a feature of GPUs: atomics that add two or four floats


@dataclass(frozen=True)
class Target:
    """Passes of `TO_MAPPED` and `TO_LANES` read it as `config.target`. The code generators make it."""

    kind: str = "cpu"  # the row of the pipeline tables: "cpu" or "gpu"
    features: frozenset[str] = frozenset()  # CPU: the instruction set extensions, by LLVM's names; GPU: see above
    threads: int = 0  # CPU: how many threads run kernels, 0 where that is not known yet
