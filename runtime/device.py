"""The interface of a device: its memory, its loaded kernels, and waiting for its work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from weft.ir.artifact import Artifact, CudaTarget
from weft.runtime.cuda_memory import CudaMemory
from weft.runtime.memory import Memory
from weft.runtime.observer import Observer

__all__ = ["Device", "LoadedKernel"]


class LoadedKernel(Protocol):
    """A kernel that is ready to run. `trees` are base addresses. `args` has one item per parameter: a number for a
    primitive, the flat sequence of the scalars of a tensor or struct, and a numpy array or `(address, shape, byte
    strides)` for an array. A call returns the scalars of all results."""

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]: ...


class Device(Protocol):
    """A device that runs kernels."""

    @property
    def arch(self) -> str:
        """ "cpu", "cuda" or "null"."""
        ...

    @property
    def number(self) -> int | None:
        """The number of the GPU; None if the device uses host memory."""
        ...

    @property
    def threads(self) -> int:
        """The number of CPU threads that run kernels; 0 on a GPU."""
        ...

    @property
    def processors(self) -> int:
        """The number of units that work in parallel: threads of a CPU, multiprocessors of a GPU."""
        ...

    @property
    def target(self) -> CudaTarget | None:
        """The target of PTX code; None on other devices."""
        ...

    @property
    def random_key(self) -> int:
        """The seed of the random numbers of the next launch. It may be set to an earlier value."""
        ...

    @random_key.setter
    def random_key(self, key: int) -> None: ...

    def replaying(self, key: int) -> AbstractContextManager[None]:
        """In the block, gradients that this thread launches compute the random numbers of the launch with that key
        again."""
        ...

    def assign(self, target: Any, value: Any) -> None:
        """`target[...] = value`, for a view of the device's memory."""
        ...

    @property
    def memory(self) -> Memory | CudaMemory:
        """The allocator of buffers, which also gives their addresses and views of them."""
        ...

    def load(self, artifact: Artifact) -> LoadedKernel:
        """Make the compiled kernel ready to run on this device."""
        ...

    def synchronize(self) -> None:
        """Wait until everything launched so far is done."""
        ...

    def stamp(self) -> Any:
        """Return the point in time when everything launched so far is done."""
        ...

    def seconds_between(self, begin: Any, end: Any) -> float:
        """Return the seconds between two stamps by the clock of the device. Both must be in the past."""
        ...

    def cache_flush(self) -> Callable[[], None]:
        """Return a function that evicts all data from the caches, in launch order."""
        ...

    def observe(self, observer: Observer | None) -> None:
        """Report work to that observer from now on, as far as the device can; to none if it is None."""
        ...

    def reseed(self, random_seed: int) -> None:
        """Set the seed for the random numbers of later launches."""
        ...

    @property
    def times_tasks(self) -> bool:
        """Whether the tasks of launches are timed now. Native calls that were planned before would not be timed."""
        ...

    def time_tasks(self) -> None:
        """Start timing the tasks of kernels, if the device can time them separately."""
        ...

    def task_times(self) -> Sequence[tuple[str, float]]:
        """Return (task, seconds) of the launches since the last call."""
        ...

    def close(self) -> None:
        """Release threads and other resources. Buffers live as long as something refers to them."""
        ...
