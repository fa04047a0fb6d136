"""Functions of the language about indices and bits that are written in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.lang.values.builtins import grouped, pyfunc, static

if TYPE_CHECKING:
    Template = Any  # to type checkers a template argument is what it is bound to
else:
    from weft.lang.values.types import Template

__all__ = ["fill_field", "rescale_index"]


@pyfunc
def fill_field(x: Template, value: Any) -> None:
    """Set every element: what `x.fill(value)` means in a kernel."""
    for at in grouped(x):
        x[at] = value


@pyfunc
def rescale_index(a: Template, b: Template, I: Any) -> Any:  # noqa: E741 - as callers name it
    """The index in field b of the place that has index I in field a: both cover the same box, at their own resolution,
    where one has a multiple of the other's cells along each axis."""
    scaled = I
    for axis in static(range(len(b.shape))):
        if static(b.shape[axis] > a.shape[axis]):
            scaled[axis] = I[axis] * (b.shape[axis] // a.shape[axis])
        else:
            scaled[axis] = I[axis] // (a.shape[axis] // b.shape[axis])
    return scaled
