"""Memory of a CUDA device: stream-ordered buffers that Python objects own, and views of them.

A `DeviceBuffer` is freed, in stream order, when nothing refers to it any more. A `DeviceView` is to a buffer what a
numpy array is to bytes: it has a shape, a type and strides. Reading an element of a view copies that element, and
assigning to one copies it back. Code that indexes fields works with both.
"""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from weft.runtime.cuda_copy import SMALL, PinnedCopies
from weft.runtime.cuda_driver import OUT_OF_MEMORY, CudaError, DeviceFacts, Driver, Enter
from weft.runtime.cuda_items import DeviceItems, Word
from weft.runtime.cuda_streams import Events, ForeignArray, is_default
from weft.runtime.errors import OutOfMemory
from weft.runtime.memory import out_of_memory, readable_size
from weft.runtime.observer import Observer

__all__ = ["CudaMemory", "DeviceBuffer", "DeviceView"]

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
        if 0 < data.nbytes <= Word.SIZE:
            self.memory.word.write(self.address + offset, data.tobytes())
        elif data.nbytes:
            self.memory.copy_in(self.address + offset, data.ctypes.data, data.nbytes)

    def fill(self, offset: int, pattern: Any, times: int) -> None:
        """Fill the buffer with a numpy scalar of 1, 2 or 4 bytes."""
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

    def reserve(self, size: int, owner: str, grows: bool = False) -> DeviceBuffer:
        """Return a buffer of `size` zero bytes that takes addresses, but memory only for the pages that were touched:
        managed memory. The account does not know how many these are. Raises CudaError if the GPU or its driver has no
        pages on demand."""
        del grows
        if self._facts is None or not self._facts.pages_on_demand:
            raise CudaError(
                f"{owner} needs memory that grows by pages, which this GPU or its driver does not have: "
                "use dense nodes, or arch=cpu"
            )
        room = -(-max(size, 1) // _UNIT) * _UNIT
        with self._enter():
            try:
                address = self._driver.allocate_managed(room)
            except CudaError as error:
                if error.status == OUT_OF_MEMORY:
                    raise self._refuse(size, owner) from None
                raise
            with suppress(CudaError):  # it is only faster
                self._driver.prefer_device(address, room, self.index)
        buffer = DeviceBuffer(self, address, size)
        weakref.finalize(buffer, self._unreserve, address).atexit = False
        return buffer

    def _unreserve(self, address: int) -> None:
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
        steps = _row_major(extents, type.itemsize) if strides is None else tuple(strides)
        return DeviceView(buffer, type, extents, offset, steps)

    def _refuse(self, size: int, owner: str) -> OutOfMemory:
        free, whole = self._driver.free_memory()
        there = f"{readable_size(free)} of {readable_size(whole)} are free"
        return out_of_memory(f"{owner} needs {readable_size(size)} of GPU memory, but only {there}.", self.holders())


class DeviceView:
    """An n-D view of a buffer. A full index gives a numpy scalar. A partial index (the first axes) gives an array;
    assigning to its elements also writes to the device. `view[...] = values` sets all elements. `stream` is the stream
    of the library that owns the memory, if another library does."""

    stream: int | None = None

    def __init__(
        self, buffer: Any, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int, strides: tuple[int, ...]
    ) -> None:
        self.buffer, self.dtype, self.shape, self.offset, self.strides = buffer, dtype, shape, offset, strides
        self.ndim = len(shape)
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize

    @cached_property
    def dense(self) -> bool:
        """Whether the elements, in some order of axes, are adjacent without gaps."""
        return _dense(self.shape, self.strides, self.dtype.itemsize)

    @cached_property
    def flags(self) -> Any:
        """`c_contiguous` and `writeable`, as for numpy arrays."""
        in_order = self.size == 0 or _row_major(self.shape, self.dtype.itemsize) == self.strides
        return SimpleNamespace(c_contiguous=in_order, writeable=True)

    @property
    def address(self) -> int:
        """The address of the first element."""
        return int(self.buffer.address) + self.offset

    def follow(self, stream: int) -> None:
        """Make Weft's next work wait for what another library has put into that stream so far."""
        self.buffer.memory.follow(stream)

    @property
    def device(self) -> int:
        """The number of the GPU."""
        return int(self.buffer.memory.index)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.device)  # kDLCUDA

    def argument(self, ndim: int) -> tuple[Any, ...]:
        """Return what a launch takes: the address, and the extents and byte strides of the first `ndim` axes."""
        place = self.address, self.shape[:ndim], self.strides[:ndim]
        if is_default(self.stream):
            return place
        array = ForeignArray(place)
        array.stream = self.stream or 0
        return array

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.buffer.memory.lend(self.buffer)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None if self.flags.c_contiguous else self.strides,
            "version": 3,
            "stream": self.buffer.memory._stream,
        }

    def part(self, key: Any) -> DeviceView:
        """Return a view of the elements that `key`, the first indices, selects."""
        if key is Ellipsis or key == ():
            return self
        index = key if isinstance(key, tuple) else (key,)
        offset = self.offset + sum(i * stride for i, stride in zip(index, self.strides))
        n = len(index)
        return DeviceView(self.buffer, self.dtype, self.shape[n:], offset, self.strides[n:])

    def chosen(self, index: Sequence[int | None]) -> DeviceView:
        """Return a view of the elements with this index on each of the first axes. None keeps an axis whole."""
        offset, axes = self.offset, list[int]()
        for axis, number in enumerate([*index, *[None] * (self.ndim - len(index))]):
            if number is None:
                axes.append(axis)
            else:
                offset += number * self.strides[axis]
        shape, strides = (tuple(of[axis] for axis in axes) for of in (self.shape, self.strides))
        return DeviceView(self.buffer, self.dtype, shape, offset, strides)

    def saved(self) -> Any:
        """Return a copy of the elements that `put` takes. It is on the device if the elements are adjacent."""
        if not self.dense or self.size == 0:
            return self.fetch()
        memory = self.buffer.memory
        buffer = memory.allocate(self.nbytes, "values that a tape keeps")
        memory.copy(buffer.address, self.first, self.nbytes)
        return DeviceView(buffer, self.dtype, self.shape, self.offset - self._span()[0], self.strides)

    def items(self) -> DeviceItems:
        """The object that accesses single elements quickly."""
        return DeviceItems(self.buffer.memory.word, self)

    def fetch(self) -> Any:
        """Return a copy of the elements as a new numpy array."""
        low, size = self._span()
        raw = self.buffer.read(low, size)
        return np.ndarray(self.shape, self.dtype, raw, self.offset - low, self.strides)

    def put(self, values: Any) -> None:
        """Set the elements from values that broadcast to this shape."""
        if isinstance(values, DeviceView):
            if values.dtype == self.dtype and values.shape == self.shape and values.fits(self):
                self.buffer.memory.copy(self.first, values.first, self.nbytes)
                return
            values = values.fetch()
        low, size = self._span()
        if self.dense and np.ndim(values) == 0 and self.dtype.itemsize <= 4:
            self.buffer.fill(low, self.dtype.type(values), self.size)
            return
        if self.flags.c_contiguous and _alike(values, self):
            self.buffer.write(low, values)
            return
        raw = np.empty(size, np.uint8) if self.dense else self.buffer.read(low, size)
        np.ndarray(self.shape, self.dtype, raw, self.offset - low, self.strides)[...] = values
        self.buffer.write(low, raw)

    def fits(self, other: DeviceView) -> bool:
        """Return whether both views have the same bytes when they hold the same elements."""
        return self.dense and self.strides == other.strides

    @property
    def first(self) -> int:
        """The address of the first byte of any element."""
        return int(self.buffer.address) + self._span()[0]

    def _span(self) -> tuple[int, int]:
        """Return the address of the first byte of any element, and the number of bytes to the end of the last."""
        if self.size == 0:
            return self.offset, 0
        reach = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides)]
        low = self.offset + sum(step for step in reach if step < 0)
        high = self.offset + sum(step for step in reach if step > 0) + self.dtype.itemsize
        return low, high - low

    def __getitem__(self, key: Any) -> Any:
        part = self.part(key)
        values = part.fetch()
        if part.ndim == 0:
            return values[()]
        element = values.view(_Element)
        element.home = part
        return element

    def __setitem__(self, key: Any, value: Any) -> None:
        self.part(key).put(value)

    def reshape(self, shape: Any) -> Any:
        """Return a copy with that shape as a numpy array."""
        return self.fetch().reshape(shape)

    def copy(self) -> Any:
        """Return a copy of the elements as a contiguous numpy array."""
        return np.asarray(self.fetch(), order="C")  # (ascontiguousarray would give a 0-D array an axis)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy
        return np.asarray(self.fetch(), dtype)


class _Element(np.ndarray[Any, Any]):
    """A small array that was fetched from `home`. Assigning to its elements also writes to `home`."""

    home: DeviceView | None = None

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if self.home is not None:
            self.home.put(np.asarray(self))


def _around(size: int, slack: int) -> int:
    """Return the slack on each side of a buffer of that size."""
    most = min(max(size // _SLACK_PART, _SLACK_LEAST), _SLACK_MOST)
    return -(-min(slack, most) // _SLACK_UNIT) * _SLACK_UNIT


def _alike(values: Any, view: DeviceView) -> bool:
    """Return whether the bytes of `values` can be written as they are."""
    plain = isinstance(values, np.ndarray) and values.flags.c_contiguous
    return plain and values.dtype == view.dtype and values.shape == view.shape


def _row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides: list[int] = []
    for extent in reversed(shape):
        strides.insert(0, itemsize)
        itemsize *= extent
    return tuple(strides)


def _dense(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Return whether the elements, in some order of axes, are adjacent without gaps."""
    for stride, extent in sorted(zip(strides, shape)):
        if extent > 1:
            if stride != itemsize:
                return False
            itemsize *= extent
    return True
