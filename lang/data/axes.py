"""Axes, layouts, orders and offsets of fields: `ti.ij`, `ti.axes`, `ti.Layout`, `order="ji"`, `offset=(1, 1)`."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.ir.errors import CompilationError
from weft.ir.storage.snode import MAX_AXES

__all__ = ["AXES", "Axes", "Layout", "axes", "offset_tuple", "order_axes"]


class Layout(enum.Enum):
    """How the components of vectors, matrices and structs are stored: element by element (AOS), or component by
    component (SOA). It is an option of `ti.Vector.field`, `ti.Matrix.field` and `ti.Struct.field`.

    Example:
        v = ti.Vector.field(2, ti.f32, shape=4, layout=ti.Layout.SOA)
        v.fill(1)
        v.get_scalar_field(0).sum()  # 4.0
    """

    AOS = 0
    SOA = 1


class Axes(tuple[int, ...]):
    """A tuple of axis numbers: `ti.ij` is (0, 1)."""

    __slots__ = ()


def axes(*numbers: Any) -> Axes:
    """The axes with these numbers (0 to 7), slowest first. Raises CompilationError for other numbers and for repeated
    ones. `ti.i`, `ti.ij` to `ti.ijkl` are the usual ones.

    Example:
        ti.axes(0, 2) == ti.ik, ti.axes(5)  # (True, (5,))
        ti.axes(1, 1)  # raises CompilationError
    """
    known = all(isinstance(number, int | np.integer) and 0 <= number < MAX_AXES for number in numbers)
    if not known or len(set(numbers)) != len(numbers):
        raise CompilationError(f"axes must be distinct numbers from 0 to {MAX_AXES - 1}, not {numbers}")
    return Axes(numbers)


# i, j, k, l and their ascending combinations: the names `ti.i` .. `ti.ijkl`.
AXES: dict[str, Axes] = {
    "".join(name for bit, name in enumerate("ijkl") if mask >> bit & 1): Axes(
        bit for bit in range(4) if mask >> bit & 1
    )
    for mask in range(1, 16)
}


_LETTERS = "ijklmnop"  # the letters of all axes, as `order` names them


def offset_tuple(offset: int | Iterable[int], ndim: int) -> tuple[int, ...]:
    """Check an offset and return it as a tuple of `ndim` integers."""
    values: tuple[Any, ...] = tuple(offset) if isinstance(offset, Iterable) else (offset,)
    if len(values) != ndim:
        raise CompilationError(f"offset has {len(values)} numbers, but shape has {ndim}: they must be equally long")
    if not all(isinstance(value, int | np.integer) for value in values):
        raise CompilationError(f"an offset must consist of integers, not {values}")
    return tuple(int(value) for value in values)


def order_axes(order: str | None, ndim: int) -> tuple[int, ...]:
    """The axis numbers of `order`, checked against `ndim`. "ij": the first axis varies slowest; "ji": the first axis
    varies fastest. The letters go up to p."""
    if order is None:
        return tuple(range(ndim))
    numbers = tuple(map(_LETTERS.find, order))
    if len(order) != ndim:
        raise CompilationError(f"order={order!r} names {len(order)} axes, but shape has {ndim}, which must be equal")
    if sorted(numbers) != list(range(ndim)):
        raise CompilationError(f"order must be a permutation of {_LETTERS[:ndim]!r}, not {order!r}")
    return numbers
