"""What the program has let go of while calls that are under way may still use it.

    keep(old)        what no call that begins from now on can find; it goes when those under way are over

Native calls read what other threads may replace at any moment: plans, the memory of fields, records of ndarrays. They
take no lock for that, and count no references: threads would wait for one another's cache lines. Instead each call says
where it begins and where it ends (`epochs_ir.py`), and whoever replaces something keeps it here. It goes at once where
no call is under way; else at the end of the last one that was.
"""

from __future__ import annotations

import ctypes
import os
from threading import RLock
from typing import Any

from weft.runtime.epochs_ir import COUNT, PLACES
from weft.runtime.forks import forkable
from weft.runtime.jit import Code

__all__ = ["Epochs", "keep", "settle"]


class Epochs:
    """Keeps what has been replaced, for the native calls of `code`."""

    FUNCTIONS = ("calls_now", "calls_sweeper", "calls_forget")  # what the code must export

    def __init__(self, code: Code) -> None:
        self._now = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code["calls_now"])
        self._set_sweeper = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code["calls_sweeper"])
        self._forget = ctypes.CFUNCTYPE(None)(code["calls_forget"])
        self._lock = forkable(RLock())  # what goes may be the last that kept another thing, which comes here meanwhile
        self._kept: list[tuple[dict[int, int], Any]] = []  # the words of the calls then under way, and the thing
        self._sweeper = self.sweep
        _hold(self._sweeper)  # native code may come to it when all names are gone
        _all.append(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def settle(self) -> None:
        """See below."""
        self._words()

    def keep(self, thing: Any) -> None:
        """Until no call that is under way can be using it."""
        busy = {place: word for place, word in enumerate(self._words()) if word & COUNT}
        if not busy:
            return
        with self._lock:
            self._kept.append((busy, thing))
            self._set_sweeper(id(self._sweeper))
        self.sweep()  # those calls may have ended before they could see the sweeper

    def sweep(self) -> None:
        """Let go of what no call can be using any more."""
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
        # With the lock given back, `gone` goes.

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
    """Whether some call that was under way when a word was so may be so still."""
    return bool(now & COUNT) and now & ~COUNT == word & ~COUNT


def _hold(thing: Any) -> None:
    hold: Any = ctypes.pythonapi.Py_IncRef
    hold.argtypes, hold.restype = (ctypes.py_object,), None
    hold(thing)


_all: list[Epochs] = []  # one for each runtime that was loaded


def keep(thing: Any) -> None:
    """Until no native call that is under way can be using it."""
    for one in _all:
        one.keep(thing)


def settle() -> None:
    """What this thread has written to memory is there for all threads before what it will write."""
    for one in _all:
        one.settle()
