"""Operators on whole fields and ndarrays in Python, each computed by one kernel.

    x + 1        =>   the function `x0 + x1` of numbers, made a function of arrays by `ti.elementwise`

Operands are aligned by elements: a number that a field has for each element meets all numbers of a vector that another
field has there."""

from __future__ import annotations

import keyword
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from weft.ir.errors import CompilationError, TypeMismatch, WeftError
from weft.ir.types import PRIMS, Prim
from weft.lang.arrays.elementwise import Casting, ElementwiseFunction
from weft.lang.arrays.expressions import Formula, Pending, formula_of, settled
from weft.lang.arrays.generated_kernels import define
from weft.lang.arrays.operands import ScalarFunction
from weft.lang.data.array_operators import ArrayOperators
from weft.lang.data.field import Field
from weft.lang.data.field_tree import FieldError
from weft.lang.data.libraries import Shape, prim_of
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.slices import selected
from weft.lang.data.views import element_type_of, type_of_elements, view_of_memory
from weft.lang.data.writes import LISTENERS
from weft.lang.errors import ArgumentError
from weft.lang.values.builtins import BUILTINS
from weft.lang.values.makers import MAKERS
from weft.lang.values.matrix import Matrix
from weft.lang.values.types import primitive

__all__ = ["apply_function", "compare", "copy_into", "operate", "readable", "scalar_function", "update"]

_NUMBERS = (bool, int, float, np.number, np.bool_)


def operate(text: str, operands: Sequence[Any], waits: bool = False) -> Any:
    """The value of an operator such as "{0} + {1}" for each element, as a new ndarray. With `waits`, it is computed
    when it is used. NotImplemented if one of the operands is none. Raises ArgumentError for shapes that do not fit."""
    values = [_operand(one) for one in operands]
    if any(one is NotImplemented for one in values):
        return NotImplemented
    inner = _element_shape(values)
    if not waits and not any(isinstance(one, Pending) for one in values):
        return _with_elements(_computed(text, [_aligned(one, len(inner)) for one in values]), inner)
    formula = formula_of(text, values, inner)
    if not waits:
        return _value(formula)
    with _told(formula.text) as function:
        prim, shape = function.facts([_kind(one, len(inner)) for one in formula.leaves])
    if shape[len(shape) - len(inner) :] != inner:
        return _value(formula)  # which raises the error
    return Pending(formula, prim, shape[: len(shape) - len(inner)], inner, _value)


def update(text: str, target: Any, operand: Any) -> Any:
    """Set `target` to the value of an operator on it and on `operand`, and return it. Integers wrap, as in a kernel.
    Raises ArgumentError if its shape would change, or if the values are floats and its elements are integers."""
    value = _operand(operand)
    if value is NotImplemented:
        return NotImplemented
    inner = _element_shape([target, value])
    if inner != target.element_shape:
        raise ArgumentError(f"{target!r} cannot be changed by {operand!r}, which has elements of another shape")
    source = readable(target)
    formula = formula_of(text, [source, value], inner)
    _computed(formula.text, [_aligned(one, len(inner)) for one in formula.leaves], source, "integers")
    if source is not target:  # a field in nested blocks
        target.from_numpy(source.to_numpy())
    target._mark()
    return target


def _value(formula: Formula) -> Any:
    """The value of a formula, as a new ndarray."""
    inner = _element_shape(formula.leaves)
    return _with_elements(_computed(formula.text, [_aligned(one, len(inner)) for one in formula.leaves]), inner)


def _computed(text: str, operands: Sequence[Any], out: Any = None, casting: Casting = "same_kind") -> Any:
    with _told(text, casting) as function:
        return function(*operands, out=out)


@contextmanager
def _told(text: str, casting: Casting = "same_kind") -> Generator[ElementwiseFunction]:
    """The function that computes a formula. Errors of the block that have no place in the program name the formula."""
    function = _function(text, casting)
    try:
        yield function
    except CompilationError as error:
        if error.span is not None:
            raise
        raise type(error)(f"{function.label}: {error.message}") from None


def compare(sign: str, a: Any, b: Any) -> Any:
    """`a == b` or `a != b`. NotImplemented, so that Python asks whether they are one object, if b is no operand, or a
    field or ndarray whose elements or shape do not fit."""
    own = isinstance(b, ArrayOperators)
    if not own and _operand(b) is NotImplemented:
        return NotImplemented
    try:
        found = operate(f"{{0}} {sign} {{1}}", (settled(a), settled(b)))
    except (ArgumentError, FieldError):  # (one of them may have no place, or no memory any more)
        if own:
            return NotImplemented
        raise
    if own:
        found.is_equal = (a is b) is (sign == "==")
    return found


def apply_function(name: str, operands: Sequence[Any]) -> Any:
    """A function of the language, such as `ti.sqrt`, for each element."""
    called = f"{name}_" if keyword.iskeyword(name) else name
    values = [settled(one) for one in operands if not _is_type(one)]
    numbers = iter(range(len(values)))
    parts = [primitive(one).text if _is_type(one) else f"{{{next(numbers)}}}" for one in operands]
    found = operate(f"{called}({', '.join(parts)})", values)
    if found is NotImplemented:
        wrong = next(one for one in values if _operand(one) is NotImplemented)
        raise TypeMismatch(f"{name} takes numbers, vectors, matrices, fields and arrays, not {wrong!r}")
    return found


def _is_type(operand: Any) -> bool:
    """Whether an operand is the type of a result, as in `ti.cast(x, ti.i32)`."""
    return isinstance(operand, Prim) or any(operand is one for one in (int, float, bool))


