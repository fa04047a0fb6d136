"""The algebra of scalar operators: the rewrite rules of the pass `algebra`.

A test checks every row: it computes both sides for NaN, infinities, both zeros and the extreme integers. A row marked
`fast` applies only with fast_math and may change rounding and the sign of a zero. It still preserves NaN and infinity,
so `x * 0` and `x - x` of floats do not become zero. Constants are moved to the right of commutative operators and
comparisons before a row is tried.
"""

from __future__ import annotations

from math import frexp, inf, isfinite

import numpy as np

from weft.ir.rewrite import Match, Rule, apply, expressions, variable
from weft.ir.scalar import BINARY, cast_value
from weft.ir.types import Prim, element, u1

__all__ = ["RULES"]

x, y, p = variable("x y p")
c, d = variable("c d", constant=True)
(ones,) = expressions("ones")
(true,), (false,) = expressions(True), expressions(False)


# ---- conditions ------------------------------------------------------------------------------------------------------


def integral(m: Match) -> bool:
    """Any integers, truth values among them."""
    return m.elem.is_int


def arithmetic_integer(m: Match) -> bool:
    """Integers other than truth values."""
    return m.elem.is_int and m.elem is not u1


def floating(m: Match) -> bool:
    """Floats."""
    return m.elem.is_float


def unsigned(m: Match) -> bool:
    """Unsigned integers and truth values."""
    return m.elem.kind == "u"


def unsigned_number(m: Match) -> bool:
    """Unsigned integers other than truth values."""
    return m.elem.kind == "u" and m.elem is not u1


def has_sign(m: Match) -> bool:
    """Signed integers and floats."""
    return m.elem.kind != "u"


def signed_integer(m: Match) -> bool:
    """Signed integers."""
    return m.elem.kind == "i"


def truth(m: Match) -> bool:
    """Truth values."""
    return m.elem is u1


def truth_inside(m: Match) -> bool:
    """`x` itself is a u1, whatever the type of its context."""
    return element(m.values["x"].type) is u1


def integral_inside(m: Match) -> bool:
    """`x` itself is an integer, whatever the type of its context."""
    return element(m.values["x"].type).is_int


def _power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def power_of_two(m: Match) -> bool:
    """Integers, and `c` is a positive power of two."""
    return arithmetic_integer(m) and _power_of_two(m.number("c"))


def unsigned_power_of_two(m: Match) -> bool:
    """Unsigned integers, and `c` is a power of two."""
    return unsigned_number(m) and _power_of_two(m.number("c"))


def _normal(number: float, prim: Prim) -> bool:
    return isfinite(number) and abs(number) >= float(np.finfo(prim.np).tiny)


def exact_reciprocal(m: Match) -> bool:
    """A power of two whose reciprocal neither overflows nor is subnormal: dividing by it equals multiplying by its
    reciprocal."""
    return reciprocal(m) and abs(frexp(m.number("c"))[0]) == 0.5


def reciprocal(m: Match) -> bool:
    """Floats, and neither `c` nor `1 / c` is zero, subnormal or infinite."""
    number = float(m.number("c"))
    return floating(m) and _normal(number, m.elem) and _normal(float(cast_value(1 / number, m.elem)), m.elem)


def _combined(kind: str, m: Match) -> float:
    left, right = (cast_value(m.number(name), m.elem) for name in "cd")
    return float(BINARY[kind].evaluate(left, right))


def finite_sum(m: Match) -> bool:
    """Two terms of one sign whose sum is finite: adding them first overflows where adding them last does."""
    return floating(m) and bool(m.number("c") * m.number("d") >= 0) and isfinite(_combined("add", m))


def normal_product(m: Match) -> bool:
    """Neither factor grows or shrinks the other out of range: both have an absolute value of at least 1, or at most."""
    left, right = abs(m.number("c")), abs(m.number("d"))
    same_way = (left >= 1 and right >= 1) or (left <= 1 and right <= 1)
    return floating(m) and same_way and _normal(_combined("mul", m), m.elem)


def shrinks_first(m: Match) -> bool:
    """`c` shrinks, `d` grows, and both together do not grow: multiplying by both at once cannot overflow."""
    left, right = abs(m.number("c")), abs(m.number("d"))
    return floating(m) and bool(left <= 1 <= right) and _normal(_combined("mul", m), m.elem) and bool(left * right <= 1)


def positive_float(m: Match) -> bool:
    """Floats, and `c` is positive and finite."""
    return floating(m) and bool(0 < m.number("c") < inf)


def positive_product(m: Match) -> bool:
    """Two positive divisors whose product the type still holds."""
    left, right = m.number("c"), m.number("d")
    highest = 2 ** (m.elem.bits - (1 if m.elem.is_signed else 0)) - 1
    return arithmetic_integer(m) and bool(left > 0 and right > 0 and left * right <= highest)


def shift_in_range(m: Match) -> bool:
    """Two amounts that are not masked, and whose sum is not."""
    left, right = m.number("c"), m.number("d")
    return bool(left >= 0 and right >= 0 and left + right < m.elem.bits)


