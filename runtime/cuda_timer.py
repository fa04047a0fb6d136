"""Measure when work happens on the device, by events of its stream.

`Stamps` measure a part of the stream. `LaunchTimer` measures each launch by itself: a timed kernel calls the launch
function of the timer instead of the driver's; see `_DRIVER_FUNCTIONS` in `cuda.py`.
"""

from __future__ import annotations

import ctypes
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from ctypes import c_int, c_uint, c_void_p
from threading import Lock
from typing import Any, NamedTuple

from weft.runtime.cuda_driver import CudaError, Driver, Enter

__all__ = ["LaunchTimer", "Span", "Stamp", "Stamps"]

# The type of the function that launches a kernel: function, grid, block, bytes of shared memory, stream, parameters,
# extra.
_LAUNCH = ctypes.CFUNCTYPE(c_int, c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p)
_UNKNOWN = 999  # CUDA_ERROR_UNKNOWN
_MOST_WAITING = 4096  # launches whose times were not requested; beyond this number their events are read


class Span(NamedTuple):
    """A task that ran: its begin by the host's `time.perf_counter`, and its duration, in seconds."""

    name: str
    began: float
    seconds: float


class Stamp:
    """A point in the order of the stream. Its event is reused when nothing refers to the stamp any more."""

    def __init__(self, event: int, free: list[int]) -> None:
        self.event, self._free = event, free

    def __del__(self) -> None:
        self._free.append(self.event)


class Stamps:
    """Makes stamps of one stream. `enter` makes the context of the device current, if it is `usable`."""

    def __init__(self, driver: Driver, stream: int, enter: Enter, usable: Callable[[], bool] = lambda: True) -> None:
        self._driver, self._stream, self.enter = driver, stream, enter
        self._free: list[int] = []
        weakref.finalize(self, _destroy, driver, enter, usable, self._free).atexit = False

    def take(self) -> Stamp:
        """Return the point after all work in the stream so far."""
        with self.enter():
            event = self._free.pop() if self._free else self._driver.create_event(timed=True)
            self._driver.record_event(event, self._stream)
        return Stamp(event, self._free)

    def seconds(self, begin: Stamp, end: Stamp) -> float:
        """Return the seconds between two stamps. Both must be in the past."""
        with self.enter():
            return self._driver.seconds_between(begin.event, end.event)


class LaunchTimer:
    """Times every launch that goes through the function at `address`. `synchronize` waits for the stream."""

    def __init__(self, driver: Driver, stamps: Stamps, synchronize: Callable[[], None]) -> None:
        self._driver, self._stamps, self._synchronize = driver, stamps, synchronize
        self._names = dict[int, str]()
        self._waiting: deque[tuple[str, int, int]] = deque()
        self._done: list[Span] = []
        self._lock = Lock()
        self._free: list[int] = []
        self._anchor = self._anchored()
        self._callback = _LAUNCH(_bound(driver, self._names, self._waiting, self._free))
        self.address = ctypes.cast(self._callback, c_void_p).value or 0

    def begin(self) -> None:
        """Forget the launches so far."""
        self.take()
        self._anchor = self._anchored()

    def _anchored(self) -> tuple[Stamp, float]:
        """Return a stamp and the host time at which it was seen. The host sees it some microseconds late."""
        self._synchronize()
        stamp = self._stamps.take()
        self._synchronize()
        return stamp, time.perf_counter()

    def know(self, functions: Sequence[int], names: Sequence[str]) -> None:
        """Set the names of the tasks whose entries have those handles."""
        self._names.update(zip(functions, names, strict=True))

    def ease(self) -> None:
        """Read the events of finished launches, so that they can be reused. Waits if too many are pending."""
        if len(self._waiting) >= _MOST_WAITING:
            with self._lock:
                self._read()

    def take(self) -> list[Span]:
        """Wait for the launches since the last call and return them in order."""
        with self._lock:
            self._read()
            found, self._done = self._done, []
            return found

    def _read(self) -> None:
        """Turn the events of the pending launches into spans."""
        count = len(self._waiting)  # other threads may launch more in the meantime
        self._synchronize()
        now, found = time.perf_counter(), list[Span]()
        event, then = self._anchor[0].event, self._anchor[1]
        with self._stamps.enter():
            for name, begin, end in [self._waiting.popleft() for _ in range(count)]:
                after = self._driver.seconds_between(event, begin)
                found.append(Span(name, then + after, self._driver.seconds_between(begin, end)))
                self._free += [begin, end]
        late = max((span.began + span.seconds - now for span in found), default=0.0)  # by which the host saw it late
        self._done += [span._replace(began=span.began - late) for span in found] if late > 0 else found
        if count:  # elapsed times are floats, which lose precision far from the anchor
            self._anchor = self._anchored()


def _destroy(driver: Driver, enter: Enter, usable: Callable[[], bool], events: list[int]) -> None:
    if usable():
        with enter():
            for event in events:
                driver.destroy_event(event)


def _bound(driver: Driver, names: dict[int, str], waiting: deque[tuple[str, int, int]], free: list[int]) -> Any:
    """Return the launch function. (It is not a method, because that would keep the timer alive.)"""

    def launch(function: int, *rest: Any) -> int:
        gx, gy, gz, bx, by, bz, shared, stream, params, _ = rest
        try:
            begin, end = (free.pop() if free else driver.create_event(timed=True) for _ in range(2))
            driver.record_event(begin, stream)
            driver.launch(function, (gx, gy, gz), (bx, by, bz), shared, stream, params)
            driver.record_event(end, stream)
        except CudaError as error:
            return error.status or _UNKNOWN
        waiting.append((names.get(function, "?"), begin, end))
        return 0

    return launch
