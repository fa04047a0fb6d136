"""Views arrays of other libraries as numpy arrays, or as windows onto GPU memory. It never copies.

Each library supports one of a few protocols. The rows of `_PROTOCOLS` are tried in order."""

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
    """The memory of `value` as a numpy array or as a window onto GPU memory. None if `value` is not an array. Raises
    TypeMismatch with the reason if kernels cannot take this array."""
    if hasattr(value, "detach"):  # kernels do not propagate gradients
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
        raise TypeMismatch(
            f"kernels do not support elements of type {name}: convert the tensor, as in tensor.float()"
        ) from None


def _memory() -> Any:
    """The memory of the GPU. Raises TypeMismatch if kernels run on the CPU."""
    if not program().backend.own_memory:
        raise TypeMismatch("it is in GPU memory: use ti.init(arch=ti.cuda), or copy it to the CPU")
    return program().device.memory


@cache
def _foreign() -> Any:
    return import_module("weft.runtime.cuda_foreign")  # (loaded only if there is a GPU)


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
    return not isinstance(value, np.generic)  # a numpy scalar is a number, and cannot be written to


def _numpys(value: Any) -> Any:
    if isinstance(value, np.ma.MaskedArray):
        raise TypeMismatch("a kernel would ignore its mask: pass its .data")
    return value.view(np.ndarray)


_PROTOCOLS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    (_is_tensor, _tensor),
    (lambda value: isinstance(value, np.ndarray), _numpys),
    (lambda value: hasattr(value, "__cuda_array_interface__"), lambda value: _foreign().foreign_view(value, _memory())),
    (lambda value: hasattr(value, "__array_interface__") and not isinstance(value, np.generic), np.asarray),
    (lambda value: hasattr(value, "__dlpack__"), _by_dlpack),
    (_is_buffer, lambda value: np.asarray(memoryview(value))),
)
