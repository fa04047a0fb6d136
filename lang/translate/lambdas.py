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
from inspect import CO_NESTED
from types import CodeType

from weft.ir.python_tree import python_tree

__all__ = ["FUTURES", "LAMBDA", "as_function", "lambda_of"]

LAMBDA = "<lambda>"
FUTURES = __future__.annotations.compiler_flag  # of those, what code is marked by

# The lambdas of a text by their lines, for the last texts: by identity, the lines kept alive.
_LAMBDAS: dict[int, tuple[Sequence[str], dict[int, list[ast.Lambda]]]] = {}
_MOST_TEXTS = 16


def as_function(node: ast.Lambda) -> ast.FunctionDef:
    """The `def` that means the same."""
    body = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef(LAMBDA, node.args, [body], [], None), node)


def lambda_of(code: CodeType, lines: Sequence[str]) -> ast.FunctionDef | None:
    """What `code` was compiled from, `lines` being the whole text; None if nothing there gives it."""
    found = _by_line(lines).get(code.co_firstlineno, [])
    return next((as_function(node) for node in found if _gives(node, code)), None)


def _by_line(lines: Sequence[str]) -> dict[int, list[ast.Lambda]]:
    known = _LAMBDAS.get(id(lines))
    if known is not None:
        return known[1]
    found: dict[int, list[ast.Lambda]] = {}
    for node in _lambdas("".join(lines)):
        found.setdefault(node.lineno, []).append(node)
    _LAMBDAS[id(lines)] = lines, found
    for oldest in list(_LAMBDAS)[:-_MOST_TEXTS]:  # another thread may be at the same
        _LAMBDAS.pop(oldest, None)
    return found


def _lambdas(text: str) -> Iterator[ast.Lambda]:
    try:
        tree = python_tree(text)
    except SyntaxError:
        return
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Lambda))


def _gives(node: ast.Lambda, code: CodeType) -> bool:
    """Whether compiling that lambda, among variables of the same names, gives `code`."""
    args = node.args
    kwonly_defaults: list[ast.expr | None] = [None] * len(args.kwonlyargs)  # defaults are no part of the code
    bare = ast.arguments(args.posonlyargs, args.args, args.vararg, args.kwonlyargs, kwonly_defaults, args.kwarg, [])
    made: ast.expr = ast.copy_location(ast.Lambda(bare, node.body), node)
    if code.co_flags & CO_NESTED:
        around = ast.arguments([], [ast.arg(name) for name in code.co_freevars], None, [], [], None, [])
        made = ast.copy_location(ast.Lambda(around, made), node)
    whole, futures = ast.fix_missing_locations(ast.Expression(made)), code.co_flags & FUTURES
    outer = compile(whole, code.co_filename, "eval", futures, dont_inherit=True)
    for _ in range(2 if code.co_flags & CO_NESTED else 1):
        outer = next(constant for constant in outer.co_consts if isinstance(constant, CodeType))
    return _same(outer, code)


def _same(one: CodeType, other: CodeType) -> bool:
    if one != other:
        return False
    return sys.version_info < (3, 11) or list(one.co_positions()) == list(other.co_positions())
