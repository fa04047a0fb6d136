"""A program as a tree: expressions, statements, bodies. It prints as Python, and can be walked, copied and cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Body", "Expr", "Stmt", "contents", "exprs_of", "stmts_of"]


@dataclass
class Expr:
    """An operator of the row `row`. `text` has `{0}`, `{1}` ... for the parts; `kind`: what it gives."""

    row: str
    text: str
    kind: str
    parts: list[Expr] = field(default_factory=list["Expr"])

    def __str__(self) -> str:
        return self.text.format(*self.parts)

    def walk(self) -> Iterator[Expr]:
        """This one, and all in it."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass
class Body:
    """Statements of one block. `fixed` lines stand before them, and belong to what opens the block."""

    stmts: list[Stmt] = field(default_factory=list["Stmt"])
    fixed: list[str] = field(default_factory=list[str])

    def lines(self, indent: int) -> Iterator[str]:
        if not self.stmts and not self.fixed:
            yield "    " * indent + "pass"
        yield from ("    " * indent + line for line in self.fixed)
        for stmt in self.stmts:
            yield from stmt.lines(indent)


@dataclass
class Stmt:
    """A statement of the row `row`: lines, each with the block that it opens, if any. `{0}` ... are the expressions.
    One that is `pinned` is what others count on, so that no two iterations race."""

    row: str
    clauses: list[tuple[str, Body | None]]
    exprs: list[Expr] = field(default_factory=list[Expr])
    pinned: bool = False

    def lines(self, indent: int) -> Iterator[str]:
        for head, body in self.clauses:
            yield "    " * indent + head.format(*self.exprs)
            if body is not None:
                yield from body.lines(indent + 1)

    @property
    def bodies(self) -> list[Body]:
        return [body for _, body in self.clauses if body is not None]


def stmts_of(body: Body) -> Iterator[Stmt]:
    """All statements in a body, at any depth."""
    for stmt in body.stmts:
        yield stmt
        for inner in stmt.bodies:
            yield from stmts_of(inner)


def exprs_of(stmt: Stmt) -> Iterator[Expr]:
    """The expressions of the statement itself."""
    for expr in stmt.exprs:
        yield from expr.walk()


def contents(stmt: Stmt) -> Iterator[str]:
    """The rows of all that a statement contains."""
    yield from (expr.row for expr in exprs_of(stmt))
    for body in stmt.bodies:
        for inner in body.stmts:
            yield inner.row
            yield from contents(inner)
