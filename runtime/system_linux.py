"""Linux: threads by pthreads, waiting by futex, vectorized math from glibc's libmvec."""

from __future__ import annotations

import os
import platform

__all__ = ["SUPPORT", "THREADS_IR", "VECTOR_MATH", "cpu_name", "physical_memory", "stack_limit"]

_X86 = platform.machine().lower() in ("x86_64", "amd64")
VECTOR_MATH: str | None = "libmvec.so.1" if _X86 else None
SUPPORT: tuple[str, ...] = ("libgcc_s.so.1",)

_FUTEX = 202 if _X86 else 98

# 128 is FUTEX_WAIT, 129 FUTEX_WAKE, both private to the process. Workers take no signal that another thread could
# handle: of the mask's 64 low bits only those of faults (ILL, TRAP, ABRT, BUS, FPE, SEGV) stay clear.
THREADS_IR = f"""
declare i64 @syscall(i64, ...)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

define internal void @thread_wait(ptr %word, i32 %expected) {{
  call i64 (i64, ...) @syscall(i64 {_FUTEX}, ptr %word, i64 128, i32 %expected, ptr null, ptr null, i64 0)
  ret void
}}

define internal void @thread_wake(ptr %word, i32 %count) {{
  call i64 (i64, ...) @syscall(i64 {_FUTEX}, ptr %word, i64 129, i32 %count, ptr null, ptr null, i64 0)
  ret void
}}

define internal i64 @thread_start(ptr %function, ptr %argument) {{
  %handle = alloca i64
  %attributes = alloca [128 x i8], align 16
  %mask = alloca [16 x i64]
  %saved = alloca [16 x i64]
  store i64 0, ptr %handle
  call void @llvm.memset.p0.i64(ptr %mask, i8 -1, i64 128, i1 false)
  store i64 {~0x4F8}, ptr %mask
  call i32 @pthread_sigmask(i32 2, ptr %mask, ptr %saved)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 {8 << 20})
  %failed = call i32 @pthread_create(ptr %handle, ptr %attributes, ptr %function, ptr %argument)
  call i32 @pthread_attr_destroy(ptr %attributes)
  call i32 @pthread_sigmask(i32 2, ptr %saved, ptr null)
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


def physical_memory() -> int:
    """Bytes of memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cpu_name() -> str:
    """The processor's name for itself."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def stack_limit() -> int:
    """The limit of the process, which new threads get as well; at most that of the pool's."""
    import resource

    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return 2 << 20 if soft == resource.RLIM_INFINITY else min(soft, 8 << 20)
