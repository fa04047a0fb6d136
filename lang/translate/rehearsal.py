"""arch=python: a kernel is translated before it runs as Python, to find the mistakes that a compiled one would have.

What stands in it for the debugging alone is left out: prints of what only Python can compute. (`breakpoint()`, and
other calls of Python that are whole statements, are left out by `calls.py`.)
"""

from __future__ import annotations

import ast
import builtins

from weft.ir.errors import CompilationError
from weft.lang.translate.translator import REHEARSED, STATEMENTS, Translator

__all__: list[str] = []


def _expression(t: Translator, node: ast.Expr) -> None:
    """A print may show what compiled code could not; what is wrong with the print itself is an error."""
    usual, begun = STATEMENTS[ast.Expr], len(t.out)
    if not (isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)):
        return usual(t, node)
    if t.names.find(node.value.func.id) is not None or t.expr(node.value.func) is not builtins.print:
        return usual(t, node)
    try:
        return usual(t, node)
    except CompilationError as error:
        if error.span == t.span(node.value):
            raise
        del t.out[begun:]
    return None


REHEARSED[ast.Expr] = _expression
