"""The operands of a call of an array function: which of them are arrays or numbers, and their types and extents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from weft.ir.errors import CompilationError, TypeMismatch
from weft.ir.scalar import promote, range_of
from weft.ir.types import Prim, f64, i64, u1, u64
from weft.lang.data.libraries import Shape, prim_of, view
from weft.lang.errors import ArgumentError
from weft.lang.functions.annotations import evaluate_annotations
from weft.lang.functions.func import Func
from weft.lang.functions.lost_source import find_lost
from weft.lang.program.init import program
from weft.lang.values.builtins import Builtin, PyFunc
from weft.lang.values.types import prim_of_numpy

__all__ = ["Operand", "ScalarFunction", "broadcast", "operands", "type_of_number"]


class ScalarFunction:
    """A function of numbers: a `@func`, a `@pyfunc` (also as a method), a plain function, or a built-in one like
    `ti.max`. `kind` is "elementwise" or "reduce", for messages. `depth` is the number of frames up to the caller that
    makes the object."""

    def __init__(self, function: Any, kind: str, depth: int) -> None:
        method = isinstance(function, MethodType) and isinstance(function.__func__, (Func, PyFunc))
        if not method and not isinstance(function, (Func, PyFunc, Builtin)):
            if not isinstance(function, FunctionType):
                raise CompilationError(f"ti.{kind} takes a function of numbers, not {function!r}")
            evaluate_annotations(function, depth)
            find_lost(function, depth)
            function = Func(function)
        self.function: Any = function
        self.kind = kind
        name: str = getattr(function, "__name__", "")
        self.name = name if name.isidentifier() else "function"  # a lambda has no identifier
        self.__doc__ = function.__doc__
        self.parameters = None if isinstance(function, Builtin) else self._parameters(self.function.function, method)
        # In the text of a kernel, names with a leading underscore are not operands.
        self.names = [f"arg{n}" if n[0] == "_" else n for n in self.parameters.parameters] if self.parameters else []
        known = [*self.parameters.parameters.values()] if self.parameters else []
        self._own = [one.name for one in known]
        self._defaults = {one.name: one.default for one in known if one.default is not Parameter.empty}
        by_name = [one.name for one in known if one.kind is not Parameter.POSITIONAL_ONLY]
        self._open = [frozenset(by_name) - {*self._own[:count]} for count in range(len(known) + 1)]  # after so many

    def _parameters(self, function: Callable[..., Any], is_method: bool) -> Signature:
        found = signature(function)
        if is_method:
            found = found.replace(parameters=list(found.parameters.values())[1:])
        for name, parameter in found.parameters.items():
            if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD, Parameter.KEYWORD_ONLY):
                raise CompilationError(f"{self.kind} '{self.name}': parameter '{name}' must be positional, without '*'")
        return found

    def matched(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[list[str], tuple[Any, ...]]:
        """Return the names of the operands, and the operands. Raises ArgumentError if they do not match the
        parameters."""
        if self.parameters is None:
            if keywords:
                raise ArgumentError(f"'{self.name}' has no parameter '{next(iter(keywords))}'")
            return [f"x{position}" for position in range(len(args))], args
        if len(args) == len(self.names) and not keywords:
            return self.names, args
        if len(args) <= len(self.names) and keywords.keys() <= self._open[len(args)]:
            rest, known = self._own[len(args) :], {**self._defaults, **keywords}
            if known.keys() >= {*rest}:
                return self.names, (*args, *[known[name] for name in rest])
        try:
            bound = self.parameters.bind(*args, **keywords)
        except TypeError as error:
            wanted = ", ".join(self.parameters.parameters)
            raise ArgumentError(f"{self.kind} '{self.name}' takes {wanted}: {error}") from None
        bound.apply_defaults()
        return self.names, tuple(bound.arguments.values())


@dataclass(slots=True)
class Operand:
    """`value` is a view of an array of `shape`, or a number if `shape` is None. `source` is the object that the user
    passed."""

    name: str
    value: Any
    prim: Prim
    shape: Shape | None
    source: Any


def operands(label: str, names: Iterable[str], values: Iterable[Any]) -> list[Operand]:
    """Return the operands of the function that `label` names. A Python number has the type that it has in a kernel
    (`default_fp` or `default_ip`), but is as wide as the widest array of its kind. Raises ArgumentError for an object
    that is not an operand."""
    found: list[Operand] = []
    for name, value in zip(names, values):
        if isinstance(value, (bool, int, float, np.generic)):
            found.append(Operand(name, value, u1, None, value))
            continue
        try:
            seen = view(value)
            found.append(Operand(name, seen, prim_of(seen), tuple(seen.shape), value))
        except TypeMismatch as error:
            what = f"{type(value).__name__} of shape {tuple(value.shape)}" if hasattr(value, "shape") else repr(value)
            raise ArgumentError(f"{label}: operand '{name}', {what}: {error.message}") from None
    wide = [one.prim for one in found if one.shape is not None]
    for one in found:
        if one.shape is None:
            one.prim = type_of_number(label, one.value, wide, one.name)
    return found


def type_of_number(label: str, number: Any, wide: Sequence[Prim], name: str = "") -> Prim:
    """The type of a number beside arrays of these types. Raises ArgumentError if no type can hold it; `name` is that of
    the operand in messages."""
    config, what = program().config, f"operand '{name}'" if name else "an operand"
    if isinstance(number, np.generic):
        try:
            return prim_of_numpy(number.dtype)
        except TypeMismatch as error:
            raise ArgumentError(f"{label}: {what}, {number!r}: {error.message}") from None
    if isinstance(number, bool):
        return u1
    if isinstance(number, float):
        return f64 if f64 in wide else config.default_fp
    prim = config.default_ip
    for other in wide:
        prim = promote(prim, other) if other.is_int and other is not u1 else prim
    for candidate in (prim, i64, u64):
        low, high = range_of(candidate)
        if low <= number <= high:
            return candidate
    raise ArgumentError(f"{label}: {what} is {number}, which does not fit any integer type")


def broadcast(label: str, found: Sequence[Operand]) -> Shape:
    """Return the common shape of all operands by numpy's rules. Raises ArgumentError, with all shapes, if there is
    none."""
    shapes = [one.shape for one in found if one.shape is not None]
    if not shapes:
        return ()
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(f"{one.name}{one.shape}" for one in found if one.shape is not None)
        raise ArgumentError(f"{label}: the shapes of the operands cannot be broadcast: {listed}") from None
