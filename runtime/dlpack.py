"""Exchange arrays with other libraries by DLPack capsules, versioned or not (https://dmlc.github.io/dlpack).

`borrow` takes the array of a producer. CPU memory becomes a numpy array that returns the memory when it is freed. GPU
memory is described for `cuda_foreign`. `export` lends a view of Weft's GPU memory.
"""

from __future__ import annotations

import ctypes
import math
import weakref
from ctypes import (
    POINTER,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.runtime.cuda_streams import is_default

__all__ = ["Borrowed", "borrow", "export"]

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType
_ON_HOST = (CPU, CUDA_HOST)
_READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY
_VERSION = (1, 0)
_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # DLDataTypeCode to numpy's kinds
_CODES = {kind: code for code, kind in _KINDS.items()}
_OTHER_CODES = {4: "bfloat16", 5: "complex"}
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", _Deleter),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


_FORMS: dict[bytes, Any] = {_PLAIN: _Managed, _VERSIONED: _Versioned}


def _api(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _api("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
_pointer_of = _api("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
_rename = _api("PyCapsule_SetName", c_int, py_object, c_char_p)
_new_capsule = _api("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
_hold = _api("Py_IncRef", None, py_object)
_release = _api("Py_DecRef", None, py_object)


# ---- borrowing -------------------------------------------------------------------------------------------------------


@dataclass
class Borrowed:
    """The memory that a capsule describes: the address of the first element, the byte strides, and where it is
    (`on_host`, or on GPU `device`). The memory is returned to its owner when this object is freed."""

    address: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    on_host: bool
    device: int
    read_only: bool

    def array(self) -> Any:
        """Return the memory as a numpy array, which keeps it."""
        reach = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides)]
        low = sum(step for step in reach if step < 0)
        size = sum(step for step in reach if step > 0) + self.dtype.itemsize - low
        memory: Any = (c_uint8 * (size if math.prod(self.shape) else 0)).from_address(self.address + low)
        memory.keeps = self
        array: Any = np.ndarray(self.shape, self.dtype, memory, -low if memory else 0, self.strides)
        array.flags.writeable = not self.read_only
        return array


# The arguments of `__dlpack__`, newest version first: older producers reject the newer ones.
_REQUESTS: tuple[dict[str, Any], ...] = ({"max_version": _VERSION}, {})


def borrow(producer: Any, stream: int | None = None) -> Borrowed:
    """Return the array of an object with `__dlpack__`. `stream` is Weft's stream, which the producer of GPU memory
    makes wait. Raises TypeError for an element type that numpy does not have, and BufferError if the producer
    refuses."""
    type, _ = producer.__dlpack_device__()
    given: dict[str, Any] = {} if stream is None or type in _ON_HOST else {"stream": stream}
    capsule: Any = None
    for request in _REQUESTS:
        try:
            capsule = producer.__dlpack__(**given, **request)
            break
        except TypeError:
            if not request:
                raise
    name = next((name for name in _FORMS if _is_valid(id(capsule), name)), None)
    if name is None:
        raise BufferError("its __dlpack__ did not return an unused DLPack capsule")
    managed = _FORMS[name].from_address(_pointer_of(id(capsule), name))
    # An unversioned capsule cannot mark memory as read-only. JAX's capsules, for example, do not.
    found = _described(managed.tensor, name == _PLAIN or bool(managed.flags & _READ_ONLY))
    if name == _VERSIONED and managed.major > _VERSION[0]:
        raise BufferError(f"its DLPack version is {managed.major}, but Weft supports versions up to {_VERSION[0]}")
    _rename(capsule, _USED[name])  # from here on Weft must return the memory
    weakref.finalize(found, _give_back, managed).atexit = False
    return found


_USED = {_PLAIN: b"used_dltensor", _VERSIONED: b"used_dltensor_versioned"}


def _give_back(managed: Any) -> None:
    if managed.deleter:
        managed.deleter(ctypes.addressof(managed))


def _described(tensor: Any, read_only: bool) -> Borrowed:
    kind = _KINDS.get(tensor.code)
    if kind is None or tensor.lanes != 1 or tensor.bits not in (8, 16, 32, 64):
        name = _OTHER_CODES.get(tensor.code, "of another kind")
        raise TypeError(
            f"its elements are {name} ({tensor.bits} bits), which kernels do not support: convert them first"
        )
    dtype = np.dtype(f"{kind}{tensor.bits // 8}")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if tensor.strides:
        steps = [tensor.strides[axis] for axis in range(tensor.ndim)]
    else:
        steps = [math.prod(shape[axis + 1 :]) for axis in range(tensor.ndim)]
    strides = tuple(step * dtype.itemsize for step in steps)
    address = (tensor.data or 0) + tensor.byte_offset
    on_host = tensor.device_type in _ON_HOST
    if not on_host and tensor.device_type not in (CUDA, CUDA_MANAGED):
        raise BufferError(
            f"its memory belongs to DLPack device type {tensor.device_type}, but kernels need memory of the "
            "CPU or of an NVIDIA GPU"
        )
    return Borrowed(address, dtype, shape, strides, on_host, tensor.device_id, read_only)


# ---- lending ---------------------------------------------------------------------------------------------------------


class _Loan:
    """A tensor that was lent: the structure that the borrower sees, and the view that keeps the memory alive."""

    def __init__(self, view: Any, form: Any) -> None:
        self.view, self.managed = view, form()
        self.shape = (c_int64 * max(view.ndim, 1))(*view.shape)
        steps = [stride // view.dtype.itemsize for stride in view.strides]
        self.strides = (c_int64 * max(view.ndim, 1))(*steps)
        kind, bits = view.dtype.kind, 8 * view.dtype.itemsize
        self.managed.tensor = _Tensor(
            view.address, CUDA, view.device, view.ndim, _CODES[kind], bits, 1, self.shape, self.strides, 0
        )
        self.managed.context = id(self)
        self.managed.deleter = _end_loan[form]
        if form is _Versioned:
            self.managed.major, self.managed.minor = _VERSION


def _ending(form: Any) -> Any:
    def end(place: int) -> None:
        _release(ctypes.cast(form.from_address(place).context, py_object).value)

    return _Deleter(end)


_end_loan = {form: _ending(form) for form in _FORMS.values()}


def _drop(capsule: int) -> None:
    """Free a capsule. If no consumer took its tensor, free the tensor too."""
    for name, form in _FORMS.items():
        if _is_valid(capsule, name):
            _give_back(form.from_address(_pointer_of(capsule, name)))


_DROP: Any = ctypes.PYFUNCTYPE(None, c_void_p)(_drop)


def export(
    view: Any,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a capsule with a view of GPU memory. Later work in the consumer's `stream` waits for all launches so far
    (-1: it does not wait). Raises BufferError for strides that are not multiples of the element size, for another
    device, and for a copy."""
    if dl_device not in (None, (CUDA, view.device)) or copy:
        raise BufferError("DLPack can export only the memory itself: use to_numpy() or to_torch() for a copy")
    if any(stride % view.dtype.itemsize for stride in view.strides):
        raise BufferError("the strides are not multiples of the size of an element: use to_numpy()")
    memory = view.buffer.memory
    memory.lend(view.buffer)
    if stream != -1 and not is_default(stream):
        memory.lead(stream)
    name = _VERSIONED if max_version is not None and max_version[0] >= _VERSION[0] else _PLAIN
    loan = _Loan(view, _FORMS[name])
    _hold(loan)
    return _new_capsule(ctypes.addressof(loan.managed), name, ctypes.cast(_DROP, c_void_p))
