"""Draws whole programs: functions, and a kernel of parallel loops with serial code between them."""

from __future__ import annotations

import random as randomness
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tests.fuzz import active, loops, statements
from tests.fuzz import expressions as expressions  # these fill the table
from tests.fuzz import smooth as smooth
from tests.fuzz.defined import METHODS, definitions
from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.places import PLACES, Extents, Layout, Place
from tests.fuzz.rows import ROWS, Function, Goal, Row, Scope, Writer, expression, statement

__all__ = ["FUNCTIONS", "OUTER", "Program", "draw"]

HEADER = """V3, W2, M2 = ti.types.vector(3, ti.f32), ti.types.vector(2, ti.i32), ti.types.matrix(2, 2, ti.f32)
S = ti.types.struct(k=ti.i32, f=ti.f32, v=V3{methods})
N = ti.types.struct(s=S, b=ti.i64)
ROWS, COLS, COUNT, SLOTS = {extents}
ALIAS, LIST = {alias!r}, [2, 0]
"""
TYPES = {"int": "ti.i32", "real": "ti.f32", "truth": "ti.u1", "v3": "V3", "w2": "W2", "m2": "M2", "S": "S", "N": "N",
         "small": "ti.i32"}  # fmt: skip
PARAMETERS = {
    "a": "ti.i32", "b": "ti.f32", "c": "ti.i64", "e": "V3", "g": "S", "n": "ti.i32",
    "pack": "ti.types.argpack(n=ti.i32, x=ti.f32)",
    "xs": "ti.types.ndarray(dtype=ti.f32, ndim=2)", "ks": "ti.types.ndarray(dtype=ti.i32, ndim=1)",
    "al": "ti.types.ndarray(dtype=ti.i32, ndim=1)", "be": "ti.types.ndarray(dtype=ti.i32, ndim=1)",
}  # fmt: skip
FUNCTIONS = ("func", "real func", "recursive func")
OUTER = ("kernel", *FUNCTIONS, *loops.PARALLEL)
_RESULTS = ("int", "int", "real", "v3", "w2", "m2", "S", "truth", "int real", "")
_KERNEL_RESULTS = ("int", "int", "real", "v3", "S", "int real", "", "")
_VALUES = ("int", "real", "v3", "w2", "m2", "S", "truth")


@dataclass
class Program:
    """A program, its data's layouts, and how its two lent arrays overlap."""

    name: str
    functions: list[Stmt]
    body: Body
    result: str
    layouts: dict[str, Layout]
    alias: str
    safe: bool = False
    smooth: bool = False
    floats: str = "f64"  # the widest type of floats of a program to be differentiated
    extents: Extents = field(default_factory=Extents)

    @property
    def parameters(self) -> list[str]:
        text = "\n".join(self.body.lines(0))
        return [name for name in PARAMETERS if re.search(rf"\b{name}\b", text)]

    @property
    def header(self) -> str:
        """The types and constants that it names."""
        methods = bool(re.search(r"\.(halved|bump)\(", self.code))
        given = ', __struct_methods={"halved": halved, "bump": bump}' if methods else ""
        sizes = f"{self.extents.rows}, {self.extents.cols}, {self.extents.count}, {self.extents.slots}"
        text = (METHODS if methods else "") + HEADER.format(alias=self.alias, methods=given, extents=sizes)
        return self.typed(text)

    def typed(self, text: str) -> str:
        """The text as it is; in a program to be differentiated, with one type of floats, or with f16 and f32."""
        if not self.smooth:
            return text
        return re.sub(r"\bti\.(f16|f32|f64)\b", lambda found: f"ti.{self.float_of(found[1])}", text)

    def float_of(self, type: str) -> str:
        """What a type of floats is in a program to be differentiated."""
        return type if type == "f16" == self.floats else "f32" if self.floats == "f16" else self.floats

    @property
    def code(self) -> str:
        """Its functions, and the kernel."""
        lines = [line for one in self.functions for line in (*one.lines(0), "", "")]
        typed = [f"{name}: {PARAMETERS[name]}" for name in self.parameters]
        lines += ["@ti.kernel", f"def run({', '.join(typed)}){arrow(self.result)}:", *self.body.lines(1)]
        return self.typed("\n".join(lines) + "\n")

    @property
    def source(self) -> str:
        """The whole as Python, but for its fields."""
        return f"{self.header}\n\n{self.defined}{self.code}"

    @property
    def defined(self) -> str:
        """What it uses of what is defined outside of kernels and their functions."""
        return self.typed(definitions(self.code))

    @property
    def places(self) -> list[Place]:
        """The fields that it names."""
        words = {*re.findall(r"\w+", self.source)}
        lent = {"o_i32"} if self.alias == "field" and words & {"al", "be"} else set[str]()
        return [place for place in PLACES.values() if place.name in words | lent]

    def roots(self) -> Iterator[tuple[str, Body]]:
        """The bodies that nothing contains, each with the row of what it belongs to."""
        yield "kernel", self.body
        for one in self.functions:
            yield one.row, one.bodies[0]


