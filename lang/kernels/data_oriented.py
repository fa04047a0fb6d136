"""`@data_oriented`: classes with kernels and functions as methods."""

from __future__ import annotations

from typing import TypeVar

from weft.lang.values.struct import check_class

__all__ = ["data_oriented"]

C = TypeVar("C", bound=type)


def data_oriented(cls: C) -> C:
    """Mark a class whose methods are kernels and `@func`s. In them, `self` is a compile-time constant."""
    check_class(cls, "data_oriented")
    setattr(cls, "_data_oriented", True)  # noqa: B010 - type checkers do not know the attribute
    return cls
