"""macOS: threads by pthreads; waiting by `__ulock`, the primitive below the atomics of libc++."""

from __future__ import annotations

import ctypes
import platform
from typing import Any

from weft.runtime.native import Function, Module, Value
from weft.runtime.system_posix import add_threads, advise, commit, release, reserve, resident, stack_limit

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
SUPPORT: tuple[str, ...] = ()

_COMPARE_AND_WAIT = 1
_ALL = 256  # a wake reaches all waiters

THREADS = Module()
THREADS.declare({"__ulock_wait": "i32 (i32, ptr, i64, i32)", "__ulock_wake": "i32 (i32, ptr, i64)"})


@THREADS.function("void", "ptr", "i32", "i32")
def thread_wait(f: Function, word: Value, expected: Value, milliseconds: Value) -> None:
    """Sleep while the word has that value, for so many milliseconds at most; 0: without limit."""
    value, microseconds = expected.cast("zext", "i64"), milliseconds * 1000
    f.call("__ulock_wait", _COMPARE_AND_WAIT, word, value, microseconds)
    f.ret()


@THREADS.function("void", "ptr", "i32")
def thread_wake(f: Function, word: Value, count: Value) -> None:
    """Wake one thread that waits for a change of the word, or all. `__ulock_wake` cannot wake an exact number; threads
    that find no work go back to sleep."""
    one, all = f.constant(_COMPARE_AND_WAIT, "i32"), f.constant(_COMPARE_AND_WAIT | _ALL, "i32")
    f.call("__ulock_wake", count.eq(1).select(one, all), word, 0)
    f.ret()


def _fill(f: Function, mask: Value) -> None:
    """Only the bits of faults (ILL, TRAP, ABRT, EMT, FPE, BUS, SEGV) stay clear."""
    del f
    mask.store(~0x6F8, type="i32")


add_threads(THREADS, "i32", _fill, set_mask=3, anonymous=0x1000)


def _sysctl(name: bytes, size: int) -> bytes:
    buffer = ctypes.create_string_buffer(size)
    length = ctypes.c_size_t(size)
    process: Any = ctypes.CDLL(None)
    failed = process.sysctlbyname(name, buffer, ctypes.byref(length), None, ctypes.c_size_t(0))
    return b"" if failed else buffer.raw[: length.value]


def physical_memory() -> int:
    """Return the bytes of memory of the machine."""
    return int.from_bytes(_sysctl(b"hw.memsize", 8), "little")


def cpu_name() -> str:
    """Return the name that the processor reports."""
    return _sysctl(b"machdep.cpu.brand_string", 256).rstrip(b"\0").decode() or platform.machine()
