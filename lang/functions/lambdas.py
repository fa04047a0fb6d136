"""Finds the `lambda` expression that a function was made from, and returns the equivalent `def`.

    twice, half = lambda v: 2 * v, lambda v: v / 2          def <lambda>(v): return 2 * v

Python only knows the line. If the line contains several lambdas, each of them is compiled again. The one that gives
exactly the same code is the right one. Two lambdas that give the same code are equivalent."""

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
FUTURES = __future__.annotations.compiler_flag  # the flag that `from __future__ import annotations` sets in code

_MOST_TEXTS = 16


@dataclass
class _Text:
    """The lambdas of a text by line, and its imports, because Python compiles a call of an imported module's function
    in a special way. `lines` are kept alive."""

    lines: Sequence[str]
    lambdas: dict[int, list[ast.Lambda]] = field(default_factory=dict[int, "list[ast.Lambda]"])
    imports: list[ast.stmt] = field(default_factory=list[ast.stmt])


_TEXTS: dict[int, _Text] = {}  # the most recent ones, by identity


def as_function(node: ast.Lambda) -> ast.FunctionDef:
    """The equivalent `def`."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef(LAMBDA, node.args, [body], [], None), node)


def lambda_of(code: CodeType, lines: Sequence[str]) -> ast.FunctionDef | None:
    """The lambda that `code` was compiled from. `lines` is the whole text. None if no lambda in it gives this code."""
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
    for oldest in list(_TEXTS)[:-_MOST_TEXTS]:  # another thread may do the same
        _TEXTS.pop(oldest, None)
    return text


def _imports(root: ast.AST) -> Iterator[ast.stmt]:
    """The imports of the module itself, including those in blocks."""
    for node in ast.iter_child_nodes(root):
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__"):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            yield from _imports(node)


def _gives(node: ast.Lambda, code: CodeType, imports: list[ast.stmt]) -> bool:
    """Whether compiling this lambda gives `code`, in a scope with the same variable names and after the same
    imports."""
    args = node.args
    # the values of defaults are not part of the code
    kwonly_defaults: list[ast.expr | None] = [None] * len(args.kwonlyargs)
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
