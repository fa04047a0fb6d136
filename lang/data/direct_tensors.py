"""Passes PyTorch tensors and CuPy arrays to kernels in direct calls, with a few calls of their library.

`borrow.py` inspects each array in full. This module asks the library for the address, and looks up what shape and
strides mean for the words of an argument.

    a rule's packer(tensor)  =>  address, extents, strides in bytes; or None: Python makes this call

On a GPU it accepts only arrays that are used on the default stream. Weft's stream is ordered with that one
(`cuda_streams.py`)."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

from weft.ir.types import Array, Prim, element

__all__ = ["Packer", "is_packed", "packer_of"]

Packer = Callable[[Any], "bytes | None"]
_MOST_SHAPES = 64
_LIMIT = 2**31  # an extent of this size or more does not fit into an i32


def is_packed(shape: tuple[int, ...], strides: tuple[int, ...], prim: Prim) -> bool:
    """Whether the elements are contiguous, in row-major order."""
    step = prim.np.itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def packer_of(value: Any, kind: Array, device: int | None) -> Packer | None:
    """A packer for arrays like `value`, for an argument of this kind. None if this module does not know their library.
    `device` is the number of the GPU that kernels run on, None for the CPU."""
    for library, (name, make) in _LIBRARIES.items():
        if type(value) is getattr(sys.modules.get(library), name, None):
            return None if kind.wide else make(value, kind, -1 if device is None else device)
    return None


class _Words(dict[Any, "bytes | None"]):
    """The words after the address, by shape and strides. None if these do not match the kind of the argument. Strides
    are counted in units of `step` bytes."""

    def __init__(self, value: Any, kind: Array, step: int) -> None:
        super().__init__()
        self._kind, self._inner, self._step = kind, tuple(value.shape)[kind.ndim :], step

    def __missing__(self, place: tuple[tuple[int, ...], tuple[int, ...]]) -> bytes | None:
        if len(self) >= _MOST_SHAPES:
            self.clear()
        shape, strides = place
        self[place] = words = self._of(tuple(shape), tuple(stride * self._step for stride in strides))
        return words

    def _of(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes | None:
        axes, prim = self._kind.ndim, element(self._kind.elem)
        if len(shape) != axes + len(self._inner) or shape[axes:] != self._inner or max(shape, default=0) >= _LIMIT:
            return None
        first = 0 if self._kind.contiguous else axes  # the scalars of an element are always packed
        if not is_packed(shape[first:], strides[first:], prim) and 0 not in shape:
            return None
        return struct.pack(f"={2 * axes}q", *shape[:axes], *strides[:axes])


def _of_torch(value: Any, kind: Array, device: int) -> Packer | None:
    torch, tensor, dtype = sys.modules["torch"], type(value), value.dtype
    words, head = _Words(value, kind, value.element_size()), struct.Struct("=Q").pack
    strided, signed = torch.strided, dtype.is_floating_point
    stream = None if device < 0 else _stream_of_torch(torch, device)

    def pack(value: Any) -> bytes | None:
        if type(value) is not tensor or value.dtype is not dtype or value.get_device() != device:
            return None
        if value.layout is not strided or (signed and value.is_neg()) or (stream is not None and stream()):
            return None  # (a lazy negation: the numbers in memory are not those of the tensor)
        behind = words[value.shape, value.stride()]
        return behind and head(value.data_ptr()) + behind

    return pack


def _stream_of_torch(torch: Any, device: int) -> Callable[[], int]:
    """Makes a function that returns the stream that torch works on; 0 is the default stream."""
    # torch's own compiler calls this function: it creates no object
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return (lambda: raw(device)) if raw else (lambda: torch.cuda.current_stream(device).cuda_stream)


def _of_cupy(value: Any, kind: Array, device: int) -> Packer | None:
    if device < 0:
        return None
    current = sys.modules["cupy"].cuda.get_current_stream
    array, dtype = type(value), value.dtype
    words, head = _Words(value, kind, 1), struct.Struct("=Q").pack

    def pack(value: Any) -> bytes | None:
        if type(value) is not array or value.dtype != dtype or current().ptr:
            return None
        memory = value.data
        if memory.device_id != device:
            return None
        behind = words[value.shape, value.strides]
        return behind and head(memory.ptr) + behind

    return pack


_LIBRARIES: dict[str, tuple[str, Callable[[Any, Array, int], Packer | None]]] = {
    "torch": ("Tensor", _of_torch),
    "cupy": ("ndarray", _of_cupy),
}
