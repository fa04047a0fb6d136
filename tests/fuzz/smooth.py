"""The rows of the table that only programs to be differentiated have: functions of reals, and atomics of reals.

A program to be differentiated (`draw(seed, smooth=True)`) has f64 as its only type of floats, so that differences are
exact enough, and values near 1. It mostly computes with floats. Sums of floats by atomics depend on the order of
iterations by their rounding only, so they may have any value.
"""

from __future__ import annotations

from tests.fuzz.expressions import index
from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.rows import SMOOTH, Writer, expression, fitted, statement
from tests.fuzz.statements import line

__all__ = ["with_parts"]

Made = tuple[list[tuple[str, Body | None]], list[Expr]] | None

# How a loop makes the next value of `u` (and of `v`), and how it begins.
_CARRIES = ("ti.sin({u} * {0}) + {1}", "{u} * 0.5 + {0} * {1}", "{u} / (1.0 + abs({0})) + {1} * {u} * 0.1",
            "ti.tanh({u}) * {0}", "{u} - (ti.tanh({u}) - {0}) * 0.25", "{v} * 0.5 + {0}")  # fmt: skip
_HEADS = ("for {w} in range({n}):", "while {w} < {n}:", "while {w} < {n} and abs({u}) < 1.5:",
          "while not ({w} >= {n} or {u} + {v} > 2.5):", "for {w} in range({n}, 0, -1):", "while True:")  # fmt: skip
_ENDS = (("{u} > 1.2", "break"), ("{w} == 2", "continue"), ("{u} * {v} < 0.0", "continue"), ("{u} < {v}", "break"))

_FUNCTIONS = (
    "ti.sin({0})", "ti.cos({0})", "ti.tanh({0})", "ti.exp(-abs({0}))", "ti.log(1.5 + {0} * {0})",
    "ti.rsqrt({0} * {0} + 0.5)", "ti.tan(ti.tanh({0}))", "ti.asin(0.9 * ti.sin({0}))", "ti.acos(0.9 * ti.cos({0}))",
)  # fmt: skip
_OF_TWO = ("ti.atan2({0}, {1})", "((abs({0}) + 0.25) ** ti.sin({1}))", "({0} / (1.5 + abs({1})))", "({0} * {1})")


@expression("function", "real", "v3", weight=4.0, table=SMOOTH)
def _function(w: Writer, kind: str, depth: int) -> tuple[str, list[Expr]]:
    return w.pick(_FUNCTIONS), [w.expr(kind, depth)]


@expression("function of two", "real", weight=4.0, table=SMOOTH)
def _function_of_two(w: Writer, kind: str, depth: int) -> tuple[str, list[Expr]]:
    return w.pick(_OF_TWO), [w.expr(kind, depth), w.expr(kind, depth)]


@expression("norm", "real", "v3", weight=1.0, table=SMOOTH)
def _norm(w: Writer, kind: str, depth: int) -> tuple[str, list[Expr]]:
    return w.pick(("{0}.norm()", "{0}.norm_sqr()") if kind == "real" else ("{0}.normalized()",)), [w.expr("v3", depth)]


@expression("inverse", "m2", weight=0.5, table=SMOOTH)
def _inverse(w: Writer, kind: str, depth: int) -> tuple[str, list[Expr]]:
    return "({0} @ {0}.transpose() + M2([[1.0, 0.5], [0.25, 2.0]])).inverse()", [w.expr("m2", depth)]


@expression("sum so far", "real", weight=1.0, where=lambda w: w.at_top, table=SMOOTH)
def _sum_so_far(w: Writer, kind: str, depth: int) -> tuple[str, list[Expr]]:
    """What earlier loops have added up, read between loops."""
    return w.pick(("z_add_f32[None]", "z_min_f32[None]", "z_max_f32[None]", "a_add_f64[5]", "a_mul_f64[2]")), []


@statement("atomic of reals", weight=0.6, table=SMOOTH)
def _own_atomic(w: Writer, depth: int) -> Made:
    """What was there before is known: nobody else was there."""
    place, name = w.pick(w.places("own", "real")), w.fresh()
    value = w.expr("real", 1)
    w.let(name, "real")
    return line(f"{name} = ti.atomic_{w.pick(('add', 'sub', 'mul', 'min', 'max'))}({w.own(place)}, {{0}})", value)


@statement("product of reals", weight=0.3, table=SMOOTH)
def _product(w: Writer, depth: int) -> Made:
    """Where several iterations may meet."""
    text = f"a_mul_f64[{index(w, 'COUNT')}]"
    return line(w.pick((f"{text} *= {{1}}", f"ti.atomic_mul({text}, {{1}})")), w.expr("int", 1), w.expr("real", 1))


@statement("sum of reals", weight=3.0, table=SMOOTH)
def _sum(w: Writer, depth: int) -> Made:
    """Sums, minima and maxima of active values, where several iterations may meet."""
    family = w.pick(("add",) * 8 + ("min", "max"))
    target = w.pick((f"a_{family}_f64[{index(w, 'COUNT')}]", f"z_{family}_f32[None]"))
    value, at = w.expr("real", 2), w.expr("int", 1)
    if family == "add":
        return line(f"{target.replace('{0}', '{1}')} {w.pick(('+=', '-='))} {{0}}", value, at)
    return line(f"ti.atomic_{family}({target.replace('{0}', '{1}')}, {{0}})", value, at)