def _holds(narrow: Prim, wide: Prim) -> bool:
    """Whether each value of `narrow` is one of `wide`."""
    if narrow is wide or narrow is u1:
        return True
    if wide.is_float:
        digits = np.finfo(wide.np).nmant + 1
        return wide.bits >= narrow.bits if narrow.is_float else narrow.bits - narrow.is_signed <= digits
    if narrow.is_float or wide is u1:
        return False
    return wide.bits > narrow.bits if narrow.kind == "u" else wide.is_signed and wide.bits >= narrow.bits


def skips_middle(m: Match) -> bool:
    """Whether `cast(cast(x))` needs the type in the middle: no if that holds every `x`, or cuts off fewer bits."""
    first, middle, last = element(m.values["x"].type), m.elem, element(m.op.type)
    if first.is_int and middle.is_int and last.is_int and u1 not in (middle, last) and last.bits <= middle.bits:
        return True
    # A float on the way to an integer saturates where integers would wrap.
    saturates = first.is_int and middle.is_float and last.is_int and last is not u1
    return _holds(first, middle) and not (saturates and not _holds(first, last))


def same_type(m: Match) -> bool:
    """A cast to the type that `x` has."""
    return m.op.type is m.values["x"].type


# ---- rows ------------------------------------------------------------------------------------------------------------

_SUMS = [
    Rule("add-zero", x + 0, x, when=integral),
    Rule("add-minus-zero", x + -0.0, x, when=floating),
    Rule("add-zero-fast", x + 0, x, when=floating, fast=True),
    Rule("add-twice", (x + c) + d, x + (c + d), when=arithmetic_integer),
    Rule("add-twice-fast", (x + c) + d, x + (c + d), when=finite_sum, fast=True),
    Rule("add-from-constant", (c - x) + d, (c + d) - x, when=arithmetic_integer),
    Rule("add-neg", x + -y, x - y),
    Rule("add-sub", (x - y) + y, x, when=arithmetic_integer),
    Rule("sub-zero", x - 0, x),
    Rule("sub-minus-zero-fast", x - -0.0, x, when=floating, fast=True),
    Rule("sub-constant", x - c, x + (-c), when=arithmetic_integer),
    Rule("sub-self", x - x, 0, when=integral),
    Rule("sub-neg", x - -y, x + y),
    Rule("sub-from-zero", 0 - x, -x, when=signed_integer),
    Rule("sub-from-minus-zero", -0.0 - x, -x, when=floating),
    Rule("sub-from-zero-fast", 0 - x, -x, when=floating, fast=True),
    Rule("sub-added", (x + y) - y, x, when=arithmetic_integer),
    Rule("neg-neg", apply("neg", -x), x),
    Rule("neg-sub", -(x - y), y - x, when=arithmetic_integer),
    Rule("neg-sub-fast", -(x - y), y - x, when=floating, fast=True),
]