def arrow(result: str) -> str:
    """What a function says that it gives."""
    kinds = [TYPES[kind] for kind in result.split()]
    return "" if not kinds else f" -> {kinds[0]}" if len(kinds) == 1 else f" -> ({', '.join(kinds)})"


# ---- rows of functions -----------------------------------------------------------------------------------------------


@statement("return", where=lambda w: not w.scope.parallel and w.chain[-1:] != ["kernel"],
           weight=1.0)  # fmt: skip
def _return(w: Writer, depth: int) -> tuple[list[tuple[str, Body | None]], list[Expr]]:
    condition, made = w.expr("truth", 1), returned(w, 1)
    return [("if {0}:", Body([made]))], [condition]


def returned(w: Writer, depth: int) -> Stmt:
    """A return of what the function, or the kernel, gives."""
    parts = [w.expr(kind, depth) for kind in w.scope.result.split()]
    names = ", ".join(f"{{{k}}}" for k in range(len(parts)))
    return Stmt("return", [(f"return {names}".strip(), None)], parts)


def _pure(w: Writer, kind: str, real: bool) -> list[Function]:
    fitting = statements.reachable(w)
    return [one for one in fitting if one.result == kind and one.real is real and not one.effects]


def _call(w: Writer, kind: str, depth: int, real: bool) -> tuple[str, list[Expr]] | None:
    fitting = _pure(w, kind, real)
    fitting = [one for one in fitting if w.scope.arrays.issuperset({"xs", "ks"} & {*one.params})]
    if not fitting:
        return None
    one = w.pick(fitting)
    given = statements.arguments(w, one, min(depth, 1))
    return statements.called(w, one, given), given


@expression("call of a func", *_VALUES, weight=2.5, where=lambda w: any(not f.real for f in w.functions))
def _call_func(w: Writer, kind: str, depth: int) -> tuple[str, list[Expr]] | None:
    return _call(w, kind, depth, False)


@expression("call of a real func", *_VALUES, weight=2.5, where=lambda w: any(f.real for f in w.functions))
def _call_real(w: Writer, kind: str, depth: int) -> tuple[str, list[Expr]] | None:
    return _call(w, kind, depth, True)


