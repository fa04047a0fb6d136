"""The operating system, as far as the runtime needs it: one module per system with the same names.

THREADS_IR            LLVM IR: how a native thread starts and is joined, how it waits on a word (so many milliseconds;
                      0: without end) and is woken; how pages of memory are reserved, committed and released
VECTOR_MATH           name of the library of vectorized sin, exp, ...; None where there is none
SCALAR_MATH           name of C's math library; None for the process itself
SUPPORT               libraries with the helpers compilers call, such as f64 -> f16
CATCHES_FAULTS        whether `guard_ir.py` can end a kernel that touches memory without access
physical_memory()     bytes of memory of the machine
cpu_name()            what the processor calls itself
stack_limit()         bytes that the stacks of the program's threads have, as far as the system says; 0 if it does not
reserve(size)         the address of so many bytes without access; 0 if there is no room
commit(address, size, huge)    lets reserved pages be read and written, in large pages if possible; whether it could
release(address, size)         gives reserved addresses back
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import sys
import threading
from functools import cache
from typing import Any

from weft.runtime.control_groups import cpu_quota, memory_limit

if sys.platform == "win32":
    from weft.runtime import system_windows as host
elif sys.platform == "darwin":
    from weft.runtime import system_darwin as host
else:
    from weft.runtime import system_linux as host

__all__ = [
    "CATCHES_FAULTS",
    "PAUSE",
    "THREADS_IR",
    "commit",
    "cpu_name",
    "physical_memory",
    "release",
    "reserve",
    "stack_bytes",
    "support_libraries",
    "threads_available",
    "vector_math_library",
]

THREADS_IR, CATCHES_FAULTS = host.THREADS_IR, host.CATCHES_FAULTS
cpu_name = host.cpu_name
reserve, commit, release = host.reserve, host.commit, host.release

_UNKNOWN_STACK = 1 << 20

# What a spinning thread executes to leave the core's resources to its sibling.
PAUSE = {"x86_64": "pause", "amd64": "pause", "aarch64": "isb", "arm64": "isb"}.get(platform.machine().lower(), "")


@cache
def physical_memory() -> int:
    """Bytes of memory of the machine, or that this process's control groups allow."""
    return int(min(host.physical_memory(), memory_limit()))


def stack_bytes() -> int:
    """How much of its stack a launch may use: half of what the smallest has, since others may be using it as well."""
    known = (host.stack_limit(), threading.stack_size())
    return min((size for size in known if size), default=_UNKNOWN_STACK) // 2


def threads_available() -> int:
    """How many threads this process may run at once: its affinity mask where the system has one, and not more than its
    share of the processors' time keeps busy."""
    affinity: Any = getattr(os, "sched_getaffinity", None)  # Linux only
    if not affinity:
        return os.cpu_count() or 1
    allowed, quota = len(affinity(0)), cpu_quota()
    return allowed if quota >= allowed else max(1, math.ceil(quota))


@cache
def vector_math_library() -> str | None:
    """The vectorized math library if it can be loaded here, such as "libmvec.so.1"."""
    return _loadable(host.VECTOR_MATH)


@cache
def support_libraries() -> tuple[str, ...]:
    """The libraries of compiler helpers that can be loaded here."""
    return tuple(name for name in host.SUPPORT if _loadable(name))


def _loadable(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        ctypes.CDLL(name)
    except OSError:
        return None
    return name
