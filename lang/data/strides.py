"""Where the scalars of vectors and matrices lie in memory."""

from __future__ import annotations

import numpy as np

from weft.lang.data.field_tree import FieldError

__all__ = ["component_strides"]


def component_strides(components: tuple[int, ...], inner: tuple[int, ...], label: str) -> tuple[int, ...]:
    """The byte strides along the component axes. Raises FieldError if the components are not evenly spaced."""
    if not inner:
        return ()
    table = np.array(components, np.int64).reshape(inner)
    strides = tuple(int(table.take(1, axis).flat[0] - table.flat[0]) if n > 1 else 0 for axis, n in enumerate(inner))
    steps = sum(
        np.arange(n).reshape([-1 if a == axis else 1 for a in range(len(inner))]) * strides[axis]
        for axis, n in enumerate(inner)
    )
    if not np.array_equal(table, components[0] + steps):
        raise FieldError(f"the components of {label} must be placed at even distances")
    return strides
