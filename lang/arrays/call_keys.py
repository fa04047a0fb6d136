"""The key of a call of an array function: the classes of its operands, and the types, shapes and packing of arrays.

    look((x, 2.0), on_gpu=False)  =>  [ndarray, float64, (3, 4), True, float], [x, 2.0]

Calls with equal keys run the same kernel, over arrays of equal shapes, and their results have equal types and
shapes. `Calls` therefore remembers how such a call is made. A key keeps no operand alive, and contains no addresses
or values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.data.export import Lender
from weft.lang.data.libraries import is_contiguous, lent
from weft.lang.data.struct_ndarray import StructNdarray
from weft.lang.program.init import program

__all__ = ["Calls", "look", "seen"]

_MOST_CALLS = 256  # remembered calls of a function
_MOST_CLASSES = 128

Key = tuple[Any, ...]
Way = tuple[Callable[[Any], Any] | None, Callable[[Any], Key]]
C = TypeVar("C")


class Calls(Generic[C]):
    """The remembered calls of one function."""

    def __init__(self) -> None:
        self._known: dict[Key, C] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: Key | None) -> C | None:
        """Return the call with that key, if it was made before."""
        return None if key is None else self._known.get(key)

    def keep(self, key: Key | None, call: C) -> None:
        """Remember the call. (If several threads do so at once, they have found the same.)"""
        if key is not None:
            if len(self._known) >= _MOST_CALLS:
                self._known = {}
            self._known[key] = call


def look(more: Key | None, values: Iterable[Any]) -> tuple[Key | None, list[Any]]:
    """Return the key of a call, which includes `more`, and the arguments that kernels take for the values
    (`libraries.view`). There is no key if `more` is None, or if only `operands` can convert one of the values."""
    if more is None:
        return None, []
    current = program()
    on_gpu = current.backend.own_memory
    key, views = [current.generation, *more], []
    try:
        for value in values:
            kind: Any = type(value)
            view, facts = _way_of(kind, on_gpu)
            if view is not None:
                value = view(value)
            key.append(kind)
            key += facts(value)
            views.append(value)
    except _OTHERS:
        return None, []
    return tuple(key), views


def seen(made: Any) -> Any:
    """Return what a kernel takes for a new array (see `Library`)."""
    kind: Any = type(made)
    view, _ = _way_of(kind, program().backend.own_memory)
    return made if view is None else view(made)


# The exceptions of values that have no key.
_OTHERS = (AttributeError, BufferError, IndexError, RuntimeError, TypeError, TypeMismatch)


@lru_cache(_MOST_CLASSES)
def _way_of(kind: Any, on_gpu: bool) -> Way:
    """Return how to view a value of exactly that class (None: unchanged), and the function that makes its part of the
    key."""
    if kind is int:
        return None, _room
    if kind in (bool, float) or issubclass(kind, np.generic):
        return None, lambda number: ()
    if kind is np.ndarray:
        return None, _facts_of_numpy
    if issubclass(kind, Lender) and not issubclass(kind, StructNdarray):
        return lent, (_facts_of_ndarray if on_gpu else _facts_of_numpy)
    torch = sys.modules.get("torch")
    if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
        if not on_gpu:
            return _tensors_memory, _facts_of_numpy
        return (_without_history if kind is torch.Tensor else torch.Tensor.detach), _facts_of_torch
    if on_gpu and kind is getattr(sys.modules.get("cupy"), "ndarray", None):
        return None, _facts_of_cupy
    return None, _unknown


def _unknown(value: Any) -> Key:
    raise TypeError


# By the number of bits of an integer's magnitude: the largest number of bits that the same set of types can hold.
_WIDEST = [next(width for width in (7, 8, 15, 16, 31, 32, 63, 64) if bits <= width) for bits in range(65)]


def _room(number: int) -> Key:
    """Return the set of types that can hold an integer. Raises IndexError if there is none."""
    return (_WIDEST[number.bit_length()] if number >= 0 else -_WIDEST[(~number).bit_length()],)


def _facts_of_numpy(array: Any) -> Key:
    return array.dtype, array.shape, array.flags.c_contiguous


def _facts_of_ndarray(array: Any) -> Key:
    return array.dtype, array.shape, is_contiguous(array)


def _tensors_memory(tensor: Any) -> Any:
    return (tensor.detach() if tensor.requires_grad else tensor).numpy()


def _without_history(tensor: Any) -> Any:
    """Detach a tensor: no gradients flow through a kernel."""
    return tensor.detach() if tensor.requires_grad else tensor


def _facts_of_torch(tensor: Any) -> Key:
    return tensor.dtype, tensor.shape, tensor.is_contiguous(), tensor.get_device()


def _facts_of_cupy(array: Any) -> Key:
    return array.dtype, array.shape, array.flags.c_contiguous, array.data.device_id
