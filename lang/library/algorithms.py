"""Algorithms over one-dimensional fields and ndarrays, written as kernels: sorting and prefix sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.builtins import static
from weft.lang.field import Field, ScalarField
from weft.lang.init import cuda, program
from weft.lang.kernel import func, kernel
from weft.lang.library.prefix_sums import TILE, scan_array, scan_field, sum_array, sum_field
from weft.lang.ndarray import Ndarray, ndarray
from weft.lang.struct import StructField

if TYPE_CHECKING:
    from typing import TypeAlias

    # What the parameters of kernels are to a checker.
    FieldOf: TypeAlias = Any
    ArrayOf: TypeAlias = Any
    i32: TypeAlias = int
else:
    from weft.lang.types import NdarrayType, Template, i32

    FieldOf, ArrayOf = Template(), NdarrayType(ndim=1)

__all__ = ["PrefixSumExecutor", "parallel_sort"]


# ---- sorting ---------------------------------------------------------------------------------------------------------


def parallel_sort(keys: Any, values: Any = None) -> None:
    """Sort `keys`, a one-dimensional field or array of numbers of any length, in ascending order, in place.

    `values`, of the same kind and at least that long, with elements of any type, is permuted alike. Equal keys may
    change places. TypeMismatch for what cannot be sorted. Batcher's odd-even merge sort: log2(n)^2 / 2 launches, each
    of n / 2 compare-exchanges (K. E. Batcher, "Sorting networks and their applications", 1968)."""
    length = _length(keys)
    step = _fields_step(keys, values, length) if isinstance(keys, Field) else _arrays_step(keys, values, length)
    run = 1
    while run < length:
        distance = run
        while distance >= 1:
            step(length, run, distance, -(-length // (2 * distance)) * distance)
            distance //= 2
        run *= 2


def _length(x: Any) -> int:
    """How long a line of numbers is. TypeMismatch for anything else."""
    is_line = isinstance(x, ScalarField | Ndarray | np.ndarray) and len(x.shape) == 1
    if not is_line or (isinstance(x, Ndarray) and x.element_shape):
        raise TypeMismatch(f"a one-dimensional field or array of numbers is wanted, not {x!r}")
    return int(x.shape[0])


def _fields_step(keys: Any, values: Any, length: int) -> Any:
    if not isinstance(values, Field | StructField | None):
        raise TypeMismatch(f"keys are a field, so values must be one too, not {values!r}")
    _check_values(values, length)
    first, second = keys.offset[0], 0 if values is None else _offset(values)
    return lambda *step: _sort_fields(keys, values, first, second, *step)


def _offset(values: Any) -> int:
    while isinstance(values, StructField):
        values = next(iter(values.members.values()))
    return int(values.offset[0])


def _arrays_step(keys: Any, values: Any, length: int) -> Any:
    if not isinstance(values, Ndarray | np.ndarray | None):
        raise TypeMismatch(f"keys are an array, so values must be one too, not {values!r}")
    _check_values(values, length)
    if values is None:
        return lambda *step: _sort_array(keys, *step)
    return lambda *step: _sort_arrays(keys, values, *step)


def _check_values(values: Any, length: int) -> None:
    if values is not None and (len(values.shape) != 1 or values.shape[0] < length):
        raise TypeMismatch(f"values must be one-dimensional and at least {length} long; their shape is {values.shape}")


@func
def _exchange(
    keys: FieldOf, values: FieldOf, first: i32, second: i32, pair: i32, length: i32, run: i32, distance: i32
) -> None:
    """Put pair number `pair` of a step in order: two elements `distance` apart in one run of 2 * `run` elements."""
    a = pair // distance * (2 * distance) + pair % distance + distance % run
    b = a + distance
    if b < length and a // (2 * run) == b // (2 * run) and keys[first + b] < keys[first + a]:
        keys[first + a], keys[first + b] = keys[first + b], keys[first + a]
        if static(values is not None):
            values[second + a], values[second + b] = values[second + b], values[second + a]


@kernel
def _sort_fields(
    keys: FieldOf, values: FieldOf, first: i32, second: i32, length: i32, run: i32, distance: i32, pairs: i32
) -> None:
    for pair in range(pairs):
        _exchange(keys, values, first, second, pair, length, run, distance)


@kernel
def _sort_array(keys: ArrayOf, length: i32, run: i32, distance: i32, pairs: i32) -> None:
    for pair in range(pairs):
        _exchange(keys, None, 0, 0, pair, length, run, distance)


@kernel
def _sort_arrays(keys: ArrayOf, values: ArrayOf, length: i32, run: i32, distance: i32, pairs: i32) -> None:
    for pair in range(pairs):
        _exchange(keys, values, 0, 0, pair, length, run, distance)


# ---- prefix sums -----------------------------------------------------------------------------------------------------

_BLOCK = 512  # elements that one iteration adds up


class PrefixSumExecutor:
    """Inclusive prefix sums of `length` numbers: `executor.run(x)` makes `x[i]` the sum of `x[0] .. x[i]`, in place.

    Each block of 512 elements is summed by one iteration, the blocks' totals are summed in turn, then added: so the
    result does not depend on the number of threads. On a GPU blocks of threads do it (`prefix_sums.py`)."""

    def __init__(self, length: int) -> None:
        self.length = int(length)
        self._totals: dict[Any, list[Any]] = {}

    def run(self, input_arr: Any) -> None:
        """Sum a one-dimensional field or array of numbers of any type, of at least `length` elements, in place.
        TypeMismatch for anything else."""
        if _length(input_arr) < self.length:
            raise TypeMismatch(f"{self.length} elements are to be summed, {input_arr!r} has fewer")
        if self.length == 0:
            return
        totals = self._levels(input_arr)
        if program().arch == cuda:
            self._run_on_gpu(input_arr, totals)
            return
        if isinstance(input_arr, ScalarField):
            _sum_field(input_arr, input_arr.offset[0], totals[0], self.length)
        else:
            _sum_array(input_arr, totals[0], self.length)
        lengths = [self.length, *(level.shape[0] for level in totals)]
        for level, above, length in zip(totals, totals[1:], lengths[1:]):
            _sum_array(level, above, length)
        for level, above, length in reversed(list(zip(totals, totals[1:], lengths[1:]))):
            _raise_array(level, above, length)
        if isinstance(input_arr, ScalarField):
            _raise_field(input_arr, input_arr.offset[0], totals[0], self.length)
        else:
            _raise_array(input_arr, totals[0], self.length)

    def _run_on_gpu(self, x: Any, totals: list[Any]) -> None:
        """The totals of all tiles, from level to level, then back down the prefix sums."""
        levels, lengths, dtype = [x, *totals], [self.length, *(level.shape[0] for level in totals)], totals[0].dtype
        on_field = isinstance(x, ScalarField)
        ways = [(sum_field, scan_field, x.offset[0]) if on_field else (sum_array, scan_array, 0)]
        ways += [(sum_array, scan_array, 0)] * len(totals)
        steps = list(zip(ways, levels, totals, lengths))
        for (add_up, _, first), level, above, length in steps[:-1]:
            add_up(level, first, above, length, dtype)
        for (_, scan, first), level, above, length in reversed(steps):
            scan(level, first, above, length, dtype)

    def _levels(self, over: Any) -> list[Any]:
        """An array of block totals, one of totals of those, and so on to a single number; kept for the next run."""
        from weft.lang.types import prim_of_numpy

        dtype = prim_of_numpy(over.dtype) if isinstance(over, np.ndarray) else over.dtype
        key = program().generation, dtype
        if key not in self._totals:
            count, levels, block = self.length, list[Any](), TILE if program().arch == cuda else _BLOCK
            while count > 1 or not levels:
                count = -(-count // block)
                levels.append(ndarray(dtype, count))
            self._totals = {key: levels}
        return self._totals[key]


@func
def _sum_block(x: FieldOf, first: i32, totals: FieldOf, block: i32, length: i32) -> None:
    """Prefix sums within one block; the last is its total."""
    begin, end = block * _BLOCK, min(length, (block + 1) * _BLOCK)
    total = x[first + begin]
    for i in range(begin + 1, end):
        total += x[first + i]
        x[first + i] = total
    totals[block] = total


@kernel
def _sum_field(x: FieldOf, first: i32, totals: ArrayOf, length: i32) -> None:
    for block in range((length + _BLOCK - 1) // _BLOCK):
        _sum_block(x, first, totals, block, length)


@kernel
def _sum_array(x: ArrayOf, totals: ArrayOf, length: i32) -> None:
    for block in range((length + _BLOCK - 1) // _BLOCK):
        _sum_block(x, 0, totals, block, length)


@kernel
def _raise_field(x: FieldOf, first: i32, totals: ArrayOf, length: i32) -> None:
    for i in range(_BLOCK, length):
        x[first + i] += totals[i // _BLOCK - 1]


@kernel
def _raise_array(x: ArrayOf, totals: ArrayOf, length: i32) -> None:
    for i in range(_BLOCK, length):
        x[i] += totals[i // _BLOCK - 1]
