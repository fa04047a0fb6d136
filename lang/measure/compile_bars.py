"""The progress of compilations: `compiling step [####    ] 40 %, 2 s, about 3 s left`.

The scopes of a compilation (`ScopedProfiler` of the kind COMPILE) are "compile", the kernel's name, and its stages. The
second of them has a bar. Nobody knows how long a kernel compiles; its translation, which comes first, tells it roughly.
"""

from __future__ import annotations

import threading
from time import perf_counter

from weft.lang.logs import progress

__all__ = ["entered", "left"]

_KERNEL, _STAGE = 2, 3  # the depths of the scopes
# The time of a compilation, as a multiple of that of its translation. Of the demos' kernels half are within 20 to 38;
# those that compile longest are at 15 to 20.
_TRANSLATIONS = 20


class _Scopes(threading.local):
    """How many scopes of compilations this thread is in, and the bar of the kernel."""

    depth = 0
    bar: progress.Bar | None = None


_this = _Scopes()


def entered(name: str) -> None:
    """A scope of this name has begun in this thread."""
    _this.depth += 1
    if _this.depth == _KERNEL:
        _this.bar = progress.begin(f"compiling {name}")


def left() -> None:
    """The innermost scope of this thread has ended."""
    bar = _this.bar
    if bar is not None and _this.depth == _STAGE and bar.estimate is None:
        bar.estimate = _TRANSLATIONS * (perf_counter() - bar.began)
    if bar is not None and _this.depth == _KERNEL:
        progress.end(bar)
        _this.bar = None
    _this.depth -= 1
