"""Who watches launches: a recording (`recording.py`), the log of launches (`launch_log.py`), the timer of kernels
(`profiler.py`). While nobody does, native code makes the calls of kernels and looks for nobody.

A watch is called as `watch(kernel, call, args, keywords)` and goes on to `call(*args, **keywords)`: to native code
where a plan fits, else by way of Python, where a kernel may be compiled first. `launch_began` tells when the launch
proper began, for those who do not count that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from weft.runtime.forks import forkable

__all__ = ["Watch", "all_watch", "begin", "end", "launch_began", "launch_begins", "watches"]

Watch = Callable[..., Any]

watches: tuple[Watch, ...] = ()
_lock = forkable(threading.Lock())


def begin(watch: Watch) -> None:
    """From now on that watch is called for each launch. (Native code must be told: `Program.retake`.)"""
    global watches
    with _lock:
        watches = (*watches, watch)


def end(watch: Watch) -> None:
    """It is called no more."""
    global watches
    with _lock:
        watches = tuple(one for one in watches if one != watch)


def all_watch(kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """`call(*args, **keywords)`, which launches `kernel`, under the eyes of all. (A `Watch`.)"""
    first, *others = watches or (_nobody,)
    for watch in others:
        call = _under(watch, kernel, call)
    return first(kernel, call, args, keywords)


def _under(watch: Watch, kernel: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **keywords: watch(kernel, call, args, keywords)


def _nobody(_: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    return call(*args, **keywords)  # the last one left a moment ago


class _Thread(threading.local):
    began = 0.0


_this = _Thread()


def launch_begins() -> None:
    """This thread is about to launch a kernel, by way of Python."""
    _this.began = perf_counter()


def launch_began() -> float:
    """When this thread's latest launch by way of Python began, in seconds of `perf_counter`."""
    return _this.began
