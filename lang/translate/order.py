"""Operands are evaluated from left to right, as in Python.

The translation of an operand may emit statements that must run before it: an inlined function stores its arguments. If
an operand to its left is still an expression, those statements would run too early:

    f(a) + g([b, c])        g stores b and c; f(a) must be evaluated before that

`following` translates an operand. It keeps the statements inside the operand. If the operand is not an expression, or
if it is a place that may be assigned, it evaluates the operands to its left first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from weft.ir import tree
from weft.ir.transforms.lower_tree_facts import walk
from weft.ir.types import VOID, Array
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import EFFECTS, Record, contains, in_memory, settled, settled_place

__all__ = ["following"]

P = ParamSpec("P")
R = TypeVar("R")


def following(t: Translator, earlier: list[Any], translate: Callable[P, R], *args: P.args, **keywords: P.kwargs) -> R:
    """The result of `translate(*args, **keywords)`, the meaning of an operand that follows `earlier`. The meanings in
    `earlier` are replaced where they must be evaluated first; places stay places."""
    outer, t.out = t.out, []
    try:
        value = translate(*args, **keywords)
        inner = t.out
    finally:
        t.out = outer
    if inner and any(contains(one, lambda expr: _may_change(t, expr)) for one in earlier):
        if isinstance(value, tree.Expr) and _is_value(value):
            kept: Any = tree.Call("", [], [*inner, tree.Return([value])], type=value.type, span=value.span)
            return kept  # type: ignore[no-any-return]
        earlier[:] = [_evaluated(t, one) for one in earlier]
    t.out.extend(inner)
    return value


def _is_value(value: tree.Expr) -> bool:
    """Whether `value` is neither a place nor an array."""
    return not (in_memory(value) or isinstance(value.type, Array) or value.type is VOID)


def _may_change(t: Translator, value: tree.Expr) -> bool:
    """Whether `value` has an effect, or reads something that may be written."""
    return any(
        isinstance(inner, (tree.FieldElement, tree.ArrayElement, *EFFECTS))
        or (isinstance(inner, tree.Var) and inner.variable not in t.unit.fixed)
        for inner in walk(value)
    )


def _evaluated(t: Translator, value: Any) -> Any:
    """The current value. Of a place, its indices are evaluated."""
    if isinstance(value, tree.Expr) and not isinstance(value.type, Array) and in_memory(value):
        return settled_place(t, value)
    if isinstance(value, Record):
        if value.whole is not None:
            return Record(value.type, _evaluated(t, value.whole))
        return Record(value.type, parts={name: _evaluated(t, part) for name, part in (value.parts or {}).items()})
    if isinstance(value, (list, tuple)):
        return type(value)([_evaluated(t, item) for item in value])
    return settled(t, value)
