"""Random numbers of `arch=python`. They equal those of compiled kernels (see `ir/philox.py`).

A compiled kernel knows the number of the running parallel loop and iteration. A kernel that runs as Python records them
in `Draws.iterations`, which the rewritten loops at its top level call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from weft.ir.philox import launch_key, number
from weft.ir.types import Prim
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.interpret.places import sparse_visits
from weft.lang.program.init import program

__all__ = ["Draws", "draws", "order_numbers"]


class Draws:
    """The state of the generator in the running kernel: launch, parallel loop, iteration, and how many numbers it
    drew."""

    def __init__(self, seed: int) -> None:
        self._key = launch_key(seed) - 1
        self._loops = self._iteration = self._drawn = self._drawn_outside = 0
        self._inside = self.serialize = False

    def launch(self) -> None:
        """Begin a launch of a kernel."""
        self._key = (self._key + 1) % 2**64
        self._loops = self._drawn_outside = 0
        self._inside = self.serialize = False

    @property
    def key(self) -> int:
        """The key of the present launch, or of the last one."""
        return self._key

    @property
    def next_key(self) -> int:
        """The key of the next launch, from which all its random numbers follow. Compiled kernels take the same keys."""
        return (self._key + 1) % 2**64

    @next_key.setter
    def next_key(self, key: int) -> None:
        self._key = (key - 1) % 2**64

    def iterations(self, over: Iterable[Any], numbers: Iterable[int] | None) -> Iterator[Any]:
        """Iterate over the points of a parallel loop. `numbers` gives the number of each iteration if they are not in
        sequence."""
        self._loops += 1
        self._inside = True
        for self._iteration, point in enumerate(over) if numbers is None else zip(numbers, over):
            self._drawn = 0
            yield point
        self._inside = False

    def number(self, prim: Prim) -> Any:
        """Draw the next random number."""
        if self._inside:
            self._drawn += 1
            return number(prim, self._key, self._iteration, self._drawn - 1, self._loops)
        self._drawn_outside += 1
        return number(prim, self._key, 0, self._drawn_outside - 1, 0)


def draws() -> Draws:
    """Return the state of the current program."""
    current = program()
    if current.draws is None:
        current.draws = Draws(current.config.random_seed)
    found: Draws = current.draws
    return found


def order_numbers(over: Any) -> Iterable[int] | None:
    """Return the numbers of the elements of a field by their position in memory, or None if memory order is index
    order. Of a sparse field or node, those of what is active."""
    if (found := sparse_visits(over)) is not None:
        visited: list[int] = found[1].tolist()
        return visited
    while isinstance(over, StructField):
        over = next(iter(over.members.values()))
    if not isinstance(over, Field):
        return None
    order, shape = over.describe().order, over.shape
    if list(order) == sorted(order):
        return None
    numbers = np.arange(int(np.prod(shape))).reshape([shape[axis] for axis in order])
    listed: list[int] = numbers.transpose(np.argsort(order)).ravel().tolist()
    return listed
