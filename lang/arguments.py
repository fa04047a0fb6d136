"""What the public interface is given, checked: errors that say what is wanted, not what broke inside."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch

__all__ = ["FAULTS", "is_several", "path_of", "size_of", "unfit"]

FAULTS = (
    AttributeError,
    LookupError,
    OverflowError,
    TypeError,
    ValueError,
)  # what nonsense raises in Python's functions


def unfit(name: str, arguments: Iterable[Any], fault: Exception) -> TypeMismatch:
    """The error for `name`, a function of numbers, called with these arguments, which raised `fault`."""
    wrong = [one for one in arguments if not _is_numeric(one)]
    if wrong:
        return TypeMismatch(f"{name} takes numbers, vectors and matrices, not {wrong[0]!r}")
    return TypeMismatch(f"{name}: {fault}")


def _is_numeric(value: Any) -> bool:
    """Whether it is a number, a vector or a matrix."""
    dtype = getattr(getattr(value, "values", value), "dtype", None)
    return isinstance(value, int | float) if dtype is None else getattr(dtype, "kind", "") in tuple("biuf")


def is_several(value: Any) -> bool:
    """Whether it can be gone over. (numpy's arrays without axes only seem so.)"""
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and value.ndim == 0)


def path_of(value: Any, what: str) -> str:
    """The path of a file, as text; TypeMismatch for what is none."""
    try:
        path = os.fspath(value)
    except TypeError:
        raise TypeMismatch(f"{what} takes the path of a file, not {value!r}") from None
    return os.fsdecode(path)


def size_of(value: Any, what: str) -> tuple[int, int]:
    """(width, height) in pixels, from those or from one number for both; TypeMismatch for what is neither."""
    size = tuple(value)[:2] if is_several(value) else (value, value)
    if len(size) < 2 or not all(isinstance(one, int | float | np.number) and 1 <= one < 2**16 for one in size):
        raise TypeMismatch(f"the size of {what} is (width, height) in pixels, or one number for both, not {value!r}")
    return int(size[0]), int(size[1])
