"""PTX becomes a module of the driver, by way of machine code that is kept.

Assembling PTX takes the driver longer than all else that loading a kernel takes. Where there is a store, the driver's
linker is asked for the machine code (a *cubin*), which is put there for the next process. Its key says for which
architecture, by which driver and of which PTX it was made. A cubin that the driver refuses counts for nothing: it is
made anew, and put in its place.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from hashlib import blake2b
from typing import Protocol

from weft.runtime.cuda_driver import CudaError, Driver

__all__ = ["Keeper", "load_module"]

_LINES = b"\t.loc\t"  # a line table: NVIDIA's tools find it in modules that the driver assembled itself

_log = logging.getLogger("weft")


class Keeper(Protocol):
    """Keeps bytes under keys, as far as it can."""

    def get(self, key: str) -> bytes | None:
        """What is kept there."""

    def put(self, key: str, payload: bytes) -> None:
        """Keep that there."""


def load_module(driver: Driver, name: str, ptx: bytes, architecture: int, store: Keeper | None) -> int:
    """The module of kernel `name`, for the current context. CudaError with what the assembler says, if it refuses."""
    if store is None or _LINES in ptx:
        return _load_ptx(driver, name, ptx)
    key = _key(driver, ptx, architecture)
    kept = store.get(key)
    if kept:
        with suppress(CudaError):
            return driver.load_cubin(kept)
        _log.info("a cubin of the cache cannot be used: kernel %s is assembled anew", name)
    try:
        cubin = driver.assemble(ptx)
        module = driver.load_cubin(cubin)
    except CudaError as error:
        _log.debug("the driver makes no cubin of kernel %s: %s", name, error)
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
