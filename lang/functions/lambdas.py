"""Which `lambda` of a text a function was made by, as the `def` that says the same.

    twice, half = lambda v: 2 * v, lambda v: v / 2          def <lambda>(v): return 2 * v

Python says the line only. Where several lambdas stand on it, each is compiled again: the one that gives the very same
code is it. Two that give the same code mean the same.
"""

from __future__ import annotations
import __future__

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from inspect import CO_NESTED
from types import CodeType

from weft.ir.python_tree import python_tree

__all__ = ["FUTURES", "LAMBDA", "as_function", "lambda_of"]

LAMBDA = "<lambda>"
FUTURES = __future__.annotations.compiler_flag  # of those, what code is marked by

_MOST_TEXTS = 16


@dataclass
class _Text:
    """The lambdas of a text by their lines, and its imports: Python calls a function of an imported module in a way of
    its own. `lines` are kept alive."""

    lines: Sequence[str]
    lambdas: dict[int, list[ast.Lambda]] = field(default_factory=dict[int, "list[ast.Lambda]"])
    imports: list[ast.stmt] = field(default_factory=list[ast.stmt])


_TEXTS: dict[int, _Text] = {}  # the last ones, by identity


def as_function(node: ast.Lambda) -> ast.FunctionDef:
    """The `def` that means the same."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef(LAMBDA, node.args, [body], [], None), node)


def lambda_of(code: CodeType, lines: Sequence[str]) -> ast.FunctionDef | None:
    """What `code` was compiled from, `lines` being the whole text; None if nothing there gives it."""
    text = _text_of(lines)
    found = text.lambdas.get(code.co_firstlineno, [])
    return next((as_function(node) for node in found if _gives(node, code, text.imports)), None)


def _text_of(lines: Sequence[str]) -> _Text:
    known = _TEXTS.get(id(lines))
    if known is not None:
        return known
    text = _Text(lines)
    try:
        tree = python_tree("".join(lines))
    except SyntaxError:
        tree = ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            text.lambdas.setdefault(node.lineno, []).append(node)
    text.imports = list(_imports(tree))
    _TEXTS[id(lines)] = text
    for oldest in list(_TEXTS)[:-_MOST_TEXTS]:  # another thread may be at the same
        _TEXTS.pop(oldest, None)
    return text


def _imports(root: ast.AST) -> Iterator[ast.stmt]:
    """Those of the module itself, in blocks too."""
    for node in ast.iter_child_nodes(root):
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__"):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            yield from _imports(node)


def _gives(node: ast.Lambda, code: CodeType, imports: list[ast.stmt]) -> bool:
    """Whether compiling that lambda, among variables of the same names and behind those imports, gives `code`."""
    args = node.args
    kwonly_defaults: list[ast.expr | None] = [None] * len(args.kwonlyargs)  # defaults are no part of the code
    bare = ast.arguments(args.posonlyargs, args.args, args.vararg, args.kwonlyargs, kwonly_defaults, args.kwarg, [])
    made: ast.expr = ast.copy_location(ast.Lambda(bare, node.body), node)
    if code.co_flags & CO_NESTED:
        around = ast.arguments([], [ast.arg(name) for name in code.co_freevars], None, [], [], None, [])
        made = ast.copy_location(ast.Lambda(around, made), node)
    whole = ast.fix_missing_locations(ast.Module([*imports, ast.copy_location(ast.Expr(made), node)], []))
    outer = compile(whole, code.co_filename, "exec", code.co_flags & FUTURES, dont_inherit=True)
    for _ in range(2 if code.co_flags & CO_NESTED else 1):
        outer = next(constant for constant in outer.co_consts if isinstance(constant, CodeType))
    return _same(outer, code)


def _same(one: CodeType, other: CodeType) -> bool:
    if one != other:
        return False
    return sys.version_info < (3, 11) or list(one.co_positions()) == list(other.co_positions())
