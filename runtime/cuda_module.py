"""Load PTX as a module of the driver, by way of machine code that is cached.

Assembling PTX is the slowest part of loading a kernel. If there is a store, the driver's linker makes the machine code
(a *cubin*), which is kept for the next process. The key contains the architecture, the driver version and the PTX. If
the driver rejects a cubin, it is made again and replaced.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from hashlib import blake2b
from typing import Protocol

from weft.runtime.cuda_driver import CudaError, Driver

__all__ = ["Keeper", "load_module"]

_LINES = b"\t.loc\t"  # a line table: NVIDIA's tools only find it in modules that the driver assembled itself

_log = logging.getLogger("weft")


class Keeper(Protocol):
    """Keeps bytes under keys, on a best-effort basis."""

    def get(self, key: str) -> bytes | None:
        """Return the bytes under that key."""

    def put(self, key: str, payload: bytes) -> None:
        """Keep the bytes under that key."""


def load_module(driver: Driver, name: str, ptx: bytes, architecture: int, store: Keeper | None) -> int:
    """Load the module of kernel `name` into the current context. Raises CudaError with the assembler's message if it
    rejects the PTX."""
    if store is None or _LINES in ptx:
        return _load_ptx(driver, name, ptx)
    key = _key(driver, ptx, architecture)
    kept = store.get(key)
    if kept:
        with suppress(CudaError):
            return driver.load_cubin(kept)
        _log.info("cannot use a cubin of the cache: assembling kernel %s again", name)
    try:
        cubin = driver.assemble(ptx)
        module = driver.load_cubin(cubin)
    except CudaError as error:
        _log.debug("the driver cannot make a cubin of kernel %s: %s", name, error)
        return _load_ptx(driver, name, ptx)
    store.put(key, cubin)
    return module


def _key(driver: Driver, ptx: bytes, architecture: int) -> str:
    facts = f"cubin of sm_{architecture} by driver {driver.version()}\n"
    return blake2b(facts.encode() + ptx, digest_size=20).hexdigest()


def _load_ptx(driver: Driver, name: str, ptx: bytes) -> int:
    try:
        return driver.load_ptx(ptx)
    except CudaError as error:
        raise CudaError(f"kernel {name}: {error}", error.status) from None
