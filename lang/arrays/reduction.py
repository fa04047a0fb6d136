"""`ti.reduce`: turn a function of two numbers into a reduction of arrays, over all elements or along some axes.

An array is viewed as (outer, n, inner), where n is reduced. Each n is cut into runs, which depends on its extents only.
An iteration (on a GPU: a team of threads) reduces a run. The results of the runs are reduced in the same way until one
is left. The order of operations therefore depends only on the shape and the arch, and equal calls give equal bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from weft.ir.config import CompileConfig
from weft.ir.errors import TypeMismatch
from weft.ir.scalar import promote
from weft.ir.types import Prim, i32, i64, u1
from weft.lang.arrays.call_keys import Calls, look, seen
from weft.lang.arrays.generated_kernels import (
    AXES,
    Results,
    Text,
    elementwise_kernel,
    make_kernel,
    pattern_of,
    results_of,
)
from weft.lang.arrays.operands import Operand, ScalarFunction, broadcast, operands
from weft.lang.arrays.team_reduction import Stage, lines_of_team, stage_of
from weft.lang.data.export import Lender
from weft.lang.data.libraries import Maker, Shape, arguments_as, is_contiguous, reshaped, result_library
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import Ndarray
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import Kernel
from weft.lang.program.init import Program, program
from weft.lang.simt.block import SharedArray, sync
from weft.lang.values.builtins import loop_config, ndrange
from weft.lang.values.types import primitive
from weft.runtime.forks import forkable

__all__ = ["Reduction", "reduce"]

# Elements that one iteration reduces on the CPU. If SIMD lanes take an iteration each, they read at this distance. At a
# multiple of a page, they would compete for the same lines of the cache.
_LINE = 16400
_CHUNK = 1024  # adjacent columns of one iteration


_Types = tuple[Prim, Prim, list[Results]]


class _Step(NamedTuple):
    """A launch. `kernel` takes numbers, arrays reshaped to `taken` (None: unchanged), an array of that type and shape
    `into` for the result, and the `extents`. A launch without extents gathers elements, any other one reduces them."""

    kernel: Kernel
    taken: Shape | None
    prim: Prim
    into: Shape
    extents: tuple[int, ...]


class _Call(NamedTuple):
    """How to make calls with one key. `make` makes the result. The steps fill it one after the other, from operands of
    which some are `numbers`. There are no steps if there are no elements, or, with `is_identity`, if nothing is
    reduced."""

    results: list[Results]
    make: Maker
    given: Callable[[Any], Any]
    steps: list[_Step]
    numbers: list[int]
    is_identity: bool


class Reduction:
    """A reduction of arrays, made by `ti.reduce`."""

    def __init__(self, function: ScalarFunction, identity: Any, map: ScalarFunction | None) -> None:
        self._function, self._identity, self._map = function, identity, map
        self.__name__, self.__doc__ = function.name, function.__doc__
        self._label = f"reduce '{function.name}'"
        if identity is not None and not isinstance(identity, (bool, int, float)):
            raise TypeMismatch(f"the identity of {self._label} must be a number or None, not {identity!r}")
        self._generation = -1
        self._types: dict[Any, _Types] = {}
        self._kernels: dict[Any, Kernel] = {}
        self._calls = Calls[_Call]()
        self._kept: dict[Any, list[Any]] = {}
        self._lending = forkable(Lock())  # held while the arrays for partial results change owner

    def __call__(self, *args: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None, **keywords: Any) -> Any:
        names, values = self._matched(args, keywords)
        wanted = None if dtype is None else primitive(dtype)
        key, views = look(_asked(axis, bool(keepdims), wanted), values)
        call = self._calls.find(key)
        if call is None or not all(map(Results.alive, call.results)):
            found = operands(self._label, names, values)
            call = self._prepared(found, axis, keepdims, wanted)
            views = [one.value for one in found]
            self._calls.keep(key, call)
        made = call.make()
        if call.is_identity:
            self._fill_with_identity(seen(made))
        elif call.steps:
            self._run(call, views, seen(made))
        return call.given(made)

    def _prepared(self, found: Sequence[Operand], axis: Any, keepdims: bool, wanted: Prim | None) -> _Call:
        """Return how such a call is made."""
        shape = broadcast(self._label, found)
        axes = self._axes(axis, len(shape))
        prim, element, results = self._types_for(found, wanted)
        kept = tuple([n for k, n in enumerate(shape) if k not in axes])
        final = tuple([1 if k in axes else n for k, n in enumerate(shape)]) if keepdims else kept
        library, like = result_library([one.source for one in found if one.shape is not None])
        make, given = library.maker(final, prim, like), library.given
        if not final and isinstance(like, Lender) and not program().backend.own_memory:
            make, given = partial(np.empty, (), prim.np), int if prim is u1 else np.ndarray.item
        elif not final:
            given = partial(_number_or, given)
        n = math.prod(shape[axis] for axis in axes)
        steps = self._steps(found, shape, axes, (prim, element)) if n > 0 and 0 not in kept else []
        numbers = [k for k, one in enumerate(found) if one.shape is None]
        return _Call(results, make, given, steps, numbers, n == 0 and 0 not in kept)

    # -- types and axes ------------------------------------------------------------------------------------------------

    def _matched(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[list[str], tuple[Any, ...]]:
        if self._map is not None:
            return self._map.matched(args, keywords)
        if len(args) != 1 or keywords:
            given = f"{len(args)} and {', '.join(keywords)}" if keywords else f"{len(args)}"
            raise ArgumentError(f"{self._label} takes one array and axis=, keepdims=, dtype=; it got {given}")
        return ["x"], args

    def _axes(self, axis: Any, ndim: int) -> tuple[int, ...]:
        """Return the axes to reduce, in ascending order. Raises ArgumentError for axes that do not exist."""
        if axis is None:
            return tuple(range(ndim))
        given: list[Any] = list(axis) if isinstance(axis, (tuple, list)) else [axis]
        for one in given:
            if not isinstance(one, (int, np.integer)) or not -ndim <= one < ndim:
                raise ArgumentError(f"{self._label}: axis {one!r} does not exist in an array of {ndim} axes")
        found = tuple(sorted({int(one) % ndim for one in given}))
        if len(found) != len(given):
            raise ArgumentError(f"{self._label}: axis={axis} contains an axis twice")
        return found

    def _types_for(self, found: Sequence[Operand], wanted: Prim | None) -> _Types:
        """Return the type of the reduction (`wanted`, or the common type of elements, identity and function), the type
        of the elements, and the records that both were found with."""
        current = program()
        if current.generation != self._generation:
            self._types, self._kept, self._generation = {}, {}, current.generation
        key = wanted, *(one.prim for one in found)
        known = self._types.get(key)
        if known is None or not all(results.alive() for results in known[2]):
            known = self._types[key] = self._inferred(current, found, wanted)
        return known

    def _inferred(self, current: Program, found: Sequence[Operand], wanted: Prim | None) -> _Types:
        made: list[Results] = []
        element = found[0].prim
        if self._map is not None:
            names, mapped = [one.name for one in found], self._map.function
            call, prims = f"_map({', '.join(names)})", [one.prim for one in found]
            made.append(results_of(current, mapped, names, prims, call, {"_map": mapped}))
            element = self._single(made[0], self._map.name)
        prim, function = wanted or self._with_identity(element, current.config), self._function.function
        made.append(results_of(current, function, "ab", (prim, prim), "_function(a, b)", {"_function": function}))
        joined = self._single(made[-1], self._function.name)
        return wanted or promote(prim, joined), element, made

    def _single(self, results: Results, name: str) -> Prim:
        if results.several:
            raise TypeMismatch(f"{self._label}: '{name}' must return one number, not {len(results.prims)}")
        return results.prims[0]

    def _with_identity(self, prim: Prim, config: CompileConfig) -> Prim:
        """Return the type of a variable that starts as the identity and takes elements of type `prim`."""
        if self._identity is None or isinstance(self._identity, bool):
            return prim
        if isinstance(self._identity, int):
            return promote(prim, config.default_ip) if prim.is_int or prim is u1 else prim
        return prim if prim.is_float else config.default_fp

    # -- running -------------------------------------------------------------------------------------------------------

    def _run(self, call: _Call, arguments: list[Any], target: Any) -> None:
        """Launch the steps, from the operands to the view of the result."""
        numbers, between = call.numbers, list[Any]()
        for step in call.steps:
            if step.taken is not None:
                arguments = arguments_as(arguments, numbers, step.taken)
            if step is call.steps[-1]:
                into = reshaped(target, step.into)
            elif step.extents:
                into = self._partial(step.prim, step.into)
                between.append(into)
            else:
                into = _made(step.prim, step.into)
            step.kernel(*arguments, into, *step.extents)
            arguments, numbers = [into], []
        if between:
            self._keep(between)

    def _steps(
        self, found: Sequence[Operand], shape: Shape, axes: Sequence[int], prims: tuple[Prim, Prim]
    ) -> list[_Step]:
        prim, element = prims
        n = math.prod(shape[axis] for axis in axes)
        outer, inner = self._sides(shape, axes)
        steps: list[_Step] = []
        text = self._seen(found, shape, (outer, n, inner))
        if text is None:
            outer, inner = math.prod(shape) // n, 1
            steps.append(self._gathering(found, shape, axes, element))
            text = _alone(element, (outer, n))
        while True:
            stage = stage_of(outer, n, inner) if program().backend.blocks else _cut(n, inner)
            taken, sides = ((outer, k) if inner == 1 else (outer, k, inner) for k in (n, stage.runs))
            kernel = self._kernel(text, prim, inner, stage, outer * n * inner)
            steps.append(_Step(kernel, taken, prim, sides, (stage.size, n)))
            if stage.runs == 1:
                return steps
            text, n = _alone(prim, sides), stage.runs

    def _partial(self, prim: Prim, shape: Shape) -> Any:
        """Return an array for partial results. It reuses one of an earlier call, if possible."""
        with self._lending:
            kept = self._kept.get((prim, shape))
            if kept:
                return kept.pop()
        return _made(prim, shape)

    def _keep(self, arrays: Sequence[Any]) -> None:
        """Keep the array for later calls. Their launches come after all launches so far."""
        for array in arrays:
            if isinstance(array, Ndarray):
                key = array.dtype, array.shape
                with self._lending:
                    self._kept = {key: [*self._kept.get(key, []), array]}

    def _fill_with_identity(self, target: Any) -> None:
        if self._identity is None:
            raise ArgumentError(
                f"{self._label} has no identity, so it cannot reduce an array without elements: pass identity=..."
            )
        if isinstance(target, np.ndarray):
            target[...] = self._identity
        else:
            (target.fill_ if hasattr(target, "fill_") else target.fill)(self._identity)

    def _sides(self, shape: Shape, axes: Sequence[int]) -> tuple[int, int]:
        """Return the number of elements in front of the reduced axes and behind them."""
        if not axes:
            return math.prod(shape), 1
        return math.prod(shape[: axes[0]]), math.prod(shape[axes[-1] + 1 :])

    def _seen(self, found: Sequence[Operand], shape: Shape, sides: Shape) -> Text | None:
        """Return the operands viewed with those three axes, or two if `inner` is 1; None if that is not possible."""
        if math.prod(sides) != math.prod(shape) or any(one.shape not in (None, shape) for one in found):
            return None
        if not all(one.shape is None or is_contiguous(one.value) for one in found):
            return None
        patterns = [None if one.shape is None else (False,) * (2 if sides[2] == 1 else 3) for one in found]
        return Text(found, patterns, self._map and self._map.function, ())

    def _gathering(self, found: Sequence[Operand], shape: Shape, axes: Sequence[int], prim: Prim) -> _Step:
        """Return the launch that copies elements of type `prim` to a new array, with the reduced axes last. It is used
        if operands repeat or have different layouts."""
        order = (*(k for k in range(len(shape)) if k not in axes), *axes)
        patterns = tuple(pattern_of(one.shape, shape) for one in found)
        numbers = tuple(one.prim for one in found if one.shape is None)
        key = "gather", patterns, numbers, prim, order
        if key not in self._kernels:
            text = Text(found, patterns, self._map and self._map.function, AXES[: len(shape)])
            self._kernels[key] = elementwise_kernel(self.__name__, text, (prim,), order=order)
        return _Step(self._kernels[key], None, prim, tuple(shape[axis] for axis in order), ())

    def _kernel(self, text: Text, prim: Prim, inner: int, stage: Stage, count: int) -> Kernel:
        """Return the kernel that reduces each run of (outer, n, inner) elements to one."""
        columns = inner > 1 and not program().backend.blocks
        index = i32 if count < 2**31 else i64
        numbers = tuple(one.prim for one in text.operands if one.shape is None)
        patterns = tuple(text.patterns)
        key = columns, inner == 1, stage.lanes, stage.width, index, numbers, prim, patterns, text.function is None
        made = self._kernels.get(key)
        if made is None:
            if stage.lanes:
                body = lines_of_team(text, stage, inner)
            else:
                body = (_columns if columns else _lines)(text, ("_o", "_r") if inner == 1 else ("_o", "_r", "_c"))
            parameters = [*text.parameters, ("_out", None), ("_size", index), ("_n", index)]
            names = {"_join": self._function.function, "_function": text.function, "_prim": prim, **_NAMES}
            made = self._kernels[key] = make_kernel(self.__name__, parameters, body, names)
        return made

    def __repr__(self) -> str:
        return f"<{self._label}>"


def _asked(axis: Any, keepdims: bool, wanted: Prim | None) -> tuple[Any, ...] | None:
    """Return a part of the key; None if it could equal a value with another meaning (1.0 equals 1, but is not an
    axis)."""
    if axis is None or type(axis) is int:
        return axis, keepdims, wanted
    if isinstance(axis, (tuple, list)) and all(type(one) is int for one in axis):
        return tuple(axis), keepdims, wanted
    return None


def _number_or(given: Callable[[Any], Any], made: Any) -> Any:
    """Return what the user gets for a result without axes."""
    if isinstance(made, np.ndarray):
        return made[()]
    return made[None] if isinstance(made, Ndarray) else given(made)


def _alone(prim: Prim, shape: Shape) -> Text:
    """Return the text that takes the elements of one array unchanged."""
    return Text([Operand("x", None, prim, shape, None)], [(False,) * len(shape)], None, ())


# Names that the texts of kernels use.
_NAMES = {"_ndrange": ndrange, "_loop_config": loop_config, "_SharedArray": SharedArray, "_sync": sync}

_FIRST, _OTHERS = "_b * _size", "for _r in _range(_b * _size + 1, _min(_b * _size + _size, _n)):"


def _lines(text: Text, axes: Sequence[str]) -> list[str]:
    """Each iteration reduces one run in a local."""
    where = ", ".join(axis.replace("_r", "_b") for axis in axes)
    return [
        f"    for {where} in _out:",
        f"        _y = _cast({text.at(*(axis.replace('_r', _FIRST) for axis in axes))}, _prim)",
        f"        {_OTHERS}",
        f"            _y = _cast(_join(_y, _cast({text.at(*axes)}, _prim)), _prim)",
        f"        _out[{where}] = _y",
    ]


def _columns(text: Text, axes: Sequence[str]) -> list[str]:
    """Each iteration reduces the rows of one run, for a chunk of adjacent columns."""
    columns = f"for _c in _range(_k * {_CHUNK}, _min(_k * {_CHUNK} + {_CHUNK}, _out.shape[2])):"
    out = "_out[_o, _b, _c]"
    return [
        f"    for _o, _b, _k in _ndrange(_out.shape[0], _out.shape[1], (_out.shape[2] + {_CHUNK - 1}) // {_CHUNK}):",
        f"        {columns}",
        f"            {out} = _cast({text.at('_o', _FIRST, '_c')}, _prim)",
        f"        {_OTHERS}",
        f"            {columns}",
        f"                {out} = _cast(_join({out}, _cast({text.at(*axes)}, _prim)), _prim)",
    ]


def _cut(n: int, inner: int) -> Stage:
    """Cut for the CPU: into runs that fit the cache, one after the other."""
    size = max(1, _LINE // min(inner, _CHUNK))
    return Stage(size, -(-n // size))


def _made(prim: Prim, shape: Shape) -> Any:
    """Return a new array for partial results."""
    return ndarray(prim, shape) if program().backend.own_memory else np.empty(shape, prim.np)


def reduce(function: Any, identity: Any, map: Any = None) -> Reduction:
    """Turn a function of two numbers into a reduction of arrays: `total = ti.reduce(add, 0)`.

    `function` must be associative and commutative. `identity` is a number that leaves any other one unchanged; it is
    the result for an array without elements (None: such an array is an error). `map`, a function of one or more
    numbers, computes the reduced values from the operands: `dot = ti.reduce(add, 0, map=mul)`, then `dot(x, y)`. Both
    functions are as for `ti.elementwise`.

    The result is called with operands like those of `ti.elementwise`, and with `axis` (one or a tuple; None: all),
    `keepdims`, and `dtype`, the type of the reduction. The default `dtype` is that of a variable in a kernel that
    starts as `identity` and takes the elements. Equal calls on one arch give equal bits, on any number of threads. A
    result without axes is a number; for tensors and similar arrays it is an array without axes. Raises ArgumentError
    for operands that do not fit, and CompilationError with a place if the functions cannot take such numbers.

    Example:
        largest = ti.reduce(ti.max, -ti.math.inf)
        largest(np.array([[1.0, 5.0], [7.0, 2.0]]))  # 7.0
        largest(np.array([[1.0, 5.0], [7.0, 2.0]]), axis=0)  # array([7., 5.])
        dot = ti.reduce(lambda a, b: a + b, 0.0, map=lambda x, y: x * y)
        dot(np.arange(4.0), np.ones(4))  # 6.0
    """
    joined = ScalarFunction(function, "reduce", 2)
    return Reduction(joined, identity, None if map is None else ScalarFunction(map, "reduce", 2))
