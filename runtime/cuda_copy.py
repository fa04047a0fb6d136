"""Large copies between host and device, through pinned memory, on several lanes at once.

The driver can only fetch from pinned memory itself; from other memory it copies in small pieces. A lane has two buffers
of pinned memory and a thread: while one buffer is on its way, the thread fills (or empties) the other. One thread moves
10 GB/s at most, and fewer where the pages of the target are touched for the first time; PCIe moves 25 to 55. So a copy
is dealt out to lanes, piece by piece.
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

SMALL = 4 << 20  # bytes that are not worth it
_CHUNK = 4 << 20
_MOST_LANES = 8


class PinnedCopies:
    """Copies in the order of one stream; each returns when it is done. `enter` makes the device's context current for
    the thread that calls it."""

    def __init__(self, driver: Driver, stream: int, enter: Enter) -> None:
        self._driver, self._stream, self._enter, self._lock = driver, stream, enter, Lock()
        self._lanes: list[_Lane] = []
        self._most = max(1, min(_MOST_LANES, system.threads_available()))

    def copy_in(self, address: int, source: int, size: int) -> None:
        """From the host to the device."""
        self._deal(_Lane.copy_in, address, source, size)

    def copy_out(self, target: int, address: int, size: int) -> None:
        """From the device to the host."""
        self._deal(_Lane.copy_out, target, address, size)

    def _deal(self, copy: Callable[..., None], target: int, source: int, size: int) -> None:
        starts = range(0, size, _CHUNK)
        count = min(self._most, max(1, len(starts) // 2))  # two pieces for each lane, or its buffers are no use
        with self._lock:
            with self._enter():
                while len(self._lanes) < count:
                    self._lanes.append(_Lane(self._driver, self._stream, self._enter))
            shares = [(lane, starts[number::count]) for number, lane in enumerate(self._lanes[:count])]
            if count == 1:
                copy(*shares[0], target, source, size)
                return
            with ThreadPoolExecutor(count, "weft-copy") as threads:
                for _ in threads.map(lambda share: copy(*share, target, source, size), shares):
                    pass


class _Lane:
    """Two buffers of pinned memory, and the events that tell when each is free."""

    def __init__(self, driver: Driver, stream: int, enter: Enter) -> None:
        self._driver, self._stream, self._enter = driver, stream, enter
        self._buffers = [driver.allocate_pinned(_CHUNK) for _ in range(2)]
        self._events = [driver.create_event(timed=False) for _ in range(2)]
        weakref.finalize(self, _free, driver, enter, self._buffers, self._events).atexit = False

    def copy_in(self, starts: Sequence[int], address: int, source: int, size: int) -> None:
        """The pieces that begin there, from the host to the device."""
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
        """The pieces that begin there, from the device to the host."""

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
