"""`ti.elementwise`: turn a function of numbers into a function of arrays, computed in one kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim, u1
from weft.lang.arrays.call_keys import Calls, look, seen
from weft.lang.arrays.generated_kernels import AXES, Pattern, Results, Text, elementwise_kernel, pattern_of, results_of
from weft.lang.arrays.operands import Operand, ScalarFunction, broadcast, operands
from weft.lang.data.libraries import (
    Maker,
    Shape,
    arguments_as,
    is_contiguous,
    may_overlap,
    prim_of,
    result_library,
    span,
    view,
)
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.writes import derivatives_wanted
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import Kernel
from weft.lang.program.init import program

__all__ = ["Casting", "ElementwiseFunction", "elementwise"]

# Which casts to the type of `out` are allowed: those of numpy, and with "integers" also from signed to unsigned ones.
Casting = Literal["same_kind", "integers", "unsafe"]


class _Call(NamedTuple):
    """How to make calls with one key. `makers` make results of `shape`; there are none if `out` was given. `kernel`
    (None: there are no elements) takes operands and results; arrays are reshaped to `flat`, unless that is None.
    `numbers` are the operands that are not arrays."""

    results: Results
    shape: Shape
    makers: list[Maker]
    given: Callable[[Any], Any]
    kernel: Kernel | None
    flat: Shape | None
    numbers: list[int]


class ElementwiseFunction:
    """A function of arrays, made by `ti.elementwise`."""

    def __init__(self, function: ScalarFunction, casting: Casting = "same_kind") -> None:
        self._function = function
        self._casting: Casting = casting
        self.__name__, self.__doc__ = function.name, function.__doc__
        self.label = f"elementwise '{function.name}'"
        self._generation = -1
        self._results: dict[Any, Results] = {}
        self._kernels: dict[Any, Kernel] = {}
        self._calls = Calls[_Call]()

    def __call__(self, *args: Any, out: Any = None, **keywords: Any) -> Any:
        names, values = self._function.matched(args, keywords)
        outs = None if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
        key, views = look((outs is None,), values if outs is None else values + outs)
        call = self._calls.find(key)
        if call is None or not call.results.alive():
            found = operands(self.label, names, values)
            call, targets = self._prepared(found, outs)
            views = [*(one.value for one in found), *targets]
            self._calls.keep(key, call)
        made = [make() for make in call.makers]
        views += map(seen, made)
        if outs is not None:
            _separate(views, call.numbers, len(outs))
        if call.kernel is not None:
            call.kernel(*(views if call.flat is None else arguments_as(views, call.numbers, call.flat)))
        if outs is not None:
            return out
        answer = [one[()] if type(one) is np.ndarray and not call.shape else call.given(one) for one in made]
        return tuple(answer) if call.results.several else answer[0]

    def facts(self, kinds: Sequence[tuple[Prim, Shape | None]]) -> tuple[Prim, Shape]:
        """Return the type and the shape of the result for operands of these types and shapes (None: a number), without
        computing it."""
        found = [Operand(f"x{k}", None, prim, shape, None) for k, (prim, shape) in enumerate(kinds)]
        return self._results_for(found).prims[0], broadcast(self.label, found)

    def _prepared(self, found: Sequence[Operand], outs: Sequence[Any] | None) -> tuple[_Call, list[Any]]:
        """Return how such a call is made, and the views of `outs`."""
        shape, results = broadcast(self.label, found), self._results_for(found)
        targets, makers, prims = list[Any](), list[Maker](), results.prims
        library, like = result_library([one.source for one in found if one.shape is not None])
        if outs is None:
            makers = [library.maker(shape, prim, like) for prim in prims]
        else:
            targets = self._checked(outs, shape, results)
            prims = tuple(map(prim_of, targets))
        numbers = [k for k, one in enumerate(found) if one.shape is None]
        arrays = [one for one in found if one.shape is not None]
        is_flat = all(one.shape == shape and is_contiguous(one.value) for one in arrays)
        is_flat = is_flat and all(map(is_contiguous, targets))
        lies = _flat_pattern if is_flat else pattern_of
        patterns = tuple([lies(one.shape, shape) for one in found])
        kernel = None if 0 in shape else self._kernel(found, patterns, prims, results, 1 if is_flat else len(shape))
        flat = (math.prod(shape),) if is_flat and len(shape) != 1 else None
        return _Call(results, shape, makers, library.given, kernel, flat, numbers), targets

    # -- types ---------------------------------------------------------------------------------------------------------

    def _results_for(self, found: Sequence[Operand]) -> Results:
        """Return the types of the function's results for operands of these types."""
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

    def _checked(self, outs: Sequence[Any], shape: Shape, results: Results) -> list[Any]:
        """Return views of the arrays in `out`, one for each result. Raises ArgumentError if one does not fit."""
        if len(outs) != len(results.prims):
            raise ArgumentError(f"{self.label} returns {len(results.prims)} arrays, but out= has {len(outs)}")
        views: list[Any] = []
        for one, prim in zip(outs, results.prims):
            try:
                target = view(one)
                own = prim_of(target)
            except TypeMismatch as error:
                raise ArgumentError(f"{self.label}: out={type(one).__name__}: {error.message}") from None
            if tuple(target.shape) != shape:
                raise ArgumentError(f"{self.label} returns shape {shape}, but out= has shape {tuple(target.shape)}")
            if not _can_cast(prim, own, self._casting):
                raise ArgumentError(
                    f"{self.label} returns elements of {prim}, but out= has elements of {own}, which is "
                    "another kind of number"
                )
            views.append(target)
        return views

    def _kernel(
        self,
        found: Sequence[Operand],
        patterns: tuple[Pattern, ...],
        targets: tuple[Prim, ...],
        results: Results,
        n: int,
    ) -> Kernel:
        """Return the kernel that loops over `n` axes."""
        numbers = tuple([one.prim for one in found if one.shape is None])
        key = patterns, numbers, targets, results.several, n
        made = self._kernels.get(key)
        if made is None:
            text = Text(found, patterns, self._function.function, AXES[:n])
            made = self._kernels[key] = elementwise_kernel(self.__name__, text, targets, results.several)
        return made

    def __repr__(self) -> str:
        return f"<{self.label}>"


