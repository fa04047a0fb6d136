"""Reads and writes elements in Python scope: from `x[i, j]` to a checked place in memory, with a fast path.

The fast path is a memoryview of the cells. It looks an element up and converts it in one C call. It refuses whatever it
does not support, such as an index out of bounds or a value that needs a cast. The slow path then casts by the rules of
kernels or raises the error. A negative index never reaches the memoryview, because it means something else there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import RLock
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch, WeftError
from weft.ir.scalar import cast_value
from weft.ir.types import Prim, f16, f32, u1
from weft.lang.values.makers import MAKERS
from weft.lang.values.matrix import Matrix, Vector
from weft.lang.values.types import cast_numbers
from weft.runtime.forks import forkable

__all__ = [
    "FieldIndexError",
    "ScalarElements",
    "SliceGiven",
    "check_bounds",
    "element_index",
    "element_value",
    "hear",
    "quick_items",
    "scalar_value",
]

_INTEGERS, _FLOATS = {int}, {float}
_NUMBERS = (int, float, np.number, np.bool_)
_LARGEST = 3e38  # a number that is finite as an f32
_REFUSALS = (TypeError, IndexError, ValueError, NotImplementedError, WeftError)


_lock = forkable(RLock())  # as that of `watching.py`
_heard = 0  # how many blocks of any thread hear of what Python writes


def hear(more: int) -> None:
    """So many more blocks hear of what Python writes: while there are any, assignments take the slow path."""
    global _heard
    with _lock:
        _heard += more


class FieldIndexError(WeftError, IndexError):
    """An index is outside of a field, or the number of indices is wrong."""


class SliceGiven(FieldIndexError):
    """The key of an element has a slice, and so selects a part of a field or ndarray."""


class ScalarElements:
    """An object that is indexed and returns numbers. `_items` reads and writes them on the fast path; it is None if it
    is not known yet or if there is no fast path. `_exact` is the type of the Python numbers that are stored without a
    cast."""

    _items: Any = None
    _exact: type | None = None

    def __getitem__(self, key: Any) -> Any:
        try:
            if key.__class__ is tuple:
                if min(key) >= 0:
                    return self._items[key]
            elif key is None:
                return self._items[()]
            elif key >= 0:
                return self._items[key]
        except _REFUSALS:
            pass  # the slow path raises the error, if there is one
        return self._get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if value.__class__ is self._exact and not _heard:
            try:
                if key.__class__ is tuple:
                    if min(key) >= 0:
                        self._items[key] = value
                        return
                elif key is None:
                    self._items[()] = value
                    return
                elif key >= 0:
                    self._items[key] = value
                    return
            except _REFUSALS:
                pass  # as above
        self._set(key, value)

    def _get(self, key: Any) -> Any:
        """Read an element on the slow path, or make the view that a key with slices selects."""
        try:
            value = self.load(key).item()
        except SliceGiven:
            return MAKERS.part(self, key)
        return int(value) if value is True or value is False else value

    def load(self, key: Any) -> Any:
        """The element as a numpy scalar."""
        raise NotImplementedError

    def _set(self, key: Any, value: Any) -> None:
        """Write an element on the slow path, or the part that a key with slices selects."""
        try:
            self._store(key, value)
        except SliceGiven:
            MAKERS.assign(MAKERS.part(self, key), value)

    def _store(self, key: Any, value: Any) -> None:
        """Write an element."""
        raise NotImplementedError


def quick_items(cells: Any, dtype: Prim) -> tuple[Any, type | None]:
    """The memoryview and the exact type that `ScalarElements` needs, for cells that are a numpy array or a window onto
    GPU memory."""
    if dtype is f16:
        return None, None  # memoryviews support this type from Python 3.14 on
    exact = None if dtype is u1 else float if dtype.is_float else int
    if not isinstance(cells, np.ndarray):
        return cells.items(), exact
    plain: Any = cells.view(np.uint8) if dtype is u1 else cells
    return memoryview(plain), exact


def element_index(key: Any) -> tuple[int, ...]:
    """Flatten an index into integers: `x[i, j]`, `x[(i, j)]`, `x[vector]`, `x[None]`, `x[i, vector]`."""
    if key.__class__ is int:
        return (key,)
    if key.__class__ is tuple and {*map(type, key)} == _INTEGERS:
        return key
    items: Iterable[Any] = key if type(key) is tuple else () if key is None else (key,)
    result: list[int] = []
    for item in items:
        if isinstance(item, int | np.integer):
            result.append(int(item))
        elif isinstance(item, Matrix) and item.dtype.is_int:
            result.extend(item.values.tolist())
        elif isinstance(item, list | tuple):
            result.extend(element_index(tuple(item)))
        elif any(isinstance(one, slice) or one is Ellipsis for one in items):
            raise SliceGiven("an element needs an integer index for each axis, not a slice")
        else:
            raise FieldIndexError(f"an index of an element must be an integer, not {item!r}")
    return tuple(result)


def check_bounds(indices: tuple[int, ...], shape: tuple[int, ...], offset: tuple[int, ...], label: str) -> None:
    """Raise FieldIndexError unless `offset <= indices < offset + shape`. The message names the axis, the index and the
    shape."""
    if len(indices) != len(shape):
        raise FieldIndexError(f"{label} of shape {shape} takes {_count(len(shape))}, got {len(indices)}")
    for axis, (index, low, extent) in enumerate(zip(indices, offset, shape)):
        if not low <= index < low + extent:
            hint = (
                f" (the last index is {low + extent - 1}; negative indices do not count from the end)"
                if -extent <= index < 0
                else ""
            )
            raise FieldIndexError(
                f"index {index} of axis {axis} is out of bounds for {label} of shape {shape}: "
                f"it must be in [{low}, {low + extent}){hint}"
            )


def _count(n: int) -> str:
    return "no index: x[None]" if n == 0 else "1 index" if n == 1 else f"{n} indices"


def scalar_value(value: Any, dtype: Prim, label: str) -> Any:
    """Cast `value` to `dtype`. Raises TypeMismatch if it is not a number."""
    if isinstance(value, _NUMBERS) or (isinstance(value, np.ndarray) and not value.ndim):
        return cast_value(value, dtype)
    item = getattr(value, "item", None)  # a tensor with no axes
    if item is not None and getattr(value, "shape", None) == ():
        return cast_value(item(), dtype)
    raise TypeMismatch(f"an element of {label} must be a number of type {dtype}, not {type(value).__name__}")


def _all_small(values: Sequence[Any]) -> bool:
    """Whether all values are Python floats that are finite as an f32."""
    return {*map(type, values)} == _FLOATS and min(values) > -_LARGEST and max(values) < _LARGEST


def element_value(value: Any, dtype: Prim, shape: tuple[int, ...], label: str) -> Any:
    """A vector or matrix of this shape as a numpy array of `dtype`. A number sets all its scalars. Raises TypeMismatch
    for another shape."""
    if value.__class__ in (int, float):
        return np.asarray(cast_value(value, dtype))
    given = value.values.tolist() if value.__class__ is Vector else value
    if dtype is f32 and given.__class__ in (list, tuple) and shape == (len(given),) and _all_small(given):
        return np.array(given, np.float32)  # same result as the cast below
    element = cast_numbers(value, dtype, label)
    if element.ndim and element.shape != shape:
        raise TypeMismatch(f"an element of {label} has shape {shape}, but the value has shape {element.shape}")
    return element
