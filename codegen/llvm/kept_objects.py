"""The object files that this process has compiled, so that equal modules are compiled once.

The text of a module says everything about its machine code. Kernels have equal texts where a program resets and begins
anew, where fields of the same layout are made again, and where the run-time library brings the tasks
(`ir/mapping/routines.py`). Up to `LIMIT` bytes are kept, those that were asked for last.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from threading import Lock

__all__ = ["LIMIT", "KeptObjects"]

LIMIT = 32 << 20


class KeptObjects:
    """Object files by all that they depend on. Any number of threads may use it at once."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit, self._bytes = limit, 0
        self._found = OrderedDict[bytes, bytes]()
        self._lock = Lock()

    def __call__(self, make: Callable[[], bytes], *depends: object) -> bytes:
        """What `make` gives, or has given for the same `depends`, whose texts decide. Two threads that ask for the same
        at once may both make it."""
        key = sha256("\0".join(map(str, depends)).encode()).digest()
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = make()
        with self._lock:
            self._bytes += len(made) - len(self._found.pop(key, b""))
            self._found[key] = made
            while self._bytes > self._limit:
                self._bytes -= len(self._found.popitem(last=False)[1])
        return made

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._found.clear()
            self._bytes = 0
