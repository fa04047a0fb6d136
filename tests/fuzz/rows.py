"""The table of constructs, and the writer that draws from it.

A row says what a construct is called, what it gives (expressions), where it may stand and how to make one. Shrinking
needs no row of its own: it deletes statements, takes blocks apart, and puts an expression's parts in its place.
"""

from __future__ import annotations

import random as randomness
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.places import PLACES, Layout, Place

__all__ = ["KINDS", "ROWS", "SMOOTH", "Function", "Goal", "Row", "Writer", "expression", "fitted", "statement"]

KINDS = ("int", "real", "truth", "v3", "w2", "m2", "S", "N")
Goal = tuple[str, str, str]  # "in" or "before", a row, another row

_MOST_GOAL_DEPTH = 4
_MOST_NODES = 14  # operators of one expression, about
_MOST_ROUNDS, _MOST_COPIES = 64, 12  # of a statement in one iteration, or one call; a few programs would take all time


@dataclass(frozen=True)
class Row:
    """One construct. `gives`: the kinds of an expression, none for a statement; `opens`: whether it has blocks."""

    name: str
    make: Callable[..., Any]
    gives: tuple[str, ...]
    where: Callable[[Writer], bool]
    weight: float
    opens: bool = False


ROWS: dict[str, Row] = {}
SMOOTH: dict[str, Row] = {}  # rows that only programs to be differentiated have, see `smooth.py`

# Rows that these have more often (values that loops carry from iteration to iteration), or less often.
OFTEN = {"assign": 4.0, "part of a local": 2.0, "for range": 2.0, "while": 2.0, "break": 2.0, "continue": 2.0,
         "reference": 0.3, "random": 3.0, "call": 3.0, "call of a func": 2.0, "call of a real func": 3.0,
         "sum so far": 4.0, "struct": 2.0}  # fmt: skip


def _anywhere(w: Writer) -> bool:
    return True


def expression(
    name: str,
    *gives: str,
    where: Callable[[Writer], bool] = _anywhere,
    weight: float = 1.0,
    table: dict[str, Row] = ROWS,
) -> Callable[[Any], Any]:
    """Register `make(w, kind, depth)`, which gives (text, parts)."""

    def register(make: Any) -> Any:
        table[name] = Row(name, make, gives, where, weight)
        return make

    return register


def statement(
    name: str,
    *,
    where: Callable[[Writer], bool] = _anywhere,
    weight: float = 1.0,
    opens: bool = False,
    table: dict[str, Row] = ROWS,
) -> Callable[[Any], Any]:
    """Register `make(w, depth)`, which gives clauses and expressions, or None where it cannot."""

    def register(make: Any) -> Any:
        table[name] = Row(name, make, (), where, weight, opens)
        return make

    return register


@dataclass
class Function:
    """A function of the program. Its first parameter is the iteration's own index; `params`: the kinds of the others,
    "&int" one that it may change. One with `effects` is called by statements only."""

    name: str
    params: tuple[str, ...]
    result: str
    real: bool
    effects: bool
    row: str = "func"
    stmt: Stmt | None = None
    rounds: int = 1  # how often a call may run a statement in it


@dataclass
class Scope:
    """Where the writer is. `own`, `own2`: the indices of the iteration's own elements, along one and two axes."""

    where: str = "kernel"  # or "func", "real func"
    own: str = "3"
    own2: str = "1, 2"
    parallel: bool = False
    blocks: tuple[str, ...] = ()  # "serial" and "static" loops and "if"s around, in this function or iteration
    names: list[dict[str, str]] = field(default_factory=lambda: list[dict[str, str]]([{}]))
    rounds: int = 1  # how often the serial loops around may run it
    copies: int = 1  # how many of it unrolled loops make
    fixed: frozenset[str] = frozenset()
    shared: dict[str, str] = field(default_factory=dict[str, str])  # locals of the kernel: the family of their atomics
    result: str = ""
    arrays: frozenset[str] = frozenset(("xs", "ks", "al", "be"))


