"""`print`, `assert` and f-strings: texts, and values with their format."""

from __future__ import annotations

import ast
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim, Struct, Tensor, element, i64, u1, with_element
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.translate.functions import Call
from weft.lang.translate.operators import condition, run_now, tested
from weft.lang.translate.order import following
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import Record, is_known, is_number, to_expr
from weft.lang.values.formats import parse_braces, parse_percent
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct as PyStruct

__all__ = ["Piece", "Pieces", "assertion", "format_braces", "format_percent", "format_pieces", "print_call"]

Piece = str | tuple[tree.Expr, str]


class Pieces(list[Piece]):
    """An f-string or a `str.format` text that contains run-time values."""


def format_pieces(t: Translator, node: ast.JoinedStr) -> list[Piece]:
    """The pieces of an f-string."""
    pieces: list[Piece] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        pieces.extend(following(t, pieces, _formatted_value, t, part))
    return pieces


def _formatted_value(t: Translator, part: ast.FormattedValue) -> list[Piece]:
    value = t.expr(part.value)
    spec = "" if part.format_spec is None else t.expr(part.format_spec)
    if not isinstance(spec, str):
        raise t.error("the format must be known at compile time", part)
    return _formatted(t, value, spec, part.conversion == ord("r"), part)


def _formatted(t: Translator, value: Any, spec: str, quoted: bool, node: ast.AST) -> list[Piece]:
    """One value with its format. A value that is known at compile time is formatted by Python."""
    if is_known(value) and not isinstance(value, (Matrix, PyStruct, Pieces, list, tuple)):
        return [run_now(t, node, format, run_now(t, node, repr, value) if quoted else value, spec)]
    return _pieces(t, value, spec, node)


def format_percent(t: Translator, text: str, values: Any, node: ast.AST) -> Any:
    """Translate `text % values`."""
    given = values if isinstance(values, tuple) else (values,)
    slots = run_now(t, node, parse_percent, text)
    wanted = sum(not isinstance(slot, str) for slot in slots)
    if len(given) > wanted:
        raise t.error(f"this format string needs {wanted} values after '%', got {len(given)}", node, TypeMismatch)
    return _filled(t, slots, given, {}, node)


def format_braces(t: Translator, text: str, c: Call) -> Any:
    """Translate `text.format(...)`."""
    return _filled(t, run_now(t, c.node, parse_braces, text), c.args, c.keywords, c.node)


def _filled(t: Translator, slots: Any, values: Any, named: Any, node: ast.AST) -> Any:
    pieces: list[Piece] = []
    for slot in slots:
        if isinstance(slot, str):
            pieces.append(slot)
            continue
        try:
            value = values[slot.key] if isinstance(slot.key, int) else named[slot.key]
        except LookupError:
            raise t.error(
                f"this format string has a placeholder {slot.key!r}, but no value for it", node, TypeMismatch
            ) from None
        value = _whole(t, value, node) if slot.whole else value
        pieces.extend(_formatted(t, value, slot.spec, slot.quoted, node))
    joined = _joined(pieces)
    texts = [piece for piece in joined if isinstance(piece, str)]
    return "".join(texts) if len(texts) == len(joined) else Pieces(joined)


def _whole(t: Translator, value: Any, node: ast.AST) -> Any:
    """The value that `%d` prints: a float without its fraction."""
    if is_number(value):
        return int(value)
    expr = to_expr(t, value, node)
    prim = element(expr.type) if isinstance(expr.type, (Prim, Tensor)) else None
    return tree.Cast(expr, type=with_element(expr.type, i64), span=expr.span) if prim and prim.is_float else expr


def _pieces(t: Translator, value: Any, spec: str, node: ast.AST) -> list[Piece]:
    """The pieces of a value: a struct is printed member by member, a tuple item by item."""
    if isinstance(value, Pieces):
        return list(value)
    if isinstance(value, (Field, StructField)):
        raise t.error(
            "a kernel cannot print a whole field: print its elements here, or print the field in Python",
            node,
            TypeMismatch,
        )
    if is_known(value) and not isinstance(value, (Matrix, PyStruct)) and not is_number(value):
        return [run_now(t, node, str, value)]
    if isinstance(value, (list, tuple)):
        return _enclosed([(("", item)) for item in value], "[]", t, spec, node)
    if isinstance(value, PyStruct):
        value = Record(value.as_constant().struct_type, to_expr(t, value, node))
    if isinstance(value, Record):
        whole = Record(value.type, t.frozen(value.whole)) if value.whole is not None else value
        return _enclosed([(f"{name}: ", whole.member(name)) for name in value.type.members], "{}", t, spec, node)
    expr = to_expr(t, value, node)
    if isinstance(expr.type, Struct):
        raise t.error(f"a kernel cannot print a value of type {expr.type}", node, TypeMismatch)
    if spec and isinstance(expr.type, (Prim, Tensor)):
        _check_spec(t, element(expr.type), spec, node)
    return [(expr, spec)]


