"""Linux: threads by pthreads, waiting by futex, vectorized math from glibc's libmvec."""

from __future__ import annotations

import os
import platform

from weft.runtime.system_posix import commit, pthreads, release, reserve, stack_limit

__all__ = [
    "CATCHES_FAULTS",
    "SUPPORT",
    "THREADS_IR",
    "VECTOR_MATH",
    "commit",
    "cpu_name",
    "physical_memory",
    "release",
    "reserve",
    "stack_limit",
]

_X86 = platform.machine().lower() in ("x86_64", "amd64")
VECTOR_MATH: str | None = "libmvec.so.1" if _X86 else None
SUPPORT: tuple[str, ...] = ("libgcc_s.so.1",)
CATCHES_FAULTS = _X86

_FUTEX = 202 if _X86 else 98

# Of the 64 low bits of the mask, only those of faults (ILL, TRAP, ABRT, BUS, FPE, SEGV) stay clear.
_FILL = f"""call void @llvm.memset.p0.i64(ptr %mask, i8 -1, i64 128, i1 false)
  store i64 {~0x4F8}, ptr %mask"""

# 128 is FUTEX_WAIT, 129 FUTEX_WAKE, both private to the process.
_WAITING = f"""
declare i64 @syscall(i64, ...)

define internal void @thread_wait(ptr %word, i32 %expected, i32 %milliseconds) {{
  %time = alloca [2 x i64]
  %whole = zext i32 %milliseconds to i64
  %seconds = udiv i64 %whole, 1000
  %rest = urem i64 %whole, 1000
  %nanoseconds = mul i64 %rest, 1000000
  %nanoseconds.at = getelementptr i64, ptr %time, i64 1
  store i64 %seconds, ptr %time
  store i64 %nanoseconds, ptr %nanoseconds.at
  %forever = icmp eq i32 %milliseconds, 0
  %limit = select i1 %forever, ptr null, ptr %time
  call i64 (i64, ...) @syscall(i64 {_FUTEX}, ptr %word, i64 128, i32 %expected, ptr %limit, ptr null, i64 0)
  ret void
}}

define internal void @thread_wake(ptr %word, i32 %count) {{
  call i64 (i64, ...) @syscall(i64 {_FUTEX}, ptr %word, i64 129, i32 %count, ptr null, ptr null, i64 0)
  ret void
}}
"""

THREADS_IR = _WAITING + pthreads("[16 x i64]", _FILL, set_mask=2, anonymous=0x20)


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
