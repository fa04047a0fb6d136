"""What a transform such as `ti.ad.grad(f, wrt)` differentiates: fields, ndarrays and numbers, and what it gives."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.autodiff.variables import called, elements_of, numbers_in
from weft.lang.calls.boxes import can_box
from weft.lang.calls.matching import matched
from weft.lang.data.derived import supply
from weft.lang.data.field import Field
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.struct_field import StructField
from weft.lang.errors import ArgumentError
from weft.lang.values.matrix import Matrix

__all__ = [
    "Call",
    "Made",
    "Number",
    "Selection",
    "direction_of",
    "is_memory",
    "numbers_of",
    "reversible",
    "shape_of_memory",
]


@dataclass(frozen=True)
class Number:
    """A number, vector or matrix that a kernel takes by value, as what a derivative is taken by."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Made:
    """What a function such as `ti.ad.grad(f, wrt)` was made of. It takes the arguments of `function`, after so many
    that come `first`."""

    function: Any
    first: int


class Call:
    """A call of the differentiated function, which is a kernel, a kernel of an object, a function of Python, or one
    that `ti.ad.grad` or another one made of these. `own`: what it was made of, which takes `own_args`."""

    def __init__(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.function, self.args, self.keywords = function, args, keywords
        self.own, self.own_args = function, args
        while isinstance(made := getattr(self.own, "made_of", None), Made):
            self.own, self.own_args = made.function, self.own_args[made.first :]
        self.kernel = getattr(self.own, "kernel", self.own) if getattr(self.own, "is_kernel", False) else None

    def run(self) -> Any:
        """Call the function."""
        return self.function(*self.args, **self.keywords)

    def argument(self, which: str | int) -> Any:
        """The memory or the number of the parameter of this name or position."""
        given = self._given()
        name = _named(self.own, list(given), which)
        value = given[name]
        if is_memory(value):
            return value
        annotation = dict(self.kernel.params).get(name) if self.kernel is not None else None
        if annotation is not None and not _is_array(annotation) and can_box(annotation):
            return Number(name, getattr(annotation, "shape", ()))
        raise TypeMismatch(_no_variable(self.own, name, value))

    def _given(self) -> dict[str, Any]:
        """The arguments by name."""
        if self.kernel is not None:
            owner = () if self.kernel is self.own else (self.own.class_instance,)
            names = [name for name, _ in self.kernel.params]
            ordered = matched(self.kernel, owner[0] if owner else None, self.own_args, self.keywords)
            return dict(zip(names, ordered, strict=True))
        try:
            bound = inspect.signature(self.own).bind(*self.own_args, **self.keywords)
        except TypeError as error:
            raise ArgumentError(f"'{name_of(self.own)}': {error}") from None
        bound.apply_defaults()
        return dict(bound.arguments)


class Selection:
    """The variables that a derivative is taken by, as the user named them: one, or several. A field or ndarray stands
    for itself. A name or a position is that of a parameter."""

    def __init__(self, function: Any, wrt: Any, mode: str = "vjp*") -> None:
        self._mode = mode
        if not callable(function):
            raise ArgumentError(f"a kernel, or a function that launches kernels, was expected, not {function!r}")
        self.several = isinstance(wrt, (list, tuple))
        self._wanted: Sequence[Any] = tuple(wrt) if self.several else (wrt,)
        if not self._wanted:
            raise ArgumentError("wrt is empty: name a field, an ndarray or a parameter to differentiate by")
        for one in self._wanted:
            if not isinstance(one, (str, int)) or isinstance(one, bool):
                check_memory(one, "wrt", mode)

    def variables(self, call: Call) -> list[Any]:
        """The fields, ndarrays and Numbers of a call."""
        found = [call.argument(one) if isinstance(one, (str, int)) else one for one in self._wanted]
        for one in found:
            if not isinstance(one, Number):
                check_memory(one, "wrt", self._mode)
        return found

    def joined(self, values: Sequence[Any]) -> Any:
        """A value for each variable, as the user wants them."""
        return tuple(values) if self.several else values[0]

    def split(self, given: Any, what: str) -> Sequence[Any]:
        """What the user gives for each variable."""
        if not self.several:
            return [given]
        if not isinstance(given, (list, tuple)) or len(given) != len(self._wanted):
            raise ArgumentError(f"{what} must be a list of {len(self._wanted)} arrays, one for each variable of wrt")
        return given


def is_memory(value: Any) -> bool:
    """Whether derivatives of it can be kept: fields and ndarrays."""
    return isinstance(value, Field | Ndarray)


def check_memory(value: Any, what: str, mode: str = "vjp*") -> None:
    """Raise TypeMismatch unless it is a field or ndarray of floats. It gets companions for derivatives in that mode."""
    if isinstance(value, StructField):
        members = ", ".join(f".{name}" for name in value.members)
        raise TypeMismatch(f"{what} must be a field of numbers, vectors or matrices: choose one of {members}")
    if not is_memory(value):
        raise TypeMismatch(f"{what} must be a field, an ndarray or the name of a parameter, not {value!r}")
    if not value.dtype.is_float:
        raise TypeMismatch(f"{what} must have floats: {called(value)} is of {value.dtype}, which has no derivative")
    supply(value, mode)


def reversible(value: Any) -> Any:
    """The variable itself. Raises TypeMismatch if reverse mode cannot differentiate by it: it is a gradient."""
    if getattr(value, "role", "") == "grad":
        raise TypeMismatch(
            f"reverse mode does not differentiate by {called(value)}, which is the gradient of a field itself: "
            "copy it to a field of its own, or use ti.ad.jvp"
        )
    return value


def shape_of_memory(value: Any) -> tuple[int, ...]:
    """The shape of the numbers of a field, an ndarray or a Number."""
    return value.shape if isinstance(value, Number) else elements_of(value)


def numbers_of(memory: Any) -> Any:
    """The numbers in memory: a Python number for 0-D memory, else a new numpy array."""
    numbers = numbers_in(memory)
    return numbers.item() if numbers.ndim == 0 else numbers


def direction_of(given: Any, variable: Any, what: str) -> Any:
    """An array with a number for each number of the variable. Raises ArgumentError if it does not fit."""
    shape = shape_of_memory(variable)
    if is_memory(given):
        given = numbers_in(given)
    if isinstance(given, Matrix):
        given = given.values
    try:
        numbers = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise TypeMismatch(f"{what} must be an array of numbers, not {given!r}") from None
    if numbers.size != math.prod(shape):
        told = f"'{variable.name}'" if isinstance(variable, Number) else called(variable)
        raise ArgumentError(f"{what} has shape {numbers.shape}, but {told} has {shape}")
    return numbers.reshape(shape)


def name_of(function: Any) -> str:
    """The name of a function in messages."""
    return getattr(function, "__name__", repr(function))


def _is_array(annotation: Any) -> bool:
    from weft.lang.calls.parameters import ArrayParameter, Template, make_parameter

    return isinstance(make_parameter("", annotation), ArrayParameter | Template)


def _named(function: Any, names: Sequence[str], which: str | int) -> str:
    if isinstance(which, str):
        if which in names:
            return which
        raise ArgumentError(f"'{name_of(function)}' has no parameter '{which}'; its parameters are {', '.join(names)}")
    if not 0 <= which < len(names):
        raise ArgumentError(f"'{name_of(function)}' has {len(names)} parameters: there is no position {which}")
    return names[which]


def _no_variable(function: Any, name: str, value: Any) -> str:
    what = f"'{name}' of '{name_of(function)}' is {type(value).__name__} {value!r}"
    if isinstance(value, (float, Matrix)) and not getattr(function, "is_kernel", False):
        return (
            f"{what}: derivatives by numbers exist only for kernels. Pass it in a field or ndarray, as "
            "ti.field(ti.f64, ())"
        )
    return f"{what}, and a derivative by it does not exist: name a field or ndarray of floats"
