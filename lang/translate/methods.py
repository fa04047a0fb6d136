"""Methods of vectors and matrices that become single nodes of the tree."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import Array, Tensor, element, shape_of, tensor, u1, with_element
from weft.lang.translate.functions import Call, arguments, cast_value_to
from weft.lang.translate.operators import truth
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import coerce, in_memory, tensor_elements, to_expr

__all__ = ["METHODS", "transposed"]

Method = Callable[[Translator, tree.Expr, Call], Any]


def _reduction(kind: str, of_truth: bool = False) -> Method:
    def handle(t: Translator, x: tree.Expr, c: Call) -> Any:
        arguments(t, c, 0, 0)
        values = truth(t, x, c.node) if of_truth else x
        prim = u1 if of_truth else element(x.type)
        return tree.Reduce(kind, values, type=prim, span=t.span(c.node))

    return handle


def _transpose(t: Translator, x: tree.Expr, c: Call) -> Any:
    arguments(t, c, 0, 0)
    return transposed(t, x, c.node)


def transposed(t: Translator, x: tree.Expr, node: ast.AST) -> tree.Expr:
    """The transposed matrix. For a vector, it is a matrix with one row."""
    kind = x.type
    assert isinstance(kind, Tensor)
    if len(kind.shape) == 1:
        return tree.MakeTensor(tensor_elements(t, x), type=tensor(kind.elem, (1, kind.shape[0])), span=t.span(node))
    return tree.Transpose(x, type=tensor(kind.elem, kind.shape[::-1]), span=t.span(node))


def _cast(t: Translator, x: tree.Expr, c: Call) -> Any:
    (dtype,) = arguments(t, c, 1, 1, "dtype")
    return cast_value_to(t, x, dtype, c.node)


def _fill(t: Translator, x: tree.Expr, c: Call) -> Any:
    (value,) = arguments(t, c, 1, 1, "val")
    if not in_memory(x):
        raise t.error("'fill' needs a variable or an element of a field to change", c.node, TypeMismatch)
    filled = coerce(t, to_expr(t, value, c.node), with_element(x.type, element(x.type)), c.node)
    t.emit(tree.Assign(x, filled, span=t.span(c.node)))


def _shape(t: Translator, x: tree.Expr, c: Call) -> Any:
    arguments(t, c, 0, 0)
    assert isinstance(x.type, Tensor)
    return x.type.shape


def _element_shape(t: Translator, x: tree.Expr, c: Call) -> Any:
    arguments(t, c, 0, 0)
    assert isinstance(x.type, Array)
    return list(shape_of(x.type.elem))


def _copy(t: Translator, x: tree.Expr, c: Call) -> Any:
    arguments(t, c, 0, 0)
    return x


METHODS: dict[str, Method] = {
    "sum": _reduction("add"),
    "max": _reduction("max"),
    "min": _reduction("min"),
    "any": _reduction("or", of_truth=True),
    "all": _reduction("and", of_truth=True),
    "transpose": _transpose,
    "cast": _cast,
    "fill": _fill,
    "get_shape": _shape,
    "copy": _copy,
    "element_shape": _element_shape,
}
