"""Weak memory in the evaluator: a thread may read old values of memory, unless the program orders the accesses.

With a `Schedule` that is `weak`, the evaluator keeps all values that each scalar written by iterations has had in the
loop, oldest first. Each thread has a *view*: for each such scalar, the oldest value that the thread may still read.

    load                 reads any value from there on, and the view advances to it
    store                adds a value, which the thread itself reads from now on; others may, or may read older ones
    ... with a release   the value carries the view of the thread
    ... with an acquire  the view of the thread is merged with the view that the value carries
    updates              read the newest value, and carry on the view that it carried
    a barrier            the views of the threads that meet are merged
    the end of the loop  all threads read the newest values

If a lock lacks its release or its acquire, the next holder reads values from before the last holder, under one of a few
schedules. This is the model of C++ and of PTX for acquire and release, without loads that read values stored later: the
values of a scalar have the order in which the stores ran.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import numpy as np

from weft.ir.memory_model import Place, convert, flat_values, unflatten
from weft.ir.scalar import cast_value
from weft.ir.types import Type

__all__ = ["View", "WeakMemory", "meet"]

Seen = dict[int, int]  # of each scalar, by its address, the number of a value

_ACQUIRES, _RELEASES = ("acquire", "acq_rel"), ("release", "acq_rel")
_NEWEST = 0.6  # how often a load finds the newest value, whatever else it may find


class _Written(NamedTuple):
    """A value that a scalar had, and the view that it carries to a thread that acquires it."""

    value: Any
    carries: Seen


@dataclass
class WeakMemory:
    """The values that the scalars written in a parallel loop have had."""

    draw: Random
    values: dict[int, list[_Written]] = field(default_factory=dict[int, list[_Written]])
    buffers: dict[int, tuple[Any, int]] = field(default_factory=dict[int, tuple[Any, int]])  # by id, with their address

    def cell(self, place: Place, k: int) -> int:
        """The address of scalar number `k` there. (Several buffers may be views of one array.)"""
        found = self.buffers.get(id(place.buffer))
        if found is None:
            found = self.buffers[id(place.buffer)] = (place.buffer, place.buffer.ctypes.data)
        return found[1] + place.offsets[k]


@dataclass
class View:
    """The values that one thread may find. `found`: the views that its relaxed loads would have merged as acquires, for
    a later fence. `fenced`: its view at its last release fence, which its relaxed stores carry."""

    memory: WeakMemory
    seen: Seen = field(default_factory=Seen)
    found: Seen = field(default_factory=Seen)
    fenced: Seen = field(default_factory=Seen)

    def load(self, place: Place, type: Type, order: str) -> Any:
        """A value of that type: the current one, or an older one."""
        place.check()
        return unflatten([self._load(place, k, order) for k in range(len(place.offsets))], type)

    def store(self, place: Place, value: Any, type: Type, order: str) -> None:
        """Store a value there."""
        place.check()
        for k, scalar in enumerate(flat_values(convert(value, type), type)):
            self._store(place, k, scalar, order, {})

    def update(self, place: Place, value: Callable[[Any, int], Any], type: Type, order: str) -> Any:
        """Replace each scalar by `value` of the scalar and its number, unless that is None. Gives the old values."""
        place.check()
        olds: list[Any] = []
        for k in range(len(place.offsets)):
            newest = self._newest(place, k)
            olds.append(newest.value)
            new = value(newest.value, k)
            self._take_in(newest.carries, order)
            cell = self.memory.cell(place, k)
            self.seen[cell] = max(0, len(self.memory.values.get(cell, ())) - 1)
            if new is not None:
                self._store(place, k, new, order, newest.carries)
        return unflatten(olds, type)

    def fence(self, order: str) -> None:
        """Order the accesses of the thread before the fence relative to those after it."""
        if order in _ACQUIRES:
            _join(self.seen, self.found)
        if order in _RELEASES:
            self.fenced = dict(self.seen)

    def _load(self, place: Place, k: int, order: str) -> Any:
        cell, draw = self.memory.cell(place, k), self.memory.draw
        values = self.memory.values.get(cell)
        if values is None:
            return _raw(place, k)[()]
        number = len(values) - 1
        if draw.random() > _NEWEST:
            number = draw.randint(self.seen.get(cell, 0), number)
        self.seen[cell] = number
        if order != "plain":
            self._take_in(values[number].carries, order)
        return values[number].value

    def _store(self, place: Place, k: int, value: Any, order: str, carries: Seen) -> None:
        cell, prim = self.memory.cell(place, k), place.prims[k]
        values = self.memory.values.setdefault(cell, [_Written(_raw(place, k)[()], {})])
        self.seen[cell] = len(values)
        if order != "plain":
            carries = dict(carries)
            _join(carries, self.seen if order in _RELEASES else self.fenced)
        values.append(_Written(cast_value(value, prim), carries))
        _raw(place, k)[()] = cast_value(value, prim)

    def _newest(self, place: Place, k: int) -> _Written:
        values = self.memory.values.get(self.memory.cell(place, k))
        return values[-1] if values else _Written(_raw(place, k)[()], {})

    def _take_in(self, carried: Seen, order: str) -> None:
        _join(self.seen if order in _ACQUIRES else self.found, carried)


def meet(views: Sequence[View | None]) -> None:
    """Merge the views of threads that have waited for one another: each sees what any of them has seen."""
    found = [view for view in views if view is not None]
    for view in found:
        for other in found:
            _join(view.seen, other.seen)


def _join(view: Seen, other: Seen) -> None:
    for cell, number in other.items():
        view[cell] = max(view.get(cell, 0), number)


def _raw(place: Place, k: int) -> Any:
    """The scalar in memory, as an array without axes."""
    return np.ndarray((), place.prims[k].np, place.buffer, place.offsets[k])
