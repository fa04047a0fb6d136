"""Tensors of PyTorch and arrays of CuPy in direct calls: a few calls of their library tell what `borrow.py` finds by
looking at everything, and what a shape and its strides make of an argument's words is looked up.

    a rule's packer(tensor)  =>  address, extents, strides in bytes; or None: this one is Python's

On a GPU it takes what is worked on in the default stream, with which Weft's is in order anyway (`cuda_streams.py`).
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

from weft.ir.types import Array, Prim, element

__all__ = ["Packer", "is_packed", "packer_of"]

Packer = Callable[[Any], "bytes | None"]
_MOST_SHAPES = 64
_LIMIT = 2**31  # from here on an extent is not that of an i32


def is_packed(shape: tuple[int, ...], strides: tuple[int, ...], prim: Prim) -> bool:
    """Whether elements lie side by side, in the order of rows."""
    step = prim.np.itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def packer_of(value: Any, kind: Array, device: int | None) -> Packer | None:
    """What takes arrays that are like `value`, an argument of that kind; None where its library is not known here.
    `device` is the number of the GPU that kernels run on, None for the CPU."""
    for library, (name, make) in _LIBRARIES.items():
        if type(value) is getattr(sys.modules.get(library), name, None):
            return None if kind.wide else make(value, kind, -1 if device is None else device)
    return None


class _Words(dict[Any, "bytes | None"]):
    """The words behind the address, by the shape and the strides; None where these are not those of the kind. Strides
    are counted in steps of so many bytes."""

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
        first = 0 if self._kind.contiguous else axes  # the parts of an element are packed in any case
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
            return None  # (a negative bit: the numbers in memory are not the tensor's)
        behind = words[value.shape, value.stride()]
        return behind and head(value.data_ptr()) + behind

    return pack


def _stream_of_torch(torch: Any, device: int) -> Callable[[], int]:
    """Tells the stream that torch works in; 0 is the default one."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # what torch's own compiler calls: it makes no object
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
