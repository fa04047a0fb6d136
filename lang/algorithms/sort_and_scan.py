"""Sort and prefix-sum one-dimensional fields and arrays, by kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim
from weft.lang.algorithms.prefix_sums import prefix_sums, room
from weft.lang.algorithms.sort_on_cpu import sort_on_cpu
from weft.lang.algorithms.sort_on_gpu import sort_on_gpu
from weft.lang.data.field import Field, MatrixField
from weft.lang.data.libraries import prim_of, view
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.struct_field import StructField
from weft.lang.data.struct_ndarray import StructNdarray
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.values.kinds import FieldOf, Numbers, i32
from weft.lang.values.types import MatrixType, VectorType

__all__ = ["PrefixSumExecutor", "parallel_sort"]

_MOST = 2**31 - 2**20  # keys: indices have 32 bits


def parallel_sort(keys: Any, values: Any = None) -> None:
    """Sort `keys`, a one-dimensional field or array of numbers of any length, in ascending order, in place.

    `values`, a field or array that is at least as long, with elements of any type, is permuted with the keys. Equal
    keys keep their order. -0.0 and 0.0 are equal, and NaN comes last, as for `numpy.sort(kind="stable")`. The sort
    allocates as much memory as keys and values have. Raises TypeMismatch for an object that cannot be sorted. Methods:
    `sort_on_cpu.py`, `sort_on_gpu.py`.

    Example:
        keys, values = ti.field(ti.i32, 4), ti.field(ti.f32, 4)
        keys.from_numpy(np.array([30, 10, 40, 20]))
        values.from_numpy(np.array([3.0, 1.0, 4.0, 2.0]))
        ti.algorithms.parallel_sort(keys, values)
        keys.to_numpy().tolist(), values.to_numpy().tolist()  # ([10, 20, 30, 40], [1.0, 2.0, 3.0, 4.0])
    """
    line = _Line(keys)
    if line.length > _MOST:
        raise TypeMismatch(f"parallel_sort sorts at most {_MOST} keys, got {line.length}")
    if values is None:
        _sort(line, None)
    else:
        _check_values(keys, values, line.length)
        _sort_both(line, values)
    line.give_back()


def _check_values(keys: Any, values: Any, length: int) -> None:
    is_field = isinstance(keys, Field)
    if is_field != isinstance(values, Field | StructField) or not hasattr(values, "shape"):
        kind = "a field" if is_field else "an array"
        raise TypeMismatch(f"keys are {kind}, so values must be {kind} too, not {values!r}")
    if len(values.shape) != 1 or values.shape[0] < length:
        shape = tuple(values.shape)
        raise TypeMismatch(f"values must be one-dimensional and at least {length} long; their shape is {shape}")


def _sort_both(keys: _Line, values: Any) -> None:
    """Sort numbers with the keys. For other values, sort their indices with the keys."""
    if not _has_parts(values):
        carried = _Line(values)
        _sort(keys, carried)
        carried.give_back()
    elif keys.length > 1:
        places, spare = ndarray(i32, keys.length), ndarray(_element_type(values), keys.length)
        _number(places)
        _sort(keys, _Line(places))
        if isinstance(values, Field | StructField):
            _permute_field(values, values.offset[0], places, spare)
        else:
            _permute_array(values, places, spare)


def _sort(keys: _Line, values: _Line | None) -> None:
    if keys.length < 2:
        return
    sort = sort_on_gpu if program().backend.blocks else sort_on_cpu
    if values is None:
        sort(keys.cells, None, keys.length, keys.dtype, None)
    else:
        sort(keys.cells, values.cells, keys.length, keys.dtype, values.dtype)


class _Line:
    """A one-dimensional field or array of numbers as an array that kernels change in place: its own memory if kernels
    can access it, else a copy, which `give_back` writes back. Raises TypeMismatch for any other object."""

    def __init__(self, x: Any) -> None:
        if _has_parts(x) or len(getattr(x, "shape", ())) != 1:
            raise TypeMismatch(f"expected a one-dimensional field or array of numbers, not {x!r}")
        self._whole = x
        if isinstance(x, Field | Ndarray):
            x._check_all()
        self.cells = x if isinstance(x, Field) and _is_nested(x) else view(x)
        self.dtype: Prim = prim_of(self.cells)
        self.length = int(x.shape[0])
        self._is_copy = isinstance(self.cells, Field) or (
            program().backend.own_memory and isinstance(self.cells, np.ndarray) and self.length > 0
        )
        if self._is_copy:
            source, self.cells = self.cells, ndarray(self.dtype, self.length)
            if isinstance(source, Field):
                _read_field(source, source.offset[0], self.cells)
            else:
                self.cells.from_numpy(source)

    def give_back(self) -> None:
        """Write a copy back to its source."""
        if not self._is_copy:
            return
        if isinstance(self._whole, Field):
            _write_field(self._whole, self._whole.offset[0], self.cells)
        else:
            self._whole[...] = self.cells.to_numpy()


def _is_nested(x: Field) -> bool:
    """Return whether the elements do not form a strided array."""
    window = x.describe().path.window
    return window is None or not window.is_plain(len(x.shape))


def _has_parts(x: Any) -> bool:
    """Return whether it is an array or a field whose elements are not numbers."""
    return isinstance(x, MatrixField | StructField | StructNdarray) or bool(getattr(x, "element_shape", ()))


def _element_type(values: Any) -> Any:
    if isinstance(values, StructField | StructNdarray):
        return values.struct_type
    if isinstance(values, MatrixField):
        is_vector = len(values.ir.shape) == 1
        return VectorType(values.n, values.dtype) if is_vector else MatrixType(values.n, values.m, values.dtype)
    return values.element_type


@kernel
def _number(places: Numbers) -> None:
    for i in places:
        places[i] = i


@kernel
def _permute_field(values: FieldOf, first: i32, places: Numbers, spare: Numbers) -> None:
    for i in places:
        spare[i] = values[first + places[i]]
    for i in places:
        values[first + i] = spare[i]


@kernel
def _permute_array(values: Numbers, places: Numbers, spare: Numbers) -> None:
    for i in places:
        spare[i] = values[places[i]]
    for i in places:
        values[i] = spare[i]


@kernel
def _read_field(x: FieldOf, first: i32, line: Numbers) -> None:
    for i in line:
        line[i] = x[first + i]


@kernel
def _write_field(x: FieldOf, first: i32, line: Numbers) -> None:
    for i in line:
        x[first + i] = line[i]


class PrefixSumExecutor:
    """Inclusive prefix sums of `length` numbers: `executor.run(x)` replaces `x[i]` by the sum of `x[0] .. x[i]`.

    The order of additions depends on `length` and the arch only, so equal calls give equal bits. Numbers of less than
    32 bits are added in 32 bits, and every sum is wrapped or rounded to the element type. Method: `prefix_sums.py`.

    Example:
        x = ti.field(ti.i32, 5)
        x.fill(2)
        sums = ti.algorithms.PrefixSumExecutor(5)
        sums.run(x)
        x.to_numpy().tolist()  # [2, 4, 6, 8, 10]
    """

    def __init__(self, length: Any) -> None:
        if not isinstance(length, int | np.integer) or length < 0:
            raise TypeMismatch(
                f"PrefixSumExecutor takes the number of elements to sum, a positive integer, not {length!r}"
            )
        self.length = int(length)
        self._totals: dict[Any, Any] = {}

    def run(self, input_arr: Any) -> None:
        """Sum a one-dimensional field or array of numbers of any type, with at least `length` elements, in place.
        Raises TypeMismatch for any other object."""
        line = _Line(input_arr)
        if line.length < self.length:
            raise TypeMismatch(f"this PrefixSumExecutor sums {self.length} elements, but {input_arr!r} has fewer")
        if self.length == 0:
            return
        key = program().generation, line.dtype
        if key not in self._totals:
            self._totals = {key: room(self.length, line.dtype)}
        prefix_sums(line.cells, self.length, line.dtype, self._totals[key])
        line.give_back()
