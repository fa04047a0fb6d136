"""What a program leaves and returns, compared place by place, as far as the order of its iterations has no part in it.

`tests/order_dependence.py` says of each place what the order may change. What it calls exact must be the same bits. All
else must be near, because random programs have no places but those of appends where the order shows, except by the
rounding of sums of floats. A program may amplify that rounding. Then other orders of the program itself, which the
evaluator runs, change the place as much."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from tests.fuzz.comparing import bits_of
from tests.fuzz.modes import named
from tests.fuzz.places import PLACES
from tests.fuzz.spaces import floats_of
from tests.order_dependence import Level, order_dependence
from weft.ir.adversary import Schedule
from weft.ir.alias import EXPOSED, space_of_field
from weft.ir.memory_model import Memory
from weft.ir.scopes import array_scope
from weft.ir.types import Array, Type

__all__ = ["Leaving"]

_LARGE = 1e8  # larger values are not compared where rounding shows
_SCHEDULES = range(8)
_FACTOR = 100.0  # so many times what the schedules change

Place = tuple[str, Level, Callable[[Any], Any]]  # a name, what the order may change, and its values in numbers


class Leaving:
    """What the program of a subject leaves and `returns`, by the evaluator in program order."""

    def __init__(self, subject: Any, returns: bool = True) -> None:
        self.subject = subject
        self.wanted = subject.primal(subject.base)
        self.places = list[Place](_places(subject, returns))

    def differs(self, found: Any, exactly: bool = True) -> str:
        """Where a run has left something else, "" if nowhere. Not `exactly`: floats may be rounded otherwise
        everywhere."""
        for number, (name, level, values) in enumerate(self.places):
            wanted, other = values(self.wanted), values(found)
            floats = wanted.dtype.kind == "f"
            exact = level is Level.EXACT
            if not (floats or exact):  # a cast to an integer may jump
                continue
            apart = bits_of(wanted) != bits_of(other)
            if floats and not (exact and exactly):
                apart &= ~self._near(wanted, other)
            if not exact and apart.any():
                apart &= ~(_distance(wanted, other) <= _FACTOR * self._spread[number])
            if apart.any():
                at = int(np.argmax(apart))
                return f"number {at} of {name} is {other.flat[at]} instead of {wanted.flat[at]}"
        return ""

    def _near(self, wanted: Any, other: Any) -> Any:
        near = self.subject.precision.values * (1 + np.abs(wanted))
        return (_distance(wanted, other) <= near) | ~(np.abs(wanted) < _LARGE)

    @cached_property
    def _spread(self) -> list[Any]:
        """How far each place moves in other orders of the program."""
        others = [self.subject.primal(self.subject.base, Schedule(seed)) for seed in _SCHEDULES]
        return [
            np.max([_distance(values(self.wanted), values(one)) for one in others], axis=0)
            for _, _, values in self.places
        ]


def _distance(wanted: Any, other: Any) -> Any:
    """How far numbers are apart; infinite if one of them is none."""
    with np.errstate(all="ignore"):
        apart = np.abs(np.asarray(wanted, np.float64) - np.asarray(other, np.float64))
    return np.where(bits_of(wanted) == bits_of(other), 0.0, np.where(np.isnan(apart), np.inf, apart))


def _places(subject: Any, returns: bool) -> Iterator[Place]:
    inlined = named(subject.inlined)  # of which more is known than of calls
    said = order_dependence(inlined, subject.functions)
    spaces = {symbol.name: space_of_field(symbol) for symbol in inlined.fields}
    for symbol in subject.text.fields:
        if not symbol.hidden and not (symbol.name in PLACES and PLACES[symbol.name].unordered):
            yield symbol.name, said.of(spaces[symbol.name]), partial(_field, symbol)
    for k, param in enumerate(subject.text.params):
        if isinstance(param.type, Array):
            space = EXPOSED if param.type.exposed else array_scope(k)
            yield f"array {param.name}", said.of(space), partial(_array, k)
    for k, type in enumerate(subject.space.results if returns else ()):
        yield f"result {k}", said.results, partial(_result, k, type)


def _field(symbol: Any, numbers: Any) -> Any:
    return Memory(numbers.trees).read(symbol)


def _array(number: int, numbers: Any) -> Any:
    return np.asarray(numbers.args[number])


def _result(number: int, type: Type, numbers: Any) -> Any:
    return floats_of(numbers.results[number], type)
