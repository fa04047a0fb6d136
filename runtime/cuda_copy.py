"""Copy large amounts of memory between host and device, through pinned memory, with several threads at once.

The driver can transfer directly only from and to pinned memory. It copies other memory in small pieces. Here, each
*lane* has two buffers of pinned memory and a thread: while one buffer is transferred, the thread fills (or empties) the
other. One thread moves at most 10 GB/s, and less where the pages of the target are touched for the first time; PCIe
moves 25 to 55. A copy is therefore divided into pieces, which are distributed over the lanes.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from weft.runtime import system
from weft.runtime.cuda_driver import Driver, Enter

__all__ = ["SMALL", "PinnedCopies"]

SMALL = 4 << 20  # bytes: smaller copies are left to the driver
_CHUNK = 4 << 20
_MOST_LANES = 8


class PinnedCopies:
    """Copies in the order of one stream. Each function returns when its copy is done. `enter` makes the context of the
    device current for the calling thread."""

    def __init__(self, driver: Driver, stream: int, enter: Enter) -> None:
        self._driver, self._stream, self._enter, self._lock = driver, stream, enter, Lock()
        self._lanes: list[_Lane] = []
        self._most = max(1, min(_MOST_LANES, system.threads_available()))

    def copy_in(self, address: int, source: int, size: int) -> None:
        """Copy from the host to the device."""
        self._deal(_Lane.copy_in, address, source, size)

    def copy_out(self, target: int, address: int, size: int) -> None:
        """Copy from the device to the host."""
        self._deal(_Lane.copy_out, target, address, size)

    def _deal(self, copy: Callable[..., None], target: int, source: int, size: int) -> None:
        starts = range(0, size, _CHUNK)
        count = min(self._most, max(1, len(starts) // 2))  # at least two pieces per lane, so that both buffers are used
        with self._lock:
            with self._enter():
                while len(self._lanes) < count:
                    self._lanes.append(_Lane(self._driver, self._stream, self._enter))
            parts = [(lane, starts[number::count]) for number, lane in enumerate(self._lanes[:count])]
            if count == 1:
                copy(*parts[0], target, source, size)
                return
            with ThreadPoolExecutor(count, "weft-copy") as threads:
                for _ in threads.map(lambda part: copy(*part, target, source, size), parts):
                    pass


class _Lane:
    """Two buffers of pinned memory, and the events that say when each is free."""

    def __init__(self, driver: Driver, stream: int, enter: Enter) -> None:
        self._driver, self._stream, self._enter = driver, stream, enter
        self._buffers = [driver.allocate_pinned(_CHUNK) for _ in range(2)]
        self._events = [driver.create_event(timed=False) for _ in range(2)]
        weakref.finalize(self, _free, driver, enter, self._buffers, self._events).atexit = False

    def copy_in(self, starts: Sequence[int], address: int, source: int, size: int) -> None:
        """Copy the pieces with those begins from the host to the device."""
        with self._enter():
            for number, start in enumerate(starts):
                if number >= 2:
                    self._wait(number)
                count = min(_CHUNK, size - start)
                buffer = self._buffers[number % 2]
                ctypes.memmove(buffer, source + start, count)
                self._driver.copy_in(address + start, buffer, count, self._stream)
                self._record(number)
            for number in range(max(0, len(starts) - 2), len(starts)):
                self._wait(number)

    def copy_out(self, starts: Sequence[int], target: int, address: int, size: int) -> None:
        """Copy the pieces with those begins from the device to the host."""

        def fetch(number: int) -> None:
            if number < len(starts):
                start = starts[number]
                buffer = self._buffers[number % 2]
                self._driver.copy_out(buffer, address + start, min(_CHUNK, size - start), self._stream)
                self._record(number)

        with self._enter():
            fetch(0)
            fetch(1)
            for number, start in enumerate(starts):
                self._wait(number)
                ctypes.memmove(target + start, self._buffers[number % 2], min(_CHUNK, size - start))
                fetch(number + 2)

    def _record(self, number: int) -> None:
        self._driver.record_event(self._events[number % 2], self._stream)

    def _wait(self, number: int) -> None:
        self._driver.synchronize_event(self._events[number % 2])


def _free(driver: Driver, enter: Enter, buffers: list[int], events: list[int]) -> None:
    with enter():
        for buffer in buffers:
            driver.free_pinned(buffer)
        for event in events:
            driver.destroy_event(event)
