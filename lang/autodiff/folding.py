"""Gradients of steps that share memory: a *window* of a few steps stands for all of them.

A simulation that keeps its steps in a field, `x[t, i]`, has a gradient of the same size. But the gradients run from the
last step to the first, and only those of a few steps are not 0 at any time: each becomes 0 when it has been used. With
a window of 4 steps, the gradient kernels use `x.grad[t % 4, i]` in the place of `x.grad[t, i]`. That stays in the
cache, and the values of the simulation stay there, too.

A window of w steps is right if

    (1) all elements of the gradient are 0 before the gradients run, and will be 0 afterwards (`zeros.py`)
    (2) only tapes have the gradient
    (3) each access of a gradient kernel has one index on the first axis, known from the arguments of the launch, or is
        outside of the field
    (4) for each launch, no two of the steps that it accesses or that are not 0 before it differ by a multiple of w

From (4) follows that the steps of a window are as distinct as the compiler takes those of the field to be. A kernel
with another window is other code, which is compiled when a tape has come again."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.ir.symbols import FieldSymbol
from weft.lang.autodiff.memory_use import uses_of
from weft.lang.autodiff.zeros import GradientAccesses, Places, fill_in, is_hidden
from weft.lang.calls.compile import Instance, compile_again

__all__ = ["Folded", "folded", "windows"]

_LARGE = 8 << 20  # bytes of a gradient that is worth it: it does not stay in the cache beside the values


@dataclass
class Folded:
    """The gradient kernels of a tape with windows. `fields`: the gradients that have one. `kernels`: what runs in
    series in the place of the kernels of the targets."""

    fields: list[weakref.ref[Any]]
    kernels: list[Any]

    @property
    def is_right(self) -> bool:
        """Whether only tapes still have the gradients."""
        return all((field := one()) is not None and is_hidden(field) for one in self.fields)


def windows(launches: Iterable[tuple[GradientAccesses, bytes]]) -> dict[int, tuple[Any, int]]:
    """The gradients that can have a window, by their identity: each with its number of steps. The gradients run in this
    order, and all elements are 0 before. (A gradient with too many boxes to tell them apart is not 0 in the end.)"""
    found: Places = {}
    fields, apart, whole = dict[int, Any](), dict[int, set[int]](), set[int]()
    for accesses, context in launches:
        if not accesses.is_known:
            return {}
        now = dict[int, set[int]]()
        for kind, field, box in accesses.boxes(context):
            fields[id(field)] = field
            if not box or box[0] is None:
                whole.add(id(field))
            else:
                now.setdefault(id(field), {one[0] for one in found.get(id(field), ()) if one[0] is not None}).add(
                    box[0]
                )
            fill_in(found, kind, field, box)
        for key, steps in now.items():
            apart.setdefault(key, set()).update(abs(a - b) for a in steps for b in steps if a != b)
    chosen = dict[int, tuple[Any, int]]()
    for key, field in fields.items():
        least = window_of(apart.get(key, set()))
        if key not in whole and not found.get(key) and _has_steps(field) and 2 * least <= field.shape[0]:
            chosen[key] = field, least
    return chosen


def _has_steps(field: Any) -> bool:
    """Whether only tapes have a gradient, and its first axis is one of its memory."""
    dense = field.describe().path.dense if is_hidden(field) else None
    return dense is not None and [term.divisor for term in dense.terms if term.axis == 0] == [1]


def window_of(apart: set[int]) -> int:
    """The least number that divides none of these."""
    return next(w for w in range(1, len(apart) + max(apart, default=0) + 2) if not any(d % w == 0 for d in apart))


def folded(instances: Sequence[Instance], chosen: Mapping[int, tuple[Any, int]]) -> Folded | None:
    """The kernels of these instances with windows. None if it is not worthwhile, or an instance has no such kernel."""
    large = {key: one for key, one in chosen.items() if _bytes(one[0]) >= _LARGE}
    if not large or not all(instance.alive() for instance in instances):
        return None
    kernels = list[Any]()
    for instance in instances:
        kernel = getattr(_with_windows(instance, large), "in_series", None)
        if kernel is None:
            return None
        kernels.append(kernel)
    return Folded([weakref.ref(field) for field, _ in large.values()], kernels)


def _bytes(field: Any) -> int:
    scalars: int = math.prod((*field.shape, *field.element_shape))
    return scalars * int(field.dtype.bits) // 8


def _with_windows(instance: Instance, chosen: Mapping[int, tuple[Any, int]]) -> Any:
    """What launches an instance with windows: that of the instance itself, if it has none of these gradients. None if
    its contexts would be others."""
    numbers = {number: id(field) for number, field in enumerate(uses_of(instance).every_field())}
    if chosen.keys().isdisjoint(numbers.values()):
        return instance.run
    translation = instance.recipe.translate()
    for number, symbol in enumerate(translation.tree.fields):
        if numbers[number] in chosen:
            _fold(symbol, chosen[numbers[number]][1])
    run = compile_again(instance, translation)
    return run if run.artifact.slots == instance.run.artifact.slots else None


def _fold(symbol: FieldSymbol, steps: int) -> None:
    """Let a symbol, which nothing has used yet, stand for a window of the field."""
    dense = symbol.path.dense
    assert dense is not None
    others = [term for term in dense.terms if term.axis != 0]
    (first,) = [term for term in dense.terms if term.axis == 0]
    level = replace(dense, terms=(replace(first, modulus=steps), *others))
    object.__setattr__(symbol, "path", replace(symbol.path, levels=(level,)))
