"""Which construct met which: a table of pairs, counted over programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.fuzz.nodes import Body, contents, exprs_of
from tests.fuzz.program import OUTER, Program
from tests.fuzz.refused import OPEN, REFUSED
from tests.fuzz.rows import ROWS, Goal

__all__ = ["BLOCKS", "CELLS", "EXPRESSIONS", "STATEMENTS", "constructs", "count", "goals_of", "shown"]

_GOALS = 6  # cells that one program tries to fill

EXPRESSIONS = tuple(row.name for row in ROWS.values() if row.gives)
BLOCKS = (*OUTER, *(row.name for row in ROWS.values() if row.opens))
STATEMENTS = tuple(row.name for row in ROWS.values() if not row.gives and row.name not in OUTER)
_LEAVES = ("variable", "argument", "own element", "index array", "element of an array", "lent element", "random")


# What belongs to a parallel loop stands before it, or first in it; it meets other statements in no other order.
_ATTACHED = ("loop config", "private local")


def _cells() -> list[Goal]:
    found: list[Goal] = [("in", a, b) for a in BLOCKS for b in (*STATEMENTS, *EXPRESSIONS) if b != "loop config"]
    found += [("in", a, b) for a in EXPRESSIONS if a not in _LEAVES for b in EXPRESSIONS]
    found += [("before", a, b) for a in STATEMENTS for b in STATEMENTS if not {a, b} & {*_ATTACHED}]
    return [cell for cell in found if cell not in REFUSED and cell not in OPEN]


CELLS = _cells()


def goals_of(number: int) -> list[Goal]:
    """The cells that program number `number` tries to fill: those that lie a prime number apart."""
    return [CELLS[(number * _GOALS + k) * 7919 % len(CELLS)] for k in range(_GOALS)]


def count(programs: Iterable[Program]) -> Counter[Goal]:
    """How often each cell was met: once for each program that has it."""
    met: Counter[Goal] = Counter()
    for program in programs:
        met.update({*_pairs(program)})
    return met


def constructs(program: Program) -> set[str]:
    """The constructs that a program has."""
    found = {row for row, _ in program.roots()}
    for _, body in program.roots():
        for stmt in body.stmts:
            found |= {stmt.row, *contents(stmt)}
    return found


def _pairs(program: Program) -> Iterable[Goal]:
    for row, body in program.roots():
        for stmt in body.stmts:
            yield from (("in", row, inner) for inner in (stmt.row, *contents(stmt)))
        yield from _in_body(body)


def _in_body(body: Body) -> Iterable[Goal]:
    before: set[str] = set()
    for stmt in body.stmts:
        yield from (("before", earlier, stmt.row) for earlier in before)
        before.add(stmt.row)
        yield from (("in", stmt.row, inner) for inner in contents(stmt) if stmt.row in BLOCKS)
        for expr in exprs_of(stmt):
            yield from (("in", expr.row, inner.row) for part in expr.parts for inner in part.walk())
        for inner in stmt.bodies:
            yield from _in_body(inner)


def shown(met: Counter[Goal]) -> str:
    """The table as text: for each row, the cells that are empty, and the least number in the others."""
    lines: list[str] = []
    for how in ("in", "before"):
        for first in dict.fromkeys(a for kind, a, _ in CELLS if kind == how):
            cells = {b: met[how, first, b] for kind, a, b in CELLS if (kind, a) == (how, first)}
            empty = sorted(b for b, number in cells.items() if not number)
            text = f"{first} {'contains' if how == 'in' else 'before'}: {len(cells) - len(empty)} of {len(cells)}, "
            text += f"{sum(cells.values())} times, least {min(cells.values())}"
            lines.append(text + (f"; EMPTY: {', '.join(empty)}" if empty else ""))
    full = sum(1 for cell in CELLS if met[cell])
    return "\n".join(
        [*lines, f"{full} of {len(CELLS)} cells, {len(REFUSED)} more are errors, {len(OPEN)} have no defined outcome"]
    )
