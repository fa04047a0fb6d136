"""Makes a failing program small: deletes statements, takes blocks apart, puts parts and constants in the place of
expressions, makes fields and arrays smaller, and leaves options out, as long as it still fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

from tests.fuzz.configurations import Configuration
from tests.fuzz.execute import BY_ORDER, Outcome, execute
from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.places import Extents, Layout
from tests.fuzz.program import Program

__all__ = ["shrink"]

# What may stand for a value of each kind, and blocks that may be run without the statement around them.
CONSTANTS = {"int": "3", "real": "1.5", "truth": "True", "v3": "V3(1.5)", "w2": "W2(3)", "m2": "M2(1.5)",
             "S": "S(k=3)", "N": "N(b=3)"}  # fmt: skip
_OPENED = ("if", "if else", "elif", "static if")
_TRIES = 600
_BOXES = ((1, 1), (1, 2), (1, 3), (2, 2), (1, 6), (2, 4), (3, 3), (1, 12), (4, 4), (3, 6))
_SLOTS = (4, 24, 160)

Edit = Callable[[Program], None]


def shrink(
    program: Program,
    configuration: Configuration,
    outcome: Outcome,
    schedules: Sequence[int] = (),
    run: Callable[[Program, Configuration, Sequence[int]], Outcome] = execute,
) -> tuple[Program, Configuration, Outcome]:
    """The smallest program and configuration found that fail like this one, and how they do. `run` judges them."""
    keeper = _Keeper(program, configuration, outcome, schedules, run)
    for options in _simpler(configuration):
        keeper.attempt(keeper.program, options(keeper.configuration))
    again = True
    while again and keeper.tries < _TRIES:
        again = False
        number = 0
        while number < len(edits := [*_edits(keeper.program)]) and keeper.tries < _TRIES:
            candidate = deepcopy(keeper.program)
            edits[number](candidate)
            if keeper.attempt(candidate, keeper.configuration):
                again = True
            else:
                number += 1
    for options in _simpler(keeper.configuration):
        keeper.attempt(keeper.program, options(keeper.configuration))
    return keeper.program, keeper.configuration, keeper.outcome


class _Keeper:
    """The smallest failure so far."""

    def __init__(
        self,
        program: Program,
        configuration: Configuration,
        outcome: Outcome,
        schedules: Sequence[int],
        run: Callable[[Program, Configuration, Sequence[int]], Outcome],
    ) -> None:
        self.run = run
        self.schedules = schedules if outcome.detail.startswith(BY_ORDER) else ()
        self.program, self.configuration, self.outcome = program, configuration, outcome
        self.tries = 0

    def attempt(self, program: Program, configuration: Configuration) -> bool:
        """Whether that fails in the same way; then it is kept."""
        same = configuration == self.configuration and program.layouts == self.program.layouts
        if same and program is not self.program and program.source == self.program.source:
            return False
        self.tries += 1
        for _ in range(2 if "threads" in str(configuration.options) else 1):  # what races may be right by chance
            found = self.run(program, configuration, self.schedules)
            if _key(found) == _key(self.outcome):
                self.program, self.configuration, self.outcome = program, configuration, found
                return True
        return False


def _key(outcome: Outcome) -> tuple[str, str]:
    """What must stay the same of a failure: of an error its kind and its words, without numbers and names of values."""
    if outcome.status == "differs":
        return outcome.status, outcome.detail.partition(":")[0] if outcome.detail.startswith("only") else ""
    return outcome.status, re.sub(r"[%'\"\w]*\d+\w*", "", outcome.detail)[:60]


def _simpler(configuration: Configuration) -> Iterator[Callable[[Configuration], Configuration]]:
    yield lambda c: replace(c, off=())
    for name in configuration.off:
        yield lambda c, name=name: replace(c, off=tuple(one for one in c.off if one != name))
    yield lambda c: replace(c, share=40_000.0)
    yield lambda c: replace(c, default_fp="f32", default_ip="i32")
    yield lambda c: replace(c, options={**c.options, "cpu_max_num_threads": 1})
    for name in configuration.options:
        if name not in ("fast_math", "offline_cache", "cpu_max_num_threads"):
            yield lambda c, name=name: replace(c, options={n: v for n, v in c.options.items() if n != name})


def _bodies(program: Program) -> list[Body]:
    """All bodies, outermost first."""
    found: list[Body] = []
    pending = [body for _, body in program.roots()]
    while pending:
        body = pending.pop(0)
        found.append(body)
        pending += [inner for stmt in body.stmts for inner in stmt.bodies]
    return found


def _edits(program: Program) -> Iterator[Edit]:
    """All that may be left out or put in another's place, the largest first. What a program does beyond the end of a
    smaller field has no part in it: such reads give 0."""
    extents = program.extents
    smaller = [Extents(*box, extents.slots) for box in _BOXES if box[0] * box[1] < extents.count]
    smaller += [replace(extents, slots=slots) for slots in _SLOTS if slots < extents.slots]
    for less in smaller:
        yield lambda p, less=less: setattr(p, "extents", less)
    for number in reversed(range(len(program.functions))):
        yield lambda p, number=number: _delete(p.functions, number)
    if program.result:
        yield _without_result
    bodies = _bodies(program)
    for at, body in enumerate(bodies):
        half = len(body.stmts) // 2
        if half > 1 and not any(stmt.pinned for stmt in body.stmts):
            yield lambda p, at=at, half=half: _keep(_bodies(p)[at], half, len(_bodies(p)[at].stmts))
            yield lambda p, at=at, half=half: _keep(_bodies(p)[at], 0, half)
        for number, stmt in reversed([*enumerate(body.stmts)]):
            if not stmt.pinned:
                yield lambda p, at=at, number=number: _delete(_bodies(p)[at].stmts, number)
    for at, body in enumerate(bodies):
        for number, stmt in enumerate(body.stmts):
            yield from _of_statement(at, number, stmt)
    for name, layout in program.layouts.items():
        if layout != Layout(layout.offset):
            yield lambda p, name=name: p.layouts.update({name: Layout(p.layouts[name].offset)})


def _of_statement(at: int, number: int, stmt: Stmt) -> Iterator[Edit]:
    if stmt.row in _OPENED:
        for clause, (_, body) in enumerate(stmt.clauses):
            if body is not None:
                yield lambda p, clause=clause: _open(_bodies(p)[at], number, clause)
    for clause in reversed(range(1, len(stmt.clauses))):
        if stmt.clauses[clause][0].startswith(("elif", "else")):
            yield lambda p, clause=clause: _delete(_bodies(p)[at].stmts[number].clauses, clause)
    for path, expr in _paths(stmt.exprs):
        for kept, part in enumerate(expr.parts):
            if part.kind == expr.kind:
                yield lambda p, path=path, kept=kept: _put_part(_bodies(p)[at].stmts[number].exprs, path, kept)
        if expr.kind in CONSTANTS and expr.text != CONSTANTS[expr.kind] and expr.row != "cast":
            yield lambda p, path=path: _put_constant(_bodies(p)[at].stmts[number].exprs, path)


def _paths(exprs: list[Expr], start: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Expr]]:
    for number, expr in enumerate(exprs):
        yield (*start, number), expr
        yield from _paths(expr.parts, (*start, number))


def _found(exprs: list[Expr], path: tuple[int, ...]) -> Expr:
    expr = exprs[path[0]]
    for number in path[1:]:
        expr = expr.parts[number]
    return expr


def _put_part(exprs: list[Expr], path: tuple[int, ...], kept: int) -> None:
    expr = _found(exprs, path)
    part = expr.parts[kept]
    expr.row, expr.text, expr.parts = part.row, part.text, part.parts


def _put_constant(exprs: list[Expr], path: tuple[int, ...]) -> None:
    expr = _found(exprs, path)
    expr.row, expr.text, expr.parts = "literal", CONSTANTS[expr.kind], []


def _delete(things: list[Stmt] | list[tuple[str, Body | None]], number: int) -> None:
    del things[number]


def _keep(body: Body, first: int, last: int) -> None:
    body.stmts = body.stmts[first:last]


def _open(body: Body, number: int, clause: int) -> None:
    inner = body.stmts[number].clauses[clause][1]
    assert inner is not None
    body.stmts[number : number + 1] = inner.stmts


def _without_result(program: Program) -> None:
    program.result = ""
    program.body.stmts = [stmt for stmt in program.body.stmts if stmt.row != "return"]
