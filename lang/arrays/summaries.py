"""Reductions of whole fields and ndarrays in Python: `x.sum()`, `x.min(axis=0)` and so on.

They are `ti.reduce` with the types and the special cases of numpy, and sums of floats in f64."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from weft.ir.types import Prim, f64, i64, u1, u64
from weft.lang.arrays.expressions import settled
from weft.lang.arrays.generated_kernels import AXES, make_kernel
from weft.lang.arrays.operators import copy_into, operate, readable, scalar_function
from weft.lang.arrays.reduction import Reduction
from weft.lang.data.elements import FieldIndexError
from weft.lang.data.libraries import Shape, lent, new_array
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.operations import unheard
from weft.lang.data.views import type_of_elements, view_of_memory
from weft.lang.data.writes import LISTENERS
from weft.lang.errors import ArgumentError
from weft.lang.kernels.kernel import Kernel
from weft.lang.program.init import program
from weft.lang.values.builtins import BUILTINS
from weft.lang.values.matrix import Matrix
from weft.lang.values.types import primitive

__all__ = ["EmptyReduction", "reduced"]


class EmptyReduction(ArgumentError, ValueError):
    """The least or the greatest of no numbers."""


def reduced(name: str, owner: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """The reduction of that name of a field or ndarray (the methods of `ArrayOperators` describe them). Raises
    FieldIndexError for an axis that does not exist, and WeftError in a block of `ti.ad` that would lose a
    derivative."""
    owner = settled(owner)
    for block in LISTENERS.get():
        block.take(f"the {name} of {owner!r}", owner)
    whole = (*owner.shape, *owner.element_shape)
    axes = _axes(axis, len(whole))
    if name in _NO_IDENTITY and 0 in whole and not any(whole[k] == 0 for k in range(len(whole)) if k not in axes):
        raise EmptyReduction(f"{name} of an array of shape {whole}, which has no elements")
    with unheard():
        if name in _PLACES:
            if axis is not None:
                raise ArgumentError(f"{name} takes no axis: it gives one place in x.to_numpy().ravel()")
            return _place(_PLACES[name], readable(owner), whole)
        count = math.prod(whole[k] for k in axes)
        made = _FUNCTIONS[name](readable(owner), count, options, axis=axes, keepdims=keepdims)
    inner = owner.element_shape
    if not inner or not isinstance(made, Ndarray) or any(k >= owner.ndim for k in axes):
        return made
    if made.shape == inner:
        return Matrix.wrap(made.to_numpy())
    kind = type_of_elements(inner, made.dtype)
    return view_of_memory(made, kind, lambda cells: cells)


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes to reduce, in ascending order."""
    given: Sequence[Any] = range(ndim) if axis is None else axis if isinstance(axis, tuple | list) else [axis]
    for one in given:
        if isinstance(one, bool) or not isinstance(one, int | np.integer):
            raise ArgumentError(f"an axis must be an integer, a tuple of integers or None, not {one!r}")
        if not -ndim <= one < ndim:
            raise FieldIndexError(f"axis {one} is out of bounds for an array of {ndim} axes")
    found = tuple(sorted({int(one) % ndim for one in given}))
    if len(found) != len(given):
        raise ArgumentError(f"axis={axis} contains an axis twice")
    return found


# -- the reductions, each of (field or ndarray, numbers of one result, its own options, axis=, keepdims=) --------------


def _sum(x: Any, count: int, options: Any, **where: Any) -> Any:
    wanted = options["dtype"] and primitive(options["dtype"])
    prim = wanted or (x.dtype if x.dtype.is_float else i64 if x.dtype.is_signed or x.dtype is u1 else u64)
    # Sums of integers below 2^53 are exact in f64, and lanes add these several times as fast.
    exact = wanted is None and not x.dtype.is_float and count << x.dtype.bits <= 2**53 and not program().backend.blocks
    return _as_type(_reduction("a + b", 0)(x, dtype=f64 if prim.is_float or exact else prim, **where), prim)


def _mean(x: Any, count: int, options: Any, **where: Any) -> Any:
    return _as_type(_mean_in_f64(x, count, **where), _float_type(x, options))


def _var(x: Any, count: int, options: Any, **where: Any) -> Any:
    is_number = len(where["axis"]) == x.ndim + len(x.element_shape)
    mean = _mean_in_f64(x, count, axis=where["axis"], keepdims=not is_number)
    mean = np.float64(mean) if is_number else mean  # a float of Python would be a `default_fp`
    squares = _reduction("a + b", 0, "(cast(a, f64) - b) * (cast(a, f64) - b)")(x, mean, dtype=f64, **where)
    return _as_type(_divided(squares, max(count - options["ddof"], 0)), _float_type(x, options))


