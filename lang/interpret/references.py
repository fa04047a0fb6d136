"""Write changes of template parameters back to the caller's variable, element or member (`arch=python`).

    inc(a)      becomes      __weft__.first(__weft__.invoke(inc, a), a := __weft__.changed(0, a))

At its end, a rewritten function leaves the values of such parameters in `finals`. Its caller writes them back.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any, Protocol

__all__ = ["References", "changeable", "ending", "places", "putting_back"]


class References:
    """The part of the `__weft__` of a rewritten function that returns changes. `finals` holds the values of its own
    template parameters at its end, by position and by name. `latest` holds what the last called function changed."""

    def __init__(self) -> None:
        self.finals: dict[int | str, Any] = {}
        self.latest: dict[int | str, Any] = {}

    def invoke(self, function: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        """Call a function and record the values that it left."""
        result = function(*args, **keywords)
        owner = getattr(getattr(function, "__func__", function), "__weft_references__", None)
        finals: dict[int | str, Any] = owner.finals if owner is not None else {}
        given: list[tuple[int | str, Any]] = [*enumerate(args), *keywords.items()]
        self.latest = {key: finals[key] for key, value in given if finals.get(key, value) is not value}
        return result

    def leave(self, **values: Any) -> None:
        """Record the values of the template parameters at the end of a function. A key gives position and name, as in
        `_0_a`."""
        self.finals = {}
        for key, value in values.items():
            _, position, name = key.split("_", 2)
            self.finals |= {int(position): value, name: value}

    def first(self, result: Any, *_: Any) -> Any:
        """Return the result, after the other arguments have been written back."""
        return result

    def changed(self, key: int | str, old: Any) -> Any:
        """Return the new value of a variable that was passed."""
        return self.assign(old, self.latest[key]) if key in self.latest else old

    def restore(self, key: int | str, base: Any, index: Any) -> None:
        """Write the new value back to `base[index]`."""
        if key in self.latest:
            self.store(base, index, self.latest[key])

    def restore_member(self, key: int | str, base: Any, name: str) -> None:
        """Write the new value back to `base.name`."""
        if key in self.latest:
            self.store_member(base, name, self.latest[key])

    def assign(self, old: Any, value: Any) -> Any:
        """See `Semantics`."""
        raise NotImplementedError

    def store(self, base: Any, index: Any, value: Any) -> None:
        """See `Semantics`."""
        raise NotImplementedError

    def store_member(self, base: Any, name: str, value: Any) -> None:
        """See `Semantics`."""
        raise NotImplementedError


class _Rewriter(Protocol):
    """The part of `Rewriter` that this module uses."""

    scopes: list[set[str]]

    def call(self, method: str, *args: ast.expr) -> ast.expr: ...

    def visit(self, node: ast.AST) -> Any: ...


def changeable(function: ast.FunctionDef, templates: Sequence[str]) -> list[str]:
    """Return the template parameters that the body assigns to, or passes to a function that might change them."""
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    passed = {value.id for call in calls for _, value in _places(call) if isinstance(value, ast.Name)}
    return [name for name in templates if name in stored | passed]


def ending(
    rewriter: _Rewriter, function: ast.FunctionDef, body: list[ast.stmt], names: Sequence[str]
) -> list[ast.stmt]:
    """Return the body with a record of those parameters at each of its ends."""
    if not names:
        return body
    order = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    order = order[1:] if order[:1] == ["self"] else order
    noted = rewriter.call("leave")
    assert isinstance(noted, ast.Call)
    noted.keywords = [ast.keyword(f"_{order.index(n)}_{n}", ast.Name(n, ast.Load())) for n in names]
    last = function.body[-1]
    return [ast.copy_location(ast.Try(body, [], [], [ast.copy_location(ast.Expr(noted), last)]), function)]


def putting_back(rewriter: _Rewriter, node: ast.Call, written: Sequence[tuple[int | str, ast.expr]]) -> ast.expr:
    """Return the rewritten call of a function that may change its arguments. `written` are the places that were passed,
    as the user wrote them."""
    invoked = ast.Call(rewriter.call("invoke"), [], [])
    made = invoked.func
    assert isinstance(made, ast.Call)
    made.args, made.keywords = [node.func, *node.args], node.keywords
    back = [_put_back(rewriter, key, place) for key, place in written]
    return rewriter.call("first", made, *back)


def _put_back(rewriter: _Rewriter, key: int | str, place: ast.expr) -> ast.expr:
    which = ast.Constant(key)
    if isinstance(place, ast.Name):
        changed = rewriter.call("changed", which, ast.Name(place.id, ast.Load()))
        return ast.NamedExpr(ast.Name(place.id, ast.Store()), changed)
    again = copy.deepcopy(place)
    if isinstance(again, ast.Subscript):
        return rewriter.call("restore", which, rewriter.visit(again.value), rewriter.visit(again.slice))
    assert isinstance(again, ast.Attribute)
    return rewriter.call("restore_member", which, rewriter.visit(again.value), ast.Constant(again.attr))


def _places(node: ast.Call) -> list[tuple[int | str, ast.expr]]:
    """Return the arguments that are places: variables, elements, members."""
    kinds = (ast.Name, ast.Subscript, ast.Attribute)
    found: list[tuple[int | str, ast.expr]] = [(k, a) for k, a in enumerate(node.args) if isinstance(a, kinds)]
    return found + [(k.arg, k.value) for k in node.keywords if k.arg and isinstance(k.value, kinds)]


def places(rewriter: _Rewriter, node: ast.Call) -> list[tuple[int | str, ast.expr]]:
    """Return copies of the arguments that are places of the caller: its variables, and parts of any object."""
    own = set[str]().union(*rewriter.scopes)
    return [(k, copy.deepcopy(a)) for k, a in _places(node) if _has_index(a) or _root(a) in own]


def _has_index(place: ast.expr) -> bool:
    """Return whether the node is an element, or a part of one."""
    while isinstance(place, ast.Attribute):
        place = place.value
    return isinstance(place, ast.Subscript)


def _root(place: ast.expr) -> str:
    while isinstance(place, (ast.Attribute, ast.Subscript)):
        place = place.value
    return place.id if isinstance(place, ast.Name) else ""
