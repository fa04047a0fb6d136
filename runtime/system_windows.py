"""Windows: threads by CreateThread, waiting by WaitOnAddress."""

from __future__ import annotations

import ctypes
import platform
from typing import Any

__all__ = ["SUPPORT", "THREADS_IR", "VECTOR_MATH", "cpu_name", "physical_memory", "stack_limit"]

VECTOR_MATH: str | None = None
SUPPORT: tuple[str, ...] = ("kernelbase",)  # where WaitOnAddress lives

# 0x10000 has the stack size mean address space reserved. WakeByAddress wakes one or all: those who find no work go
# back to sleep.
THREADS_IR = f"""
declare i32 @WaitOnAddress(ptr, ptr, i64, i32)
declare void @WakeByAddressSingle(ptr)
declare void @WakeByAddressAll(ptr)
declare i64 @CreateThread(ptr, i64, ptr, ptr, i32, ptr)
declare i32 @WaitForSingleObject(i64, i32)
declare i32 @CloseHandle(i64)

define internal void @thread_wait(ptr %word, i32 %expected) {{
  %compare = alloca i32
  store i32 %expected, ptr %compare
  call i32 @WaitOnAddress(ptr %word, ptr %compare, i64 4, i32 -1)
  ret void
}}

define internal void @thread_wake(ptr %word, i32 %count) {{
  %one = icmp eq i32 %count, 1
  br i1 %one, label %single, label %all
single:
  call void @WakeByAddressSingle(ptr %word)
  ret void
all:
  call void @WakeByAddressAll(ptr %word)
  ret void
}}

define internal i64 @thread_start(ptr %function, ptr %argument) {{
  %handle = call i64 @CreateThread(ptr null, i64 {8 << 20}, ptr %function, ptr %argument, i32 {0x10000}, ptr null)
  ret i64 %handle
}}

define internal void @thread_join(i64 %handle) {{
  call i32 @WaitForSingleObject(i64 %handle, i32 -1)
  call i32 @CloseHandle(i64 %handle)
  ret void
}}
"""


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
    """Bytes of memory of the machine."""
    status: Any = _MemoryStatus(ctypes.sizeof(_MemoryStatus))
    libraries: Any = getattr(ctypes, "windll")  # noqa: B009 (absent from the checker's view elsewhere)
    libraries.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    return int(status.total)


def cpu_name() -> str:
    """The processor's name for itself."""
    return platform.processor() or platform.machine()


def stack_limit() -> int:
    """What programs reserve if they do not say otherwise."""
    return 1 << 20
