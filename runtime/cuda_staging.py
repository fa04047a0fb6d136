"""Numpy arrays as arguments of a GPU's kernel: copied in before the launch, and back after it.

Arrays that overlap share one copy of the memory that they span together, so that on the GPU too what is written to one
is seen in the other. An array with gaps that overlaps no other one is packed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.runtime.cuda_memory import CudaMemory, DeviceBuffer

__all__ = ["Staging"]


@dataclass
class _Group:
    """Host memory [low, high) and the arguments in it."""

    low: int
    high: int
    members: list[int] = field(default_factory=list[int])
    buffer: DeviceBuffer | None = None


class Staging:
    """The copies of one launch. `places[k]` is what the launch is given for argument `k`."""

    def __init__(self, memory: CudaMemory, arrays: dict[int, Any]) -> None:
        self._memory, self._arrays = memory, arrays
        self.places: dict[int, tuple[int, Sequence[int], Sequence[int]]] = {}
        self._groups = _overlapping({k: _span(array) for k, array in arrays.items()})
        for group in self._groups:
            self._copy_in(group)

    def _copy_in(self, group: _Group) -> None:
        first = self._arrays[group.members[0]]
        packed = len(group.members) == 1 and not first.flags.forc
        size = first.nbytes if packed else group.high - group.low
        buffer = group.buffer = self._memory.allocate(size, "numpy arguments")
        if packed:
            copy = np.ascontiguousarray(first)
            buffer.write(0, copy)
            self.places[group.members[0]] = (buffer.address, copy.shape, copy.strides)
            return
        buffer.write(0, _raw(group))
        for k in group.members:
            array = self._arrays[k]
            self.places[k] = (buffer.address + array.ctypes.data - group.low, array.shape, array.strides)

    def copy_out(self, written: Sequence[int]) -> None:
        """Bring back what the kernel wrote: the arguments with those numbers."""
        for group in self._groups:
            if group.buffer is None or not any(k in written for k in group.members):
                continue
            first = self._arrays[group.members[0]]
            if len(group.members) == 1 and not first.flags.forc:
                data = group.buffer.read(0, first.nbytes)
                first[...] = data.view(first.dtype).reshape(first.shape)
            else:
                _raw(group)[...] = group.buffer.read(0, group.high - group.low)


def _span(array: Any) -> tuple[int, int]:
    """The first byte of an array's memory, and the one after the last."""
    if array.size == 0:
        return array.ctypes.data, array.ctypes.data
    reach = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides)]
    low = array.ctypes.data + sum(step for step in reach if step < 0)
    return low, array.ctypes.data + sum(step for step in reach if step > 0) + array.itemsize


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
