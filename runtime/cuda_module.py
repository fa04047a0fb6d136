"""PTX becomes a module of the driver, by way of machine code that is kept.

Assembling PTX takes the driver longer than all else that loading a kernel takes. Where there is a store, the driver's
linker is asked for the machine code (a *cubin*), which is put there for the next process. Its key says for which
architecture, by which driver and of which PTX it was made. A cubin that the driver refuses counts for nothing: it is
made anew, and put in its place.
"""

from __future__ import annotations

import ctypes
import logging
from contextlib import suppress
from ctypes import c_size_t, c_void_p
from hashlib import blake2b
from typing import Protocol

from weft.runtime.cuda_driver import CudaError, Driver

__all__ = ["Keeper", "assemble", "load_module"]

_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
_PTX = 1  # CU_JIT_INPUT_PTX
_LOG_BYTES = 8192
_LINES = b"\t.loc\t"  # a line table: NVIDIA's tools find it in modules that the driver assembled itself

_log = logging.getLogger("weft")


class Keeper(Protocol):
    """Keeps bytes under keys, as far as it can."""

    def get(self, key: str) -> bytes | None:
        """What is kept there."""

    def put(self, key: str, payload: bytes) -> None:
        """Keep that there."""


class _Log:
    """What the assembler has to say, and the options by which a function of the driver is told to say it."""

    def __init__(self) -> None:
        self._text = ctypes.create_string_buffer(_LOG_BYTES)
        self.options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
        self.values = (c_void_p * 2)(ctypes.addressof(self._text), _LOG_BYTES)

    def __str__(self) -> str:
        return self._text.value.decode(errors="replace")


def load_module(driver: Driver, name: str, ptx: bytes, architecture: int, store: Keeper | None) -> int:
    """The module of kernel `name`, for the current context. CudaError with what the assembler says, if it refuses."""
    if store is None or _LINES in ptx:
        return _load_ptx(driver, name, ptx)
    key = _key(driver, ptx, architecture)
    kept = store.get(key)
    if kept:
        with suppress(CudaError):
            return _load_cubin(driver, kept)
        _log.info("a cubin of the cache cannot be used: kernel %s is assembled anew", name)
    try:
        cubin = assemble(driver, ptx)
        module = _load_cubin(driver, cubin)
    except CudaError as error:
        _log.debug("the driver makes no cubin of kernel %s: %s", name, error)
        return _load_ptx(driver, name, ptx)
    store.put(key, cubin)
    return module


def _key(driver: Driver, ptx: bytes, architecture: int) -> str:
    facts = f"cubin of sm_{architecture} by driver {driver.number('cuDriverGetVersion')}\n"
    return blake2b(facts.encode() + ptx, digest_size=20).hexdigest()


def _load_ptx(driver: Driver, name: str, ptx: bytes) -> int:
    log = _Log()
    try:
        return driver.made("cuModuleLoadDataEx", ptx + b"\0", 2, log.options, log.values)
    except CudaError as error:
        raise CudaError(f"kernel {name}: {error}\n{log}".rstrip(), error.status) from None


def _load_cubin(driver: Driver, cubin: bytes) -> int:
    return driver.made("cuModuleLoadData", cubin)


def assemble(driver: Driver, ptx: bytes) -> bytes:
    """The cubin of that PTX, for the GPU of the current context. CudaError if the driver makes none."""
    state, cubin, size = c_void_p(), c_void_p(), c_size_t()
    driver.call("cuLinkCreate_v2", 0, None, None, ctypes.byref(state))
    try:
        text = ptx + b"\0"
        driver.call("cuLinkAddData_v2", state, _PTX, text, len(text), None, 0, None, None)
        driver.call("cuLinkComplete", state, ctypes.byref(cubin), ctypes.byref(size))
        return ctypes.string_at(cubin, size.value)  # the linker's memory goes with it
    finally:
        driver.call("cuLinkDestroy", state)
