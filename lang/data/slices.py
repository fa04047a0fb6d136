"""The keys of slices, `x[1:-1, ::2]`: what they select of the axes of a field or ndarray, by the rules of numpy.

A key that has a slice, an Ellipsis, or None beside other indices selects a part. In it, a negative number counts from
the end, and axes that are not named are whole. A key of integers alone is that of an element (`elements.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.lang.data.elements import FieldIndexError

__all__ = ["SliceKey", "selected", "selection"]

SliceKey = tuple[int | slice | None, ...]  # an entry for each axis, and None for each new axis


def selection(key: Any, shape: tuple[int, ...], label: str) -> SliceKey:
    """The entries of a key that selects a part of an array of that shape, which is `label` in messages. Raises
    FieldIndexError for an index that is outside, for too many indices, and for anything but numbers and slices."""
    entries = list[Any](key) if isinstance(key, tuple) else [key]
    given = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if given > len(shape):
        raise FieldIndexError(f"{label} of shape {shape} takes at most {len(shape)} indices, got {given}")
    gaps = [place for place, entry in enumerate(entries) if entry is Ellipsis]
    if len(gaps) > 1:
        raise FieldIndexError("an index can only have a single ellipsis ('...')")
    place = gaps[0] if gaps else len(entries)
    entries[place : place + 1] = [slice(None)] * (len(shape) - given)
    found, axis = list[int | slice | None](), 0
    for entry in entries:
        if entry is None:
            found.append(None)
            continue
        found.append(_entry(entry, axis, shape, label))
        axis += 1
    return tuple(found)


def _entry(entry: Any, axis: int, shape: tuple[int, ...], label: str) -> int | slice:
    if isinstance(entry, slice):
        entry.indices(shape[axis])  # raises TypeError for what is no integer, and ValueError for a step of 0
        return entry
    if isinstance(entry, bool | np.bool_) or not isinstance(entry, int | np.integer):
        raise FieldIndexError(
            f"beside a slice, an index must be an integer, ':', '...' or None, not {entry!r}; for lists and masks, "
            "index x.to_numpy()"
        )
    extent = shape[axis]
    if not -extent <= entry < extent:
        raise FieldIndexError(f"index {entry} of axis {axis} is out of bounds for {label} of shape {shape}")
    return int(entry) % extent


def selected(cells: Any, key: SliceKey) -> Any:
    """The part of a numpy array or of a window onto GPU memory, as a view. Axes behind those of the key are whole."""
    return cells[(*key, ...)] if isinstance(cells, np.ndarray) else cells.sliced(key)
