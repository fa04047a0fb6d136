"""A device that runs nothing, for compiling without results and for measuring the rest of Weft."""

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
    """A kernel that returns zeros and leaves memory unchanged. `launches` counts its launches."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact, self.launches = artifact, 0
        self._zeros = tuple(prim.np.type(0).item() for type in artifact.slots.results for prim in flatten(type))

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
        self.launches += 1
        return self._zeros


class NullDevice:
    """The device allocates real buffers but does not run kernels."""

    arch = "null"
    number: int | None = None
    target: CudaTarget | None = None
    threads = processors = 1
    random_key = 0

    def __init__(self, memory_limit: int = 0) -> None:
        self.memory = Memory(memory_limit)

    def assign(self, target: Any, value: Any) -> None:
        target[...] = value

    def load(self, artifact: Artifact) -> NullKernel:
        """Return a kernel that does nothing."""
        return NullKernel(artifact)

    def synchronize(self) -> None:
        """Do nothing: no work is ever pending."""

    def stamp(self) -> float:
        """Return the current time."""
        return time.perf_counter()

    def seconds_between(self, begin: float, end: float) -> float:
        """Return the seconds between two stamps."""
        return end - begin

    def cache_flush(self) -> Callable[[], None]:
        """Return a function that does nothing, because no kernel reads memory here."""
        return lambda: None

    def observe(self, observer: Observer | None) -> None:
        """Report memory to that observer from now on."""
        self.memory.observer = observer

    def reseed(self, random_seed: int) -> None:
        """Do nothing: no kernel draws random numbers here."""

    @property
    def times_tasks(self) -> bool:
        return False

    def time_tasks(self) -> None:
        """Do nothing: no task runs."""

    def task_times(self) -> list[tuple[str, float]]:
        """Return no times."""
        return []

    def close(self) -> None:
        """Do nothing: there are no resources."""
