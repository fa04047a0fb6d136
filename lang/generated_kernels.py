"""Kernels around a scalar function: their text is made for one way in which its operands are laid out.

For `shade(x, w)` with an array `x`, repeated along the first axis, and a number `w` the text is

    def shade(x, w: f32, _out):
        for _i, _j in _out:
            _out[_i, _j] = _function(x[_j], w)

so that what broadcasting repeats is loaded where it is repeated, and no array of strides zero is needed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.ir.errors import CompilationError, Span, TypeMismatch
from weft.ir.types import Prim
from weft.lang.builtins import Builtin, cast
from weft.lang.captures import Captures
from weft.lang.init import Program
from weft.lang.kernel import Kernel, kernel
from weft.lang.translate import Argument, translate_kernel
from weft.lang.translate.functions import FUNCTIONS, Call
from weft.lang.translate.lost_source import keep_text
from weft.lang.translate.source import source_of
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import kind_of, to_expr
from weft.lang.types import NdarrayType

__all__ = ["Results", "define", "make_kernel", "results_of"]

# Errors point at the user's functions, not into text that nobody wrote (see `translate/source.py`).
_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "<generated>")


def define(name: str, parameters: Sequence[tuple[str, Any]], body: Sequence[str], names: dict[str, Any]) -> Any:
    """The Python function with that text. `parameters` are names with annotations, `names` what its globals mean."""
    text = "".join(f"{line}\n" for line in (f"def {name}({', '.join(n for n, _ in parameters)}):", *body))
    space: dict[str, Any] = {"__name__": __name__, **names}
    exec(compile(text, _FILE, "exec"), space)  # noqa: S102 - our own text, of identifiers
    function = space.pop(name) if name not in names else space[name]
    function.__annotations__ = dict(parameters)
    keep_text(function, text)
    return function


def make_kernel(name: str, parameters: Sequence[tuple[str, Any]], body: Sequence[str], names: dict[str, Any]) -> Kernel:
    """The kernel with that text; a parameter whose annotation is None is an array."""
    annotated = [(n, annotation or NdarrayType()) for n, annotation in parameters]
    return kernel(define(name, annotated, body, {"cast": cast, **names}))


# ---- what a function returns -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Results:
    """The types of what a scalar function returns for operands of certain types. `several`: it returns a tuple."""

    prims: tuple[Prim, ...]
    several: bool
    captures: Captures

    def alive(self) -> bool:
        """Whether the function still means what it did."""
        return not self.captures.changed()


class _Note:
    """Where the translator writes down what it was shown."""

    prims: tuple[Prim, ...] = ()
    several = False


def _noted(note: _Note, value: Any) -> None:
    raise CompilationError("only the translator takes notes")


_note = Builtin("note_results", _noted, "Note the types of what a function returned.")


def _take_note(t: Translator, c: Call) -> None:
    note, value = c.args
    note.several = isinstance(value, (tuple, list))
    if value is None or (note.several and not value):
        raise t.error("it returns nothing: an array function's elements are what it returns", c.node, TypeMismatch)
    parts = [to_expr(t, part, c.node) for part in (value if note.several else (value,))]
    for part in parts:
        if not isinstance(part.type, Prim):
            raise t.error(f"it returns {kind_of(part)}: return a number, or a tuple of them", c.node, TypeMismatch)
    note.prims = tuple(part.type for part in parts)


FUNCTIONS[_note.name] = _take_note


def results_of(
    program: Program, function: Any, names: Sequence[str], prims: Sequence[Prim], call: str, space: dict[str, Any]
) -> Results:
    """What the expression `call` gives, where `names` are numbers of types `prims` and `space` says what other names
    mean. CompilationError where `function`, which is called there, takes no such numbers, or returns no numbers."""
    note = _Note()
    body = [f"    _note(_found, {call})"]
    probe = define("probe", tuple(zip(names, prims)), body, {**space, "_note": _note, "_found": note})
    arguments = [Argument(name, prim, prim) for name, prim in zip(names, prims)]
    try:
        translation = translate_kernel(probe, arguments, (), program.config)
    except CompilationError as error:
        raise type(error)(error.message, _users_place(error.span, function)) from error.__cause__
    return Results(note.prims, note.several, Captures(translation.captures))


def _users_place(span: Span | None, function: Any) -> Span | None:
    """The place without the line of ours that it was reached from; else where the function begins."""
    if span is None or span.file != _FILE:
        return span if span is None else replace(span, caller=_users_place(span.caller, None))
    return source_of(function.function).header() if hasattr(function, "function") else None
