"""Views of buffers on a CUDA device.

A `DeviceView` is to a buffer what a numpy array is to bytes: it has a shape, a type and strides. Reading an element of
a view copies that element, and assigning to one copies it back. Code that indexes fields works with both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from weft.runtime.cuda_items import DeviceItems
from weft.runtime.cuda_streams import ForeignArray, is_default

__all__ = ["DeviceView", "Fetched", "row_major"]


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
        in_order = self.size == 0 or row_major(self.shape, self.dtype.itemsize) == self.strides
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

    def sliced(self, key: Sequence[int | slice | None]) -> DeviceView:
        """Return a view of the elements that numpy's basic indexing selects: an entry for each of the first axes, and
        None for each new axis. The numbers are not negative."""
        offset, shape, strides, axis = self.offset, list[int](), list[int](), 0
        for entry in key:
            if entry is None:
                shape.append(1)
                strides.append(0)
                continue
            step = self.strides[axis]
            if isinstance(entry, slice):
                kept = range(*entry.indices(self.shape[axis]))
                offset += kept.start * step if kept else 0
                shape.append(len(kept))
                strides.append(kept.step * step if len(kept) > 1 else step)  # (a step may have any size)
            else:
                offset += entry * step
            axis += 1
        whole = tuple(shape) + self.shape[axis:], tuple(strides) + self.strides[axis:]
        return DeviceView(self.buffer, self.dtype, whole[0], offset, whole[1])

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
            if values.dtype == self.dtype and values.shape == self.shape and values.fits(self) and self._apart(values):
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

    def _apart(self, other: DeviceView) -> bool:
        """Return whether no byte between the first and the last one of a view of the same size belongs to both."""
        return abs(self.first - other.first) >= self._span()[1]

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

    def fetched(self) -> Fetched:
        """Return a copy of the elements that is indexed as this view."""
        return Fetched(self)

    def copy(self) -> Any:
        """Return a copy of the elements as a contiguous numpy array."""
        return np.asarray(self.fetch(), order="C")  # (ascontiguousarray would give a 0-D array an axis)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy
        return np.asarray(self.fetch(), dtype)


class Fetched:
    """A copy of the elements of a view. Assigning to a part that was indexed also writes to the device."""

    def __init__(self, home: DeviceView) -> None:
        self._home, self._values = home, home.fetch()

    def __getitem__(self, key: Any) -> Any:
        element = self._values[key].view(_Element)
        element.home = self._home.part(key)
        return element


class _Element(np.ndarray[Any, Any]):
    """A small array that was fetched from `home`. Assigning to its elements also writes to `home`."""

    home: DeviceView | None = None

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        if self.home is not None:
            self.home.put(np.asarray(self))


def _alike(values: Any, view: DeviceView) -> bool:
    """Return whether the bytes of `values` can be written as they are."""
    plain = isinstance(values, np.ndarray) and values.flags.c_contiguous
    return plain and values.dtype == view.dtype and values.shape == view.shape


def row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the byte strides of an array whose last axis varies fastest, without gaps."""
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
