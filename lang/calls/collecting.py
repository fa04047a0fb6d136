"""Python's search for cyclic garbage, paused while the compiler works.

A compilation makes objects by the hundred thousand that all live until it ends. The collector goes through all of them
again and again and finds nothing: a fifth of the time of a long kernel.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from weft.runtime.forks import forkable

__all__ = ["uncollected"]

_lock = forkable(Lock())
_inside = 0  # how many compilations are under way
_was_on = False


@contextmanager
def uncollected() -> Generator[None, None, None]:
    """Nothing is collected until the last of those inside, on whatever threads, has left."""
    global _inside, _was_on
    with _lock:
        if _inside == 0 and (_was_on := gc.isenabled()):
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_on:
                gc.enable()
