"""Converts numbers that a program passes to numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["array_of"]


def array_of(value: Any) -> Any:
    """A number, a nested list, a matrix or an array as a numpy array.

    If some of the integers only fit into an i64 and others only into a u64, numpy converts all of them to f64 and loses
    digits. This function returns u64 if no integer is negative."""
    given = getattr(value, "values", value)
    array = np.asarray(given)
    if array.dtype != np.float64 or not isinstance(given, list | tuple) or not array.size or array.max() < 2**63:
        return array
    exact = np.asarray(given, object)
    whole = all(isinstance(number, int | np.integer) and 0 <= number < 2**64 for number in exact.flat)
    return exact.astype(np.uint64) if whole else array