_PRODUCTS = [
    Rule("mul-one", x * 1, x),
    Rule("mul-zero", x * 0, 0, when=integral),
    Rule("mul-minus-one", x * -1, -x),
    Rule("mul-twice", (x * c) * d, x * (c * d), when=arithmetic_integer),
    Rule("mul-twice-fast", (x * c) * d, x * (c * d), when=normal_product, fast=True),
    Rule("mul-shrunk-fast", (x * c) * d, x * (c * d), when=shrinks_first, fast=True),
    Rule("mul-neg-neg", -x * -y, x * y),
    Rule("mul-neg-constant", -x * c, x * (-c)),
    Rule("div-one", x / 1, x, when=floating),
    Rule("div-minus-one", x / -1, -x, when=floating),
    Rule("div-exact", x / c, x * (1 / c), when=exact_reciprocal),
    Rule("div-fast", x / c, x * (1 / c), when=reciprocal, fast=True),
    Rule("rsqrt-fast", 1 / apply("sqrt", x), apply("rsqrt", x), when=floating, fast=True),
    Rule("raw-div-one", apply("raw_div", x, 1), x),
    Rule("raw-div-shift", apply("raw_div", x, c), apply("shr", x, apply("popcnt", c - 1)), when=unsigned_power_of_two),
    Rule("raw-mod-mask", apply("raw_mod", x, c), x & (c - 1), when=unsigned_power_of_two),
    Rule("floordiv-one", x // 1, x, when=integral),
    Rule("floordiv-one-float", x // 1, apply("floor", x), when=floating),
    Rule("floordiv-shift", x // c, apply("shr", x, apply("popcnt", c - 1)), when=power_of_two),
    Rule("floordiv-twice", (x // c) // d, x // (c * d), when=positive_product),
    Rule("floordiv-of-zero", 0 // x, 0, when=integral),
    Rule("mod-mask", x % c, x & (c - 1), when=power_of_two),
    Rule("pow-zero", x**0, 1),
    Rule("pow-one", x**1, x),
    Rule("pow-two", x**2, x * x),
    Rule("pow-three", x**3, (x * x) * x, when=integral),
    Rule("pow-three-fast", x**3, (x * x) * x, when=floating, fast=True),
    Rule("pow-four", x**4, (x * x) * (x * x), when=integral),
    Rule("pow-four-fast", x**4, (x * x) * (x * x), when=floating, fast=True),
    Rule("pow-minus-one-fast", x**-1, 1 / x, when=floating, fast=True),
]

_BITS = [
    Rule("and-self", x & x, x),
    Rule("and-zero", x & 0, 0),
    Rule("and-ones", x & ones, x),
    Rule("and-twice", (x & c) & d, x & (c & d)),
    Rule("or-self", x | x, x),
    Rule("or-zero", x | 0, x),
    Rule("or-ones", x | ones, ones),
    Rule("or-twice", (x | c) | d, x | (c | d)),
    Rule("xor-self", x ^ x, 0),
    Rule("xor-zero", x ^ 0, x),
    Rule("xor-ones", x ^ ones, apply("bit_not", x)),
    Rule("xor-twice", (x ^ c) ^ d, x ^ (c ^ d)),
    Rule("bit-not-twice", apply("bit_not", apply("bit_not", x)), x),
    Rule("bit-not-truth", apply("bit_not", x), apply("not", x), when=truth),
    *[
        rule
        for kind in ("shl", "shr", "bit_shr")
        for rule in (
            Rule(f"{kind}-zero", apply(kind, x, 0), x),
            Rule(f"{kind}-of-zero", apply(kind, 0, x), 0),
            Rule(f"{kind}-twice", apply(kind, apply(kind, x, c), d), apply(kind, x, c + d), when=shift_in_range),
        )
    ],
]

_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}

_TRUTH = [
    Rule("not-not", apply("not", apply("not", x)), x, when=truth_inside),
    Rule("not-eq", apply("not", apply("eq", x, y)), apply("ne", x, y)),
    Rule("not-ne", apply("not", apply("ne", x, y)), apply("eq", x, y)),
    *[
        Rule(f"not-{kind}", apply("not", apply(kind, x, y)), apply(_OPPOSITE[kind], x, y), when=integral_inside)
        for kind in ("lt", "le", "gt", "ge")
    ],
    *[Rule(f"{kind}-self", apply(kind, x, x), True, when=integral) for kind in ("eq", "le", "ge")],
    Rule("ne-self", apply("ne", x, x), False, when=integral),
    *[Rule(f"{kind}-self", apply(kind, x, x), False) for kind in ("lt", "gt")],
    Rule("lt-zero", apply("lt", x, 0), False, when=unsigned),
    Rule("ge-zero", apply("ge", x, 0), True, when=unsigned),
    *[
        Rule(f"{kind}-sum", apply(kind, x + c, d), apply(kind, x, d - c), when=arithmetic_integer)
        for kind in ("eq", "ne")
    ],
    Rule("ne-false", apply("ne", x, 0), x, when=truth),
    Rule("eq-false", apply("eq", x, 0), apply("not", x), when=truth),
    Rule("ne-true", apply("ne", x, true), apply("not", x), when=truth),
    Rule("eq-true", apply("eq", x, true), x, when=truth),
    Rule("ne-cast-truth", apply("ne", apply("cast", x), 0), x, when=truth_inside),
    Rule("eq-cast-truth", apply("eq", apply("cast", x), 0), apply("not", x), when=truth_inside),
]

_CHOICES = [
    Rule("select-same", apply("select", p, x, x), x),
    Rule("select-not", apply("select", apply("not", x), p, y), apply("select", x, y, p), when=truth_inside),
    Rule("select-zero-scaled", apply("select", p, 0.0, x) * c, apply("select", p, 0.0, x * c), when=positive_float),
    Rule("select-truth", apply("select", p, true, false), p, when=truth),
    Rule("select-not-truth", apply("select", p, false, true), apply("not", p), when=truth),
    *[
        rule
        for kind in ("min", "max")
        for rule in (
            Rule(f"{kind}-self", apply(kind, x, x), x),
            Rule(f"{kind}-twice", apply(kind, apply(kind, x, c), d), apply(kind, x, apply(kind, c, d)), when=integral),
        )
    ],
    Rule("abs-abs", apply("abs", apply("abs", x)), apply("abs", x)),
    Rule("abs-neg", apply("abs", -x), apply("abs", x), when=has_sign),
    Rule("abs-unsigned", apply("abs", x), x, when=unsigned),
]

_ROUNDINGS = ("floor", "ceil", "trunc", "round")

_ROUNDED = [
    *[Rule(f"{kind}-integer", apply(kind, x), x, when=integral) for kind in _ROUNDINGS],
    *[
        Rule(f"{kind}-of-integer", apply(kind, apply("cast", x)), apply("cast", x), when=integral_inside)
        for kind in _ROUNDINGS
    ],
    *[Rule(f"{a}-{b}", apply(a, apply(b, x)), apply(b, x)) for a in _ROUNDINGS for b in _ROUNDINGS],
]

_CASTS = [
    Rule("cast-same", apply("cast", x), x, when=same_type),
    Rule("cast-cast", apply("cast", apply("cast", x)), apply("cast", x), when=skips_middle),
]

RULES: tuple[Rule, ...] = (*_SUMS, *_PRODUCTS, *_BITS, *_TRUTH, *_CHOICES, *_ROUNDED, *_CASTS)
