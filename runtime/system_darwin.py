"""macOS: threads by pthreads; waiting by `__ulock`, the primitive below the atomics of libc++."""

from __future__ import annotations

import ctypes
import platform
from typing import Any

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

VECTOR_MATH: str | None = None
CATCHES_FAULTS = False
SUPPORT: tuple[str, ...] = ()

# Operation 1 compares a 32-bit word and waits. With 0x100, a wake reaches all waiters. `__ulock_wake` cannot wake an
# exact number: more than one means all, and threads that find no work go back to sleep.
_WAITING = """
declare i32 @__ulock_wait(i32, ptr, i64, i32)
declare i32 @__ulock_wake(i32, ptr, i64)

define internal void @thread_wait(ptr %word, i32 %expected, i32 %milliseconds) {
  %value = zext i32 %expected to i64
  %microseconds = mul i32 %milliseconds, 1000
  call i32 @__ulock_wait(i32 1, ptr %word, i64 %value, i32 %microseconds)
  ret void
}

define internal void @thread_wake(ptr %word, i32 %count) {
  %one = icmp eq i32 %count, 1
  %operation = select i1 %one, i32 1, i32 257
  call i32 @__ulock_wake(i32 %operation, ptr %word, i64 0)
  ret void
}
"""

# ILL, TRAP, ABRT, EMT, FPE, BUS and SEGV are faults.
THREADS_IR = _WAITING + pthreads("i32", f"store i32 {~0x6F8}, ptr %mask", set_mask=3, anonymous=0x1000)


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
