"""The CPU as a device."""

from __future__ import annotations

import ctypes
from itertools import count
from typing import Any

from weft.ir.artifact import SERVICES, Artifact
from weft.runtime import system
from weft.runtime.jit import Loader
from weft.runtime.launch import CpuKernel
from weft.runtime.memory import Memory
from weft.runtime.pool import Pool

__all__ = ["CpuDevice"]

_PRINT = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)


class CpuDevice:
    """Runs kernels on `threads` threads (0: as many as this process may use). `random_seed` decides all random
    numbers of the launches to come. Costs nothing until the first kernel is loaded."""

    arch = "cpu"

    def __init__(self, threads: int = 0, random_seed: int = 0, memory_limit: int = 0) -> None:
        self.threads = threads if threads > 0 else system.threads_available()
        self.memory = Memory(memory_limit)
        self.loader = Loader()
        # Launches take consecutive keys; the streams of a counter-based generator differ by key alone.
        self.next_seed = count(_scramble(random_seed)).__next__
        self._pool: Pool | None = None
        self._table: Any = None
        self._no_print: Any = None

    @property
    def pool(self) -> Pool:
        """The worker threads."""
        if self._pool is None:
            self._pool = Pool(self.threads, self.loader)
        return self._pool

    @property
    def services(self) -> int:
        """Address of the service table of kernels that print nothing."""
        if self._table is None:
            self._no_print = _PRINT(lambda site, values: None)
            self._table = self.service_table(ctypes.cast(self._no_print, ctypes.c_void_p).value or 0)
        return ctypes.addressof(self._table)

    def service_table(self, print_address: int) -> Any:
        """A service table (see `ir/artifact.py`) whose print service is at that address; the caller keeps it."""
        words = {
            "parallel_for": self.pool.parallel_for,
            "print": print_address,
            "pool": self.pool.handle,
            "threads": self.pool.threads,
        }
        return (ctypes.c_int64 * len(SERVICES))(*(words[name] for name in SERVICES))

    def load(self, artifact: Artifact) -> CpuKernel:
        """The kernel, ready to run."""
        return CpuKernel(artifact, self)

    def synchronize(self) -> None:
        """Nothing to wait for: a launch returns when it is done."""

    def close(self) -> None:
        """Ends the worker threads; a later launch starts them again."""
        if self._pool is not None:
            self._pool.close()


def _scramble(seed: int) -> int:
    """A 62-bit key far from those of neighbouring seeds (the finalizer of splitmix64)."""
    mask = (1 << 64) - 1
    z = (seed + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return (z ^ (z >> 31)) >> 2
