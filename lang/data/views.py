"""Views of fields and ndarrays: ndarrays over a part of their memory, as `x[1:-1, ::2]`.

A view knows what it is a view of, its `base`. Its gradient and dual are views of those of the base, and blocks of
`ti.ad` see the memory of the base in it. It ends with the memory of the base."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from weft.ir.scalar import cast_value
from weft.ir.types import Prim
from weft.lang.data.companions import companions_of
from weft.lang.data.elements import FieldIndexError
from weft.lang.data.field import Field
from weft.lang.data.field_tree import FieldError
from weft.lang.data.ndarray import Ndarray, ndarray_over
from weft.lang.data.operations import unheard
from weft.lang.data.slices import selected, selection
from weft.lang.data.writes import LISTENERS, tell
from weft.lang.values.makers import MAKERS
from weft.lang.values.numbers import array_of
from weft.lang.values.scope import is_whole
from weft.lang.values.types import MatrixType, VectorType, prim_of_numpy

__all__ = ["element_type_of", "part_of", "type_of_elements", "view_of_memory"]

Select = Callable[[Any], Any]


def part_of(owner: Any, key: Any) -> Ndarray:
    """The part of a field or ndarray that a key with slices selects. Raises FieldIndexError for a key that does not
    fit, and FieldError for a field whose elements do not form a strided array."""
    label = owner._label() if isinstance(owner, Field) else "this ndarray"
    if isinstance(owner, Field) and any(owner.offset):
        raise FieldIndexError(
            f"{label} begins at {owner.offset}, and the indices of slices begin at 0: slice np.asarray(x)"
        )
    entries = selection(key, owner.shape, label)
    return view_of_memory(owner, element_type_of(owner), lambda cells: selected(cells, entries))


def view_of_memory(owner: Any, element_type: Any, select: Select) -> Ndarray:
    """The ndarray of such elements over what `select` chooses of the memory of a field or ndarray."""
    try:
        cells = owner._lend()
    except BufferError as error:
        raise FieldError(str(error)) from None
    marks, chosen = owner._marks, select(cells)
    axes = element_type.ndim if isinstance(element_type, MatrixType) else 0
    shape = tuple(chosen.shape[: chosen.ndim - axes])
    made: Ndarray = ndarray_over(element_type, shape, chosen, None if marks is None else select(marks))
    made.base, made.again, made.role = (
        owner,
        partial(view_of_memory, element_type=element_type, select=select),
        owner.role,
    )
    made.end_with_base()
    for kind, companion in companions_of(owner):
        setattr(made, kind, made.again(companion))
    return made


def element_type_of(owner: Any) -> Any:
    """The type of the elements, as `ti.ndarray` takes it."""
    if isinstance(owner, Ndarray):
        return owner.element_type
    return type_of_elements(owner.element_shape, owner.dtype)


def type_of_elements(inner: tuple[int, ...], dtype: Prim) -> Any:
    """The type of elements of that shape."""
    if not inner:
        return dtype
    return VectorType(inner[0], dtype) if len(inner) == 1 else MatrixType(inner[0], inner[1], dtype)


def assign(view: Ndarray, value: Any) -> None:
    """Set the elements of a view from a number, a list, an array, a field or an ndarray. Their shape broadcasts as in
    numpy; values are cast. A source that shares memory with the view is read before it is overwritten. Raises
    ValueError for a shape that does not fit."""
    if is_whole(value):
        if _is_same(view, value):
            return
        if isinstance(value, Field | Ndarray) and isinstance(view.array(), np.ndarray) and not LISTENERS.get():
            _copy(view, value)
        else:
            MAKERS.arrays().copy_into(view, value)
        return
    numbers = array_of(value)
    prim_of_numpy(numbers.dtype)  # raises TypeMismatch for what are no numbers
    if LISTENERS.get():
        numbers = numbers.copy()
        tell(view, None, lambda: _put(view, numbers))
    _put(view, numbers)


def _is_same(view: Ndarray, source: Any) -> bool:
    """Whether a source is the view itself, as after `x[1:] += 1`."""
    return isinstance(source, Ndarray) and view.dtype is source.dtype and _place(view) == _place(source)


def _place(view: Ndarray) -> Any:
    cells = view.array()
    address = cells.__array_interface__["data"][0] if isinstance(cells, np.ndarray) else cells.address
    return address, cells.shape, cells.strides


def _copy(view: Ndarray, source: Any) -> None:
    numbers = source.to_numpy()
    if view.element_shape and not source.element_shape:
        numbers = numbers.reshape(*numbers.shape, *(1,) * len(view.element_shape))
    _put(view, numbers)


def _put(view: Ndarray, numbers: Any) -> None:
    cells = view.array()
    while numbers.ndim > cells.ndim and numbers.shape[0] == 1:
        numbers = numbers[0]
    try:
        np.broadcast_to(numbers, cells.shape)
    except ValueError:
        raise ValueError(
            f"{view!r} takes elements that broadcast to {cells.shape}, not those of an array of shape {numbers.shape}"
        ) from None
    values = np.asarray(cast_value(numbers, view.dtype))
    if isinstance(cells, np.ndarray) or cells.dense or not cells.size:
        cells[...] = values
    else:  # a kernel copies them, since memory with gaps would go to the host and back
        with unheard():
            made = MAKERS.ndarray(view.dtype, values.shape)
            made.from_numpy(values)
            MAKERS.arrays().copy_into(view_of_memory(view, view.dtype, lambda cells: cells), made)
    view._mark()


def rows_of(owner: Any) -> Iterator[Ndarray]:
    """The views `x[i, ...]` of a field or ndarray, from the first one."""
    kind = element_type_of(owner)
    return (view_of_memory(owner, kind, partial(selected, key=(i,))) for i in range(owner.shape[0]))


MAKERS.part, MAKERS.assign, MAKERS.rows = part_of, assign, rows_of
