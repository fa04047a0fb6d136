"""Functions on indices and bits that are written in the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.lang.values.builtins import grouped, pyfunc, static
from weft.lang.values.matrix import Vector

if TYPE_CHECKING:
    Template = Any  # to type checkers, a template argument is what it is bound to
else:
    from weft.lang.values.types import Template

__all__ = ["fill_field", "rescale_index"]


@pyfunc
def fill_field(x: Template, value: Any) -> None:
    """Set every element: the implementation of `x.fill(value)` in a kernel."""
    for at in grouped(x):
        x[at] = value


@pyfunc
def rescale_index(a: Template, b: Template, I: Any) -> Any:  # noqa: E741 - as callers name it
    """Return the index in field or node b of the place with index I in field or node a. Both cover the same box at
    their own resolution. Along each axis, the resolution of one is a multiple of the other's. The offsets of fields
    count."""
    scaled = Vector([I[axis] for axis in static(range(len(a.shape)))])
    for axis in static(range(min(len(a.shape), len(b.shape)))):
        if static(b.shape[axis] > a.shape[axis]):
            scaled[axis] = (I[axis] - a.offset[axis]) * (b.shape[axis] // a.shape[axis]) + b.offset[axis]
        else:
            scaled[axis] = (I[axis] - a.offset[axis]) // (a.shape[axis] // b.shape[axis]) + b.offset[axis]
    return scaled
