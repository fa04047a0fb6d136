"""The source text of expressions, for messages that use the program's own names."""

from __future__ import annotations

import ast
import linecache

from weft.ir.errors import Span
from weft.ir.python_tree import python_tree

__all__ = ["called", "subscripted"]


def subscripted(span: Span | None) -> str:
    """Return the source text of `a` for the subscript `a[i]` at that place. "" if the place is not a subscript, or if
    its text is not available."""
    if span is None:
        return ""
    lines = [linecache.getline(span.file, line).encode() for line in range(span.line, (span.end_line or span.line) + 1)]
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    try:
        body = python_tree(b"(" + b"".join(lines) + b")").body
    except (SyntaxError, ValueError):  # not this text any more
        return ""
    node = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    return ast.unparse(node.value) if isinstance(node, ast.Subscript) else ""


def called(name: str, span: Span | None) -> tuple[str, str]:
    """What the program that has an element of field `name` at that place calls the field, and the member of structs
    that the field is: `s` and ".p" of "s.p" where `s[i].p` is written."""
    written = subscripted(span) or name
    return written, name.removeprefix(written) if name.startswith(f"{written}.") else ""
