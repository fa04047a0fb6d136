"""`@data_oriented`: classes with kernels and functions as methods."""

from __future__ import annotations

from typing import TypeVar

from weft.lang.values.struct import check_class

__all__ = ["data_oriented"]

C = TypeVar("C", bound=type)


def data_oriented(cls: C) -> C:
    """Mark a class whose methods are kernels and `@func`s. In them, `self` is a compile-time constant. A kernel is
    compiled for each object. Attributes that are numbers become constants; fields are shared by reference.

    Example:
        @ti.data_oriented
        class Counter:
            def __init__(self, n: int) -> None:
                self.counts = ti.field(ti.i32, n)

            @ti.kernel
            def add(self, amount: ti.i32):
                for i in self.counts:
                    self.counts[i] += amount

        counter = Counter(3)
        counter.add(5)
        counter.counts.to_numpy().tolist()  # [5, 5, 5]
    """
    check_class(cls, "data_oriented")
    setattr(cls, "_data_oriented", True)  # noqa: B010 - type checkers do not know the attribute
    return cls
