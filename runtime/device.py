"""What a device is to the rest of Weft: memory, loaded kernels, and a point where its work is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from weft.ir.artifact import Artifact, CudaTarget
from weft.runtime.cuda_memory import CudaMemory
from weft.runtime.memory import Memory
from weft.runtime.observer import Observer

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
    def number(self) -> int | None:
        """Which GPU; None where memory is the host's."""
        ...

    @property
    def threads(self) -> int:
        """How many threads of the CPU run kernels; 0 on a GPU."""
        ...

    @property
    def processors(self) -> int:
        """How many parts of it work at once: threads of a CPU, multiprocessors of a GPU."""
        ...

    @property
    def target(self) -> CudaTarget | None:
        """What PTX is made for; None where none is."""
        ...

    @property
    def random_key(self) -> int:
        """What the random numbers of the next launch come from; may be set to what it was."""
        ...

    @random_key.setter
    def random_key(self, key: int) -> None: ...

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

    def stamp(self) -> Any:
        """The point in time when all that was launched so far is done."""
        ...

    def seconds_between(self, begin: Any, end: Any) -> float:
        """From one stamp to another, when both are passed: by the device's own clock."""
        ...

    def cache_flush(self) -> Callable[[], None]:
        """A function that empties the caches, in the order of the launches."""
        ...

    def observe(self, observer: Observer | None) -> None:
        """Tell that one what happens from now on, as far as it can be told; None: nobody."""
        ...

    def reseed(self, random_seed: int) -> None:
        """Decide the random numbers of the launches to come anew."""
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
