"""The first assignment to a name. It makes a variable, or binds the name to something known at compile time."""

from __future__ import annotations

import ast
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import VOID, Array, Type
from weft.lang.translate.precision import warn_of_literal
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import Record, coerce, is_number, settled, struct_kind, to_expr
from weft.lang.values.matrix import Matrix
from weft.lang.values.types import StructType

__all__ = ["define", "kept", "right_of"]


def define(
    t: Translator, name: str, value: Any, node: ast.AST, wanted: Type | None = None, kind: StructType | None = None
) -> None:
    """Translate the first assignment to a name: a variable of the value's type, or a name for a compile-time value."""
    if isinstance(value, (list, tuple)) and wanted is None:
        t.bind(name, _variables(t, name, value, node), "")
        return
    if isinstance(value, dict):
        value = settled(t, value)
    if isinstance(value, tree.Shared):
        value.name = value.name or name
        t.bind(name, value, "compile-time value")
        return
    if value is None:
        raise t.error(f"'{name}' would be None: the expression on the right has no value", node, TypeMismatch)
    if wanted is None and not _is_value(value):
        t.bind(name, value, "compile-time value")
        return
    t.bind(name, _variable(t, name, value, node, wanted, kind), "")


def _variable(t: Translator, name: str, value: Any, node: ast.AST, wanted: Type | None, kind: StructType | None) -> Any:
    kind = kind or struct_kind(value)
    expr = to_expr(t, value, right_of(node))
    if expr.type is VOID:
        raise t.error(f"'{name}' would be None: the expression on the right has no value", node, TypeMismatch)
    if wanted is not None:
        warn_of_literal(t, f"'{name}'", wanted, expr, right_of(node))
        expr = coerce(t, expr, wanted, node)
    variable = tree.Variable(name, expr.type)
    t.emit(tree.Let(variable, expr, span=t.span(node)))
    return variable if kind is None else Record(kind, tree.Var(variable, type=expr.type, span=t.span(node)))


def _variables(t: Translator, name: str, value: Any, node: ast.AST) -> Any:
    """A list or tuple. Each number, vector and struct in it becomes a variable."""
    items: list[Any] = []
    for item in value:
        if isinstance(item, (list, tuple)):
            items.append(_variables(t, name, item, node))
        elif _is_value(item):
            made = _variable(t, name, item, node, None, None)
            items.append(tree.Var(made, type=made.type) if isinstance(made, tree.Variable) else made)
        else:
            items.append(item)
    return type(value)(items)


def _is_value(value: Any) -> bool:
    """Whether assigning `value` makes a variable, and not a name for a compile-time value."""
    if isinstance(value, tree.Expr):
        return not isinstance(value.type, Array)
    return isinstance(value, Matrix) or is_number(value) or struct_kind(value) is not None


def kept(t: Translator, name: str, value: Any, node: ast.AST) -> Any:
    """`value` as another object can keep it: run-time values become variables, compile-time values stay as they are."""
    if isinstance(value, (list, tuple)):
        return _variables(t, name, value, node)
    if is_number(value) or not _is_value(value):
        return value
    made = _variable(t, name, value, node, None, None)
    return tree.Var(made, type=made.type) if isinstance(made, tree.Variable) else made


def right_of(node: ast.AST) -> ast.AST:
    """The meaning of the right side of an assignment."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        return node.value
    return node