def _check_spec(t: Translator, prim: Prim, spec: str, node: ast.AST) -> None:
    """Check at compile time that numbers of this type accept this format."""
    try:
        format(prim.np.type(1).item(), spec)
    except ValueError as error:
        raise t.error(
            f"a value of type {prim} cannot be formatted with '{spec}': {error}", node, TypeMismatch
        ) from None


def _enclosed(items: list[tuple[str, Any]], ends: str, t: Translator, spec: str, node: ast.AST) -> list[Piece]:
    pieces: list[Piece] = [ends[0]]
    for position, (label, item) in enumerate(items):
        pieces.append((", " if position else "") + label)
        pieces.extend(_pieces(t, item, spec, node))
    return [*pieces, ends[1]]


def print_call(t: Translator, c: Call) -> None:
    """`print(..., sep=" ", end="\\n")`."""
    unknown = sorted(set(c.keywords) - {"sep", "end", "flush"})
    if unknown:
        raise t.error(f"in a kernel, print has no argument '{unknown[0]}', only sep and end", c.node, TypeMismatch)
    separator, end = c.keywords.get("sep", " "), c.keywords.get("end", "\n")
    if not isinstance(separator, str) or not isinstance(end, str):
        raise t.error("sep and end must be strings", c.node, TypeMismatch)
    pieces: list[Piece] = []
    for position, value in enumerate(c.args):
        if position:
            pieces.append(separator)
        pieces.extend(following(t, pieces, _pieces, t, value, "", c.node))
    t.emit(tree.Print(_joined([*pieces, end]), span=t.span(c.node)))


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Join neighbouring texts."""
    joined: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece != "":
            joined.append(piece)
    return joined


def assertion(t: Translator, node: ast.Assert) -> None:
    """Translate `assert condition, message`. The message may be an f-string, or a text with `{}` and its arguments. The
    condition is evaluated with and without `debug`, for its effects. The message is evaluated only if it is needed."""
    test = tested(t, node.test)
    outer, t.out = t.out, []
    try:
        message, arguments = _message(t, node)
        inner = t.out
    finally:
        t.out = outer
    if is_known(test):
        if run_now(t, node.test, bool, test):
            return
        test = False
    fails, span = condition(t, test, node.test), t.span(node)
    if not inner and all(isinstance(value, (tree.Var, tree.Const, tree.ParamRef)) for value in arguments):
        t.emit(tree.Assert(fails, message, arguments, span=span))
    elif not t.unit.config.debug:
        t.emit(tree.Assert(fails, message, [], span=span))
    else:
        failure = tree.Assert(tree.Const(False, type=u1, span=span), message, arguments, span=span)
        t.emit(tree.If(tree.Unary("not", fails, type=u1, span=span), [*inner, failure], [], span=span))


def _message(t: Translator, node: ast.Assert) -> tuple[str, list[tree.Expr]]:
    if node.msg is None:
        return f"assert {ast.unparse(node.test)}", []
    value = t.expr(node.msg)
    if isinstance(value, tuple) and value and isinstance(value[0], str):
        parse = parse_percent if "%" in value[0] else parse_braces
        value = _filled(t, run_now(t, node.msg, parse, value[0]), value[1:], {}, node.msg)
    if isinstance(value, str):
        return value, []
    if isinstance(value, Pieces):
        return "".join(map(_slot, value)), [piece[0] for piece in value if not isinstance(piece, str)]
    raise t.error("the message of an assertion must be a string", node.msg, TypeMismatch)


def _slot(piece: Piece) -> str:
    """A piece of a message. A value becomes `{}` or `{:spec}`."""
    if isinstance(piece, str):
        return piece
    return f"{{:{piece[1]}}}" if piece[1] else "{}"
