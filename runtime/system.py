"""The interface of the runtime to the operating system: one module per system, all with the same names.

THREADS               native code (see `native.py`) that starts and joins threads; waits for a change of a word (for so
                      many milliseconds; 0: without limit) and wakes waiters; reserves, commits and releases pages
VECTOR_MATH           name of the library of vectorized sin, exp, ...; None if there is none
SCALAR_MATH           name of C's math library; None for the process itself
SUPPORT               libraries with the helpers that compilers call, such as f64 -> f16
CATCHES_FAULTS        whether `guard_ir.py` can end a kernel that touches memory without access
physical_memory()     bytes of memory of the machine
cpu_name()            the name that the processor reports
stack_limit()         bytes of the stacks of the program's threads, if the system says so; else 0
reserve(size, lazy)   reserves that many bytes without access and returns the address; 0 if there is no room; `lazy`:
                      the system promises no memory for them before they are touched
commit(address, size) makes reserved pages readable and writable; whether it could
advise(address, size, huge)    asks for large pages, or for none
resident(address, size)        how many of these bytes are in memory; 0 if the system does not say
release(address, size)         returns reserved addresses to the system
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
    "THREADS",
    "advise",
    "commit",
    "cpu_name",
    "physical_memory",
    "release",
    "reserve",
    "resident",
    "stack_bytes",
    "support_libraries",
    "threads_available",
    "vector_math_library",
]

THREADS, CATCHES_FAULTS = host.THREADS, host.CATCHES_FAULTS
cpu_name = host.cpu_name
reserve, commit, release = host.reserve, host.commit, host.release
advise, resident = host.advise, host.resident

_UNKNOWN_STACK = 1 << 20

# The instruction with which a spinning thread leaves the core's resources to its sibling.
PAUSE = {"x86_64": "pause", "amd64": "pause", "aarch64": "isb", "arm64": "isb"}.get(platform.machine().lower(), "")


@cache
def physical_memory() -> int:
    """Return the bytes of memory of the machine, or the limit of the control groups of this process."""
    return int(min(host.physical_memory(), memory_limit()))


def stack_bytes() -> int:
    """Return how many bytes of its stack a launch may use: half of the smallest stack, because others may use it as
    well."""
    known = (host.stack_limit(), threading.stack_size())
    return min((size for size in known if size), default=_UNKNOWN_STACK) // 2


def threads_available() -> int:
    """Return how many threads this process may run at once. This is limited by its affinity mask, if the system has
    one, and by its share of CPU time."""
    affinity: Any = getattr(os, "sched_getaffinity", None)  # Linux only
    if not affinity:
        return os.cpu_count() or 1
    allowed, quota = len(affinity(0)), cpu_quota()
    return allowed if quota >= allowed else max(1, math.ceil(quota))


@cache
def vector_math_library() -> str | None:
    """Return the name of the vectorized math library, such as "libmvec.so.1", if it can be loaded here."""
    return _loadable(host.VECTOR_MATH)


@cache
def support_libraries() -> tuple[str, ...]:
    """Return the names of the libraries of compiler helpers that can be loaded here."""
    return tuple(name for name in host.SUPPORT if _loadable(name))


def _loadable(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        ctypes.CDLL(name)
    except OSError:
        return None
    return name
