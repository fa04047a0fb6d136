"""The device for the CPU."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from weft.ir.artifact import SERVICES, Artifact
from weft.runtime import system
from weft.runtime.elf import functions_of
from weft.runtime.jit import Loader, emit
from weft.runtime.launch import CpuKernel, Launching
from weft.runtime.memory import Memory
from weft.runtime.observer import Observer
from weft.runtime.pool import Pool

__all__ = ["CpuDevice"]

_CACHES = 128 << 20  # bytes: more than the last-level cache of nearly all processors

_LARGE = 1 << 20  # bytes that are worth several threads' while to set


def _is_like(source: Any, target: Any) -> bool:
    """Whether an array has the elements of another one in the same order, and no memory in common with it."""
    same = source.dtype == target.dtype and source.shape == target.shape and source.flags.c_contiguous
    return bool(same and not np.may_share_memory(source, target))


class CpuDevice(Launching):
    """Runs kernels on `threads` threads (0: as many as this process may use). `random_seed` determines all random
    numbers of later launches. `emit` compiles the runtime's own LLVM IR to an object file. Nothing is started before
    the first kernel is loaded."""

    arch = "cpu"
    number = target = None

    def __init__(
        self,
        threads: int = 0,
        random_seed: int = 0,
        memory_limit: int = 0,
        emit: Callable[[str], bytes] = emit,
    ) -> None:
        self.threads = threads if threads > 0 else system.threads_available()
        self.memory = Memory(memory_limit)
        self.loader = Loader()
        self._seed, self._emit = random_seed, emit

    @cached_property
    def pool(self) -> Pool:
        """The worker threads."""
        pool = Pool(self.threads, self.native)
        pool.parallel_for, pool.scratch = self.native["launch_for"], self.native["launch_scratch"]  # as launches do
        return pool

    def assign(self, target: Any, value: Any) -> None:
        """`target[...] = value`. All threads set large memory without gaps to 0, or copy to it."""
        array = isinstance(target, np.ndarray)  # (sparse memory is none)
        large = array and target.nbytes >= _LARGE and target.flags.c_contiguous and self.threads > 1
        if large and isinstance(value, np.ndarray) and _is_like(value, target):
            self.pool.set(target.ctypes.data, target.nbytes, value.ctypes.data)
        elif large and np.ndim(value) == 0 and not any(np.asarray(value).tobytes()):
            self.pool.set(target.ctypes.data, target.nbytes)
        else:
            target[...] = value

    @property
    def processors(self) -> int:
        """The number of threads."""
        return self.threads

    def service_table(self, print_address: int) -> Any:
        """Return a service table (see `ir/artifact.py`) with the print service at that address. The caller keeps it
        alive."""
        pool = self.pool
        words = {
            "parallel_for": pool.parallel_for,
            "print": print_address,
            "pool": pool.handle,
            "drawn": 0,
            "threads": pool.threads,
            "scratch": pool.scratch,
            "stack": system.stack_bytes(),
            "poll": self.native["look_for_signals"],
        }
        return (ctypes.c_int64 * len(SERVICES))(*(words[name] for name in SERVICES))

    def load(self, artifact: Artifact) -> CpuKernel:
        """Make the kernel ready to run. The loaded kernel keeps this device alive."""
        elsewhere = [name for part in artifact.parts for name, one in functions_of(part).items() if one.is_global]
        functions = (*artifact.functions, *elsewhere)
        code = self.loader.load(artifact.code, functions, artifact.libraries, parts=artifact.parts)
        return CpuKernel(artifact, code, self.launcher, self.service_table)

    def synchronize(self) -> None:
        """Do nothing: a launch returns when it is done."""

    def stamp(self) -> float:
        """Return the current time, because a launch is done when it returns."""
        return time.perf_counter()

    def seconds_between(self, begin: float, end: float) -> float:
        """Return the seconds between two stamps."""
        return end - begin

    def cache_flush(self) -> Callable[[], None]:
        """Return a function that evicts all data from the caches by writing to a larger memory."""
        block = np.zeros(_CACHES, np.uint8)
        return lambda: block.fill(1)

    def observe(self, observer: Observer | None) -> None:
        """Report memory to that observer from now on, or to none if it is None. (There are no copies, and tasks are not
        timed.)"""
        self.memory.observer = observer

    @property
    def times_tasks(self) -> bool:
        """False: a kernel is timed as a whole."""
        return False

    def time_tasks(self) -> None:
        """Do nothing: tasks are not timed separately here."""

    def task_times(self) -> list[tuple[str, float]]:
        """Return no times: a kernel is timed as a whole."""
        return []

    def close(self) -> None:
        """Stop the worker threads. A later launch starts them again."""
        if "pool" in self.__dict__:
            self.pool.close()
