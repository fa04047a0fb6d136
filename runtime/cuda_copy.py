"""Large copies between host and device, through two buffers of pinned memory.

The driver can only fetch from pinned memory itself; from other memory it copies in small pieces. Here, while one buffer
is on its way, the processor fills (or empties) the other.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from threading import Lock

from weft.runtime.cuda_driver import Driver

__all__ = ["SMALL", "PinnedCopies"]

SMALL = 4 << 20  # bytes that are not worth it
_CHUNK = 8 << 20


class PinnedCopies:
    """Copies in the order of one stream; each returns when it is done. `enter` makes the device's context current;
    it must be."""

    def __init__(self, driver: Driver, stream: int, enter: Callable[[], None]) -> None:
        self._driver, self._stream, self._lock = driver, stream, Lock()
        self._buffers = [driver.made("cuMemHostAlloc", _CHUNK, 0) for _ in range(2)]
        self._events = [driver.made("cuEventCreate", 2) for _ in range(2)]  # without times
        weakref.finalize(self, _free, driver, enter, self._buffers, self._events).atexit = False

    def copy_in(self, address: int, source: int, size: int) -> None:
        """From the host to the device."""
        with self._lock:
            for number, start in enumerate(range(0, size, _CHUNK)):
                if number >= 2:
                    self._wait(number)
                count = min(_CHUNK, size - start)
                buffer = self._buffers[number % 2]
                ctypes.memmove(buffer, source + start, count)
                self._send(number, "cuMemcpyHtoDAsync_v2", address + start, buffer, count)
            self._driver.call("cuStreamSynchronize", self._stream)

    def copy_out(self, target: int, address: int, size: int) -> None:
        """From the device to the host."""
        starts = range(0, size, _CHUNK)

        def fetch(number: int) -> None:
            if number < len(starts):
                start = starts[number]
                buffer = self._buffers[number % 2]
                self._send(number, "cuMemcpyDtoHAsync_v2", buffer, address + start, min(_CHUNK, size - start))

        with self._lock:
            fetch(0)
            fetch(1)
            for number, start in enumerate(starts):
                self._wait(number)
                ctypes.memmove(target + start, self._buffers[number % 2], min(_CHUNK, size - start))
                fetch(number + 2)

    def _send(self, number: int, function: str, to: int, source: int, count: int) -> None:
        self._driver.call(function, to, source, count, self._stream)
        self._driver.call("cuEventRecord", self._events[number % 2], self._stream)

    def _wait(self, number: int) -> None:
        self._driver.call("cuEventSynchronize", self._events[number % 2])


def _free(driver: Driver, enter: Callable[[], None], buffers: list[int], events: list[int]) -> None:
    enter()
    free: Callable[..., int] = driver.function("cuMemFreeHost")
    for buffer in buffers:
        free(buffer)
    for event in events:
        driver.function("cuEventDestroy_v2")(event)
