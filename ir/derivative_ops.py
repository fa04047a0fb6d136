"""Ops with which a kernel asks for the derivative of a part of itself. `expand_derivatives` removes them."""

from __future__ import annotations

from weft.ir.core import Op, Value, operand
from weft.ir.types import Type, element, shape_of, tensor

__all__ = ["Derivative", "Vary"]

# ---- derivatives -----------------------------------------------------------------------------------------------------


class Vary(Op, name="vary", pure=True, levels="chi"):
    """Gives `x`, as the argument of a function that a `derivative` differentiates. `expand_derivatives` removes it."""

    x: Value = operand()

    def result_type(self) -> Type:
        return self.x.type


class Derivative(Op, name="derivative", pure=True, levels="chi"):
    """Gives the derivative of `value` by `by`, a `vary`. The axes of `value` come first, then those of `by`.
    `expand_derivatives` replaces it by the code that computes it."""

    value: Value = operand()
    by: Value = operand()

    def result_type(self) -> Type:
        shape = shape_of(self.value.type) + shape_of(self.by.type)
        return tensor(element(self.value.type), shape) if shape else self.value.type
