"""A device that runs nothing: for compiling where results do not matter, and for measuring all the rest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from weft.ir.artifact import Artifact, CudaTarget
from weft.ir.types import flatten
from weft.runtime.memory import Memory
from weft.runtime.observer import Observer

__all__ = ["NullDevice", "NullKernel"]


class NullKernel:
    """Gives zeros and leaves memory as it is; `launches` counts."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact, self.launches = artifact, 0
        self._zeros = tuple(prim.np.type(0).item() for type in artifact.slots.results for prim in flatten(type))

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
        self.launches += 1
        return self._zeros


class NullDevice:
    """Buffers are real, kernels are not run."""

    arch = "null"
    number: int | None = None
    target: CudaTarget | None = None
    threads = processors = 1
    random_key = 0

    def __init__(self, memory_limit: int = 0) -> None:
        self.memory = Memory(memory_limit)

    def load(self, artifact: Artifact) -> NullKernel:
        """A kernel that does nothing."""
        return NullKernel(artifact)

    def synchronize(self) -> None:
        """There is never anything to wait for."""

    def stamp(self) -> float:
        """Now."""
        return time.perf_counter()

    def seconds_between(self, begin: float, end: float) -> float:
        """From one stamp to another."""
        return end - begin

    def cache_flush(self) -> Callable[[], None]:
        """A function that does nothing: no kernel reads memory here."""
        return lambda: None

    def observe(self, observer: Observer | None) -> None:
        """Tell that one of memory from now on."""
        self.memory.observer = observer

    def reseed(self, random_seed: int) -> None:
        """No kernel draws random numbers here."""

    def time_tasks(self) -> None:
        """Nothing runs."""

    def task_times(self) -> list[tuple[str, float]]:
        """None."""
        return []

    def close(self) -> None:
        """There is nothing to give back."""
