"""What types make: values, fields and arrays, each by the module that defines it.

A matrix knows its type, so `matrix` imports `types`; but `vec3(1, 2, 3)`, which calls a type, makes a matrix, and
`vec3.field(8)` a field. A type therefore calls `MAKERS`, whose attributes the modules above set when they are imported.
All of these are imported by `import weft`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["MAKERS", "Makers"]


class Makers:
    """The functions that types call, by what they make."""

    matrix: Callable[[Any], Any]  # (array): the vector or matrix over it; of `values/matrix.py`
    struct: Callable[..., Any]  # (type, positional members, named members); of `values/struct.py`
    is_struct: Callable[[Any, Any], bool]  # (type, value): whether the value has that type; of `values/struct.py`
    field: Callable[..., Any]  # (type of an element, shape, **options); of `data/make_field.py`
    matrix_field: Callable[..., Any]  # (shape of an element, type, shape, **options); of `data/make_field.py`
    struct_field: Callable[..., Any]  # (type of an element, shape, **options); of `data/make_field.py`
    ndarray: Callable[..., Any]  # (type of an element, shape, **options); of `data/make_ndarray.py`


MAKERS = Makers()
