"""Linux: threads by pthreads, waiting by futex, vectorized math from glibc's libmvec."""

from __future__ import annotations

import os
import platform

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

_X86 = platform.machine().lower() in ("x86_64", "amd64")
VECTOR_MATH: str | None = "libmvec.so.1" if _X86 else None
SUPPORT: tuple[str, ...] = ("libgcc_s.so.1",)
CATCHES_FAULTS = _X86

_FUTEX = 202 if _X86 else 98

_WAIT, _WAKE = 128, 129  # FUTEX_WAIT and FUTEX_WAKE, both private to the process

THREADS = Module()
THREADS.declare({"syscall": "i64 (i64, ...)"})


@THREADS.function("void", "ptr", "i32", "i32")
def thread_wait(f: Function, word: Value, expected: Value, milliseconds: Value) -> None:
    """Sleep while the word has that value, for so many milliseconds at most; 0: without limit."""
    time = f.room("[2 x i64]")
    whole = milliseconds.cast("zext", "i64")
    seconds, rest = whole.op("udiv", 1000), whole.op("urem", 1000)
    nanoseconds = rest * 1000000
    time.store(seconds)
    time.at(1).store(nanoseconds)
    limit = milliseconds.eq(0).select(f.constant(0, "ptr"), time)
    f.call("syscall", _FUTEX, word, f.constant(_WAIT), expected, limit, None, f.constant(0))
    f.ret()


@THREADS.function("void", "ptr", "i32")
def thread_wake(f: Function, word: Value, count: Value) -> None:
    """Wake so many of the threads that wait for a change of the word."""
    f.call("syscall", _FUTEX, word, f.constant(_WAKE), count, None, None, f.constant(0))
    f.ret()


def _fill(f: Function, mask: Value) -> None:
    """Of the 64 low bits, only those of faults (ILL, TRAP, ABRT, BUS, FPE, SEGV) stay clear."""
    f.clear(mask, 128, -1)
    mask.store(~0x4F8)


add_threads(THREADS, "[16 x i64]", _fill, set_mask=2, anonymous=0x20)


def physical_memory() -> int:
    """Return the bytes of memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cpu_name() -> str:
    """Return the name that the processor reports."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()
