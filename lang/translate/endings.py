"""Checks that every path through a function ends with a `return`.

    def f(a):
        if a > 0:           <- a function that returns a value must do so on every path: where `a` is 0,
            return 1           this one would reach its end without a value

The check runs on the statements of the tree, which contain only the branches that `static` has kept. A loop may run no
iteration, so a `return` in it ends a path only if the loop is `while True` without `break`."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import tree
from weft.ir.errors import CompilationError
from weft.lang.translate.translator import Translator

__all__ = ["refuse_open_end"]


def refuse_open_end(t: Translator) -> None:
    """Raise CompilationError if the function that `t` has translated returns a value, but not on every path."""
    if returns(t.out):
        return
    last = _open(t.out)
    span = t.source.header() if last is None or last.span is None else last.span
    raise CompilationError(
        f"'{t.source.name}' returns a value, but not on every path: it can end after this line without a "
        "'return'; end every path with a 'return'",
        span,
    )


def returns(body: Sequence[tree.Stmt]) -> bool:
    """Whether control never reaches the end of `body`."""
    return any(_ends(stmt) for stmt in body)


def _ends(stmt: tree.Stmt) -> bool:
    if isinstance(stmt, tree.If):
        return returns(stmt.then) and returns(stmt.orelse)
    if isinstance(stmt, tree.While):
        forever = isinstance(stmt.condition, tree.Const) and bool(stmt.condition.value)
        return forever and not _breaks(stmt.body)
    return isinstance(stmt, tree.Return)


def _breaks(body: Sequence[tree.Stmt]) -> bool:
    """Whether `body` contains a `break` of the loop around it."""
    for stmt in body:
        if isinstance(stmt, tree.Break) or (isinstance(stmt, tree.If) and (_breaks(stmt.then) or _breaks(stmt.orelse))):
            return True
    return False


def _open(body: Sequence[tree.Stmt]) -> tree.Stmt | None:
    """The last statement of a path that reaches the end of `body`. None if there are no statements."""
    if not body:
        return None
    last = body[-1]
    if not isinstance(last, tree.If):
        return last
    side = last.orelse if returns(last.then) else last.then
    return _open(side) or last
