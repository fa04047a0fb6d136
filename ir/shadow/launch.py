"""The inputs of a launch: copies of the memory that it can access, the arguments, and the key of its random numbers.

Memory is copied in *regions*: the trees of the kernel's fields and its array arguments. Overlapping ones are copied
together, so that they overlap in the copy as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir.ops import Kernel
from weft.ir.overlaps import span_of
from weft.ir.types import Array, Struct, Tensor, Type, element, flatten

__all__ = ["ArrayPlace", "Image", "Launch", "places_of", "size_of"]


@dataclass(frozen=True)
class ArrayPlace:
    """The location of an array. Shape and byte strides include the axes of its elements. A struct is one item."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any

    @property
    def span(self) -> tuple[int, int]:
        """The first byte of any item, and the one after the last."""
        if 0 in self.shape:
            return self.address, self.address
        reach = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides)]
        low = self.address + sum(step for step in reach if step < 0)
        return low, self.address + sum(step for step in reach if step > 0) + int(self.dtype.itemsize)


class Image:
    """Copies of regions of memory, by their addresses there."""

    def __init__(self, regions: Sequence[tuple[int, Any]]) -> None:
        self.regions = list(regions)

    def copy(self) -> Image:
        """The same, to be written to."""
        return Image([(low, data.copy()) for low, data in self.regions])

    def bytes(self, low: int, high: int) -> Any:
        """A window onto those bytes."""
        if low == high:
            return np.zeros(0, np.uint8)
        start, data = next((start, data) for start, data in self.regions if start <= low and high <= start + len(data))
        return data[low - start : high - start]

    def array(self, place: ArrayPlace) -> Any:
        """A window onto an array."""
        low, high = place.span
        window = self.bytes(low, high)
        return np.ndarray(place.shape, place.dtype, window, place.address - low if len(window) else 0, place.strides)


@dataclass(frozen=True)
class Launch:
    """One launch. `trees` are the first byte of each tree and the one after the last that the kernel's fields have;
    `args` has, for each parameter, an ArrayPlace or the value as the evaluator takes it; `key` is that of the random
    numbers; `image` is the memory before the launch."""

    trees: tuple[tuple[int, int], ...]
    args: tuple[Any, ...]
    key: int
    image: Image

    def after(self, read: Callable[[int, int], Any]) -> Image:
        """The same memory as it is now. `read(address, size)` copies bytes."""
        return Image([(low, read(low, len(data))) for low, data in self.image.regions])

    @staticmethod
    def taken(
        places: tuple[tuple[tuple[int, int], ...], tuple[Any, ...]], key: int, read: Callable[[int, int], Any]
    ) -> Launch:
        """A launch of such `places` (see `places_of`) that is about to happen."""
        regions = [(low, read(low, high - low)) for low, high in _regions(*places)]
        return Launch(*places, key, Image(regions))


def places_of(
    kernel: Kernel, trees: Sequence[int], args: Sequence[Any], value: Callable[[Any, Type], Any]
) -> tuple[tuple[tuple[int, int], ...], tuple[Any, ...]]:
    """`trees` and `args` of a Launch from the inputs of a loaded kernel: addresses, and arguments of which arrays are
    numpy's or (address, shape, byte strides). `value` converts any other argument."""
    used = {symbol.tree for symbol in kernel.fields}
    ends = [(base, base + span_of(kernel, k)[1]) if k in used else (base, base) for k, base in enumerate(trees)]
    types = [param.type for param in kernel.params]
    given = [_place(a, t) if isinstance(t, Array) else value(a, t) for a, t in zip(args, types, strict=True)]
    return tuple(ends), tuple(given)


def size_of(places: tuple[tuple[tuple[int, int], ...], tuple[Any, ...]]) -> int:
    """How many bytes such a launch reaches."""
    return sum(high - low for low, high in _regions(*places))


def _place(array: Any, kind: Array) -> ArrayPlace:
    if not isinstance(array, tuple):
        return ArrayPlace(array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
    address, shape, strides = array[:3]
    if isinstance(kind.elem, Struct):
        size = sum(prim.size for prim in flatten(kind.elem))
        return ArrayPlace(address, tuple(shape), tuple(strides), np.dtype((np.void, size)))
    dtype, inner = element(kind.elem).np, kind.elem.shape if isinstance(kind.elem, Tensor) else ()
    rows = tuple(dtype.itemsize * math.prod(inner[axis + 1 :]) for axis in range(len(inner)))
    return ArrayPlace(address, (*shape, *inner), (*strides, *rows), dtype)


def _regions(trees: Sequence[tuple[int, int]], args: Sequence[Any]) -> list[tuple[int, int]]:
    """What is to be copied: the spans of all, those that overlap as one."""
    spans = [*trees, *(arg.span for arg in args if isinstance(arg, ArrayPlace))]
    regions = list[tuple[int, int]]()
    for low, high in sorted(span for span in spans if span[0] < span[1]):
        if regions and low < regions[-1][1]:
            regions[-1] = regions[-1][0], max(high, regions[-1][1])
        else:
            regions.append((low, high))
    return regions
