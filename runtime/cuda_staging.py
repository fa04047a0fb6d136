"""Pass numpy arrays to a kernel on a GPU: copy them to the device before the launch and back after it.

Arrays that overlap share one copy of the memory that they span together, so a write to one is visible in the other, as
on the CPU. An array with gaps that overlaps no other one is packed. A GPU can only access aligned elements, so the copy
begins at an address at which all elements are aligned. Arrays that interleave without sharing an element, such as the
members of packed records, are packed separately.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from weft.ir.errors import WeftError
from weft.runtime.cuda_memory import CudaMemory, DeviceBuffer

__all__ = ["Staging"]

_WORD = 16  # bytes: the largest alignment of an element
_EFFORT: Any = 1000  # limit of the search for a shared element (numpy annotates this argument too narrowly)


@dataclass
class _Group:
    """Host memory [low, high) and the arguments in it. `begin` is the offset in the buffer where its copy begins."""

    low: int
    high: int
    members: list[int] = field(default_factory=list[int])
    begin: int = 0
    buffer: DeviceBuffer | None = None


class Staging:
    """The copies of one launch. `places[k]` is what the launch takes for argument `k`."""

    def __init__(self, memory: CudaMemory, arrays: dict[int, Any]) -> None:
        self._memory, self._arrays = memory, arrays
        self.places: dict[int, tuple[int, Sequence[int], Sequence[int]]] = {}
        found = _overlapping({k: _span(array) for k, array in arrays.items()})
        self._groups = [part for group in found for part in self._aligned(group)]
        for group in self._groups:
            self._copy_in(group)

    def _aligned(self, group: _Group) -> Iterator[_Group]:
        """Return the group with a begin at which all its elements are aligned. If there is none, return a group for
        each array."""
        arrays = [self._arrays[k] for k in group.members]
        places = (k for k in range(_WORD) if all(_is_aligned(array, k - group.low) for array in arrays))
        begin = 0 if len(arrays) == 1 else next(places, None)
        if begin is not None:
            group.begin = begin
            yield group
            return
        for one, other in combinations(arrays, 2):
            if np.may_share_memory(one, other, max_work=_EFFORT):
                raise WeftError(
                    "numpy arguments share memory, but their elements are not aligned with one another: pass a copy"
                )
        for k, array in zip(group.members, arrays):
            yield _Group(*_span(array), [k])

    def _copy_in(self, group: _Group) -> None:
        first = self._arrays[group.members[0]]
        packed = len(group.members) == 1 and not first.flags.forc
        size = first.nbytes if packed else group.begin + group.high - group.low
        buffer = group.buffer = self._memory.allocate(size, "numpy arguments")
        if packed:
            copy = np.ascontiguousarray(first)
            buffer.write(0, copy)
            self.places[group.members[0]] = (buffer.address, copy.shape, copy.strides)
            return
        buffer.write(group.begin, _raw(group))
        for k in group.members:
            array = self._arrays[k]
            address = buffer.address + group.begin + array.ctypes.data - group.low
            self.places[k] = (address, array.shape, array.strides)

    def copy_out(self, written: Sequence[int]) -> None:
        """Copy what the kernel wrote back to the host: the arguments with those numbers."""
        for group in self._groups:
            if group.buffer is None or not any(k in written for k in group.members):
                continue
            first = self._arrays[group.members[0]]
            if len(group.members) == 1 and not first.flags.forc:
                data = group.buffer.read(0, first.nbytes)
                first[...] = data.view(first.dtype).reshape(first.shape)
            else:
                _raw(group)[...] = group.buffer.read(group.begin, group.high - group.low)


def _span(array: Any) -> tuple[int, int]:
    """Return the first byte of the memory of an array, and the one after the last."""
    if array.size == 0:
        return array.ctypes.data, array.ctypes.data
    reach = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides)]
    low = array.ctypes.data + sum(step for step in reach if step < 0)
    return low, array.ctypes.data + sum(step for step in reach if step > 0) + array.itemsize


def _is_aligned(array: Any, moved: int) -> bool:
    """Return whether all elements are aligned after a shift by that many bytes."""
    wide = [stride for extent, stride in zip(array.shape, array.strides) if extent > 1]
    return not any(place % array.dtype.alignment for place in (array.ctypes.data + moved, *wide))


def _overlapping(spans: dict[int, tuple[int, int]]) -> list[_Group]:
    groups: list[_Group] = []
    for k, (low, high) in sorted(spans.items(), key=lambda item: item[1]):
        if not groups or low >= groups[-1].high:
            groups.append(_Group(low, high))
        groups[-1].high = max(groups[-1].high, high)
        groups[-1].members.append(k)
    return groups


def _raw(group: _Group) -> Any:
    memory: Any = (ctypes.c_uint8 * (group.high - group.low)).from_address(group.low)
    return np.frombuffer(memory, np.uint8)
