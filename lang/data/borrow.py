"""Arrays of other libraries as numpy arrays or windows onto a GPU's memory: never a copy.

Each library speaks one of a few protocols; the rows of `_PROTOCOLS` are tried in order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.program.init import program

__all__ = ["view_of"]


def view_of(value: Any) -> Any:
    """`value`'s memory as a numpy array, or as a window onto a GPU's; None where `value` is no array. TypeMismatch
    where it is one that no kernel can take, which says why."""
    if hasattr(value, "detach"):  # no gradients flow through a kernel
        value = value.detach()
    for speaks, view in _PROTOCOLS:
        if speaks(value):
            try:
                return view(value)
            except (TypeError, ValueError, RuntimeError, BufferError) as error:
                raise TypeMismatch(str(error)) from error
    return None


def _tensor(value: Any) -> Any:
    if value.is_cuda:
        return _foreign().tensor_view(value, _memory())
    try:
        return value.numpy()
    except (TypeError, RuntimeError) as error:
        if "ScalarType" not in str(error):
            raise
        name = str(value.dtype).removeprefix("torch.")
        raise TypeMismatch(f"no type of a kernel is {name}: convert the tensor, as in tensor.float()") from None


def _memory() -> Any:
    """The GPU's memory; TypeMismatch if kernels run on the CPU."""
    if not program().backend.own_memory:
        raise TypeMismatch("it lies in the memory of a GPU, which needs ti.init(arch=ti.cuda); or copy it to the CPU")
    return program().device.memory


@cache
def _foreign() -> Any:
    return import_module("weft.runtime.cuda_foreign")  # (loaded only where there is a GPU)


def _by_dlpack(value: Any) -> Any:
    kind, _ = value.__dlpack_device__()
    if kind in (1, 3):  # kDLCPU, kDLCUDAHost
        return import_module("weft.runtime.dlpack").borrow(value).array()
    return _foreign().borrowed_view(value, _memory())


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return not isinstance(value, np.generic)  # a number, which cannot be written to


def _numpys(value: Any) -> Any:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeMismatch("its mask would be lost: give .data")
    return value.view(np.ndarray)


_PROTOCOLS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    (_is_tensor, _tensor),
    (lambda value: isinstance(value, np.ndarray), _numpys),
    (lambda value: hasattr(value, "__cuda_array_interface__"), lambda value: _foreign().foreign_view(value, _memory())),
    (lambda value: hasattr(value, "__array_interface__") and not isinstance(value, np.generic), np.asarray),
    (lambda value: hasattr(value, "__dlpack__"), _by_dlpack),
    (_is_buffer, lambda value: np.asarray(memoryview(value))),
)
