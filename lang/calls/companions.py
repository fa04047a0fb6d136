"""The gradients and duals of array arguments: hidden arguments, after all others, of derivatives and of kernels that
read them, as in `x.grad[i]`.

    step.grad(x, y)      launches the gradient of `step` with x, y, x.grad, y.grad

An array without a gradient is a constant, and the derivative is compiled for that. Both kinds of calls have instances
of their own."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from weft.lang.calls.parameters import ArrayParameter, Parameter
from weft.lang.data.companions import KINDS
from weft.lang.data.derived import derived, is_full, kinds_of
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.struct_ndarray import StructNdarray
from weft.lang.errors import ArgumentError
from weft.lang.functions.source import source_of
from weft.lang.translate.entry import Argument

__all__ = ["Companion", "companion_of", "companion_parameters", "with_companions"]


class Companion(ArrayParameter):
    """The companion of an array argument at a path, such as "grad" or "grad.dual", or None."""

    def __init__(self, owner: ArrayParameter, path: str) -> None:
        super().__init__(f"{owner.name}.{path}", owner.annotation)
        self._kind = path.split(".")[-1]

    def key(self, value: Any) -> Any:
        return None if value is None else super().key(value)

    def argument(self, value: Any) -> Argument:
        return Argument(self.name) if value is None else replace(super().argument(value), hidden=self._kind)


def companion_parameters(
    parameters: Sequence[Parameter], mode: str, function: Callable[..., Any]
) -> list[tuple[int, str, Parameter]]:
    """The hidden parameters of a kernel with these parameters: each with the position of the array that it belongs to,
    and its kind. A derivative has those of its mode. Any other kernel has those that its source reads, as in
    `x.grad[i]`."""
    arrays = {p.name: k for k, p in enumerate(parameters) if isinstance(p, ArrayParameter)}
    if mode:
        wanted = {(name, kind) for name in arrays for kind in kinds_of(mode)}
    else:
        wanted = {(name, kind) for name, kind in _attributes(function) if name in arrays} if arrays else set()
    found = [(arrays[name], kind) for name, kind in wanted]
    return [(k, kind, Companion(cast(ArrayParameter, parameters[k]), kind)) for k, kind in sorted(found)]


def _attributes(function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """The names whose gradients and duals the source of a function uses, with the kind."""
    for node in ast.walk(source_of(function).node):
        if isinstance(node, ast.Attribute) and node.attr in KINDS and isinstance(node.value, ast.Name):
            yield node.value.id, node.attr


def with_companions(kernel: str, mode: str, flat: Sequence[Any], arrays: Sequence[tuple[int, str]]) -> list[Any]:
    """Append the hidden arguments to the arguments of a call: of the array at each position, the companion of that
    kind. Raises ArgumentError if one of those that a derivative computes is an argument, too."""
    found = [_along(flat[k], path, mode) for k, path in arrays]
    if mode and not {id(one) for one in found if one is not None}.isdisjoint(map(id, flat)):
        raise ArgumentError(f"a derivative of an argument of kernel '{kernel}' is an argument of it, too")
    return [*flat, *found]


def _along(value: Any, path: str, mode: str) -> Any:
    """The companion of an array argument at a path in a mode."""
    for kind in path.split("."):
        if value is None:
            break
        value = derived(value, kind) if is_full(mode, kind) else companion_of(value, kind)
    return value


def companion_of(value: Any, kind: str) -> Any:
    """The gradient or the dual of an array argument. None if it has none. A torch tensor with `requires_grad` gets a
    gradient of zeros if it has none."""
    if isinstance(value, Ndarray | StructNdarray | np.ndarray):
        return getattr(value, kind, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch asks whether the gradient of a computed tensor is meant
        found = getattr(value, kind, None)
    if found is None and kind == "grad" and getattr(value, "requires_grad", False):
        found = value.grad = value.detach().clone().zero_()
    return found
