"""Read and write single elements in GPU memory with the fewest possible driver calls.

`DeviceItems` is to a `DeviceView` what a memoryview is to a numpy array. It takes only full indices in bounds, returns
Python numbers, and takes Python numbers of the right kind. A read copies one element to a word of pinned memory and
waits for it. A write fills one element or copies one word; neither waits.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Callable
from operator import index, mul
from threading import Lock
from typing import Any

import numpy as np

from weft.runtime.cuda_driver import CudaError, Driver, Enter

__all__ = ["DeviceItems", "Word"]

_FILLED = (1, 2, 4)  # bytes of the patterns that the driver can fill memory with


class Word:
    """A small pinned buffer, and the calls that copy an element to and from it. `enter` makes the context of the device
    current. A call from a thread with another context, or none, fails and is repeated after `enter`."""

    SIZE = 256  # bytes: enough for a matrix or a struct

    def __init__(self, driver: Driver, stream: int, enter: Enter) -> None:
        self._driver, self._stream, self._enter, self._lock = driver, stream, enter, Lock()
        with enter():
            self._place = driver.allocate_pinned(self.SIZE)
        weakref.finalize(self, _free, driver, enter, self._place).atexit = False
        self._bytes: Any = memoryview((ctypes.c_uint8 * self.SIZE).from_address(self._place)).cast("B")

    def values(self, format: str) -> Any:
        """The buffer as a memoryview of numbers."""
        return self._bytes.cast(format)

    def read(self, address: int, size: int, values: Any) -> Any:
        """Read the element at that address. `values` is a view of this buffer."""
        with self._lock:
            self._fetch(address, size)
            return values[0]

    def read_bytes(self, address: int, size: int) -> Any:
        """Read that many bytes into a new numpy array."""
        with self._lock:
            self._fetch(address, size)
            return np.frombuffer(bytearray(self._bytes[:size]), np.uint8)

    def _fetch(self, address: int, size: int) -> None:
        def fetch() -> None:
            self._driver.copy_out(self._place, address, size, self._stream)
            self._driver.synchronize_stream(self._stream)

        self._try(fetch)

    def write(self, address: int, data: bytes) -> None:
        """Write a few bytes."""
        size = len(data)

        def put() -> None:
            if size in _FILLED and address % size == 0:
                self._driver.fill(address, int.from_bytes(data, "little"), size, 1, self._stream)
            else:  # the driver copies pageable bytes before it returns
                self._driver.copy_in(address, data, size, self._stream)

        self._try(put)

    def _try(self, call: Callable[[], None]) -> None:
        """Make the call in the context of the thread. If that fails, make it in the context of the device."""
        try:
            call()
        except CudaError:
            with self._enter():
                call()


class DeviceItems:
    """The elements of a view: `items[i, j]`. Raises IndexError for an index out of bounds, TypeError for another kind
    of index, and ValueError for a number that does not fit the element type."""

    def __init__(self, word: Word, view: Any) -> None:
        self._word, self._view = word, view  # the view keeps the memory alive
        self._address, self._size = view.address, view.dtype.itemsize
        self._shape, self._strides = view.shape, view.strides
        format = "B" if view.dtype.kind == "b" else view.dtype.char
        self._format, self._values = format, word.values(format)

    def _place(self, key: Any) -> int:
        numbers = [index(number) for number in key] if key.__class__ is tuple else [index(key)]
        if len(numbers) != len(self._shape):
            raise IndexError("too many or too few indices")
        for number, extent in zip(numbers, self._shape):
            if not 0 <= number < extent:
                raise IndexError("out of bounds")
        return self._address + sum(map(mul, numbers, self._strides))  # type: ignore[no-any-return]

    def __getitem__(self, key: Any) -> Any:
        return self._word.read(self._place(key), self._size, self._values)

    def __setitem__(self, key: Any, value: Any) -> None:
        place = self._place(key)
        try:
            data = struct.pack(self._format, value)
        except (struct.error, OverflowError) as error:
            raise ValueError(str(error)) from None
        self._word.write(place, data)


def _free(driver: Driver, enter: Enter, place: int) -> None:
    with enter():
        driver.free_pinned(place)