@statement("iteration", opens=True, weight=10.0, where=lambda w: not w.at_top and w.room(4), table=SMOOTH)
def _iteration(w: Writer, depth: int) -> Made:
    """A loop that carries two reals from round to round, few rounds or many; then an own place receives one."""
    u, v, rounds, target = w.fresh("t"), w.fresh("t"), w.fresh("w"), w.own(w.pick(w.places("own", "real")))
    starts = [w.expr("real", 1), w.expr("int", 0)]
    many = w.room(20)
    count = w.pick(("3", "ti.cast({1} & 3, ti.i32)", *(("ti.cast({1} & 15, ti.i32)", "19") if many else ())))
    w.let(u, "real")
    w.let(v, "real")
    w.enter("serial", 20 if many else 4)
    w.scope.fixed = w.scope.fixed | {rounds}
    head = w.pick(_HEADS).replace("{w}", rounds).replace("{u}", u).replace("{v}", v).replace("{n}", count)
    body = w.block(2, min(depth, 1), fixed=[f"{rounds} += 1"] if head.startswith("while") else [])
    for at in range(w.pick((1, 1, 2))):
        text = f"{u} = {w.pick(_CARRIES)}" if w.chance(0.7) else f"{u}, {v} = {w.pick(_CARRIES)}, {u}"
        text = text.replace("{u}", u).replace("{v}", v)
        text, parts = fitted(text, [w.expr("real", 1), w.expr("real", 1)])
        body.stmts.insert(0 if at else len(body.stmts), Stmt("carried value", [(text, None)], parts))
    if w.chance(0.5):
        body.stmts.insert(w.random.randrange(len(body.stmts) + 1), _left_early(w, u, v, rounds))
    if head == "while True:":
        test, parts = fitted(f"{rounds} > {count}", [w.expr("int", 0)] * 2)
        body.stmts.insert(
            0, Stmt("if", [(f"if {test}:", Body([Stmt("break", [("break", None)])]))], parts, pinned=True)
        )
    clauses: list[tuple[str, Body | None]] = [(f"{u} = {{0}}", None), (f"{v} = {u} * 0.5", None)]
    clauses += [(f"{rounds} = 0", None)] if head.startswith("while") else []
    clauses += [(head, body), (f"{target} = {target} * 0.5 + {u} * {v} + {u}", None)]
    return with_parts(clauses, starts)


def _left_early(w: Writer, u: str, v: str, rounds: str) -> Stmt:
    """The round ends, or the loop, by what it carries."""
    test, word = w.pick(_ENDS)
    test = test.replace("{w}", rounds).replace("{u}", u).replace("{v}", v)
    return Stmt("if", [(f"if {test}:", Body([Stmt(word, [(word, None)])]))])


@statement("reused local", opens=True, weight=6.0, where=lambda w: not w.at_top and w.room(2), table=SMOOTH)
def _reused(w: Writer, depth: int) -> Made:
    """Locals that blocks read, and that get other values between and behind these blocks."""
    t, a, target = w.fresh("t"), w.fresh("t"), w.own(w.pick(w.places("own", "real")))
    exprs = [w.expr("real", 1), w.expr("truth", 1), w.expr("real", 1)]
    w.let(t, "real")
    w.let(a, "real")
    uses = (f"{a} += ti.sin({t}) * {t}", f"{a} = {a} * ti.tanh({t})", f"{t} = {t} * {a}", f"{a}, {t} = {t}, {a} * {t}")
    changes = (
        f"{t} = ti.cos({t}) * {{2}}",
        f"{t} *= {t} * 0.5",
        f"{t} = {{2}} - {t} * {a}",
        f"{a} = {t} / (2.0 + {a} * {a})",
    )

    def part(texts: tuple[str, ...]) -> Body:
        return Body(
            [Stmt("carried value", [(w.pick(texts).replace("{2}", "1.25"), None)]) for _ in range(w.pick((1, 2)))]
        )

    clauses: list[tuple[str, Body | None]] = [(f"{t} = {{0}}", None), (f"{a} = {t} * {t}", None)]
    for _ in range(w.pick((2, 3, 3))):
        head = w.pick(("if {1}:", f"if {t} > 0.4:", f"for {w.fresh('k')} in range({w.pick((2, 3, 7))}):"))
        clauses.append((head, part((*uses, *changes))))
        clauses += [("else:", part(uses))] if head.startswith("if") and w.chance(0.4) else []
        clauses.append((w.pick(changes), None))
    clauses.append((f"{target} = {target} + {a} * {t} + {t}", None))
    return with_parts(clauses, exprs)


def with_parts(clauses: list[tuple[str, Body | None]], exprs: list[Expr]) -> Made:
    """The clauses with those of the expressions that they name, numbered anew."""
    texts, parts = fitted("\n".join(text for text, _ in clauses), exprs)
    return [(text, body) for text, (_, body) in zip(texts.split("\n"), clauses, strict=True)], parts
