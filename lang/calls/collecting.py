"""Pauses Python's cyclic garbage collector while the compiler works.

A compilation creates hundreds of thousands of objects that all live until it ends. The collector would visit all of
them repeatedly and find nothing. That took a fifth of the compile time of a long kernel."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from weft.runtime.forks import forkable

__all__ = ["uncollected"]

_lock = forkable(Lock())
_inside = 0  # the number of compilations under way
_was_on = False


@contextmanager
def uncollected() -> Generator[None, None, None]:
    """Pause garbage collection until the last compilation, on any thread, has ended."""
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
