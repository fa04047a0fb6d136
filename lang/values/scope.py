"""Whose numbers there are: Python's, or the language's.

In Python scope an element of a vector or matrix is a Python number. Inside of kernels that run as Python, and of Weft's
own functions called from Python, it has the element's exact type, so that the arithmetic is that of compiled kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = ["choices", "number", "result", "typed", "with_types"]

typed: ContextVar[bool] = ContextVar("typed", default=False)
choices: ContextVar[Mapping[Any, Any]] = ContextVar("choices", default=MappingProxyType({}))  # of the kernel that runs


def number(value: Any) -> Any:
    """An element or member as the code that asks for it sees it."""
    return value.item() if isinstance(value, np.generic) and not typed.get() else value


def result(value: Any, arguments: tuple[Any, ...]) -> Any:
    """What a function gives, as the code that called it sees it: Python's numbers, unless a typed one went in."""
    if typed.get() or any(isinstance(argument, np.generic) for argument in arguments):
        return value
    return tuple(map(number, value)) if type(value) is tuple else number(value)


def with_types(function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Call `function`, with numbers that keep their types."""
    token = typed.set(True)
    try:
        return function(*args, **keywords)
    finally:
        typed.reset(token)
