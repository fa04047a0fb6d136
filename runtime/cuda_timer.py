"""How long tasks take on the device: an event before each launch, and one behind it.

A kernel that is timed calls this launch function instead of the driver's; see `_DRIVER_FUNCTIONS` in `cuda.py`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_float, c_int
from typing import Any

from weft.runtime.cuda_driver import PROTOTYPES, Driver

__all__ = ["LaunchTimer"]

_LAUNCH = ctypes.CFUNCTYPE(c_int, *PROTOTYPES["cuLaunchKernel"])
_STREAM = 8  # which argument of a launch


class LaunchTimer:
    """Times every launch that goes through the function at `address`."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._names = driver, dict[int, str]()
        self._waiting: list[tuple[str, int, int]] = []
        self._free: list[int] = []
        self._callback = _LAUNCH(_bound(driver, self._names, self._waiting, self._free))
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def know(self, functions: Sequence[int], names: Sequence[str]) -> None:
        """The names of the tasks whose entries have those handles."""
        self._names.update(zip(functions, names, strict=True))

    def take(self) -> list[tuple[str, float]]:
        """(task, seconds) of the launches since the last time, in order; the work must be done."""
        found: list[tuple[str, float]] = []
        waiting, self._waiting[:] = list(self._waiting), []
        for name, begin, end in waiting:
            spent = c_float()
            self._driver.call("cuEventElapsedTime", ctypes.byref(spent), begin, end)
            found.append((name, spent.value * 1e-3))
            self._free += [begin, end]
        return found


def _bound(driver: Driver, names: dict[int, str], waiting: list[tuple[str, int, int]], free: list[int]) -> Any:
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
