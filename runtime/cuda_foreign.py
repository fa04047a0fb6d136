"""Pass arrays of other libraries in GPU memory to kernels, without a copy and in the right order.

Such an array gives its address by `__cuda_array_interface__` (version 3 also names the stream that works on it) or by
DLPack (whose producer makes Weft's stream wait). Before a launch, Weft's stream waits for the other stream. After it,
the other stream waits for Weft's.
"""

from __future__ import annotations

import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from weft.runtime import dlpack
from weft.runtime.cuda_memory import CudaMemory
from weft.runtime.cuda_streams import UNKNOWN
from weft.runtime.cuda_views import DeviceView

__all__ = ["borrowed_view", "foreign_view", "tensor_view"]


def foreign_view(array: Any, memory: CudaMemory) -> DeviceView:
    """Return a view of the memory of an object with `__cuda_array_interface__`. The view keeps `array` alive. Raises
    BufferError for a masked array, or for memory that does not belong to GPU `memory.index`."""
    facts = array.__cuda_array_interface__
    if facts.get("mask") is not None:
        raise BufferError("it has a mask, which a kernel would ignore")
    dtype = np.dtype(facts["typestr"])
    address, read_only = facts["data"]
    shape = tuple(facts["shape"])
    view = _window(array, memory, address or 0, dtype, shape, facts.get("strides"), read_only)
    view.stream = facts.get("stream")
    return view


def tensor_view(tensor: Any, memory: CudaMemory) -> DeviceView:
    """Return a view of a torch tensor, which works in torch's current stream. Raises TypeError for an element type that
    numpy does not have."""
    torch = sys.modules["torch"]
    dtype = _dtype_of(tensor.dtype)
    if tensor.is_neg():
        raise BufferError("its negative bit is set, which a kernel would ignore: pass tensor.resolve_neg()")
    if tensor.device.index != memory.index:
        raise BufferError(f"it is on {tensor.device}, but the kernel runs on cuda:{memory.index}")
    strides = tuple([stride * dtype.itemsize for stride in tensor.stride()])
    buffer: Any = SimpleNamespace(address=tensor.data_ptr(), keeps=tensor, memory=memory)
    view = DeviceView(buffer, dtype, tuple(tensor.shape), 0, strides)
    view.stream = torch.cuda.current_stream(memory.index).cuda_stream
    return view


@cache
def _dtype_of(torch_type: Any) -> np.dtype[Any]:
    name = str(torch_type).removeprefix("torch.")
    if not hasattr(np, name) or name.startswith("complex"):
        raise TypeError(f"kernels do not support elements of type {name}: convert the tensor, as in tensor.float()")
    return np.dtype(name)


def borrowed_view(producer: Any, memory: CudaMemory) -> DeviceView:
    """Return a view of an object that has `__dlpack__` only."""
    found = dlpack.borrow(producer, memory.stream)
    view = _window(found, memory, found.address, found.dtype, found.shape, found.strides, found.read_only)
    view.stream = UNKNOWN
    return view


def _window(
    keeps: Any, memory: CudaMemory, address: int, dtype: Any, shape: Any, strides: Any, read_only: bool
) -> DeviceView:
    owner = memory.owner(address)
    if owner not in (None, memory.index):
        raise BufferError(f"it is in the memory of GPU {owner}, but the kernel runs on GPU {memory.index}")
    buffer: Any = SimpleNamespace(address=address, keeps=keeps, memory=memory)
    view = memory.view(buffer, dtype, shape, 0, strides)
    view.flags.writeable = not read_only
    return view
