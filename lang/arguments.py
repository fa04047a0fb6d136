"""What the public interface is given, checked: errors that say what is wanted, not what broke inside."""

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
        raise TypeMismatch(f"{what} takes the path of a file, not {shown(value)}") from None
    return os.fsdecode(path)


def size_of(value: Any, what: str) -> tuple[int, int]:
    """(width, height) in pixels, from those or from one number for both; TypeMismatch for what is neither."""
    several = is_several(value) and not isinstance(value, str | bytes)
    size = tuple(value)[:2] if several else (value, value)
    sound = (isinstance(one, int | float | np.number) and 1 <= one < 2**16 and one == int(one) for one in size)
    if len(size) < 2 or not all(sound):
        raise TypeMismatch(
            f"the size of {what} is (width, height) in pixels, or one number for both, not {shown(value)}"
        )
    return int(size[0]), int(size[1])


def shown(value: Any) -> str:
    """A value in an error: its text, if that is short."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"{text.splitlines()[0][:77]}..."


def is_one(value: Any, names: Iterable[str]) -> bool:
    """Whether it is one of those strings."""
    return isinstance(value, str) and value in names


def text_of(value: Any, what: str) -> str:
    """A string; TypeMismatch for anything else."""
    if not isinstance(value, str):
        raise TypeMismatch(f"{what} is a string, not {shown(value)}")
    return value


def flag_of(value: Any, what: str) -> bool:
    """True or False, also as 1 or 0; TypeMismatch for anything else."""
    if not isinstance(value, int | np.bool_ | np.integer) or value not in (0, 1):
        raise TypeMismatch(f"{what} is True or False, not {shown(value)}")
    return bool(value)


def whole_of(value: Any, what: str, least: int | None = None) -> int:
    """A whole number. TypeMismatch for what is none, ValueError for one below `least`, or far beyond 64 bits."""
    wanted = "a whole number" if least is None else f"a whole number of at least {least}"
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeMismatch(f"{what} is {wanted}, not {shown(value)}") from None
    if (least is not None and number < least) or abs(number) >= _FAR:
        raise ValueError(f"{what} is {wanted}, not {number}")
    return number


def any_number(value: Any, what: str) -> float:
    """A number, NaN too, from one of Python's or numpy's, or from a field or array of one; TypeMismatch for what is
    none."""
    try:
        return float(value if isinstance(value, int | float) else numbers_of(value, what).reshape(()))
    except (TypeMismatch, ValueError, OverflowError):
        raise TypeMismatch(f"{what} is a number, not {shown(value)}") from None


def number_of(value: Any, what: str, least: float = -math.inf, above: bool = False) -> float:
    """A finite number. TypeMismatch for what is none, ValueError below `least`, or at it where `above`."""
    number = any_number(value, what)
    if not math.isfinite(number) or number < least or (above and number == least):
        limit = "" if least == -math.inf else f" above {least:g}" if above else f" of at least {least:g}"
        raise ValueError(f"{what} is a finite number{limit}, not {number:g}")
    return number


def numbers_of(values: Any, what: str) -> Any:
    """The numbers of a field, an ndarray, or anything numpy takes, as an array of numpy's. TypeMismatch for what has
    none, or other things than numbers."""
    if hasattr(values, "to_numpy") and not isinstance(values, type):
        values = values.to_numpy()
    try:
        array = np.asarray(values)
    except FAULTS as fault:
        raise TypeMismatch(f"{what}: numbers are wanted, not {shown(values)} ({fault})") from None
    if array.dtype.kind not in "biuf":
        raise TypeMismatch(f"{what}: numbers are wanted, not {shown(values)}")
    return array
