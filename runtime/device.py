"""What a device is to the rest of Weft: memory, loaded kernels, and a point where its work is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from weft.ir.artifact import Artifact
from weft.runtime.cuda_memory import CudaMemory
from weft.runtime.memory import Memory

__all__ = ["Device", "LoadedKernel"]


class LoadedKernel(Protocol):
    """A kernel ready to run. `trees` are base addresses; `args` one item per parameter: a number for a primitive, the
    flat sequence of its scalars for a tensor or struct, a numpy array or `(address, shape, byte strides)` for an array.
    Gives the scalars of all results."""

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]: ...


class Device(Protocol):
    """A place where kernels run."""

    @property
    def arch(self) -> str:
        """ "cpu", "cuda" or "null"."""
        ...

    @property
    def memory(self) -> Memory | CudaMemory:
        """Where its buffers come from, their addresses, and windows onto them."""
        ...

    def load(self, artifact: Artifact) -> LoadedKernel:
        """The compiled kernel made ready to run here."""
        ...

    def synchronize(self) -> None:
        """Returns when everything launched so far is done."""
        ...

    def time_tasks(self) -> None:
        """From now on, measure the tasks of kernels, where they can be measured by themselves."""
        ...

    def task_times(self) -> Sequence[tuple[str, float]]:
        """(task, seconds) of the launches since the last time."""
        ...

    def close(self) -> None:
        """Gives threads and other resources back. Buffers live as long as somebody holds them."""
        ...
