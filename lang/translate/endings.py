"""Whether every way through a function ends with a `return`.

    def f(a):
        if a > 0:           <- a function that gives a value must give one on every path: where `a` is 0,
            return 1           this would go on past the end with none

Decided on the statements of the tree, where `static` has left only what exists. A loop may run no iteration, so a
`return` inside it ends a path only if the loop is `while True` without `break`.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import tree
from weft.ir.errors import CompilationError
from weft.lang.translate.translator import Translator

__all__ = ["refuse_open_end"]


def refuse_open_end(t: Translator) -> None:
    """CompilationError if the function that `t` has translated, which gives a value, can end without one."""
    if returns(t.out):
        return
    last = _open(t.out)
    span = t.source.header() if last is None or last.span is None else last.span
    raise CompilationError(
        f"'{t.source.name}' returns a value, but not on every path: after this it ends without one; "
        f"end every path with a 'return'",
        span,
    )


def returns(body: Sequence[tree.Stmt]) -> bool:
    """Whether control never goes on past `body`."""
    return any(_ends(stmt) for stmt in body)


def _ends(stmt: tree.Stmt) -> bool:
    if isinstance(stmt, tree.If):
        return returns(stmt.then) and returns(stmt.orelse)
    if isinstance(stmt, tree.While):
        forever = isinstance(stmt.condition, tree.Const) and bool(stmt.condition.value)
        return forever and not _breaks(stmt.body)
    return isinstance(stmt, tree.Return)


def _breaks(body: Sequence[tree.Stmt]) -> bool:
    """Whether a `break` in `body` leaves the loop around it."""
    for stmt in body:
        if isinstance(stmt, tree.Break) or (isinstance(stmt, tree.If) and (_breaks(stmt.then) or _breaks(stmt.orelse))):
            return True
    return False


def _open(body: Sequence[tree.Stmt]) -> tree.Stmt | None:
    """The last statement of a path that goes on past `body`; None if there are no statements."""
    if not body:
        return None
    last = body[-1]
    if not isinstance(last, tree.If):
        return last
    side = last.orelse if returns(last.then) else last.then
    return _open(side) or last
