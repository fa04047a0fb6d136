"""`ti.ad.derivative(f, x)`: the derivative of a function, as a value in a kernel."""

from __future__ import annotations

import ast
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim, Tensor, Type, element, shape_of, tensor
from weft.lang.translate import calls
from weft.lang.translate.functions import Call, function
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import kind_of, to_expr

__all__: list[str] = []


@function("derivative")
def _derivative(t: Translator, c: Call) -> Any:
    """Call the function with a marked copy of its argument, and take the derivative of what it returns."""
    if len(c.args) < 2:
        raise t.error(
            "derivative takes a function and its argument, as in ti.ad.derivative(f, x)", c.node, TypeMismatch
        )
    f, given, *rest = c.args
    x = to_expr(t, given, c.node)
    _check(t, c, x, "the argument")
    by = t.local(tree.Vary(x, type=x.type, span=t.span(c.node)))
    inner = ast.copy_location(ast.Call(c.node.args[0], c.node.args[1:], c.node.keywords), c.node)
    result = calls.call(t, f, Call(inner, [by, *rest], c.keywords))
    if result is None or isinstance(result, (tuple, list)):
        raise t.error("derivative takes a function that returns a number, a vector or a matrix", c.node, TypeMismatch)
    value = to_expr(t, result, c.node)
    _check(t, c, value, "the result of the function")
    return tree.Derivative(value, by, type=_joined(t, c, value, x), span=t.span(c.node))


def _check(t: Translator, c: Call, value: tree.Expr, what: str) -> None:
    if not isinstance(value.type, (Prim, Tensor)) or not element(value.type).is_float:
        raise t.error(
            f"{what} must be a float, or a vector or matrix of floats, not {kind_of(value)}", c.node, TypeMismatch
        )


def _joined(t: Translator, c: Call, value: tree.Expr, x: tree.Expr) -> Type:
    shape = shape_of(value.type) + shape_of(x.type)
    if len(shape) > 2:
        raise t.error(
            f"the derivative of {kind_of(value)} by {kind_of(x)} has {len(shape)} axes, but a matrix has two: "
            "differentiate by each number",
            c.node,
            TypeMismatch,
        )
    return tensor(element(value.type), shape) if shape else value.type
