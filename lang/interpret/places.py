"""Fields and arrays in a rewritten kernel: objects whose elements are loaded and stored by index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from weft.ir.boxes import points
from weft.ir.errors import TypeMismatch
from weft.ir.intervals import type_interval
from weft.ir.scalar import cast_value
from weft.ir.types import Prim, i32, i64, shape_of, tensor
from weft.lang.data.borrow import view_of
from weft.lang.data.companions import companions_of
from weft.lang.data.field import Field
from weft.lang.data.lists import visited_by
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.snode_api import SNode
from weft.lang.data.sparse_access import SPARSE
from weft.lang.data.struct_field import StructField
from weft.lang.data.struct_ndarray import StructMembers
from weft.lang.values.builtins import ndrange
from weft.lang.values.matrix import Matrix, Vector
from weft.lang.values.types import NdarrayType, prim_of_numpy

__all__ = ["ArrayCells", "Cells", "Grouped", "as_array", "box", "cells_of", "flat_index", "index_type", "sparse_visits"]


def flat_index(index: Any) -> tuple[int, ...]:
    """Return the integers of the index in `x[i, j]`, `x[I]` (a vector), `x[I, k]` or `x[None]`."""
    if index is None:
        return ()
    if isinstance(index, Matrix):
        return tuple(map(int, index.values))
    if isinstance(index, (tuple, list)):
        return tuple(i for item in index for i in flat_index(item))
    if isinstance(index, (float, np.floating)):
        raise TypeMismatch(f"an index must be an integer, not {index!r}")
    return (int(index),)


class FieldCells:
    """The elements of a field, or of an ndarray of structs."""

    def __init__(self, field: Any, clamp: bool = False) -> None:
        self.field, self.clamp = field, clamp

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self.field.shape)

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index."""
        return tuple(self.field.offset)

    def load(self, index: Any) -> Any:
        """Return a numpy scalar, or a view of a vector, matrix or struct."""
        return self.field.load(self.position(index))

    def store(self, index: Any, value: Any) -> None:
        """Cast the value to the type of the field and store it in one element."""
        self.field[self.position(index)] = value

    def position(self, index: Any) -> tuple[int, ...]:
        """Return the index, or the nearest one in bounds."""
        position = flat_index(index)
        return _nearest(position, self.shape) if self.clamp else position


class ArrayCells:
    """The elements of an array argument: scalars, or vectors and matrices along its last axes."""

    def __init__(self, array: Any, inner: tuple[int, ...] = (), clamp: bool = False) -> None:
        self.array, self.inner, self.clamp = array, inner, clamp
        self.shape = array.shape[: array.ndim - len(inner)]
        self.ndim = len(self.shape)
        self.dtype = prim_of_numpy(array.dtype)
        self.element_type = tensor(self.dtype, inner) if inner else self.dtype
        if inner:
            self.n, self.m = (*inner, 1)[:2]

    def element_shape(self) -> list[int]:
        """The extents of an element, none for a number."""
        return list(self.inner)

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index."""
        return (0,) * self.ndim

    def load(self, index: Any) -> Any:
        """Return a numpy scalar, or a view of a vector or matrix."""
        element = self.array[self.position(index)]
        return Matrix.wrap(element) if self.inner else element

    def store(self, index: Any, value: Any) -> None:
        """Cast the value to the type of the array and store it in one element."""
        self.array[self.position(index)] = cast_value(getattr(value, "values", value), self.dtype)

    def position(self, index: Any) -> tuple[int, ...]:
        """Return the checked index. Raises IndexError outside of the array."""
        position = flat_index(index)
        if self.clamp:
            position = _nearest(position, self.shape)
        if len(position) != len(self.shape) or not all(0 <= i < n for i, n in zip(position, self.shape)):
            raise IndexError(f"index {position} is out of bounds for an array of shape {self.shape}")
        return position

    def __repr__(self) -> str:
        return repr(self.array)


Cells = FieldCells | ArrayCells


def cells_of(x: Any) -> Cells | None:
    """Return the elements of a field or array, or None for any other object."""
    if isinstance(x, (Field, StructField, StructMembers)):
        return FieldCells(x)
    if isinstance(x, (ArrayCells, FieldCells)):
        return x
    return ArrayCells(x) if isinstance(x, np.ndarray) else None


def as_array(x: Any, annotation: Any) -> Any:
    """Return an argument that is annotated as an array, as cells of the annotated element type. The cells share its
    memory."""
    clamp = getattr(annotation, "boundary", "") == "clamp"
    if isinstance(x, StructMembers):
        return FieldCells(x, clamp) if clamp else x
    if isinstance(x, ArrayCells | FieldCells):  # an argument of the calling function
        return x
    array = x if isinstance(x, np.ndarray) else _storage(x)
    element = annotation.element if isinstance(annotation, NdarrayType) else None
    axes = annotation.element_dim if isinstance(annotation, NdarrayType) else 0
    tail = tuple(array.shape[array.ndim - axes :])
    inner = shape_of(element) if element is not None else tuple(getattr(x, "element_shape", tail))
    made = ArrayCells(array, inner, clamp)
    for kind, companion in companions_of(x) if isinstance(x, Ndarray) else ():
        setattr(made, kind, as_array(companion, annotation))
    return made


def _nearest(index: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(min(max(i, 0), n - 1) for i, n in zip(index, shape))


def _storage(x: Any) -> Any:
    """Return a numpy array over the memory of a `ti.ndarray`, a torch tensor, or any object that exports its memory."""
    return x.array() if isinstance(x, Ndarray) else view_of(x)


class Grouped:
    """The index vectors of a field, array or ndrange: `ti.grouped(over)`."""

    def __init__(self, over: Any) -> None:
        self.over = over

    def __iter__(self) -> Iterator[Any]:
        indices, type = box(self.over)
        return (Vector(list(index), type) if index else () for index in indices)


def box(over: Any) -> tuple[Iterator[tuple[int, ...]], Prim]:
    """Return every index of a field, array, ndrange or SNode, last axis fastest, and the type of the indices. Raises
    TypeMismatch for any other object."""
    if (found := sparse_visits(over)) is not None:
        bounds = [(first, first + extent) for first, extent in zip(over.offset, over.shape, strict=True)]
        return map(tuple, found[0].tolist()), index_type(bound for pair in bounds for bound in pair)
    if isinstance(over, (SNode, ndrange)):
        bounds = over.bounds
    elif (cells := cells_of(over)) is not None:
        bounds = [(first, first + extent) for first, extent in zip(cells.offset, cells.shape, strict=True)]
    else:
        raise TypeMismatch(f"a loop must be over a range, an ndrange, a field or an array, not {type(over).__name__}")
    axes = [range(int(begin), int(end)) for begin, end in bounds]
    return points(axes), index_type(bound for pair in bounds for bound in pair)


def sparse_visits(over: Any) -> Any:
    """What a loop over a sparse field or node visits: the indices of what is active now, an array of shape (n, axes),
    and the numbers of the iterations. None for anything else."""
    if isinstance(over, SNode):
        over = visited_by(over)
    elif isinstance(over, StructField):
        over = over._leader()
    if isinstance(over, Field) and over.describe().node is None:
        return None
    return SPARSE.visits(over) if isinstance(over, SNode | Field) else None


def index_type(bounds: Iterable[Any]) -> Prim:
    """Return i64 if the type of a bound, or a known number, exceeds i32; else i32."""
    least, most = type_interval(i32)
    ranges = (type_interval(prim_of_numpy(x.dtype)) if isinstance(x, np.generic) else (x, x) for x in bounds)
    return i32 if all(least <= low and high <= most for low, high in ranges) else i64
