"""`ti.elementwise`: a function of numbers becomes one of arrays, computed in one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arrays.generated_kernels import AXES, Pattern, Results, Text, elementwise_kernel, pattern_of, results_of
from weft.lang.arrays.libraries import Shape, flat_or_none, prim_of, result_library, span, view
from weft.lang.arrays.operands import Operand, ScalarFunction, broadcast, operands
from weft.lang.errors import ArgumentError
from weft.lang.init import program
from weft.lang.kernel import Kernel
from weft.lang.ndarray import Ndarray

__all__ = ["ElementwiseFunction", "elementwise"]


class ElementwiseFunction:
    """A function of arrays, made by `ti.elementwise`."""

    def __init__(self, function: ScalarFunction) -> None:
        self._function = function
        self.__name__, self.__doc__ = function.name, function.__doc__
        self._label = f"elementwise '{function.name}'"
        self._generation = -1
        self._results: dict[Any, Results] = {}
        self._kernels: dict[Any, Kernel] = {}

    def __call__(self, *args: Any, out: Any = None, **keywords: Any) -> Any:
        names, values = self._function.matched(args, keywords)
        found = operands(self._label, names, values)
        shape = broadcast(self._label, found)
        results = self._results_for(found)
        given = None if out is None else self._checked(out, shape, results)
        library, like = result_library([one.source for one in found if one.shape is not None])
        made = given or [library.empty(shape, prim, like) for prim in results.prims]
        outs = [view(one) for one in made]
        if given:
            self._separate(found, outs)
        if 0 not in shape:
            self._run(found, shape, outs, results)
        if given:
            return out
        answer = [one[()] if type(one) is np.ndarray and not shape else library.given(one) for one in made]
        return tuple(answer) if results.several else answer[0]

    # -- types ---------------------------------------------------------------------------------------------------------

    def _results_for(self, found: Sequence[Operand]) -> Results:
        """What the function returns for operands of these types."""
        current = program()
        if current.generation != self._generation:
            self._results, self._generation = {}, current.generation
        key = tuple(one.prim for one in found)
        results = self._results.get(key)
        if results is None or not results.alive():
            names = [one.name for one in found]
            call, space = f"_function({', '.join(names)})", {"_function": self._function.function}
            results = self._results[key] = results_of(current, self._function.function, names, key, call, space)
        return results

    def _checked(self, out: Any, shape: Shape, results: Results) -> list[Any]:
        """The arrays of `out`, one for each result. ArgumentError where one does not fit."""
        outs: list[Any] = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(outs) != len(results.prims):
            raise ArgumentError(f"{self._label} gives {len(results.prims)} arrays, but out= has {len(outs)}")
        for one, prim in zip(outs, results.prims):
            try:
                seen = view(one)
                own = prim_of(seen)
            except TypeMismatch as error:
                raise ArgumentError(f"{self._label}: out={type(one).__name__}: {error.message}") from None
            if tuple(seen.shape) != shape:
                raise ArgumentError(f"{self._label} gives shape {shape}, but out= has shape {tuple(seen.shape)}")
            if not np.can_cast(prim.np, own.np, "same_kind"):
                raise ArgumentError(f"{self._label} gives {prim}, but out= holds {own}, of another kind")
        return outs

    def _separate(self, found: Sequence[Operand], outs: Sequence[Any]) -> None:
        """An operand that shares memory with a result, but not element by element, is copied first."""
        for target in outs:
            ours = span(target)
            for one in found:
                theirs = None if one.shape is None else span(one.value)
                if ours is None or theirs is None or ours[1] <= theirs[0] or theirs[1] <= ours[0]:
                    continue
                if len(outs) > 1 or ours != theirs or one.shape != tuple(target.shape) or not _alike(one.value, target):
                    one.value = _copied(one.value)

    # -- running -------------------------------------------------------------------------------------------------------

    def _run(self, found: Sequence[Operand], shape: Shape, outs: Sequence[Any], results: Results) -> None:
        arrays = [one.value for one in found if one.shape is not None]
        alike = all(one.shape is None or one.shape == shape for one in found)
        flat = [flat_or_none(array) for array in (*arrays, *outs)] if alike else [None]
        if any(one is None for one in flat):
            patterns = tuple(pattern_of(one.shape, shape) for one in found)
            self._kernel(found, patterns, outs, results, len(shape))(*(one.value for one in found), *outs)
            return
        rest = iter(flat)
        patterns = tuple(None if one.shape is None else (False,) for one in found)
        kernel = self._kernel(found, patterns, outs, results, 1)
        kernel(*(one.value if one.shape is None else next(rest) for one in found), *rest)

    def _kernel(
        self, found: Sequence[Operand], patterns: tuple[Pattern, ...], outs: Sequence[Any], results: Results, ndim: int
    ) -> Kernel:
        targets = tuple([prim_of(out) for out in outs])
        numbers = tuple([one.prim for one in found if one.shape is None])
        key = patterns, numbers, targets, results.several, ndim
        made = self._kernels.get(key)
        if made is None:
            text = Text(found, patterns, self._function.function, AXES[:ndim])
            made = self._kernels[key] = elementwise_kernel(self.__name__, text, targets, results.several)
        return made

    def __repr__(self) -> str:
        return f"<{self._label}>"


def _alike(a: Any, b: Any) -> bool:
    """Whether equal indices of two views of one memory mean equal places."""
    a, b = (one.array() if isinstance(one, Ndarray) else one for one in (a, b))
    if prim_of(a).size != prim_of(b).size:
        return False
    if hasattr(a, "stride") and hasattr(b, "stride"):
        return bool(a.stride() == b.stride())
    return getattr(a, "strides", None) == getattr(b, "strides", ())


def _copied(array: Any) -> Any:
    if isinstance(array, Ndarray):
        return deepcopy(array)
    return array.clone() if hasattr(array, "clone") else array.copy()


def elementwise(function: Any) -> ElementwiseFunction:
    """Make a function of numbers one of arrays: `gain = ti.elementwise(f)`, or a decorator.

    `function` is a `@func`, a `@pyfunc`, a plain function or one like `ti.max`; it returns a number or a tuple of them.
    Operands are arrays of any library that kernels take, fields, ndarrays, and numbers. Shapes broadcast as numpy's do,
    types are those that a kernel gives such numbers. The result is a new array (several: a tuple), of the library and
    on the device of the operands; `out=` names arrays (a tuple for several) that it is written to, cast within its
    kind. All is computed in one kernel. ArgumentError for operands that do not fit; CompilationError with a place for
    what the function cannot do with such numbers."""
    return ElementwiseFunction(ScalarFunction(function, "elementwise", 2))
