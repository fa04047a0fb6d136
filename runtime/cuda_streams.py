"""Order between Weft's stream and the streams of other libraries, by events: the host never waits.

The legacy default stream (0 or 1), where PyTorch and CuPy work unless told otherwise, needs none of this: Weft's stream
is one that waits for it, and it for Weft's.
"""

from __future__ import annotations

import weakref
from threading import Lock
from typing import Any

from weft.runtime.cuda_driver import Driver, Enter

__all__ = ["UNKNOWN", "Events", "ForeignArray", "is_default"]


def is_default(stream: int | None) -> bool:
    """Whether that is the legacy default stream, or none."""
    return stream in (None, 0, 1)


UNKNOWN = -1


class ForeignArray(tuple[Any, ...]):
    """`(address, shape, byte strides)` of an array that another library works on in `stream`; UNKNOWN if only that
    library knows: what it put there is waited for already, but what it does next waits for nothing."""

    stream: int


class Events:
    """Lets one stream wait for another. `enter` makes the device's context current."""

    def __init__(self, driver: Driver, enter: Enter) -> None:
        self._driver, self._enter, self._lock = driver, enter, Lock()
        with enter():
            self._event = driver.create_event(timed=False)
        weakref.finalize(self, driver.destroy_event, self._event).atexit = False

    def order(self, first: int | None, then: int | None) -> None:
        """What comes into `then` now waits for what is in `first` already."""
        if first == then or is_default(first) or is_default(then):
            return
        with self._enter(), self._lock:  # a wait is for the last record before it
            self._driver.record_event(self._event, first or 0)
            self._driver.wait_event(then or 0, self._event)
