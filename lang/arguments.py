"""Checks the arguments of the public interface. An error says what is expected, not what failed inside of Weft."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch

__all__ = [
    "FAULTS",
    "any_number",
    "flag_of",
    "is_one",
    "is_several",
    "number_of",
    "numbers_of",
    "path_of",
    "shown",
    "size_of",
    "text_of",
    "unfit",
    "whole_of",
]

_FAR = 2**62
FAULTS = (
    AttributeError,
    LookupError,
    OverflowError,
    TypeError,
    ValueError,
)  # the exceptions that Python's functions raise for invalid arguments


def unfit(name: str, arguments: Iterable[Any], fault: Exception) -> TypeMismatch:
    """Make the error for a call of `name`, a function of numbers, with these arguments. The call raised `fault`."""
    wrong = [one for one in arguments if not _is_numeric(one)]
    if wrong:
        return TypeMismatch(f"{name} takes numbers, vectors and matrices, not {wrong[0]!r}")
    return TypeMismatch(f"{name}: {fault}")


def _is_numeric(value: Any) -> bool:
    """Whether this is a number, a vector or a matrix."""
    dtype = getattr(getattr(value, "values", value), "dtype", None)
    return isinstance(value, int | float) if dtype is None else getattr(dtype, "kind", "") in tuple("biuf")


def is_several(value: Any) -> bool:
    """Whether this can be iterated over. (A numpy array without axes cannot, although it has `__iter__`.)"""
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and value.ndim == 0)


def path_of(value: Any, what: str) -> str:
    """The path of a file as a string. Raises TypeMismatch for anything that is not a path."""
    try:
        path = os.fspath(value)
    except TypeError:
        raise TypeMismatch(f"{what} takes the path of a file, not {shown(value)}") from None
    return os.fsdecode(path)


def size_of(value: Any, what: str) -> tuple[int, int]:
    """(width, height) in pixels, from a pair or from one number for both. Raises TypeMismatch for anything else."""
    several = is_several(value) and not isinstance(value, str | bytes)
    size = tuple(value)[:2] if several else (value, value)
    sound = (isinstance(one, int | float | np.number) and 1 <= one < 2**16 and one == int(one) for one in size)
    if len(size) < 2 or not all(sound):
        raise TypeMismatch(
            f"the size of {what} must be (width, height) in pixels, or one number for both, not {shown(value)}"
        )
    return int(size[0]), int(size[1])


def shown(value: Any) -> str:
    """The text of a value in an error message: its `repr`, shortened if it is long."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"{text.splitlines()[0][:77]}..."


def is_one(value: Any, names: Iterable[str]) -> bool:
    """Whether this is one of these strings."""
    return isinstance(value, str) and value in names


def text_of(value: Any, what: str) -> str:
    """Return a string. Raises TypeMismatch for anything else."""
    if not isinstance(value, str):
        raise TypeMismatch(f"{what} must be a string, not {shown(value)}")
    return value


def flag_of(value: Any, what: str) -> bool:
    """Return True or False; 1 and 0 are accepted too. Raises TypeMismatch for anything else."""
    if not isinstance(value, int | np.bool_ | np.integer) or value not in (0, 1):
        raise TypeMismatch(f"{what} must be True or False, not {shown(value)}")
    return bool(value)


def whole_of(value: Any, what: str, least: int | None = None) -> int:
    """Return an integer. Raises TypeMismatch for anything else, and ValueError if it is below `least` or far beyond 64
    bits."""
    wanted = "a whole number" if least is None else f"a whole number of at least {least}"
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeMismatch(f"{what} must be {wanted}, not {shown(value)}") from None
    if (least is not None and number < least) or abs(number) >= _FAR:
        raise ValueError(f"{what} must be {wanted}, not {number}")
    return number


def any_number(value: Any, what: str) -> float:
    """Return a number, which may be NaN, from a number of Python or numpy, or from a field or array with one element.
    Raises TypeMismatch for anything else."""
    try:
        return float(value if isinstance(value, int | float) else numbers_of(value, what).reshape(()))
    except (TypeMismatch, ValueError, OverflowError):
        raise TypeMismatch(f"{what} must be a number, not {shown(value)}") from None


def number_of(value: Any, what: str, least: float = -math.inf, above: bool = False) -> float:
    """Return a finite number. Raises TypeMismatch for anything else, and ValueError if it is below `least` or, with
    `above`, not greater than `least`."""
    number = any_number(value, what)
    if not math.isfinite(number) or number < least or (above and number == least):
        limit = "" if least == -math.inf else f" above {least:g}" if above else f" of at least {least:g}"
        raise ValueError(f"{what} must be a finite number{limit}, not {number:g}")
    return number


def numbers_of(values: Any, what: str) -> Any:
    """Return the numbers of a field, an ndarray, or anything that numpy accepts, as a numpy array. Raises TypeMismatch
    if there are none, or if it contains anything but numbers."""
    if hasattr(values, "to_numpy") and not isinstance(values, type):
        values = values.to_numpy()
    try:
        array = np.asarray(values)
    except FAULTS as fault:
        raise TypeMismatch(f"{what}: expected numbers, not {shown(values)} ({fault})") from None
    if array.dtype.kind not in "biuf":
        raise TypeMismatch(f"{what}: expected numbers, not {shown(values)}")
    return array
