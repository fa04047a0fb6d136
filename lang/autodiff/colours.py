"""Colours of the columns of a Jacobian matrix: columns of one colour have no row in common."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from weft.lang.autodiff.selection import shape_of_memory
from weft.lang.autodiff.sparsity import Band

__all__ = ["Colours", "Triplets"]

Triplets = tuple[Any, Any, Any]  # rows, columns and values


class Colours:
    """A colour for each number of a variable, as a colour for each of its indices and components."""

    def __init__(self, shape: tuple[int, ...], tables: list[Any]) -> None:
        self._shape, self._tables = shape, tables  # for each axis, the colour of each index
        self._counts = [int(table.max(initial=-1)) + 1 for table in tables]
        self.count = math.prod(self._counts)

    @property
    def merged(self) -> bool:
        """Whether some colour has several numbers."""
        return self.count < math.prod(self._shape)

    @classmethod
    def each(cls, shape: tuple[int, ...]) -> Colours:
        """A colour for each number."""
        return cls(shape, [np.arange(extent) for extent in shape])

    @classmethod
    def of(cls, shape: tuple[int, ...], axes: int, found: Sequence[Sequence[Band | None]]) -> Colours:
        """Colours for a variable with so many axes, of which the others are those of its elements, so that numbers of
        one colour have no row in common in outputs with these bands."""
        tables = list[Any]()
        for axis, extent in enumerate(shape):
            bands = [bands[axis] for bands in found] if axis < axes else [None]
            tables.append(_table(bands, extent))
        return cls(shape, tables)

    def directions(self) -> Iterator[Any]:
        """For each colour, in order, an array that is 1 where a number has it."""
        for colour in np.ndindex(*self._counts):
            masks = [(table == one).astype(np.float64) for table, one in zip(self._tables, colour, strict=True)]
            yield _outer(masks)

    def triplets(self, bands: Sequence[Band | None], memory: Any, variable: Any, columns: Any) -> Triplets:
        """The rows, columns and values of the matrix, from the derivatives of each colour."""
        axes, out = len(variable.shape), tuple(memory.shape)
        inner, own = math.prod(self._shape[axes:]), math.prod(shape_of_memory(memory)[len(out) :])
        stacked = columns.reshape(*self._counts[:axes], inner, *out, own)
        elements: Any = np.indices(out)
        row: Any = np.ravel_multi_index(elements, out) if out else np.zeros((), np.int64)
        found = [list[Any]() for _ in range(3)]
        for steps in itertools.product(*(_steps(band, n) for band, n in zip(bands, variable.shape, strict=True))):
            there, inside = list[Any](), np.ones(out, bool)
            for axis, (band, step) in enumerate(zip(bands, steps, strict=True)):
                index = _index(band, step, elements, memory, variable, axis)
                inside &= (index >= 0) & (index < variable.shape[axis])
                there.append(np.broadcast_to(index, out))
            at = [one[inside] for one in there]
            column: Any = np.ravel_multi_index(at, variable.shape) if axes else np.zeros(int(inside.sum()), np.int64)
            colours = [table[one] for table, one in zip(self._tables, at)]
            for part in range(inner):
                values = stacked[(*colours, part, *(one[inside] for one in elements))]
                for k in range(own):
                    found[0].append(row[inside] * own + k)
                    found[1].append(column * inner + part)
                    found[2].append(values[:, k])
        rows, places, values = (np.concatenate(parts) for parts in found)
        return rows, places, values


def _outer(masks: Sequence[Any]) -> Any:
    made = np.ones(())
    for mask in masks:
        made = made[..., None] * mask
    return made


def _table(bands: Sequence[Band | None], extent: int) -> Any:
    """The colour of each index of an axis. A row has indices in a range of `width` numbers, so indices that are at
    least so far apart can have one colour. Modulo the extent, the last indices come before the first ones: those that
    do not fill a whole period get colours of their own."""
    index = np.arange(extent)
    known = [band for band in bands if band is not None]
    width = max((band.high - band.low + 1 for band in known), default=1)
    if len(known) < len(bands) or width >= extent:
        return index
    if not any(band.modulus for band in known):
        return index % width
    full = extent // width * width
    return np.where(index < full, index % width, width + index - full)


def _steps(band: Band | None, extent: int) -> range:
    return range(extent) if band is None else range(band.low, band.high + 1)


def _index(band: Band | None, step: int, elements: Any, memory: Any, variable: Any, axis: int) -> Any:
    """The index along an axis of the variable, from 0, on which each element of the memory depends."""
    if band is None:
        return np.asarray(step)
    index = elements[band.axis] + (_first(memory, band.axis) - _first(variable, axis) + step)
    return index % band.modulus if band.modulus else index


def _first(memory: Any, axis: int) -> int:
    offset = getattr(memory, "offset", None)
    return int(offset[axis]) if offset else 0
