"""Windows: threads by CreateThread, waiting by WaitOnAddress, memory by VirtualAlloc."""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from typing import Any

from weft.runtime.native import Function, Module, Value

__all__ = [
    "CATCHES_FAULTS",
    "SUPPORT",
    "THREADS",
    "VECTOR_MATH",
    "advise",
    "commit",
    "cpu_name",
    "physical_memory",
    "release",
    "reserve",
    "resident",
    "stack_limit",
]

VECTOR_MATH: str | None = None
CATCHES_FAULTS = False
SUPPORT: tuple[str, ...] = ("kernelbase",)  # contains WaitOnAddress

_RESERVE, _COMMIT, _RELEASE = 0x2000, 0x1000, 0x8000  # MEM_...
_NO_ACCESS, _READ_WRITE = 0x01, 0x04  # PAGE_...

_STACK = 8 << 20  # bytes, for threads of the pool
_RESERVED = 0x10000  # STACK_SIZE_PARAM_IS_A_RESERVATION: the stack size is that of the reserved addresses
_FOREVER = -1

THREADS = Module()
THREADS.declare(
    {
        "WaitOnAddress": "i32 (ptr, ptr, i64, i32)",
        "WakeByAddressSingle": "void (ptr)",
        "WakeByAddressAll": "void (ptr)",
        "CreateThread": "i64 (ptr, i64, ptr, ptr, i32, ptr)",
        "WaitForSingleObject": "i32 (i64, i32)",
        "CloseHandle": "i32 (i64)",
        "VirtualAlloc": "ptr (ptr, i64, i32, i32)",
        "VirtualFree": "i32 (ptr, i64, i32)",
    }
)


@THREADS.function("void", "ptr", "i32", "i32")
def thread_wait(f: Function, word: Value, expected: Value, milliseconds: Value) -> None:
    """Sleep while the word has that value, for so many milliseconds at most; 0: without limit."""
    compare = f.variable("i32", expected)
    limit = milliseconds.eq(0).select(f.constant(_FOREVER, "i32"), milliseconds)
    f.call("WaitOnAddress", word, compare.address, 4, limit)
    f.ret()


@THREADS.function("void", "ptr", "i32")
def thread_wake(f: Function, word: Value, count: Value) -> None:
    """Wake one thread that waits for a change of the word, or all: threads that find no work go back to sleep."""
    with f.when(count.eq(1)):
        f.call("WakeByAddressSingle", word)
        f.ret()
    f.call("WakeByAddressAll", word)
    f.ret()


@THREADS.function("i64", "ptr", "ptr")
def thread_start(f: Function, function: Value, argument: Value) -> None:
    """Start a thread. Returns its handle, or 0 if there is none."""
    f.ret(f.call("CreateThread", None, _STACK, function, argument, _RESERVED, None))


@THREADS.function("void", "i64")
def thread_join(f: Function, handle: Value) -> None:
    """Wait for the end of a thread."""
    f.call("WaitForSingleObject", handle, _FOREVER)
    f.call("CloseHandle", handle)
    f.ret()


@THREADS.function("ptr", "i64")
def pages_reserve(f: Function, size: Value) -> None:
    """Reserve addresses without access. Returns null if there is no room."""
    f.ret(f.call("VirtualAlloc", None, size, _RESERVE, _NO_ACCESS))


@THREADS.function("i1", "ptr", "i64")
def pages_commit(f: Function, address: Value, size: Value) -> None:
    """Make pages readable and writable. Returns whether the system did so."""
    f.ret(f.call("VirtualAlloc", address, size, _COMMIT, _READ_WRITE).ne(0))


@THREADS.function("void", "ptr", "i64")
def pages_release(f: Function, address: Value, size: Value) -> None:
    """Give addresses and their contents back to the system. Windows releases the whole reservation."""
    del size
    f.call("VirtualFree", address, 0, _RELEASE)
    f.ret()


class _MemoryStatus(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_ulong),
        ("load", ctypes.c_ulong),
        *(
            (name, ctypes.c_ulonglong)
            for name in ("total", "free", "page", "page_free", "virtual", "virtual_free", "x")
        ),
    ]


def physical_memory() -> int:
    """Return the bytes of memory of the machine."""
    status: Any = _MemoryStatus(ctypes.sizeof(_MemoryStatus))
    _kernel().GlobalMemoryStatusEx(ctypes.byref(status))
    return int(status.total)


def cpu_name() -> str:
    """Return the name that the processor reports."""
    return platform.processor() or platform.machine()


def stack_limit() -> int:
    """Return the stack size that programs reserve by default."""
    return 1 << 20


@cache
def _kernel() -> Any:
    """Return kernel32 with the signatures of these functions."""
    loader: Any = getattr(ctypes, "WinDLL")  # noqa: B009 (absent from the checker's view elsewhere)
    kernel = loader("kernel32")
    place, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    kernel.VirtualAlloc.restype, kernel.VirtualAlloc.argtypes = place, (place, size, number, number)
    kernel.VirtualFree.argtypes = (place, size, number)
    return kernel


def reserve(size: int, lazy: bool = False) -> int:
    """Reserve that many bytes of addresses without access and return the address; 0 if there is no room. `lazy` makes
    no difference here: memory takes nothing before it is touched, but Windows commits it within its limit, the
    physical memory and the page files."""
    del lazy
    return int(_kernel().VirtualAlloc(None, size, _RESERVE, _NO_ACCESS) or 0)


def commit(address: int, size: int) -> bool:
    """Make reserved pages readable and writable. They contain zeros."""
    return bool(_kernel().VirtualAlloc(address, size, _COMMIT, _READ_WRITE))


def advise(address: int, size: int, huge: bool) -> None:
    """Do nothing: large pages need a privilege here."""


def resident(address: int, size: int, grows: bool = False) -> int:
    """Return 0: Windows does not say which pages of a commitment were touched."""
    del address, size, grows
    return 0


def release(address: int, size: int) -> None:
    """Return reserved addresses and their contents to the system."""
    del size  # Windows releases the whole reservation
    _kernel().VirtualFree(address, 0, _RELEASE)
