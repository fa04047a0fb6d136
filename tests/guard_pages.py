"""Fields between pages that nobody may touch: `pytest -p tests.guard_pages tests/lang/behaviour`.

    | no access | ... A5 A5 A5 | the bytes of the buffer | A5 A5 | no access |

Fields have guard pages in any case, but with slack before them (`runtime/mappings.py`), which hides an access that
misses by an element. Here there is none: a kernel that reads or writes past its fields' memory raises MemoryFault, or
ends the process where faults are not caught; what it writes to the few bytes that alignment leaves is found when the
buffer is freed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Any

import numpy as np

from weft.runtime import mappings

__all__ = ["guarded", "pytest_configure"]

PAGE, CANARY = mmap.PAGESIZE, 0xA5


def guarded(size: int, alignment: int = mappings.ALIGNMENT) -> Any:
    """So many zero bytes that end as close to a page without access as `alignment` allows."""
    room = -(-size // alignment) * alignment
    pages = -(-max(room, 1) // PAGE)
    block: Any = np.frombuffer(mmap.mmap(-1, (pages + 2) * PAGE), np.uint8)
    begin, end = PAGE, (pages + 1) * PAGE
    first = end - room
    block[begin:end] = CANARY
    block[first : first + size] = 0
    for place in (0, end):
        _forbid(block.ctypes.data + place)
    inside = block[begin:end]
    weakref.finalize(block, _check, inside.ctypes.data, first - begin, first + size - begin, pages * PAGE)
    return block[first : first + size]


def _forbid(address: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(PAGE), 0):
        raise OSError(ctypes.get_errno(), "mprotect")


def _check(address: int, first: int, last: int, size: int) -> None:
    """The bytes around a buffer that goes are those that were put there."""
    around = ctypes.string_at(address, first) + ctypes.string_at(address + last, size - last)
    if around.count(CANARY) != len(around):
        os.write(2, b"a kernel wrote past its field's memory\n")
        os.abort()


def pytest_configure() -> None:
    """All memory of fields and ndarrays from here on."""
    mappings.take = _without_slack


def _without_slack(size: int, slack: int, owner: str) -> Any:
    del slack, owner
    return guarded(size)
