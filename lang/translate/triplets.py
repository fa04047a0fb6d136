"""Translates `A[i, j] += v` for a sparse matrix builder A."""

from __future__ import annotations

import ast
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.library.triplets import HOW, add_triplet, is_builder
from weft.lang.translate.functions import Call
from weft.lang.translate.inlining import inline
from weft.lang.translate.operators import unary
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import to_expr

__all__ = ["adds_triplet"]


def adds_triplet(t: Translator, kind: str, node: ast.AugAssign) -> bool:
    """Translate an update of a sparse matrix builder. Returns False for any other update. Raises TypeMismatch for
    another operator, or unless there are two indices."""
    target = node.target
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return False
    binding = t.names.find(target.value.id)
    if binding is None or not is_builder(binding.value):
        return False
    place = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    if kind not in ("add", "sub") or len(place) != 2:
        raise t.error(HOW, node, TypeMismatch)
    parts: list[Any] = [t.expr(index) for index in place]
    value = to_expr(t, t.expr(node.value), node.value)
    made = ast.copy_location(ast.Call(target.value, [target.value, *place, node.value], []), node)
    call = Call(made, [binding.value, *parts, unary(t, "neg", value, node.value) if kind == "sub" else value], {})
    inline(t, add_triplet.function, call)
    return True