class Writer:
    """Draws a program. `safe`: nothing divides by zero. `smooth`: it is to be differentiated, see `smooth.py`."""

    def __init__(
        self, random: randomness.Random, goals: Sequence[Goal] = (), safe: bool = False, smooth: bool = False
    ) -> None:
        self.random, self.goals, self.safe, self.smooth = random, [*goals], safe, smooth
        self.rows = {**ROWS, **SMOOTH} if smooth else ROWS
        self.weights = {name: row.weight * random.choice((0.3, 1.0, 1.0, 3.0)) for name, row in self.rows.items()}
        self.weights |= {name: weight * self.weights[name] for name, weight in (OFTEN if smooth else {}).items()}
        self.scope = Scope()
        self.functions: list[Function] = []
        self.layouts: dict[str, Layout] = {"r_f32": Layout()}  # which some texts name as it is
        self.chain: list[str] = []
        self.made = 0
        self.nodes = 0  # of the expression that is made
        self.budget = random.choice((8, 14, 20))  # statements
        self.taken: set[tuple[str, int]] = set()  # slots and ticks that a loop has
        self.used: set[str] = set()  # counters that may not be asked again
        self.most_rounds = 1  # that a statement of this function or kernel may run
        self.parallel: Callable[[Writer], list[Stmt]] = lambda w: []
        self.alias = random.choice(("same", "reverse", "shift", "field"))
        if self.alias == "field":
            self.layouts["o_i32"] = Layout()

    @property
    def at_top(self) -> bool:
        """Whether a loop would be parallel here: at the top level of a kernel, unrolled loops do not count."""
        scope = self.scope
        return scope.where == "kernel" and not scope.parallel and not {"serial", "if"} & {*scope.blocks}

    @property
    def loop(self) -> str:
        """The kind of the innermost loop, "" if there is none in this function or iteration."""
        return next((one for one in reversed(self.scope.blocks) if one != "if"), "")

    def room(self, rounds: int, copies: int = 1) -> bool:
        """Whether a loop of so many rounds, unrolled to so many copies, keeps the program short."""
        scope = self.scope
        return scope.rounds * rounds <= _MOST_ROUNDS and scope.copies * copies <= _MOST_COPIES

    def enter(self, block: str, rounds: int = 1, copies: int = 1) -> None:
        """What follows stands in such a block. `make` comes back from it."""
        scope = self.scope
        self.scope = replace(
            scope, blocks=(*scope.blocks, block), rounds=scope.rounds * rounds, copies=scope.copies * copies
        )
        self.most_rounds = max(self.most_rounds, self.scope.rounds)

    # ---- choices

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.random.randrange(len(options))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def likely(self, row: str, share: float) -> bool:
        """A chance, much larger where a goal names the row."""
        return self.chance(max(share, 0.9) if any(row in goal[1:] for goal in self.goals) else share)

    def fresh(self, letter: str = "t") -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def choose(self, candidates: list[Row], kind: str = "") -> Row:
        """One of those rows (expressions: that give `kind`): what a goal asks for, if there is one."""
        names = {row.name for row in candidates}
        around = {*self.chain}
        missing = [b for how, a, b in self.goals if how == "in" and a in around and b not in names]
        bridges = [name for b in missing for name in _ways_to(b, self.gives(b), kind) if name in names]
        direct = [b for how, a, b in self.goals if b in names and how == "in" and a in around]
        if direct and self.chance(0.8):
            return self.rows[self.pick(direct)]
        if bridges and self.chance(0.8):
            return self.rows[self.pick(bridges)]
        opening = [a for _, a, b in self.goals if a in names]
        opening += [row for _, a, b in self.goals for one in (a, b) for row in OPENERS.get(one, ()) if row in names]
        if opening and self.chance(0.55):
            return self.rows[self.pick(opening)]
        return self.random.choices(candidates, [self.weights[row.name] for row in candidates])[0]

    def gives(self, row: str) -> tuple[str, ...]:
        """The kinds that the row gives in this program: of calls, those of the functions that there are."""
        if row not in CALLS:
            return self.rows[row].gives
        kinds = {one.result for one in self.functions if one.real is CALLS[row] and not one.effects}
        return tuple(kind for kind in self.rows[row].gives if kind in kinds)

    def met(self, row: Row) -> None:
        """What a goal asked for is there: others are next."""
        around = {*self.chain}
        self.goals = [
            goal for goal in self.goals if not (goal[0] == "in" and goal[1] in around and goal[2] == row.name)
        ]

    def pending(self) -> bool:
        """Whether a goal asks for an expression inside of what is around."""
        around = {*self.chain}
        return any(how == "in" and a in around and self.rows[b].gives for how, a, b in self.goals)

    @contextmanager
    def inside(self, row: str) -> Iterator[None]:
        self.chain.append(row)
        yield
        self.chain.pop()

    # ---- expressions

    def expr(self, kind: str, depth: int) -> Expr:
        """An expression of that kind, about `depth` operators deep."""
        inside = bool(self.chain) and bool(self.rows[self.chain[-1]].gives)
        self.nodes = self.nodes + 1 if inside else 1
        small = self.nodes < _MOST_NODES
        deeper = depth <= 0 and depth > -_MOST_GOAL_DEPTH and self.pending()
        leaf = not small or (depth <= 0 and not (deeper and self.chance(0.8)))
        rows = [
            row for row in self.rows.values() if kind in row.gives and (row.weight == 0 or not leaf) and row.where(self)
        ]
        leaves = [row for row in self.rows.values() if kind in row.gives and row.name in LEAVES and row.where(self)]
        candidates = leaves if leaf else [*rows, *leaves]
        for _ in range(20):
            row = self.choose(candidates, kind)
            with self.inside(row.name):
                made = row.make(self, kind, depth - 1)
            if made is not None:
                self.met(row)
                text, parts = fitted(*made)
                return Expr(row.name, text, kind, parts)
        return Expr("literal", DEFAULTS[kind], kind)

    def known(self, *kinds: str, changing: bool = False) -> list[str]:
        """The variables of those kinds in sight; `changing`: that may be assigned."""
        scope = self.scope
        names = [name for names in scope.names for name, kind in names.items() if kind in kinds]
        hidden = {*scope.shared} if scope.parallel or not changing else set[str]()
        return [n for n in names if n not in hidden and not (changing and n in scope.fixed)]

    def likely_kinds(self, *kinds: str) -> tuple[str, ...]:
        """Kinds of values to pick from. Programs to be differentiated mostly have those that carry derivatives."""
        return kinds if not self.smooth else (*kinds, *("real", "v3", "m2", "S", "real", "real") * 2)

    def let(self, name: str, kind: str) -> None:
        self.scope.names[-1][name] = kind

    # ---- places

    def places(self, part: str, *kinds: str, axes: int | None = None) -> list[Place]:
        return [p for p in PLACES.values() if p.part == part and p.kind in kinds and axes in (None, p.axes)]

    def layout(self, place: Place) -> Layout:
        """How that field lies, decided when it is first used."""
        if place.name not in self.layouts:
            self.layouts[place.name] = self._layout(place)
        return self.layouts[place.name]

    def _layout(self, place: Place) -> Layout:
        if place.part in ("slots", "lists", "ticks", "permutation") or not place.axes or place.kind == "N":
            return Layout()
        if self.chance(0.25):
            return Layout(together=self.pick((1, 2)))
        offset = (self.pick((-3, 5)), 2)[: place.axes] if self.chance(0.2) else ()
        order = "ji" if place.axes == 2 and self.chance(0.3) else ""
        return Layout(offset, 0, order, place.form in ("v3", "w2", "m2") and self.chance(0.4))

    def at(self, place: Place, *indices: str) -> str:
        """The element of those indices, counted from 0."""
        first = self.layout(place).offset
        if not place.axes:
            return f"{place.name}[None]"
        if len(indices) == 1 and place.axes == 2:  # a vector of two
            shift = f" + ti.Vector([{first[0]}, {first[1]}])" if first else ""
            return f"{place.name}[{indices[0]}{shift}]"
        moved = [f"{index} + {start}" for index, start in zip(indices, first)] if first else indices
        return f"{place.name}[{', '.join(moved)}]"

    def own(self, place: Place) -> str:
        """The iteration's own element of a place."""
        scope = self.scope
        if place.axes == 1:
            return self.at(place, scope.own)
        return self.at(place, *(scope.own2.split(", ") if ", " in scope.own2 else (scope.own2,)))

    # ---- statements

    def block(self, size: int, depth: int, row: str = "", fixed: Sequence[str] = ()) -> Body:
        """Statements in a scope of their own."""
        body = Body([], [*fixed])
        self.scope.names.append({})
        if row:
            self.chain.append(row)
        for _ in range(self.random.randint(1, size)):
            if self.budget > 0 or not body.stmts:
                self.add(body, depth)
        if row:
            self.chain.pop()
        self.scope.names.pop()
        return body

    def add(self, body: Body, depth: int) -> None:
        """One more statement, and what a goal asks for behind it."""
        if self.at_top and self.chain[-1:] != ["kernel"] and self.chance(0.4):
            body.stmts += self.parallel(self)
            return
        made = self.stmt(depth)
        body.stmts.append(made)
        after = [
            b for how, a, b in self.goals if how == "before" and a == made.row and self.allowed(self.rows[b], depth)
        ]
        if after and self.chance(0.8):
            row = self.pick(after)
            follower = self.make(self.rows[row], depth)
            if follower is not None:
                body.stmts.append(follower)
                self.goals = [goal for goal in self.goals if goal != ("before", made.row, row)]

    def allowed(self, row: Row, depth: int) -> bool:
        return not row.gives and (depth > 0 or not row.opens) and row.where(self)

    def stmt(self, depth: int) -> Stmt:
        candidates = [row for row in self.rows.values() if self.allowed(row, depth) and row.weight]
        for _ in range(20):
            made = self.make(self.choose(candidates), depth)
            if made is not None:
                return made
        made = self.make(self.rows["let"], depth)
        assert made is not None
        return made

    def make(self, row: Row, depth: int) -> Stmt | None:
        before = self.scope
        self.budget -= 1
        with self.inside(row.name):
            made = row.make(self, depth - 1 if row.opens else depth)
        self.scope = before
        if made is None:
            return None
        self.met(row)
        return Stmt(row.name, made[0], made[1])