def _can_cast(prim: Prim, own: Prim, casting: Casting) -> bool:
    if casting == "integers":
        return (prim.is_int and own.is_int and own is not u1) or np.can_cast(prim.np, own.np, "same_kind")
    return np.can_cast(prim.np, own.np, casting)


def _flat_pattern(own: Shape | None, shape: Shape) -> Pattern:
    """Return the same as `pattern_of` for arrays that are viewed with a single axis."""
    return None if own is None else (False,)


def _separate(views: list[Any], numbers: Sequence[int], count: int) -> None:
    """Copy each operand that shares memory with a result, unless it is the only result and both have every element at
    the same address. The results are the last `count` views."""
    for target in views[-count:]:
        for k, one in enumerate(views[:-count]):
            if k in numbers or (one is target and count == 1) or not may_overlap(one, target):
                continue
            if count > 1 or span(one) != span(target) or not _alike(one, target):
                views[k] = _copied(one)


def _alike(a: Any, b: Any) -> bool:
    """Return whether equal indices of two views of the same memory refer to the same address."""
    a, b = (one.array() if isinstance(one, Ndarray) else one for one in (a, b))
    if tuple(a.shape) != tuple(b.shape) or prim_of(a).size != prim_of(b).size:
        return False
    if hasattr(a, "stride") and hasattr(b, "stride"):
        return bool(a.stride() == b.stride())
    return getattr(a, "strides", None) == getattr(b, "strides", ())


def _copied(array: Any) -> Any:
    if isinstance(array, Ndarray):
        made = ndarray(array.dtype, array.shape, **derivatives_wanted())
        made.copy_from(array)
        return made
    return array.clone() if hasattr(array, "clone") else array.copy()


def elementwise(function: Any) -> ElementwiseFunction:
    """Turn a function of numbers into a function of arrays: `gain = ti.elementwise(f)`, or as a decorator.

    `function` is a `@func`, a `@pyfunc`, a plain function or a built-in one like `ti.max`. It returns a number or a
    tuple of numbers. Operands are numbers, fields, ndarrays, and arrays of any library that kernels accept. Shapes
    broadcast as in numpy. Types are those that a kernel gives to such numbers.

    The result is a new array (several results: a tuple), of the library and on the device of the operands. `out=` gives
    an array (a tuple for several results) to write to; values are cast within their kind. One kernel computes
    everything. Raises ArgumentError for operands that do not fit, and CompilationError with a place if the function
    cannot take such numbers.

    Example:
        @ti.elementwise
        def hypotenuse(a, b):
            return ti.sqrt(a * a + b * b)

        hypotenuse(np.array([3.0, 5.0]), np.array([4.0, 12.0]))  # array([5., 13.])
        x = ti.field(ti.f32, 2)
        hypotenuse(np.ones((2, 1)), np.ones(3)).shape  # (2, 3)
        hypotenuse(1.0, np.zeros(2), out=x)
        x.to_numpy()  # array([1., 1.], dtype=float32)
    """
    return ElementwiseFunction(ScalarFunction(function, "elementwise", 2))
