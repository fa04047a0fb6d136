"""Random numbers of `arch=python`: the same that compiled kernels draw (see `ir/philox.py`).

A compiled kernel knows which parallel loop and which iteration it is in; here the rewritten loops at a kernel's top
level say so, through `Draws.iterations`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from weft.ir.philox import launch_key, number
from weft.ir.types import Prim
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.program.init import program

__all__ = ["Draws", "draws", "order_numbers"]


class Draws:
    """Where the kernel that runs is: which launch, which parallel loop, which iteration, how many numbers drawn."""

    def __init__(self, seed: int) -> None:
        self._key = launch_key(seed) - 1
        self._loops = self._iteration = self._drawn = self._drawn_outside = 0
        self._inside = self.serialize = False

    def launch(self) -> None:
        """A kernel begins."""
        self._key = (self._key + 1) % 2**64
        self._loops = self._drawn_outside = 0
        self._inside = self.serialize = False

    def iterations(self, over: Iterable[Any], numbers: Iterable[int] | None) -> Iterator[Any]:
        """The points of a parallel loop; `numbers`: that of each iteration, where not in sequence."""
        self._loops += 1
        self._inside = True
        for self._iteration, point in enumerate(over) if numbers is None else zip(numbers, over):
            self._drawn = 0
            yield point
        self._inside = False

    def number(self, prim: Prim) -> Any:
        """The next random number."""
        if self._inside:
            self._drawn += 1
            return number(prim, self._key, self._iteration, self._drawn - 1, self._loops)
        self._drawn_outside += 1
        return number(prim, self._key, 0, self._drawn_outside - 1, 0)


def draws() -> Draws:
    """The state of the current program."""
    current = program()
    if current.draws is None:
        current.draws = Draws(current.config.random_seed)
    found: Draws = current.draws
    return found


def order_numbers(over: Any) -> Iterable[int] | None:
    """The numbers of a field's elements, as they lie in memory; None where they lie in the order of their indices."""
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