def fitted(text: str, parts: Sequence[Expr]) -> tuple[str, list[Expr]]:
    """The text and the parts that it names, numbered anew."""
    used = sorted({int(number) for number in re.findall(r"\{(\d+)\}", text)})
    text = re.sub(r"\{(\d+)\}", lambda found: f"{{{used.index(int(found[1]))}}}", text)
    return text, [parts[k] for k in used]


# Which rows lead from a kind of value to others, its parts.
BRIDGES: dict[str, dict[str, tuple[str, ...]]] = {
    "int": {"cast": ("real", "truth"), "round": ("real",), "entry": ("w2",), "reduction": ("w2",), "member": ("S", "N"),
            "number of truth": ("truth",), "conditional": ("truth",)},
    "real": {"cast": ("int", "truth"), "entry": ("v3",), "reduction": ("v3",), "entry at run time": ("m2", "int"),
             "transpose": ("m2",), "member": ("S", "N"), "conditional": ("truth",)},
    "truth": {"cast": ("int", "real"), "compare": ("int", "real"), "any or all": ("v3", "w2")},
    "v3": {"vector": ("real", "int"), "member": ("S", "N"), "select": ("truth",)},
    "w2": {"vector": ("int", "real"), "select": ("truth",)},
    "m2": {"matrix": ("real",), "conditional": ("truth",)},
    "S": {"struct": ("int", "real", "v3"), "member": ("N",)},
    "N": {"nested struct": ("S", "int")},
}  # fmt: skip
OPENERS = {
    "static break": ("for static", "for static"), "break": ("for range", "while"), "continue": ("for range", "while"),
}  # fmt: skip


