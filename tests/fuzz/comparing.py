"""What two runs of a program left, compared: bit by bit, and as multisets where the order of iterations shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.places import PLACES, UNTAKEN, Place

__all__ = ["bits_of", "compare", "differing", "unordered"]


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
    full = {name for name, place in places.items() if _overflows(place, found)}
    return made | {name: _ordered(found[name])[: 0 if name in full else None] for name in places}


def _same(name: str, values: Any, other: Any) -> bool:
    if name == "printed":
        return list(values) == list(other)
    if name == "result":
        return len(values) == len(other) and all(a == b or (a != a and b != b) for a, b in zip(values, other))
    return np.array_equal(bits_of(values), bits_of(other))


def _overflows(place: Place, found: dict[str, Any]) -> bool:
    """Whether more may have been appended than there are slots: which values have found one depends on the order. One
    counter is for all lists, and leaves slots of each that another list has."""
    if place.part == "lists":
        return int(found["z_slots"]) > len(found[place.name])
    return place.part == "slots" and not (_rows(found[place.name]) == UNTAKEN).all(axis=1).any()


def _rows(array: Any) -> Any:
    return array.reshape(len(array), -1)


def _ordered(array: Any) -> Any:
    """As a multiset."""
    rows = _rows(array)
    return rows[np.lexsort(bits_of(rows).T)]


def bits_of(values: Any) -> Any:
    """Numbers as their bits, all NaNs alike: signed zeros differ."""
    values = np.asarray(values)
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), values.dtype.type("nan"), values).view(f"i{values.itemsize}")
