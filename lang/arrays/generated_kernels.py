"""Generate kernels around a scalar function. The text of a kernel is made for one layout of its operands.

For `shade(x, w)` with an array `x`, repeated along the first axis, and a number `w`, the text is

    def shade(x, w: f32, _out):
        for _i, _j in _out:
            _out[_i, _j] = _function(x[_j], w)

A value that broadcasting repeats is loaded again, so no array with strides of zero is needed.
"""

from __future__ import annotations

import builtins
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.ir.errors import GENERATED, CompilationError, Span, TypeMismatch
from weft.ir.types import Prim
from weft.lang.arrays.operands import Operand
from weft.lang.errors import PrecisionWarning
from weft.lang.functions.captures import Captures
from weft.lang.functions.lost_source import keep_text
from weft.lang.functions.source import source_of
from weft.lang.kernels.kernel import Kernel, kernel
from weft.lang.program.init import Program
from weft.lang.translate.entry import Argument, translate_kernel
from weft.lang.translate.functions import FUNCTIONS, Call
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import kind_of, to_expr
from weft.lang.values.builtins import Builtin, cast
from weft.lang.values.types import NdarrayType

__all__ = [
    "AXES",
    "Pattern",
    "Results",
    "Text",
    "define",
    "elementwise_kernel",
    "make_kernel",
    "pattern_of",
    "results_of",
]

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), GENERATED)


def define(name: str, parameters: Sequence[tuple[str, Any]], body: Sequence[str], names: dict[str, Any]) -> Any:
    """Return the Python function with that text. `parameters` are names with annotations. `names` are its globals."""
    text = "".join(f"{line}\n" for line in (f"def {name}({', '.join(n for n, _ in parameters)}):", *body))
    space: dict[str, Any] = {"__name__": __name__, **names}
    exec(compile(text, _FILE, "exec"), space)  # noqa: S102 - our own text, of identifiers
    function = space.pop(name) if name not in names else space[name]
    function.__annotations__ = dict(parameters)
    keep_text(function, text)
    return function


def make_kernel(name: str, parameters: Sequence[tuple[str, Any]], body: Sequence[str], names: dict[str, Any]) -> Kernel:
    """Return the kernel with that text. A parameter whose annotation is None is an array. All names in the text except
    those of operands begin with an underscore."""
    annotated = [(n, annotation or NdarrayType()) for n, annotation in parameters]
    return kernel(define(name, annotated, body, {"_cast": cast, "_min": builtins.min, "_range": range, **names}))


# The layout of an operand along the axes of a loop: None for a number. For an array, one flag for each of its own axes:
# whether the operand is repeated along it (its extent is 1 and that of the loop is not).
Pattern = tuple[bool, ...] | None

AXES = tuple(f"_i{axis}" for axis in range(64))  # as many axes as numpy supports


def pattern_of(own: tuple[int, ...] | None, shape: tuple[int, ...]) -> Pattern:
    """Return the layout of an operand of shape `own` in a loop over `shape`."""
    if own is None:
        return None
    return tuple(extent != whole for extent, whole in zip(own, shape[len(shape) - len(own) :]))


@dataclass(frozen=True)
class Text:
    """The computation in a loop over `axes`, for operands with the layouts `patterns`: the result of `function`, or, if
    that is None, the single operand."""

    operands: Sequence[Operand]
    patterns: Sequence[Pattern]
    function: Any
    axes: Sequence[str]

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """The parameters of a kernel that takes the operands."""
        return [(one.name, one.prim if p is None else None) for one, p in zip(self.operands, self.patterns)]

    def at(self, *axes: str) -> str:
        """Return the value at the indices `axes`."""
        values = ", ".join(one.name + _element(p, axes) for one, p in zip(self.operands, self.patterns))
        return values if self.function is None else f"_function({values})"


def _element(pattern: Pattern, axes: Sequence[str]) -> str:
    if pattern is None:
        return ""
    own = axes[len(axes) - len(pattern) :]  # the last axes belong to the operand
    return f"[{', '.join('0' if repeated else axis for axis, repeated in zip(own, pattern)) or 'None'}]"


def elementwise_kernel(
    name: str, text: Text, targets: Sequence[Prim], several: bool = False, order: Sequence[int] | None = None
) -> Kernel:
    """Return the kernel that writes the values, cast to the types `targets`, to arrays of these types. `order` gives
    the axis of the operands for each axis of the results."""
    numbers = range(len(targets))
    loop = [text.axes[axis] for axis in order] if order is not None else text.axes
    where, indent = ", ".join(loop) or "None", "        " if loop else "    "
    left = "".join(f"_y{k}, " for k in numbers) if several else "_y0 "
    body = [f"    for {where} in _out0:"] if loop else []
    body += [f"{indent}{left}= {text.at(*text.axes)}"]
    body += [f"{indent}_out{k}[{where}] = _cast(_y{k}, _t{k})" for k in numbers]
    names = {"_function": text.function, **{f"_t{k}": prim for k, prim in enumerate(targets)}}
    return make_kernel(name, [*text.parameters, *((f"_out{k}", None) for k in numbers)], body, names)


# ---- types of results ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Results:
    """The types of the results of a scalar function for operands of certain types. `several` is true if it returns a
    tuple."""

    prims: tuple[Prim, ...]
    several: bool
    captures: Captures

    def alive(self) -> bool:
        """Return whether the function still has the same meaning."""
        return not self.captures.changed()


class _Note:
    """Records the types that the translator found."""

    prims: tuple[Prim, ...] = ()
    several = False


def _noted(note: _Note, value: Any) -> None:
    raise CompilationError("only the translator takes notes")


_note = Builtin("note_results", _noted, "Note the types of what a function returned.")


def _take_note(t: Translator, c: Call) -> None:
    note, value = c.args
    note.several = isinstance(value, (tuple, list))
    if value is None or (note.several and not value):
        raise t.error("it returns nothing, but it must return the elements of the result", c.node, TypeMismatch)
    parts = [to_expr(t, part, c.node) for part in (value if note.several else (value,))]
    for part in parts:
        if not isinstance(part.type, Prim):
            raise t.error(f"it returns {kind_of(part)}: return a number, or a tuple of them", c.node, TypeMismatch)
    note.prims = tuple(part.type for part in parts)


FUNCTIONS[_note.name] = _take_note


def results_of(
    program: Program, function: Any, names: Sequence[str], prims: Sequence[Prim], call: str, space: dict[str, Any]
) -> Results:
    """Return the type of the expression `call`. `names` are numbers of types `prims`; `space` gives the meaning of
    other names. Raises CompilationError if `function`, which is called there, does not accept such numbers, or does not
    return numbers."""
    note = _Note()
    body = [f"    _note(_found, {call})"]
    probe = define("probe", tuple(zip(names, prims)), body, {**space, "_note": _note, "_found": note})
    arguments = [Argument(name, prim, prim) for name, prim in zip(names, prims)]
    try:
        with warnings.catch_warnings():  # they will be emitted when a kernel is made of it
            warnings.simplefilter("ignore", PrecisionWarning)
            translation = translate_kernel(probe, arguments, (), program.config)
    except CompilationError as error:
        raise type(error)(error.message, _users_place(error.span, function)) from error.__cause__
    return Results(note.prims, note.several, Captures(translation.captures))


def _users_place(span: Span | None, function: Any) -> Span | None:
    """Return the place. If that is in generated text, return the first line of the function."""
    if span is None or span.file != _FILE:
        return span
    place = source_of(function.function).header() if hasattr(function, "function") else None
    return None if place is None or place.file == _FILE else place
