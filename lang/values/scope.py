"""Decides whether code sees Python's numbers or the typed numbers of the language.

In Python scope, an element of a vector or matrix is a Python number. In kernels that run as Python, and in Weft's own
functions when Python calls them, it has the exact type of the element. Arithmetic then gives the same results as in
compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = ["choices", "is_whole", "number", "result", "typed", "with_types"]

typed: ContextVar[bool] = ContextVar("typed", default=False)
choices: ContextVar[Mapping[Any, Any]] = ContextVar("choices", default=MappingProxyType({}))  # of the running kernel


def is_whole(value: Any) -> bool:
    """Whether this is a whole field or ndarray, whose operators are in `data/array_operators.py`."""
    return getattr(value.__class__, "is_whole_array", False)


def number(value: Any) -> Any:
    """An element or member, converted for the code that asks for it."""
    return value.item() if isinstance(value, np.generic) and not typed.get() else value


def result(value: Any, arguments: tuple[Any, ...]) -> Any:
    """The result of a function, converted for its caller: Python numbers, unless an argument was a typed number."""
    if typed.get() or any(isinstance(argument, np.generic) for argument in arguments):
        return value
    return tuple(map(number, value)) if type(value) is tuple else number(value)


def with_types(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Call `function` such that numbers keep their types."""
    token = typed.set(True)
    try:
        return function(*args, **keywords)
    finally:
        typed.reset(token)
