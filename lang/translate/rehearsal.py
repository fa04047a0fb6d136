"""arch=python: a kernel is translated before it runs as Python, to find the mistakes that a compiled one would have.

What stands in it for the debugging alone is left out: imports, prints that only Python can do. (`breakpoint()`, and
other calls of Python that are whole statements, are left out by `calls.py`.)
"""

from __future__ import annotations

import ast
import builtins
import importlib

from weft.ir.errors import CompilationError
from weft.lang.translate.translator import REHEARSED, STATEMENTS, Translator

__all__: list[str] = []


def _import(t: Translator, node: ast.Import) -> None:
    """`import pdb`: known from here on."""
    for alias in node.names:
        module = importlib.import_module(alias.name)
        root = importlib.import_module(alias.name.partition(".")[0])
        t.bind(alias.asname or root.__name__, module if alias.asname else root, "compile-time value")


def _import_from(t: Translator, node: ast.ImportFrom) -> None:
    """`from pdb import set_trace`."""
    module = importlib.import_module(node.module or "")
    for alias in node.names:
        t.bind(alias.asname or alias.name, getattr(module, alias.name), "compile-time value")


def _expression(t: Translator, node: ast.Expr) -> None:
    """A print may show what compiled code could not."""
    usual, begun = STATEMENTS[ast.Expr], len(t.out)
    if not (isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)):
        return usual(t, node)
    if t.names.find(node.value.func.id) is not None or t.expr(node.value.func) is not builtins.print:
        return usual(t, node)
    try:
        return usual(t, node)
    except CompilationError:
        del t.out[begun:]
    return None


REHEARSED.update({ast.Import: _import, ast.ImportFrom: _import_from, ast.Expr: _expression})