def _function(w: Writer, number: int, row: str, pure: bool) -> Function:
    """A function; one that is `pure` is for expressions. At most one parameter is a reference, so that no variable has
    two names."""
    real, again = row != "func", row == "recursive func"
    result = w.pick(("int", "real", "v3")) if pure else w.pick([r for r in w.likely_kinds(*_RESULTS) if r or not again])
    values = ("int", "real") if pure else tuple(w.pick(w.likely_kinds(*_VALUES)) for _ in range(w.pick((0, 1, 1, 2))))
    changed = (f"&{w.pick(('int', 'real', 'v3', 'S'))}",) if not (real or pure) and w.chance(0.3) else ()
    arrays = () if pure else w.pick(((), (), ("xs",), ("ks",), ("xs", "ks")))
    params = (*(("small",) if again else ()), *changed, *values, *arrays)
    made = Function(f"{'r' if real else 'h'}{number}", params, result, real, True, row)
    names = {kind if kind in arrays else f"p{k}": kind.lstrip("&") for k, kind in enumerate(params)}
    w.scope = Scope(row if row == "func" else "real func", "i", "i // COLS, i % COLS", result=result)
    w.scope.arrays = frozenset(arrays)
    w.scope.names = [{name: kind for name, kind in names.items() if kind not in ("small", *arrays)}]
    w.scope.fixed = frozenset(names) if real else frozenset()
    w.budget, w.most_rounds = 0 if pure else w.pick((2, 4, 6)), 1
    body = w.block(4, 2, row)
    with w.inside(row):
        w.scope.names.append({})
        if again:
            body.stmts.insert(0, Stmt("return", [("if p0 <= 0:", Body([returned(w, 0)]))]))
            given = statements.arguments(w, replace(made, params=params[1:]), 0)
            names_ = [w.fresh() for _ in result.split()]
            others = ", ".join(["i", "p0 - 1", *(f"{{{k}}}" for k in range(len(given)))])
            text = f"{', '.join(names_)} = {made.name}({others})"
            body.stmts.append(Stmt("call of a real func", [(text, None)], given))
            w.scope.names[-1].update(zip(names_, result.split()))
        if result:
            body.stmts.append(returned(w, 1))
    made.rounds = w.most_rounds * (3 if again else 1)
    made.effects = _has_effects(body) or bool(changed) or " " in result or not result
    annotations = {**PARAMETERS, **TYPES, **dict.fromkeys(changed, "ti.template()")}
    typed = [f"{name}: {annotations[kind]}" if real or kind in changed else name for name, kind in zip(names, params)]
    head = f"def {made.name}({', '.join(['i: ti.i32' if real else 'i', *typed])}){arrow(result) if real else ''}:"
    made.stmt = Stmt(row, [(f"@ti.{'real_func' if real else 'func'}", None), (head, body)])
    w.scope = Scope()
    return made


_EFFECTS = ("own store", "part of an own place", "own atomic", "scatter", "sum", "flag", "print", "call", "assert",
            "static list of fields", "array store", "append by a field", "store to n x 1", "assignment to a row",
            "reference", "struct method call")  # fmt: skip


def _has_effects(body: Body) -> bool:
    return any(stmt.row in _EFFECTS or any(map(_has_effects, stmt.bodies)) for stmt in body.stmts)


# ---- programs --------------------------------------------------------------------------------------------------------


def draw(seed: str, goals: Sequence[Goal] = (), smooth: bool = False) -> Program:
    """The program of that seed, which tries to have what the goals name. `smooth`: one to be differentiated."""
    random = randomness.Random(seed)
    w = Writer(random, goals, random.random() < 0.5, smooth)
    wanted = {name for goal in goals for name in goal[1:]}
    calls = sum("call" in name for name in wanted)
    for number in range(max(w.pick((0, 0, 1, 2)), calls, *(name in wanted for name in FUNCTIONS))):
        asked = [name for name in FUNCTIONS if name in wanted]
        row = w.pick(asked) if asked and w.chance(0.7) else w.pick((*FUNCTIONS, *("func",) * 6 * smooth))
        expressive = [name for name in ("call of a func", "call of a real func") if name in wanted]
        if expressive and number < len(expressive):
            row = {"call of a func": "func", "call of a real func": "real func"}[expressive[number]]
        w.functions.append(_function(w, number, row, bool(expressive) and number < len(expressive)))
    w.budget = w.pick((6, 10, 14))
    w.scope = Scope(result=w.pick(w.likely_kinds(*_KERNEL_RESULTS)))
    w.parallel = lambda w: loops.parallel_loop(w, w.pick(tuple(loops.PARALLEL)), 2, 1)
    body = Body()
    asked = [name for name in loops.PARALLEL if name in wanted]
    with w.inside("kernel"):
        for _ in range(w.pick((1, 1, 2))):
            for _ in range(w.pick((0, 0, 1, 2))):
                w.add(body, 2)
            row = w.pick(asked) if asked and w.chance(0.8) else w.pick(tuple(loops.PARALLEL))
            body.stmts += loops.parallel_loop(w, row, 5, 2)
            if smooth and w.chance(0.3):
                made = w.make(w.rows[w.pick(active.IN_MEMORY)], 1)
                body.stmts += [made] if made else []
        for _ in range(w.pick((0, 0, 1))):
            w.add(body, 2)
        if w.scope.result:
            body.stmts.append(returned(w, 2))
    stmts = [one.stmt for one in w.functions if one.stmt is not None]
    return Program(seed, stmts, body, w.scope.result, w.layouts, w.alias, w.safe, smooth)


for _name in (*OUTER, "loop config", "private local"):
    ROWS.setdefault(_name, Row(_name, lambda *_: None, (), lambda w: False, 0.0))
