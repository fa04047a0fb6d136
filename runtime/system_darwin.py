"""macOS: threads by pthreads, waiting by `__ulock`, the primitive under libc++'s atomics."""

from __future__ import annotations

import ctypes
import platform
from typing import Any

__all__ = ["SUPPORT", "THREADS_IR", "VECTOR_MATH", "cpu_name", "physical_memory", "stack_limit"]

VECTOR_MATH: str | None = None
SUPPORT: tuple[str, ...] = ()

# Operation 1 compares a 32-bit word and waits; with 0x100 a wake reaches all waiters. `__ulock_wake` cannot wake an
# exact number: more than one means all, and those who find no work go back to sleep.
THREADS_IR = f"""
declare i32 @__ulock_wait(i32, ptr, i64, i32)
declare i32 @__ulock_wake(i32, ptr, i64)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

define internal void @thread_wait(ptr %word, i32 %expected) {{
  %value = zext i32 %expected to i64
  call i32 @__ulock_wait(i32 1, ptr %word, i64 %value, i32 0)
  ret void
}}

define internal void @thread_wake(ptr %word, i32 %count) {{
  %one = icmp eq i32 %count, 1
  %operation = select i1 %one, i32 1, i32 257
  call i32 @__ulock_wake(i32 %operation, ptr %word, i64 0)
  ret void
}}

define internal i64 @thread_start(ptr %function, ptr %argument) {{
  %handle = alloca i64
  %attributes = alloca [128 x i8], align 16
  %mask = alloca i32
  %saved = alloca i32
  store i64 0, ptr %handle
  store i32 {~0x6F8}, ptr %mask
  call i32 @pthread_sigmask(i32 3, ptr %mask, ptr %saved)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {8 << 20})
  %failed = call i32 @pthread_create(ptr %handle, ptr %attributes, ptr %function, ptr %argument)
  call i32 @pthread_attr_destroy(ptr %attributes)
  call i32 @pthread_sigmask(i32 3, ptr %saved, ptr null)
  %value = load i64, ptr %handle
  %ok = icmp eq i32 %failed, 0
  %result = select i1 %ok, i64 %value, i64 0
  ret i64 %result
}}

define internal void @thread_join(i64 %handle) {{
  call i32 @pthread_join(i64 %handle, ptr null)
  ret void
}}
"""


def _sysctl(name: bytes, size: int) -> bytes:
    buffer = ctypes.create_string_buffer(size)
    length = ctypes.c_size_t(size)
    process: Any = ctypes.CDLL(None)
    failed = process.sysctlbyname(name, buffer, ctypes.byref(length), None, ctypes.c_size_t(0))
    return b"" if failed else buffer.raw[: length.value]


def physical_memory() -> int:
    """Bytes of memory of the machine."""
    return int.from_bytes(_sysctl(b"hw.memsize", 8), "little")


def cpu_name() -> str:
    """The processor's name for itself."""
    return _sysctl(b"machdep.cpu.brand_string", 256).rstrip(b"\0").decode() or platform.machine()


def stack_limit() -> int:
    """The limit of the process, which new threads get as well; at most that of the pool's."""
    import resource

    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return 2 << 20 if soft == resource.RLIM_INFINITY else min(soft, 8 << 20)
