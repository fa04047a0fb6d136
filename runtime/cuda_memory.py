"""Memory of a CUDA device: stream-ordered buffers that Python objects own.

A `DeviceBuffer` is freed, in stream order, when nothing refers to it any more. Views of it are in `cuda_views.py`.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from weft.runtime.cuda_copy import SMALL, PinnedCopies
from weft.runtime.cuda_driver import OUT_OF_MEMORY, CudaError, DeviceFacts, Driver, Enter
from weft.runtime.cuda_items import Word
from weft.runtime.cuda_streams import Events
from weft.runtime.cuda_views import DeviceView, row_major
from weft.runtime.current_lists import CurrentLists
from weft.runtime.errors import OutOfMemory
from weft.runtime.memory import out_of_memory, readable_size
from weft.runtime.observer import Observer

__all__ = ["CudaMemory", "DeviceBuffer"]

_UNIT = 16  # buffer sizes are multiples of it: atomics on less than a word exchange the whole word

# Slack uses real memory here, because a GPU has no pages that cost nothing. It is therefore at most this part of a
# buffer or this many bytes, and never more than these. The addresses of the driver are multiples of the unit, and so
# are Weft's.
_SLACK_PART, _SLACK_LEAST, _SLACK_MOST, _SLACK_UNIT = 16, 64 << 10, 16 << 20, 256


class DeviceBuffer:
    """`size` bytes at `address`. `read` and `write` wait until the bytes are copied."""

    def __init__(self, memory: CudaMemory, address: int, size: int) -> None:
        self.memory, self.address, self.size = memory, address, size

    def read(self, offset: int, size: int) -> Any:
        """Return those bytes as a new numpy array."""
        if 0 < size <= Word.SIZE:
            return self.memory.word.read_bytes(self.address + offset, size)
        result = np.empty(size, np.uint8)
        if size:
            self.memory.copy_out(result.ctypes.data, self.address + offset, size)
        return result

    def write(self, offset: int, data: Any) -> None:
        """Write a contiguous numpy array at `offset`."""
        self.memory.lists.forget(self.address)
        if 0 < data.nbytes <= Word.SIZE:
            self.memory.word.write(self.address + offset, data.tobytes())
        elif data.nbytes:
            self.memory.copy_in(self.address + offset, data.ctypes.data, data.nbytes)

    def fill(self, offset: int, pattern: Any, times: int) -> None:
        """Fill the buffer with a numpy scalar of 1, 2 or 4 bytes."""
        self.memory.lists.forget(self.address)
        self.memory.fill(self.address + offset, int(pattern.view(f"u{pattern.itemsize}")), pattern.itemsize, times)


class CudaMemory:
    """Allocates zeroed buffers of one device, in the order of one stream."""

    def __init__(
        self,
        driver: Driver,
        stream: int,
        enter: Enter,
        index: int = 0,
        usable: Callable[[], bool] = lambda: True,
        facts: DeviceFacts | None = None,
    ) -> None:
        """`enter` makes the context of the device current, if it is `usable`. `index` is the number of the device,
        `facts` are its properties, which reserved memory needs."""
        self._driver, self._stream, self._enter, self.index = driver, stream, enter, index
        self._usable, self._facts = usable, facts
        self._held: dict[object, tuple[str, int]] = {}
        self._lent: set[int] = set()
        self.lists = CurrentLists()
        self.observer: Observer | None = None

    def allocate(self, size: int, owner: str, slack: int = 0) -> DeviceBuffer:
        """Return a zeroed buffer of `size` bytes. `owner` names it in the account. On both sides there are `slack`
        unused bytes, or fewer if the buffer is small."""
        around = _around(size, slack)
        room = -(-max(size, 1) // _UNIT) * _UNIT + 2 * around
        with self._enter():
            try:
                begin = self._driver.allocate(room, self._stream)
            except CudaError as error:
                if error.status == OUT_OF_MEMORY:
                    raise self._refuse(size, owner) from None
                raise self._driver.error(error.status, f"allocating {readable_size(size)} for {owner}") from None
            self._driver.fill(begin, 0, 1, room, self._stream)
        buffer, key = DeviceBuffer(self, begin + around, size), object()
        self._held[key] = (owner, size)
        weakref.finalize(buffer, self._free, key, begin + around, begin).atexit = False
        if self.observer is not None:
            self.observer.held(f"GPU {self.index}", size, owner)
        return buffer

    @property
    def most_reserved(self) -> int:
        """The most bytes that it makes sense to reserve for one owner: the memory of the device."""
        return 0 if self._facts is None else self._facts.memory

    def reserve(self, size: int, owner: str, grows: bool = False, slack: int = 0) -> DeviceBuffer:
        """Return a buffer of `size` zero bytes that takes addresses, but memory only for the pages that were touched:
        managed memory. The account does not know how many these are. Raises CudaError if the GPU or its driver has no
        pages on demand."""
        del grows
        if self._facts is None or not self._facts.pages_on_demand:
            raise CudaError(
                f"{owner} needs memory that grows by pages, which this GPU or its driver does not have: "
                "use dense nodes, or arch=cpu"
            )
        around = _around(size, slack)
        room = -(-max(size, 1) // _UNIT) * _UNIT + 2 * around
        with self._enter():
            try:
                address = self._driver.allocate_managed(room)
            except CudaError as error:
                if error.status == OUT_OF_MEMORY:
                    raise self._refuse(size, owner) from None
                raise
            with suppress(CudaError):  # it is only faster
                self._driver.prefer_device(address, room, self.index)
        buffer = DeviceBuffer(self, address + around, size)
        weakref.finalize(buffer, self._unreserve, address, buffer.address).atexit = False
        return buffer

    def _unreserve(self, address: int, book: int) -> None:
        self.lists.forget(book)
        if self._usable():
            with self._enter():
                self._driver.free_managed(address)

    def _free(self, key: object, address: int, begin: int) -> None:
        owner, size = self._held.pop(key)
        if self.observer is not None:
            self.observer.held(f"GPU {self.index}", -size, owner)
        if not self._usable():  # it was freed with its context
            return
        with self._enter():
            if address in self._lent:  # other streams may still use it
                self._lent.discard(address)
                with suppress(CudaError):
                    self._driver.synchronize_context()
            self._driver.free(begin, self._stream)

    @cached_property
    def _pinned(self) -> PinnedCopies:
        return PinnedCopies(self._driver, self._stream, self._enter)

    @property
    def stream(self) -> int:
        """The handle of the stream that orders all work on this memory."""
        return self._stream

    def owner(self, address: int) -> int | None:
        """Return the number of the GPU that owns memory of another library, or None if it is unknown."""
        if self._devices == 1 or not address:
            return None
        with self._enter(), suppress(CudaError):
            return self._driver.owner(address)
        return None

    @cached_property
    def _devices(self) -> int:
        return self._driver.device_count()

    def lend(self, buffer: Any) -> None:
        """Mark a buffer that another library gets access to. It is not freed while work of any stream is pending."""
        if isinstance(buffer, DeviceBuffer):
            self._lent.add(buffer.address)

    @cached_property
    def _events(self) -> Events:
        return Events(self._driver, self._enter)

    def follow(self, stream: int) -> None:
        """Make later work wait for what another library has put into that stream so far."""
        self._events.order(stream, self._stream)

    def lead(self, stream: int) -> None:
        """Make later work in that stream wait for what was done here so far."""
        self._events.order(self._stream, stream)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device. Does not wait."""
        if size:
            with self._enter():
                self._driver.copy(target, source, size, self._stream)

    def duplicate(self, buffer: DeviceBuffer) -> DeviceBuffer:
        """Return a buffer with the same bytes."""
        made = self.allocate(buffer.size, "a copy")
        self.assign(made, buffer)
        return made

    def assign(self, target: DeviceBuffer, source: DeviceBuffer) -> None:
        """Copy all bytes of a buffer to one of the same size. Does not wait."""
        self.lists.forget(target.address)
        self.copy(target.address, source.address, source.size)

    @cached_property
    def word(self) -> Word:
        """The object that reads and writes single elements."""
        return Word(self._driver, self._stream, self._enter)

    def copy_in(self, address: int, source: int, size: int) -> None:
        """Copy from the host to the device and wait."""
        began = time.perf_counter()
        with self._enter():
            if size > SMALL:
                self._pinned.copy_in(address, source, size)
            else:
                self._driver.copy_in(address, source, size, self._stream)
                self._driver.synchronize_stream(self._stream)
        if self.observer is not None:
            self.observer.copied("host to device", size, began)

    def copy_out(self, target: int, address: int, size: int) -> None:
        """Copy from the device to the host and wait."""
        began = time.perf_counter()
        with self._enter():
            if size > SMALL:
                self._pinned.copy_out(target, address, size)
            else:
                self._driver.copy_out(target, address, size, self._stream)
                self._driver.synchronize_stream(self._stream)
        if self.observer is not None:
            self.observer.copied("device to host", size, began)

    def fill(self, address: int, pattern: int, size: int, times: int) -> None:
        """Write a pattern of 1, 2 or 4 bytes repeatedly."""
        with self._enter():
            self._driver.fill(address, pattern, size, times, self._stream)

    @property
    def total(self) -> int:
        """The number of allocated bytes."""
        return sum(size for _, size in list(self._held.values()))

    @property
    def free(self) -> int:
        """The number of bytes of the device that nobody uses."""
        with self._enter():
            return self._driver.free_memory()[0]

    def holders(self) -> list[tuple[str, int]]:
        """Return (owner, bytes) of the live buffers, the largest first."""
        return sorted(self._held.values(), key=lambda held: (-held[1], held[0]))

    def address(self, buffer: DeviceBuffer) -> int:
        """Return the address of a buffer."""
        return buffer.address

    def view(
        self,
        buffer: DeviceBuffer,
        dtype: Any,
        shape: Sequence[int],
        offset: int = 0,
        strides: Sequence[int] | None = None,
    ) -> DeviceView:
        """Return a view of a buffer: elements of `dtype` at `offset` bytes, with `strides` in bytes (None:
        row-major)."""
        type, extents = np.dtype(dtype), tuple(shape)
        steps = row_major(extents, type.itemsize) if strides is None else tuple(strides)
        return DeviceView(buffer, type, extents, offset, steps)

    def _refuse(self, size: int, owner: str) -> OutOfMemory:
        free, whole = self._driver.free_memory()
        there = f"{readable_size(free)} of {readable_size(whole)} are free"
        return out_of_memory(f"{owner} needs {readable_size(size)} of GPU memory, but only {there}.", self.holders())


def _around(size: int, slack: int) -> int:
    """Return the slack on each side of a buffer of that size."""
    most = min(max(size // _SLACK_PART, _SLACK_LEAST), _SLACK_MOST)
    return -(-min(slack, most) // _SLACK_UNIT) * _SLACK_UNIT
