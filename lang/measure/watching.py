"""The watches of launches: a recording (`recording.py`), the log of launches (`launch_log.py`), and the timer of
kernels (`profiler.py`), and the blocks of `ti.ad`. Without a watch, native code makes the calls of kernels. Starting
and ending a watch costs nothing but a flag that native code reads.

A watch is called as `watch(kernel, call, args, keywords)` and calls `call(*args, **keywords)`. That runs native code if
a plan fits, else Python code, which may first compile the kernel. `launch_began` returns when the launch itself began,
for watches that exclude the compilation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from weft.runtime.direct import Watched
from weft.runtime.forks import forkable

__all__ = ["Watch", "all_watch", "begin", "end", "launch_began", "launch_begins", "watches"]

Watch = Callable[..., Any]

watches: tuple[Watch, ...] = ()
_lock = forkable(threading.RLock())  # garbage collection in the meantime may begin or end watches


def begin(watch: Watch) -> None:
    """Call that watch for each launch from now on."""
    _change(lambda before: (*before, watch))


def end(watch: Watch) -> None:
    """Stop calling that watch."""
    _change(lambda before: tuple(one for one in before if one != watch))


def _change(change: Callable[[tuple[Watch, ...]], tuple[Watch, ...]]) -> None:
    """Replace the watches by `change(watches)`. If garbage collection has changed them meanwhile, do it again."""
    global watches
    with _lock:
        before: tuple[Watch, ...] | None = None
        after: tuple[Watch, ...] = ()
        while before is not watches:
            before = watches
            after = change(before)
        watches = after
        told: tuple[Watch, ...] | None = None
        while told is not watches:
            told = watches
            Watched.tell(len(told))


def all_watch(kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Run `call(*args, **keywords)`, which launches `kernel`, with all watches. (A `Watch`.)"""
    first, *others = watches or (_nobody,)
    for watch in others:
        call = _under(watch, kernel, call)
    return first(kernel, call, args, keywords)


def _under(watch: Watch, kernel: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **keywords: watch(kernel, call, args, keywords)


def _nobody(_: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return call(*args, **keywords)  # the last watch has just ended


class _Thread(threading.local):
    began = 0.0


_this = _Thread()


def launch_begins() -> None:
    """Record that this thread is about to launch a kernel from Python."""
    _this.began = perf_counter()


def launch_began() -> float:
    """Return when this thread's latest launch from Python began, in seconds of `perf_counter`."""
    return _this.began
