"""The gradients and duals of array arguments, which a derivative gets as hidden arguments after all others.

    step.grad(x, y)      launches the gradient of `step` with x, y, x.grad, y.grad

An array without a gradient is a constant, and the derivative is compiled for that. Both kinds of calls have instances
of their own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from weft.ir.symbols import COMPANIONS
from weft.lang.calls.parameters import ArrayParameter, Parameter
from weft.lang.translate.entry import Argument

__all__ = ["companion_of", "companion_parameters"]


class _Companion(ArrayParameter):
    """The gradient or the dual of an array argument, or None."""

    def __init__(self, owner: ArrayParameter, kind: str) -> None:
        super().__init__(f"{owner.name}.{kind}", owner.annotation)
        self._kind = kind

    def key(self, value: Any) -> Any:
        return None if value is None else super().key(value)

    def argument(self, value: Any) -> Argument:
        return Argument(self.name) if value is None else replace(super().argument(value), hidden=self._kind)


def companion_parameters(parameters: Sequence[Parameter], mode: str) -> list[tuple[int, Parameter]]:
    """The hidden parameters of the derivative in that mode of a kernel with these parameters, each with the position of
    the array that it belongs to."""
    arrays = [(k, p) for k, p in enumerate(parameters) if isinstance(p, ArrayParameter)] if mode else []
    return [(position, _Companion(owner, COMPANIONS[mode])) for position, owner in arrays]


def companion_of(value: Any, mode: str) -> Any:
    """The gradient or the dual of an array argument. None if it has none. A torch tensor with `requires_grad` gets a
    gradient of zeros if it has none."""
    kind = COMPANIONS[mode]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch asks whether the gradient of a computed tensor is meant
        found = getattr(value, kind, None)
    if found is None and kind == "grad" and getattr(value, "requires_grad", False):
        found = value.grad = value.detach().clone().zero_()
    return found