def copy_into(view: Any, source: Any) -> None:
    """Copy the elements of a field or ndarray to a view, cast to its type. Raises ValueError if they do not fit."""
    if isinstance(source, Pending):
        if source.shape == view.shape and source.element_shape == view.element_shape and 0 not in view.shape:
            axes, formula = len(view.element_shape), source.formula
            leaves = [_aligned(one, axes) for one in formula.leaves]
            _computed(formula.text, leaves, out=view, casting="unsafe")
            view._mark()
            return
        source = source.made()
    value = readable(source)
    inner = _element_shape([view, value])
    if inner != view.element_shape:
        raise ValueError(f"{view!r} cannot take the elements of {source!r}, which have another shape")
    whole = (*view.shape, *inner)
    value = _aligned(value, len(inner))
    shape = (*value.shape, *getattr(value, "element_shape", ()))
    while len(shape) > len(whole) and shape[0] == 1:
        value, shape = view_of_memory(value, value.dtype, lambda cells: selected(cells, (0,))), shape[1:]
    try:
        fits = np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{view!r} takes elements that broadcast to {whole}, not those of an array of shape {shape}")
    if 0 not in whole:
        _copying()(value, view, out=view)
    view._mark()


def readable(owner: Any) -> Any:
    """A field or ndarray whose numbers form a strided array: a copy, for a field in nested blocks. Raises WeftError
    in a block of `ti.ad` that would not see the copy."""
    if not isinstance(owner, Field):
        return owner
    try:
        owner._lend()
    except BufferError as error:
        if LISTENERS.get():
            raise WeftError(f"{error}. In a block of ti.ad, use a kernel") from None
        made = MAKERS.ndarray(element_type_of(owner), owner.shape)
        made.from_numpy(owner.to_numpy())
        return made
    return owner


def _operand(value: Any) -> Any:
    """The operand that a value is. NotImplemented if it is none."""
    if isinstance(value, Field | Ndarray):
        return readable(value)
    if isinstance(value, Pending):
        return value
    if isinstance(value, list | tuple):
        value = np.asarray(value)
    if isinstance(value, type) or (isinstance(value, np.ndarray) and value.dtype.kind not in "biuf"):
        return NotImplemented
    is_array = hasattr(value, "dtype") and hasattr(value, "shape") and not hasattr(value, "members")
    return value if is_array or isinstance(value, _NUMBERS) else NotImplemented


def _element_shape(values: Sequence[Any]) -> Shape:
    """The shape of the elements of the result. Raises ArgumentError if the operands have different ones."""
    shapes = {tuple(one.shape if isinstance(one, Matrix) else getattr(one, "element_shape", ())) for one in values}
    shapes -= {()}
    if len(shapes) > 1:
        listed = " and ".join(map(str, sorted(shapes)))
        raise ArgumentError(f"the elements of the operands have the shapes {listed}, which must be equal")
    return shapes.pop() if shapes else ()


def _kind(value: Any, axes: int) -> tuple[Prim, Shape | None]:
    """The type and the shape of `_aligned(value, axes)`."""
    if isinstance(value, Field | Ndarray):
        return value.dtype, (*value.shape, *(value.element_shape or (1,) * axes))
    if isinstance(value, Matrix):
        return value.dtype, value.shape
    return prim_of(value), None if isinstance(value, np.generic) else tuple(value.shape)


def _aligned(value: Any, axes: int) -> Any:
    """An operand whose last axes are so many axes of elements. (Arrays of other libraries have them.)"""
    if isinstance(value, Matrix):
        return value.values
    if not axes or not isinstance(value, Field | Ndarray) or value.element_shape:
        return value
    entries = (*(slice(None),) * value.ndim, *(None,) * axes)
    return view_of_memory(value, value.dtype, lambda cells: selected(cells, entries))


def _with_elements(made: Any, inner: Shape) -> Any:
    """The array of numbers, as an array of elements of that shape."""
    if not inner or not isinstance(made, Ndarray):
        return made
    if made.shape[-len(inner) :] != inner:
        raise ArgumentError(f"the result has the shape {made.shape}, which does not end with that of elements, {inner}")
    return view_of_memory(made, type_of_elements(inner, made.dtype), lambda cells: cells)


@cache
def _function(text: str, casting: Casting) -> ElementwiseFunction:
    """The function of arrays that computes a formula."""
    places = sorted({int(place) for place in re.findall(r"\{(\d+)\}", text)})
    names = [f"x{place}" for place in places]
    shown = text.format(*names)
    made = ElementwiseFunction(scalar_function("operator", names, shown), casting)
    made.label = f"`{shown}`"
    return made


@cache
def _copying() -> ElementwiseFunction:
    """The function that copies its first operand, in the shape of the second one."""
    return ElementwiseFunction(scalar_function("copy", ["x0", "x1"], "x0"), casting="unsafe")


def scalar_function(name: str, parameters: Sequence[str], value: str) -> ScalarFunction:
    """The function of numbers that returns `value`, an expression of its parameters, of types, and of functions of the
    language. (The names of some end with an underscore: `not_`.)"""
    words = {word: word.rstrip("_") for word in re.findall(r"[a-z_][a-z_0-9]*", value)}
    space = {
        word: BUILTINS[name] if name in BUILTINS else PRIMS[name]
        for word, name in words.items()
        if name in BUILTINS or name in PRIMS
    }
    function = define(name, [(one, None) for one in parameters], [f"    return {value}"], space)
    function.__annotations__ = {}
    return ScalarFunction(function, "elementwise", 1)
