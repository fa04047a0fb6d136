"""Windows: threads by CreateThread, waiting by WaitOnAddress, memory by VirtualAlloc."""

from __future__ import annotations

import ctypes
import platform
from functools import cache
from typing import Any

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
SUPPORT: tuple[str, ...] = ("kernelbase",)  # contains WaitOnAddress

_RESERVE, _COMMIT, _RELEASE = 0x2000, 0x1000, 0x8000  # MEM_...
_NO_ACCESS, _READ_WRITE = 0x01, 0x04  # PAGE_...

# With 0x10000, the stack size is the size of the reserved address space. WakeByAddress wakes one thread or all; threads
# that find no work go back to sleep.
THREADS_IR = f"""
declare i32 @WaitOnAddress(ptr, ptr, i64, i32)
declare void @WakeByAddressSingle(ptr)
declare void @WakeByAddressAll(ptr)
declare i64 @CreateThread(ptr, i64, ptr, ptr, i32, ptr)
declare i32 @WaitForSingleObject(i64, i32)
declare i32 @CloseHandle(i64)

define internal void @thread_wait(ptr %word, i32 %expected, i32 %milliseconds) {{
  %compare = alloca i32
  store i32 %expected, ptr %compare
  %forever = icmp eq i32 %milliseconds, 0
  %limit = select i1 %forever, i32 -1, i32 %milliseconds
  call i32 @WaitOnAddress(ptr %word, ptr %compare, i64 4, i32 %limit)
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

declare ptr @VirtualAlloc(ptr, i64, i32, i32)
declare i32 @VirtualFree(ptr, i64, i32)

define internal ptr @pages_reserve(i64 %size) {{
  %address = call ptr @VirtualAlloc(ptr null, i64 %size, i32 {_RESERVE}, i32 {_NO_ACCESS})
  ret ptr %address
}}

define internal i1 @pages_commit(ptr %address, i64 %size) {{
  %there = call ptr @VirtualAlloc(ptr %address, i64 %size, i32 {_COMMIT}, i32 {_READ_WRITE})
  %ok = icmp ne ptr %there, null
  ret i1 %ok
}}

define internal void @pages_release(ptr %address, i64 %size) {{
  call i32 @VirtualFree(ptr %address, i64 0, i32 {_RELEASE})
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


def reserve(size: int) -> int:
    """Reserve that many bytes of addresses without access and return the address; 0 if there is no room."""
    return int(_kernel().VirtualAlloc(None, size, _RESERVE, _NO_ACCESS) or 0)


def commit(address: int, size: int, huge: bool) -> bool:
    """Make reserved pages readable and writable. They contain zeros. `huge` is ignored: large pages need a privilege
    here."""
    del huge
    return bool(_kernel().VirtualAlloc(address, size, _COMMIT, _READ_WRITE))


def release(address: int, size: int) -> None:
    """Return reserved addresses and their contents to the system."""
    del size  # Windows releases the whole reservation
    _kernel().VirtualFree(address, 0, _RELEASE)
