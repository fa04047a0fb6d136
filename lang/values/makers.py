"""A table of functions that make values, fields and arrays of a type. Each is set by the module that defines it.

`matrix` imports `types`, because a matrix knows its type. But calling a type makes a matrix (`vec3(1, 2, 3)`), and
`vec3.field(8)` makes a field. A type therefore calls the attributes of `MAKERS`. The modules of higher layers set these
attributes when they are imported; `import weft` imports all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["MAKERS", "Makers"]


class Makers:
    """The functions that types call, one for each kind of result."""

    matrix: Callable[[Any], Any]  # (array): the vector or matrix over it; set by `values/matrix.py`
    struct: Callable[..., Any]  # (type, positional members, named members); set by `values/struct.py`
    is_struct: Callable[[Any, Any], bool]  # (type, value): whether the value has that type; set by `values/struct.py`
    field: Callable[..., Any]  # (element type, shape, **options); set by `data/make_field.py`
    matrix_field: Callable[..., Any]  # (element shape, type, shape, **options); set by `data/make_field.py`
    struct_field: Callable[..., Any]  # (element type, shape, **options); set by `data/make_field.py`
    ndarray: Callable[..., Any]  # (element type, shape, **options); set by `data/make_ndarray.py`
    part: Callable[[Any, Any], Any]  # (field or ndarray, key with slices): the view; set by `data/views.py`
    rows: Callable[[Any], Any]  # (field or ndarray): its views along the first axis; set by `data/views.py`
    arrays: Callable[[], Any]  # the module of what computes with whole arrays, `arrays/operators.py`; set by `weft`
    assign: Callable[[Any, Any], None]  # (view, value): sets its elements; set by `data/views.py`


MAKERS = Makers()