def _std(x: Any, count: int, options: Any, **where: Any) -> Any:
    prim, variance = _float_type(x, options), _var(x, count, {**options, "dtype": f64}, **where)
    return _as_type(operate("sqrt({0})", (variance,)) if isinstance(variance, Ndarray) else math.sqrt(variance), prim)


def _extreme(name: str) -> Callable[..., Any]:
    def run(x: Any, count: int, options: Any, **where: Any) -> Any:
        made = _reduction(f"{name}(a, b)", None)(x, **where)  # ignores NaN
        if not x.dtype.is_float:
            return made
        has_nan = _reduction("a | b", False, "a != a")(x, dtype=u1, **where)
        if isinstance(made, Ndarray):
            return operate("select({0}, {1}, {2})", (has_nan, made.dtype.np.type(np.nan), made))
        return math.nan if has_nan else made

    return run


def _truth(join: str, identity: bool) -> Callable[..., Any]:
    def run(x: Any, count: int, options: Any, **where: Any) -> Any:
        made = _reduction(f"a {join} b", identity, "a != 0")(x, dtype=u1, **where)
        return made if isinstance(made, Ndarray) else bool(made)

    return run


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _sum, "mean": _mean, "var": _var, "std": _std, "min": _extreme("min"), "max": _extreme("max"),
    "any": _truth("|", False), "all": _truth("&", True),
}  # fmt: skip
_PLACES = {"argmin": "min", "argmax": "max"}
_NO_IDENTITY = ("min", "max", *_PLACES)


def _mean_in_f64(x: Any, count: int, **where: Any) -> Any:
    return _divided(_reduction("a + b", 0)(x, dtype=f64, **where), count)


def _divided(total: Any, count: float) -> Any:
    """A sum divided by a number. By 0 it is NaN or infinity, with numpy's warning."""
    if count == 0:
        warnings.warn("the mean of no numbers is NaN", RuntimeWarning, stacklevel=2)
    if isinstance(total, Ndarray):
        return operate("{0} / {1}", (total, float(count)))
    with np.errstate(all="ignore"):
        return (np.float64(total) / np.float64(count)).item()


def _float_type(x: Any, options: Any) -> Prim:
    return primitive(options["dtype"]) if options["dtype"] else x.dtype if x.dtype.is_float else f64


def _as_type(made: Any, prim: Prim) -> Any:
    """A result, as an array of that type. (Numbers are those of Python.)"""
    if not isinstance(made, Ndarray):
        return float(made) if prim.is_float else int(made)
    if made.dtype is prim:
        return made
    cast = new_array(prim, made.shape)
    copy_into(cast, made)
    return cast


@cache
def _reduction(join: str, identity: Any, map: str = "") -> Reduction:
    """The reduction that computes `join` of two numbers a and b, of `map` of each a (and b) if there is one."""
    joined = scalar_function("reduction", ["a", "b"], join)
    mapped = scalar_function("element", ["a", "b"] if "b" in map.replace("abs", "") else ["a"], map) if map else None
    return Reduction(joined, identity, mapped)


def _place(least: str, x: Any, whole: Shape) -> int:
    """The place of the first number that is the least or the greatest."""
    place = ndarray(i64, ())
    place.fill(math.prod(whole))
    wanted = _FUNCTIONS[least](x, 0, {}, axis=tuple(range(len(whole))), keepdims=False)
    _finder(x.dtype, len(whole))(lent(x), wanted, place)
    return int(place[None])


@cache
def _finder(prim: Prim, ndim: int) -> Kernel:
    """The kernel that finds the first place of a number in an array."""
    axes = AXES[:ndim]
    number = "_cast(0, _i64)"
    for axis, name in enumerate(axes):
        number = f"({number} * x.shape[{axis}] + {name})"
    where = ", ".join(axes) or "None"
    body = [
        f"    for {where} in x:" if axes else "    for _ in _range(1):",
        f"        if x[{where}] == _wanted or (_wanted != _wanted and x[{where}] != x[{where}]):",
        f"            _atomic_min(_place[None], {number})",
    ]
    names = {"_i64": i64, "_atomic_min": BUILTINS["atomic_min"]}
    return make_kernel("first_place", [("x", None), ("_wanted", prim), ("_place", None)], body, names)
