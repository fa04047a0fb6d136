"""The parts that Linux and macOS share: native threads by pthreads, memory by mmap."""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

__all__ = ["commit", "pthreads", "release", "reserve", "stack_limit"]

_STACK = 8 << 20  # bytes, for threads of the pool
_READ_WRITE = 3  # PROT_READ | PROT_WRITE
_PRIVATE = 2  # MAP_PRIVATE

# Workers block all signals that another thread could handle: %mask has all signals except those of faults.
_PTHREADS = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

define internal i64 @thread_start(ptr %function, ptr %argument) {
  %handle = alloca i64
  %attributes = alloca [128 x i8], align 16
  %mask = alloca SIGNALS
  %saved = alloca SIGNALS
  store i64 0, ptr %handle
  FILL
  call i32 @pthread_sigmask(i32 SET, ptr %mask, ptr %saved)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 STACK)
  %failed = call i32 @pthread_create(ptr %handle, ptr %attributes, ptr %function, ptr %argument)
  call i32 @pthread_attr_destroy(ptr %attributes)
  call i32 @pthread_sigmask(i32 SET, ptr %saved, ptr null)
  %value = load i64, ptr %handle
  %ok = icmp eq i32 %failed, 0
  %result = select i1 %ok, i64 %value, i64 0
  ret i64 %result
}

define internal void @thread_join(i64 %handle) {
  call i32 @pthread_join(i64 %handle, ptr null)
  ret void
}

declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @mprotect(ptr, i64, i32)
declare i32 @munmap(ptr, i64)

define internal ptr @pages_reserve(i64 %size) {
  %address = call ptr @mmap(ptr null, i64 %size, i32 0, i32 ANONYMOUS, i32 -1, i64 0)
  %failed = icmp eq ptr %address, inttoptr (i64 -1 to ptr)
  %result = select i1 %failed, ptr null, ptr %address
  ret ptr %result
}

define internal i1 @pages_commit(ptr %address, i64 %size) {
  %failed = call i32 @mprotect(ptr %address, i64 %size, i32 READ_WRITE)
  %ok = icmp eq i32 %failed, 0
  ret i1 %ok
}

define internal void @pages_release(ptr %address, i64 %size) {
  call i32 @munmap(ptr %address, i64 %size)
  ret void
}
"""


def pthreads(signals: str, fill: str, set_mask: int, anonymous: int) -> str:
    """Return LLVM IR for threads and pages. `signals` is the type of a set of signals, `fill` fills `%mask`, `set_mask`
    is SIG_SETMASK, `anonymous` is MAP_ANONYMOUS."""
    flags = {"ANONYMOUS": str(anonymous | _PRIVATE), "READ_WRITE": str(_READ_WRITE)}
    parts = {"SIGNALS": signals, "FILL": fill, "SET": str(set_mask), "STACK": str(_STACK), **flags}
    text = _PTHREADS
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


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
    return library


def reserve(size: int) -> int:
    """Reserve that many bytes of addresses without access and return the address; 0 if there is no room."""
    flags: Any = vars(mmap)  # Windows lacks them, and the type checkers read all systems' code
    address = _library().mmap(None, size, 0, flags["MAP_PRIVATE"] | flags["MAP_ANONYMOUS"], -1, 0)
    return 0 if address is None or address == ctypes.c_void_p(-1).value else int(address)


def commit(address: int, size: int, huge: bool) -> bool:
    """Make reserved pages readable and writable. They contain zeros. `huge` asks for large pages, if the system has
    them."""
    if _library().mprotect(address, size, _READ_WRITE):
        return False
    advice = vars(mmap).get("MADV_HUGEPAGE")  # Linux only
    if huge and advice is not None:
        _library().madvise(address, size, advice)
    return True


def release(address: int, size: int) -> None:
    """Return reserved addresses and their contents to the system."""
    _library().munmap(address, size)
