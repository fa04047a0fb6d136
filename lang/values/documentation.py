"""The documentation of the functions of the language.

It is written in the stubs (`stubs/*.pyi`), where editors look for it, and only there. `help()` and the pages of the
site read it from these files, when they first ask. Where the stubs were not installed, the functions have none."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["documentation", "documented", "signature"]

T = TypeVar("T")

_STUBS = Path(__file__).resolve().parents[2] / "stubs"
# Functions whose own names are others: operators of the IR, and `ti.math.length`.
_NAMES = {"not": "logical_not", "shl": "bit_shl", "shr": "bit_sar", "norm": "length"}
_LIBRARY = ("math", "decompositions")  # what is written in the language itself


def documented(is_library: bool) -> Callable[[type[T]], type[T]]:
    """Decorate a class whose objects are functions of the language: their `__doc__` is that of the stubs."""

    def decorate(cls: type[T]) -> type[T]:
        cls.__doc__ = _Documentation(cls.__doc__, is_library)  # type: ignore[assignment]
        return cls

    return decorate


class _Documentation:
    """`__doc__` of the class, and of its objects: what the stubs say, or else what the object has itself."""

    def __init__(self, of_class: str | None, is_library: bool) -> None:
        self.of_class, self.is_library = of_class, is_library

    def __get__(self, one: Any, owner: Any = None) -> str | None:
        if one is None:
            return self.of_class
        return documentation(one.__name__, self.is_library) or one.own_documentation


def documentation(name: str, is_library: bool) -> str | None:
    """The documentation of a function of the language; `is_library` for those that are written in the language. None
    if it has none."""
    found = _functions(is_library).get(_NAMES.get(name, name), [])
    return next((text for one in reversed(found) if (text := ast.get_docstring(one))), None)


def signature(name: str) -> Signature | None:
    """The parameters of a function that kernels and Python call, without types: those of all its overloads."""
    found = _functions(False).get(_NAMES.get(name, name))
    if not found:
        return None
    longest = max(found, key=lambda one: len(one.args.args) + bool(one.args.vararg))
    needed = {arg.arg for arg in longest.args.args}
    for one in found:
        required = len(one.args.args) - len(one.args.defaults)
        needed &= {arg.arg for arg in one.args.args[:required]}
    return Signature(list(_parameters(longest.args, needed)))


def _parameters(args: ast.arguments, needed: set[str]) -> Iterator[Parameter]:
    for arg in args.args:
        default = Parameter.empty if arg.arg in needed else None
        yield Parameter(arg.arg, Parameter.POSITIONAL_OR_KEYWORD, default=default)
    if args.vararg:
        yield Parameter(args.vararg.arg, Parameter.VAR_POSITIONAL)
    for arg in args.kwonlyargs:
        yield Parameter(arg.arg, Parameter.KEYWORD_ONLY, default=None)


@functools.cache
def _functions(is_library: bool) -> dict[str, list[ast.FunctionDef]]:
    """The definitions of each function in the stubs."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for path in sorted(_STUBS.glob("*.pyi")):
        if (path.stem in _LIBRARY) is is_library:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef):
                    found.setdefault(node.name, []).append(node)
    return found