def _ways_to(row: str, kinds: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """The rows that lead to that one: of statements, those of blocks; of expressions that give `kinds`, from a value of
    that kind."""
    if not kinds or not kind:
        return OPENERS.get(row, ())
    near = min(_distance(kind, one) for one in kinds)
    return tuple(
        name
        for name, parts in BRIDGES[kind].items()
        if any(_distance(part, one) < near for part in parts for one in kinds)
    )


@cache
def _distance(kind: str, wanted: str) -> int:
    """How many bridges lead from one kind to another at least."""
    reached, steps = {kind}, 0
    while wanted not in reached:
        reached |= {part for one in reached for parts in BRIDGES[one].values() for part in parts}
        steps += 1
    return steps


CALLS = {"call of a func": False, "call of a real func": True}  # and whether they are of real functions
LEAVES = ("variable", "argument", "own element", "element of an array", "index array", "gathered element")
DEFAULTS = {
    "int": "perm[3]", "real": "r_f32[2]", "truth": "(perm[3] > 4)", "v3": "V3(1.5, 2.0, r_f32[1])",
    "w2": "W2(perm[1], 2)", "m2": "M2([[1.0, 2.0], [0.5, 4.0]])", "S": "S(k=perm[2])", "N": "N(b=perm[2])",
}  # fmt: skip
