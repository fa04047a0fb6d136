"""Arrays that the renderer's kernels can access: numpy arrays on the CPU, ndarrays on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.data.borrow import view_of
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import MatrixNdarray, VectorNdarray
from weft.lang.program.init import program
from weft.lang.values.types import prim_of_numpy

__all__ = ["Rooms", "in_place", "on_device", "on_host", "put", "room"]


def in_place(values: Any, ndim: int, last: int = 0, dtype: Any = np.float32) -> Any:
    """Return a field or array as kernels can read it without a copy, if it has that type, that many axes, and the last
    has that length (0: any); else None."""
    try:
        view = view_of(values)
    except TypeMismatch:
        return None
    if view is None or view.dtype != dtype or len(view.shape) != ndim or last not in (0, view.shape[-1]):
        return None
    return view


def on_device(array: Any, dtype: Any, element: tuple[int, ...] = ()) -> Any:
    """Return numbers where kernels can access them: on the CPU the array itself (contiguous, of that numpy type), on a
    GPU a copy in its memory. `element` are the last axes, which form an element. An empty array becomes one element of
    zeros."""
    array = np.ascontiguousarray(array, dtype)
    if not len(array):
        array = np.zeros((1, *element), dtype)
    if not program().backend.own_memory:
        return array
    copy = _space(dtype, array.shape[: array.ndim - len(element)], element)
    copy.from_numpy(array)
    return copy


def _space(dtype: Any, shape: tuple[int, ...], element: tuple[int, ...]) -> Any:
    prim = prim_of_numpy(np.dtype(dtype))
    if len(element) == 2:
        return MatrixNdarray(element[0], element[1], prim, shape)
    return VectorNdarray(element[0], prim, shape) if element else ndarray(prim, shape)


def room(dtype: Any, shape: tuple[int, ...], element: tuple[int, ...] = ()) -> Any:
    """Return an array of zeros for kernels to fill, in the form of `on_device`."""
    if not program().backend.own_memory:
        return np.zeros((*shape, *element), dtype)
    return _space(dtype, shape, element)


def on_host(array: Any) -> Any:
    """Return such an array as a numpy array."""
    return array if isinstance(array, np.ndarray) else array.to_numpy()


def put(array: Any, values: Any) -> None:
    """Copy a numpy array of the same shape into such an array."""
    if isinstance(array, np.ndarray):
        array[...] = values
    else:
        array.from_numpy(values)


class Rooms:
    """Named arrays, made by `room`, that are kept from frame to frame. Their contents are not cleared."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def get(self, name: str, dtype: Any, count: int, *element: int) -> Any:
        """Return the array of that name, with at least that many elements."""
        kept = self._kept.get(name)
        if kept is None or kept.shape[0] < count:
            more = 1 if kept is None else 1.5  # a growing array gets spare room for the next frames
            kept = self._kept[name] = room(dtype, (max(1, int(count * more)),), element)
        return kept
