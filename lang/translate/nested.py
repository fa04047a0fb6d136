"""Functions and lambdas that are defined inside a kernel. They are known at compile time and inlined at each call.

As in Python, they see the values that the names around them have at the call. What they assign is local to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.errors import UnsupportedSyntax
from weft.lang.functions.annotations import MISSING
from weft.lang.functions.lambdas import LAMBDA, as_function
from weft.lang.functions.source import Source
from weft.lang.translate.functions import Call
from weft.lang.translate.inlining import inline_body
from weft.lang.translate.names import Names
from weft.lang.translate.translator import Translator, translates

__all__ = ["NestedFunction"]


@dataclass(frozen=True, eq=False)
class NestedFunction:
    """A function that is defined in the translated code. `home` is the translator of the function that contains it."""

    source: Source
    home: Translator

    def inline(self, t: Translator, c: Call) -> Any:
        """The meaning of a call of this function."""
        definition = self.source.node
        child = Translator(t.unit, self.source, self._names(), t.span(c.node))
        annotations = {arg.arg: arg.annotation for arg in _parameters(definition)} | {"return": definition.returns}

        def annotation(name: str) -> Any:
            written = annotations.get(name)
            return MISSING if written is None else self.home.expr(written)

        return inline_body(t, child, self._matched(c), annotation, (definition,), c)

    def _names(self) -> Names:
        """The names around the function, without those that it assigns."""
        own = set(_assigned(self.source.node))
        names = Names(self.home.names.function)
        kept = [{name: b for name, b in scope.items() if name not in own} for scope in self.home.names.scopes]
        names.scopes = [*kept, {}]
        return names

    def _matched(self, c: Call) -> list[tuple[str, Any]]:
        spec = self.source.node.args
        names = [arg.arg for arg in _parameters(self.source.node)]
        positional = names[: len(spec.posonlyargs) + len(spec.args)]
        if len(c.args) > len(positional):
            raise self._wrong(c, f"takes {len(positional)} arguments, got {len(c.args)}")
        given = dict(zip(positional, c.args))
        for name, value in c.keywords.items():
            if name in given or name not in names:
                raise self._wrong(c, f"'{name}' is given twice" if name in given else f"has no parameter '{name}'")
            given[name] = value
        defaults = zip(positional[len(positional) - len(spec.defaults) :], spec.defaults)
        only = ((arg.arg, default) for arg, default in zip(spec.kwonlyargs, spec.kw_defaults) if default is not None)
        for name, default in (*defaults, *only):
            if name not in given:
                given[name] = self.home.expr(default)
        missing = [name for name in names if name not in given]
        if missing:
            raise self._wrong(c, f"argument '{missing[0]}' is missing")
        return [(name, given[name]) for name in names]

    def _wrong(self, c: Call, problem: str) -> TypeMismatch:
        return TypeMismatch(f"'{self.source.name}' {problem}", self.home.span(c.node))


def _parameters(definition: ast.FunctionDef) -> list[ast.arg]:
    spec = definition.args
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]


def _assigned(definition: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(definition):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


@translates(ast.FunctionDef)
def _definition(t: Translator, node: ast.FunctionDef) -> None:
    if node.args.vararg or node.args.kwarg:
        raise t.error(
            f"'{node.name}' is defined inside a kernel, so it must have a fixed number of parameters",
            node,
            UnsupportedSyntax,
        )
    if any(not _is_marker(mark) for mark in node.decorator_list):
        raise t.error("a function inside a kernel cannot have decorators", node, UnsupportedSyntax)
    t.bind(node.name, NestedFunction(replace(t.source, name=node.name, node=node), t), "compile-time value")


def _is_marker(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in ("func", "pyfunc")


@translates(ast.Lambda)
def _lambda(t: Translator, node: ast.Lambda) -> NestedFunction:
    return NestedFunction(replace(t.source, name=LAMBDA, node=as_function(node)), t)
