"""The parts that Linux and macOS share: native threads by pthreads, memory by mmap."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from weft.runtime.native import Function, Module, Value

__all__ = ["add_threads", "advise", "commit", "release", "reserve", "resident", "stack_limit"]

_STACK = 8 << 20  # bytes, for threads of the pool
_READ_WRITE = 3  # PROT_READ | PROT_WRITE
_PRIVATE = 2  # MAP_PRIVATE
_LAZY = 0x40 if sys.platform == "darwin" else 0x4000  # MAP_NORESERVE
_HUGE, _SMALL = 14, 15  # MADV_HUGEPAGE, MADV_NOHUGEPAGE; Linux only
_ASKED = 1 << 30  # bytes that one call of mincore is asked about


def add_threads(
    module: Module, signals: str, fill: Callable[[Function, Value], None], set_mask: int, anonymous: int
) -> None:
    """Add the functions that start and join threads. `signals` is the type of a set of signals. `fill` writes all
    signals except those of faults into such a set: workers block the signals that another thread could handle.
    `set_mask` is SIG_SETMASK, `anonymous` is MAP_ANONYMOUS."""
    module.declare(
        {
            "pthread_create": "i32 (ptr, ptr, ptr, ptr)",
            "pthread_join": "i32 (i64, ptr)",
            "pthread_attr_init": "i32 (ptr)",
            "pthread_attr_setstacksize": "i32 (ptr, i64)",
            "pthread_attr_destroy": "i32 (ptr)",
            "pthread_sigmask": "i32 (i32, ptr, ptr)",
        }
    )

    @module.function("i64", "ptr", "ptr")
    def thread_start(f: Function, function: Value, argument: Value) -> None:
        """Start a thread. Returns its handle, or 0 if there is none."""
        handle, attributes = f.room("i64"), f.room("[128 x i8]", 16)
        mask, saved = f.room(signals), f.room(signals)
        handle.store(0)
        fill(f, mask)
        f.call("pthread_sigmask", set_mask, mask, saved)
        f.call("pthread_attr_init", attributes)
        f.call("pthread_attr_setstacksize", attributes, _STACK)
        failed = f.call("pthread_create", handle, attributes, function, argument)
        f.call("pthread_attr_destroy", attributes)
        f.call("pthread_sigmask", set_mask, saved, None)
        started = handle.load("i64")
        f.ret(failed.eq(0).select(started, f.constant(0)))

    @module.function("void", "i64")
    def thread_join(f: Function, handle: Value) -> None:
        """Wait for the end of a thread."""
        f.call("pthread_join", handle, None)
        f.ret()

    _add_pages(module, anonymous)


def _add_pages(module: Module, anonymous: int) -> None:
    """Add the functions that reserve, commit and release pages."""
    module.declare(
        {
            "mmap": "ptr (ptr, i64, i32, i32, i32, i64)",
            "mprotect": "i32 (ptr, i64, i32)",
            "munmap": "i32 (ptr, i64)",
        }
    )

    @module.function("ptr", "i64")
    def pages_reserve(f: Function, size: Value) -> None:
        """Reserve addresses without access. Returns null if there is no room."""
        address = f.call("mmap", None, size, 0, anonymous | _PRIVATE, -1, 0)
        failed = address.eq(f.constant(-1, "ptr"))
        f.ret(failed.select(f.constant(0, "ptr"), address))

    @module.function("i1", "ptr", "i64")
    def pages_commit(f: Function, address: Value, size: Value) -> None:
        """Make pages readable and writable. Returns whether the system did so."""
        f.ret(f.call("mprotect", address, size, _READ_WRITE).eq(0))

    @module.function("void", "ptr", "i64")
    def pages_release(f: Function, address: Value, size: Value) -> None:
        """Give addresses and their contents back to the system."""
        f.call("munmap", address, size)
        f.ret()


def stack_limit() -> int:
    """Return the stack limit of the process, which new threads get as well, but at most that of the pool's threads."""
    import resource  # Windows has no such module, and its tests import all systems' code

    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return 2 << 20 if soft == resource.RLIM_INFINITY else min(soft, _STACK)


@cache
def _library() -> Any:
    """Return the C library with the signatures of these functions."""
    library: Any = ctypes.CDLL(None)
    place, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.restype, library.mmap.argtypes = place, (place, size, number, number, number, ctypes.c_long)
    library.mprotect.argtypes = library.madvise.argtypes = (place, size, number)
    library.munmap.argtypes = (place, size)
    library.mincore.argtypes = (place, size, place)
    return library


def reserve(size: int, lazy: bool = False) -> int:
    """Reserve that many bytes of addresses without access and return the address; 0 if there is no room. `lazy`: the
    system does not count them as memory that it owes before they are touched."""
    flags: Any = vars(mmap)  # Windows lacks them, and the type checkers read all systems' code
    kind = flags["MAP_PRIVATE"] | flags["MAP_ANONYMOUS"] | (_LAZY if lazy else 0)
    address = _library().mmap(None, size, 0, kind, -1, 0)
    return 0 if address is None or address == ctypes.c_void_p(-1).value else int(address)


def commit(address: int, size: int) -> bool:
    """Make reserved pages readable and writable. They contain zeros."""
    return not _library().mprotect(address, size, _READ_WRITE)


def advise(address: int, size: int, huge: bool) -> None:
    """Ask for large pages, or for none, if the system has them."""
    if sys.platform == "linux" and size:
        _library().madvise(address, size, _HUGE if huge else _SMALL)


def resident(address: int, size: int, grows: bool = False) -> int:
    """Return how many of these bytes are in memory, in whole pages. The address is that of a page. `grows`: they are
    used from the first one on, so none are asked about behind a GiB without a page in memory."""
    count = 0
    for begin in range(0, size, _ASKED):
        length = min(_ASKED, size - begin)
        pages = np.zeros(-(-length // mmap.PAGESIZE), np.uint8)
        if _library().mincore(address + begin, length, pages.ctypes.data):
            return 0
        found = int(np.count_nonzero(pages & 1))
        count += found
        if grows and not found:
            break
    return count * mmap.PAGESIZE


def release(address: int, size: int) -> None:
    """Return reserved addresses and their contents to the system."""
    _library().munmap(address, size)
