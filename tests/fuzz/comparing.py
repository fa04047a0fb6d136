"""What two runs of a program left, compared: bit by bit, and as multisets where the order of iterations shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.places import PLACES, UNTAKEN, Place

__all__ = ["compare", "differing", "unordered"]


def compare(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What differs, of what the order of iterations has no part in."""
    return differing(unordered(wanted), unordered(found))


def differing(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The names of what is not the same."""
    return [name for name, values in wanted.items() if not _same(name, values, found[name])]


def unordered(found: dict[str, Any]) -> dict[str, Any]:
    """What is left, with the lines that are printed sorted, and with the slots of appends and the old values of
    counters as multisets."""
    made = found | {"printed": sorted(found["printed"])}
    places = {name: PLACES[name] for name in found if name in PLACES and PLACES[name].unordered}
    return made | {name: _ordered(found[name], place) for name, place in places.items()}


def _same(name: str, values: Any, other: Any) -> bool:
    if name == "printed":
        return list(values) == list(other)
    if name == "result":
        return len(values) == len(other) and all(a == b or (a != a and b != b) for a, b in zip(values, other))
    return np.array_equal(_bits(values), _bits(other))


def _ordered(array: Any, place: Place) -> Any:
    """As a multiset; nothing where more was appended than there are slots."""
    rows = array.reshape(len(array), -1)
    if place.part == "slots" and not (rows == UNTAKEN).all(axis=1).any():
        return rows[:0]
    return rows[np.lexsort(_bits(rows).T)]


def _bits(values: Any) -> Any:
    """Numbers as their bits, all NaNs alike: signed zeros differ."""
    values = np.asarray(values)
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), values.dtype.type("nan"), values).view(f"i{values.itemsize}")
