"""What the functions that a kernel calls may do, which decides how calls of them are emitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from weft.ir.calls import closures
from weft.ir.core import Op
from weft.ir.ops import Assert, Kernel

__all__ = ["Callee", "survey"]


@dataclass(frozen=True)
class Callee:
    """A function that others call, and what it does, by itself or through others."""

    kernel: Kernel
    recursive: bool  # it may call itself
    deep: bool  # it reaches a function that may call itself
    fails: bool  # it may leave before its end


def survey(functions: Sequence[Kernel], looks: Callable[[Op], bool] = lambda _op: False) -> dict[str, Callee]:
    """The behaviour of the functions of a kernel, by name. `looks`: whether an op may end the function at its place."""
    reached, kernels = closures(functions), {kernel.symbol: kernel for kernel in functions}
    looped = {name for name in kernels if name in reached[name]}

    def holds(name: str, that: Callable[[Op], bool]) -> bool:
        return any(that(op) for other in (name, *reached[name]) for op in kernels[other].walk())

    found: dict[str, Callee] = {}
    for name, kernel in kernels.items():
        deep = name in looped or not looped.isdisjoint(reached[name])
        fails = deep or holds(name, lambda op: isinstance(op, Assert) or looks(op))
        found[name] = Callee(kernel, name in looped, deep, fails)
    return found
