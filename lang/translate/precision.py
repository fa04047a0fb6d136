"""Warnings for conversions that may lose information.

    x = 1                     <- x is i32
    x = v[i]                  <- an f32: PrecisionWarning, its fraction is lost

A value that is assigned, passed or returned is converted to the type of its place. It may lose information if that type
is not the common type of both. Constants are checked by their value: `x = 2.0` loses nothing, `u8s[i] = 300` does. The
digits of 0.1 that an f32 cannot hold do not count. Explicit casts and annotations of variables are intended and give no
warning."""

from __future__ import annotations

import ast
import math

import numpy as np

from weft.ir import tree
from weft.ir.scalar import ATOMICS, binary_type, promote, range_of
from weft.ir.types import Prim, Tensor, Type, element, u1
from weft.lang.translate.contract import Loss
from weft.lang.translate.operators import OPERATORS
from weft.lang.translate.translator import Translator

__all__ = ["warn_of_literal", "warn_of_loss", "warn_of_update"]


def warn_of_loss(t: Translator, what: str, place: Type, value: tree.Expr, node: ast.AST) -> None:
    """Give a PrecisionWarning at `node` if `value` may lose information in the type `place`. `what` is the name of the
    place in the message."""
    if place is value.type or not _comparable(place, value.type) or _fits(value, element(place)):
        return
    _warn(t, what, element(place), value, element(value.type), node)


def warn_of_literal(t: Translator, what: str, place: Type, value: tree.Expr, node: ast.AST) -> None:
    """As `warn_of_loss`, for a value with an explicit type. The type shows that a loss is intended, unless the value is
    a literal."""
    if isinstance(value, tree.Const):
        warn_of_loss(t, what, place, value, node)


def warn_of_update(
    t: Translator, what: str, kind: str, place: tree.Expr, value: tree.Expr, node: ast.AugAssign
) -> None:
    """Give a PrecisionWarning for `place kind= value`. An atomic updates a place in memory in the type of that place. A
    variable is updated in the common type of both."""
    if not _comparable(place.type, value.type):
        return
    own, other = element(place.type), element(value.type)
    if kind in ATOMICS and not isinstance(place, tree.Var):
        warn_of_loss(t, what, place.type, value, node.value)
        return
    if own.is_int and other.is_int and _fits(value, own):
        other = own
    result = binary_type(kind, own, other, t.unit.config.default_fp)[2]
    if not _keeps(own, result):
        _warn(t, what, own, None, result, node)


def _assignment(node: ast.AugAssign) -> tuple[str, str]:
    """The two sides of the assignment that an update stands for: `x = ` and `x * 2`."""
    target, symbol, value = ast.unparse(node.target), OPERATORS[type(node.op)][1], ast.unparse(node.value)
    return f"{target} = ", f"{target} {symbol} {value}"


def _comparable(place: Type, value: Type) -> bool:
    return isinstance(place, (Prim, Tensor)) and isinstance(value, (Prim, Tensor))


def _fits(value: tree.Expr, place: Prim) -> bool:
    """Whether type `place` holds `value` without loss."""
    if isinstance(value, tree.Const):
        return _number_fits(value.value, place)
    if isinstance(value, tree.MakeTensor):
        return all(_fits(item, place) for item in value.values)
    if isinstance(value, tree.Splat):
        return _fits(value.x, place)
    if isinstance(value, (tree.IfExp, tree.Select)):
        return _fits(value.a, place) and _fits(value.b, place)
    return _keeps(place, element(value.type))


def _keeps(place: Prim, value: Prim) -> bool:
    return promote(place, value) is place or value is u1


def _number_fits(number: float, place: Prim) -> bool:
    if place.is_float:
        with np.errstate(over="ignore"):
            return not math.isfinite(number) or bool(np.isfinite(place.np.type(number)))
    low, high = range_of(place)
    return math.isfinite(number) and number == int(number) and low <= number <= high


def _warn(t: Translator, what: str, place: Prim, value: tree.Expr | None, found: Prim, node: ast.AST) -> None:
    """Give the warning. `value` is what is stored, or None for the result of an update."""
    target, written = "", "..."
    if isinstance(node, ast.AugAssign):
        target, written = _assignment(node)
    elif isinstance(node, ast.expr) and not isinstance(node, (ast.Tuple, ast.List)):
        written = ast.unparse(node)
    written = written if len(written) <= 40 else "..."
    if isinstance(value, tree.Const):
        message = f"{what} has type {place}, but the value is {value.value}: {_literal_loss(place, value.value)}"
    else:
        message = (
            f"{what} has type {place}, but the {'result' if value is None else 'value'} has type {found}: "
            f"{_loss(place, found)}"
        )
    message += f"; if this is what you want, write {target}ti.cast({written}, ti.{place})"
    span = t.span(node)
    text = f"\n{span.render()}\n{message}"
    if text in t.unit.warned:  # the body of a static loop, for example, is translated more than once
        return
    loss = t.unit.warned[text] = Loss(text, span.file, span.line, getattr(t.names.function, "__globals__", {}))
    loss.warn()


def _loss(place: Prim, found: Prim) -> str:
    if place is u1:
        return "every value except 0 becomes 1"
    if place.is_int and found.is_float:
        return "the fraction is lost"
    return "precision may be lost" if place.is_float else "values out of range wrap around"


def _literal_loss(place: Prim, number: float) -> str:
    if place.is_float:
        return "it becomes infinite"
    if math.isfinite(number) and number != int(number):
        return "the fraction is lost"
    low, high = range_of(place)
    return f"the range of {place} is {low} to {high}"
