"""Epoch reclamation: memory that native calls may still use is kept until they are over.

    keep(old)        keeps what no new call can find until the calls that are under way have ended
    drain()          waits until they have ended

Native calls read what other threads may replace at any moment: plans, the memory of fields, records of ndarrays. They
take no lock and count no references, since threads would then wait for one another's cache lines. Each call says where
it begins and where it ends (`epochs_ir.py`). Whoever replaces something passes the old object to `keep`. If no call is
under way, `keep` drops it at once. Otherwise the last of those calls drops it at its end.
"""

from __future__ import annotations

import ctypes
import os
import time
from threading import RLock, get_ident
from typing import Any

from weft.ir.errors import WeftError
from weft.runtime.epochs_ir import COUNT, PLACES, place_of
from weft.runtime.forks import forkable
from weft.runtime.jit import Code

__all__ = ["Epochs", "drain", "keep", "settle"]

_PAUSE, _PATIENCE = 0.0002, 60.0  # seconds


class Epochs:
    """What has been replaced while native calls of `code` were under way."""

    FUNCTIONS = ("calls_now", "calls_sweeper", "calls_forget")  # the functions that the code must export

    def __init__(self, code: Code) -> None:
        self._now = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code["calls_now"])
        self._set_sweeper = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code["calls_sweeper"])
        self._forget = ctypes.CFUNCTYPE(None)(code["calls_forget"])
        self._lock = forkable(RLock())  # releasing an object may release another one, which re-enters
        self._kept: list[tuple[dict[int, int], Any]] = []  # the words of the calls that were pending, and the object
        self._sweeper = self.sweep
        _hold(self._sweeper)  # native code may still call it during interpreter shutdown
        _all.append(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def settle(self) -> None:
        """A memory fence, see `settle` below."""
        self._words()

    def keep(self, thing: Any) -> None:
        """Keep it until no call that is under way can use it."""
        busy = {place: word for place, word in enumerate(self._words()) if word & COUNT}
        if not busy:
            return
        with self._lock:
            self._kept.append((busy, thing))
            self._set_sweeper(id(self._sweeper))
        self.sweep()  # those calls may have ended before they could see the sweeper

    def drain(self) -> None:
        """Wait until the calls that are under way have ended. Raises WeftError if one of them is of this thread: a
        signal handler calls this, and the call waits for the handler."""
        busy = {place: word for place, word in enumerate(self._words()) if word & COUNT}
        began, own = time.monotonic(), place_of(get_ident())
        while busy:
            now = self._words()
            busy = {place: word for place, word in busy.items() if _same_calls(word, now[place])}
            if own in busy and time.monotonic() > began + _PATIENCE:  # (rarely, another thread has the same place)
                raise WeftError("this cannot be done in a signal handler that interrupts a kernel")
            if busy:
                time.sleep(_PAUSE)

    def sweep(self) -> None:
        """Drop what no call can use any more."""
        gone: list[Any] = []
        with self._lock:
            before, self._kept = self._kept, []
            now = self._words()
            for busy, thing in before:
                left = {place: word for place, word in busy.items() if _same_calls(word, now[place])}
                if left:
                    self._kept.append((left, thing))
                else:
                    gone.append(thing)
            self._set_sweeper(id(self._sweeper) if self._kept else None)
        # `gone` is released after the lock.

    def __len__(self) -> int:
        return len(self._kept)

    def _words(self) -> list[int]:
        words = (ctypes.c_int64 * PLACES)()
        self._now(ctypes.addressof(words))
        return list(words)

    def _in_child(self) -> None:
        self._forget()
        self.sweep()


def _same_calls(word: int, now: int) -> bool:
    """Return whether a call that was pending when a word had the old value may still be pending."""
    return bool(now & COUNT) and now & ~COUNT == word & ~COUNT


def _hold(thing: Any) -> None:
    hold: Any = ctypes.pythonapi.Py_IncRef
    hold.argtypes, hold.restype = (ctypes.py_object,), None
    hold(thing)


_all: list[Epochs] = []  # one for each loaded runtime


def keep(thing: Any) -> None:
    """Keep it until no native call that is under way can use it."""
    for one in _all:
        one.keep(thing)


def drain() -> None:
    """Wait until the native calls that are under way have ended."""
    for one in list(_all):
        one.drain()


def settle() -> None:
    """A memory fence: other threads see what this thread has written before they see what it writes next."""
    for one in _all:
        one.settle()
