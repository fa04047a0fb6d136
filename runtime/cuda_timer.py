"""When things happen on the device, by events of its stream.

`Stamps` are for whoever measures a stretch of the stream. `LaunchTimer` measures each launch by itself: a kernel that
is timed calls its launch function instead of the driver's; see `_DRIVER_FUNCTIONS` in `cuda.py`.
"""

from __future__ import annotations

import ctypes
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from ctypes import c_float, c_int
from threading import Lock
from typing import Any, NamedTuple

from weft.runtime.cuda_driver import PROTOTYPES, Driver, Enter

__all__ = ["LaunchTimer", "Span", "Stamp", "Stamps"]

_LAUNCH = ctypes.CFUNCTYPE(c_int, *PROTOTYPES["cuLaunchKernel"])
_STREAM = 8  # which argument of a launch
_MOST_WAITING = 4096  # launches whose times nobody has asked for: their events are read now and then


class Span(NamedTuple):
    """A task that ran: when it began, by the host's `time.perf_counter`, and how long it took, in seconds."""

    name: str
    began: float
    seconds: float


class Stamp:
    """A point in the order of the stream. Its event is used again when nobody refers to it any more."""

    def __init__(self, event: int, free: list[int]) -> None:
        self.event, self._free = event, free

    def __del__(self) -> None:
        self._free.append(self.event)


class Stamps:
    """Makes stamps of one stream. `enter` makes the device's context current, if it is `usable`."""

    def __init__(self, driver: Driver, stream: int, enter: Enter, usable: Callable[[], bool] = lambda: True) -> None:
        self._driver, self._stream, self.enter = driver, stream, enter
        self._free: list[int] = []
        weakref.finalize(self, _destroy, driver, enter, usable, self._free).atexit = False

    def take(self) -> Stamp:
        """The point after all that was put into the stream so far."""
        with self.enter():
            event = self._free.pop() if self._free else self._driver.made("cuEventCreate", 0)
            self._driver.call("cuEventRecord", event, self._stream)
        return Stamp(event, self._free)

    def seconds(self, begin: Stamp, end: Stamp) -> float:
        """From one to the other; both must be passed."""
        with self.enter():
            return _elapsed(self._driver, begin.event, end.event)


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
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def begin(self) -> None:
        """What was launched so far is of no interest."""
        self.take()
        self._anchor = self._anchored()

    def _anchored(self) -> tuple[Stamp, float]:
        """A stamp, and what the host's clock showed then: some microseconds late, since the host has to notice."""
        self._synchronize()
        stamp = self._stamps.take()
        self._synchronize()
        return stamp, time.perf_counter()

    def know(self, functions: Sequence[int], names: Sequence[str]) -> None:
        """The names of the tasks whose entries have those handles."""
        self._names.update(zip(functions, names, strict=True))

    def ease(self) -> None:
        """Read the events of many launches, so that they can be used again. Waits, if there are many."""
        if len(self._waiting) >= _MOST_WAITING:
            with self._lock:
                self._read()

    def take(self) -> list[Span]:
        """The launches since the last time, in order; waits for them."""
        with self._lock:
            self._read()
            found, self._done = self._done, []
            return found

    def _read(self) -> None:
        """The events of the launches that wait, as spans."""
        count = len(self._waiting)  # other threads may launch more meanwhile
        self._synchronize()
        now, found = time.perf_counter(), list[Span]()
        event, then = self._anchor[0].event, self._anchor[1]
        with self._stamps.enter():
            for name, begin, end in [self._waiting.popleft() for _ in range(count)]:
                after = _elapsed(self._driver, event, begin)
                found.append(Span(name, then + after, _elapsed(self._driver, begin, end)))
                self._free += [begin, end]
        late = max((span.began + span.seconds - now for span in found), default=0.0)  # that the host noticed the anchor
        self._done += [span._replace(began=span.began - late) for span in found] if late > 0 else found
        if count:  # elapsed times are floats: from far away they would be coarse
            self._anchor = self._anchored()


def _elapsed(driver: Driver, begin: int, end: int) -> float:
    """Seconds between two events."""
    spent = c_float()
    driver.call("cuEventElapsedTime", ctypes.byref(spent), begin, end)
    return spent.value * 1e-3


def _destroy(driver: Driver, enter: Enter, usable: Callable[[], bool], events: list[int]) -> None:
    if usable():
        with enter():
            for event in events:
                driver.function("cuEventDestroy_v2")(event)


def _bound(driver: Driver, names: dict[int, str], waiting: deque[tuple[str, int, int]], free: list[int]) -> Any:
    """The launch function. (No method: the timer would keep itself alive.)"""
    real, record = driver.function("cuLaunchKernel"), driver.function("cuEventRecord")

    def launch(function: int, *rest: Any) -> int:
        begin, end = (free.pop() if free else driver.made("cuEventCreate", 0) for _ in range(2))
        record(begin, rest[_STREAM - 1])
        status: int = real(function, *rest)
        record(end, rest[_STREAM - 1])
        waiting.append((names.get(function, "?"), begin, end))
        return status

    return launch
