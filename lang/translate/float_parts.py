"""`frexp`: splits a float by its bits, sign | exponent + bias | fraction.

A number in [0.5, 1) has the exponent field `bias - 1`. Replacing the exponent field of x by it gives the mantissa, and
the replaced field gives the exponent. Denormal numbers are scaled up first. Zero, infinity and NaN have no mantissa."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.ir import tree
from weft.ir.types import Prim, f16, f32, f64, i16, i32, i64, with_element
from weft.lang.translate.functions import Call, arguments, cast_value_to, element_type, function
from weft.lang.translate.operators import binary, run_now, select, unary
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import is_constant, scalar_of, to_expr
from weft.lang.values.builtins import BUILTINS

__all__: list[str] = []


@dataclass(frozen=True)
class Layout:
    """The bits of a float type, seen as `integer`: the lowest `fraction` bits, then the exponent field, whose bits are
    `mask` after a shift."""

    integer: Prim
    fraction: int
    mask: int

    @property
    def half(self) -> int:
        """The exponent field of 0.5."""
        return self.mask // 2 - 1


_LAYOUTS = {f16: Layout(i16, 10, 0x1F), f32: Layout(i32, 23, 0xFF), f64: Layout(i64, 52, 0x7FF)}


@function("frexp")
def _frexp(t: Translator, c: Call) -> Any:
    (x,) = arguments(t, c, 1, 1, "x")
    if is_constant(x):
        return run_now(t, c.node, BUILTINS["frexp"].python, x)
    value = to_expr(t, x, c.node)
    prim = element_type(t, value, c.node)
    prim = prim if prim.is_float else t.unit.config.default_fp
    value = t.frozen(cast_value_to(t, value, prim, c.node))
    return _taken_apart(t, value, prim, c)


def _taken_apart(t: Translator, x: tree.Expr, prim: Prim, c: Call) -> tuple[tree.Expr, tree.Expr]:
    layout = _LAYOUTS[prim]
    type, up = with_element(x.type, layout.integer), layout.fraction + 1
    smallest = 2.0 ** (2 - layout.mask // 2)

    def number(value: int) -> tree.Expr:
        return scalar_of(t, value, layout.integer, c.node)

    def two(kind: str, a: tree.Expr, b: tree.Expr) -> tree.Expr:
        return binary(t, kind, a, b, c.node)

    small = t.frozen(two("lt", unary(t, "abs", x, c.node), scalar_of(t, smallest, prim, c.node)))
    scaled = select(t, small, two("mul", x, scalar_of(t, 2.0**up, prim, c.node)), x, c.node)
    bits = t.frozen(tree.BitCast(scaled, type=type, span=t.span(c.node)))
    exponent = t.frozen(two("and", two("shr", bits, number(layout.fraction)), number(layout.mask)))
    usual = t.frozen(two("and", two("ne", exponent, number(0)), two("ne", exponent, number(layout.mask))))
    rest = two("and", bits, number(~(layout.mask << layout.fraction)))
    mantissa = tree.BitCast(two("or", rest, number(layout.half << layout.fraction)), type=x.type, span=t.span(c.node))
    shift = two("add", number(layout.half), select(t, small, number(up), number(0), c.node))
    power = cast_value_to(t, select(t, usual, two("sub", exponent, shift), number(0), c.node), i32, c.node)
    return select(t, usual, mantissa, x, c.node), power
