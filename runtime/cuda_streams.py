"""Order work between Weft's stream and the streams of other libraries by events. The host never waits.

The legacy default stream (0 or 1), which PyTorch and CuPy use by default, needs no events: it and Weft's stream wait
for each other.
"""

from __future__ import annotations

import weakref
from threading import Lock
from typing import Any

from weft.runtime.cuda_driver import Driver, Enter

__all__ = ["UNKNOWN", "Events", "ForeignArray", "is_default"]


def is_default(stream: int | None) -> bool:
    """Return whether that is the legacy default stream, or none."""
    return stream in (None, 0, 1)


UNKNOWN = -1


class ForeignArray(tuple[Any, ...]):
    """`(address, shape, byte strides)` of an array that another library works on in `stream`. `stream` is UNKNOWN if
    only that library knows it. Weft then waits for the earlier work of that library, but its later work does not wait
    for Weft."""

    stream: int


class Events:
    """Makes one stream wait for another. `enter` makes the context of the device current."""

    def __init__(self, driver: Driver, enter: Enter) -> None:
        self._driver, self._enter, self._lock = driver, enter, Lock()
        with enter():
            self._event = driver.create_event(timed=False)
        weakref.finalize(self, driver.destroy_event, self._event).atexit = False

    def order(self, first: int | None, then: int | None) -> None:
        """Make later work in `then` wait for the current work in `first`."""
        if first == then or is_default(first) or is_default(then):
            return
        with self._enter(), self._lock:  # a wait refers to the last record before it
            self._driver.record_event(self._event, first or 0)
            self._driver.wait_event(then or 0, self._event)
