"""`(x := value)`: the assignment that is an expression.

while (n := x[k]) > 0:        <- n is a new variable, or the one that is there
    k = n
b = a + (a := 5)              <- the first a is read before it is 5
"""

from __future__ import annotations

import ast
from typing import Any

from weft.lang.translate.expressions import meaning
from weft.lang.translate.statements import assign_name
from weft.lang.translate.translator import Translator, translates
from weft.lang.translate.values import Record

__all__: list[str] = []


@translates(ast.NamedExpr)
def _named(t: Translator, node: ast.NamedExpr) -> Any:
    """The value of the variable after the assignment. An existing variable is assigned within the expression, in order
    of evaluation."""
    known = t.names.find(node.target.id)
    if known is None:
        return _assigned(t, node)
    if not isinstance(known.value, Record):
        return t.guarded(node, _assigned)
    return Record(known.value.type, t.guarded(node, _whole))


def _assigned(t: Translator, node: ast.expr) -> Any:
    assert isinstance(node, ast.NamedExpr)
    assign_name(t, node.target, t.expr(node.value), False, node)
    binding = t.names.find(node.target.id)
    assert binding is not None
    return meaning(t, binding, node)


def _whole(t: Translator, node: ast.expr) -> Any:
    return _assigned(t, node).whole
