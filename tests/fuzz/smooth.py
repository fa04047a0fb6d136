"""The rows of the table that only programs to be differentiated have: functions of reals, and atomics of reals.

A program to be differentiated (`draw(seed, smooth=True)`) has f64 as its only type of floats, so that differences are
exact enough, and values near 1. It mostly computes with floats. Sums of floats by atomics depend on the order of
iterations by their rounding only, so they may have any value.
"""

from __future__ import annotations

from tests.fuzz.expressions import index
from tests.fuzz.nodes import Body, Expr
from tests.fuzz.rows import SMOOTH, Writer, expression, statement
from tests.fuzz.statements import line

__all__: list[str] = []

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


@statement("atomic of reals", weight=2.0, table=SMOOTH)
def _own_atomic(w: Writer, depth: int) -> tuple[list[tuple[str, Body | None]], list[Expr]]:
    """What was there before is known: nobody else was there."""
    place, name = w.pick(w.places("own", "real")), w.fresh()
    value = w.expr("real", 1)
    w.let(name, "real")
    return line(f"{name} = ti.atomic_{w.pick(('add', 'sub', 'mul', 'min', 'max'))}({w.own(place)}, {{0}})", value)


@statement("product of reals", weight=0.3, table=SMOOTH)
def _product(w: Writer, depth: int) -> tuple[list[tuple[str, Body | None]], list[Expr]]:
    """Where several iterations may meet."""
    text = f"a_mul_f64[{index(w, 'COUNT')}]"
    return line(w.pick((f"{text} *= {{1}}", f"ti.atomic_mul({text}, {{1}})")), w.expr("int", 1), w.expr("real", 1))


@statement("sum of reals", weight=3.0, table=SMOOTH)
def _sum(w: Writer, depth: int) -> tuple[list[tuple[str, Body | None]], list[Expr]]:
    """Sums, minima and maxima of active values, where several iterations may meet."""
    family = w.pick(("add",) * 8 + ("min", "max"))
    target = w.pick((f"a_{family}_f64[{index(w, 'COUNT')}]", f"z_{family}_f32[None]"))
    value, at = w.expr("real", 2), w.expr("int", 1)
    if family == "add":
        return line(f"{target.replace('{0}', '{1}')} {w.pick(('+=', '-='))} {{0}}", value, at)
    return line(f"ti.atomic_{family}({target.replace('{0}', '{1}')}, {{0}})", value, at)
