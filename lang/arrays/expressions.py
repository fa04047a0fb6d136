"""Expressions of whole fields and ndarrays: the values of operators that have not been computed yet.

An operator whose result only another operator of the same Python expression takes (`intermediates.py`) gives a
`Pending`. The operator that takes it makes one formula of both, so one kernel computes the expression. The types and
shapes are those that the operators would give one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from weft.ir.scalar import cast_value
from weft.ir.types import Prim
from weft.lang.arrays.operands import type_of_number
from weft.lang.data.array_operators import ArrayOperators
from weft.lang.data.libraries import Shape, prim_of
from weft.lang.values.matrix import Matrix

__all__ = ["Formula", "Pending", "formula_of", "settled"]

_MOST = 16  # operands of one kernel
_NUMBERS = (bool, int, float)


class Formula:
    """An expression: a text with {0}, {1} ... for its operands, which are `leaves`."""

    def __init__(self, text: str, leaves: Sequence[Any]) -> None:
        self.text, self.leaves = text, tuple(leaves)


class Pending(ArrayOperators):
    """The value of a formula, which is computed when anything but an operator asks for it. `dtype`, `shape` and
    `element_shape` are those of the result, which `compute` makes."""

    def __init__(
        self, formula: Formula, dtype: Prim, shape: Shape, element_shape: Shape, compute: Callable[[Formula], Any]
    ) -> None:
        self.formula = formula
        self._facts = dtype, shape, element_shape
        self._compute: Callable[[Formula], Any] = compute
        self._made: Any = None

    @property
    def dtype(self) -> Prim:
        """The type of the numbers."""
        return self._facts[0]

    @property
    def shape(self) -> Shape:
        """The extents, without those of an element."""
        return self._facts[1]

    @property
    def ndim(self) -> int:
        """The number of axes, without those of an element."""
        return len(self._facts[1])

    @property
    def element_shape(self) -> Shape:
        """The shape of an element."""
        return self._facts[2]

    def made(self) -> Any:
        """The result, as an ndarray."""
        if self._made is None:
            self._made = self._compute(self.formula)
        return self._made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.made(), name)

    def __getitem__(self, key: Any) -> Any:
        return self.made()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.made()[key] = value


def formula_of(text: str, operands: Sequence[Any], inner: Shape) -> Formula:
    """The formula of an operator with these operands, whose result has elements of that shape. Those of a pending
    operand become its own. Numbers of Python get the type that they have beside the other operands."""
    prims = [_prim_of(one) for one in operands if type(one) not in _NUMBERS and not isinstance(one, np.generic)]
    leaves, parts = list[Any](), list[str]()
    for one in operands:
        formula = Formula("{0}", [one])
        if isinstance(one, Pending):
            small = one.element_shape == inner and len(one.formula.leaves) < _MOST
            formula = Formula(f"({one.formula.text})", one.formula.leaves) if small else Formula("{0}", [one.made()])
        elif type(one) in _NUMBERS:
            formula = Formula("{0}", [cast_value(one, type_of_number("an operator", one, prims))])
        parts.append(_filled(formula.text, tuple(_SPELT[_place(leaf, leaves)] for leaf in formula.leaves)))
    return Formula(_filled(text, tuple(parts)), leaves)


_SPELT = [f"{{{place}}}" for place in range(4 * _MOST)]


@lru_cache(1024)
def _filled(text: str, parts: tuple[str, ...]) -> str:
    """A text with `parts` in the places of {0}, {1} ..."""
    return re.sub(r"\{(\d+)\}", lambda found: parts[int(found[1])], text)


def _prim_of(operand: Any) -> Prim:
    return operand.dtype if isinstance(operand, ArrayOperators | Matrix) else prim_of(operand)


def _place(leaf: Any, leaves: list[Any]) -> int:
    """The number of an operand, which is appended if it is new."""
    for place, known in enumerate(leaves):
        if known is leaf:
            return place
    leaves.append(leaf)
    return len(leaves) - 1


def settled(value: Any) -> Any:
    """The ndarray that a pending value stands for; any other value as it is."""
    return value.made() if isinstance(value, Pending) else value
