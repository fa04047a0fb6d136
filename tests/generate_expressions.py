"""Random expressions over every type of number, and what they mean by the rules in docs/numbers.md: a second opinion.

`expressions()` draws trees whose leaves are columns of numbers, one column for each type. `meaning` computes one row of
such a tree with Python's integers and numpy's floats, from the written rules alone: it shares nothing with the tables
that the compiler, the evaluator and `arch=python` read.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

__all__ = ["FLOATS", "INTS", "NUMBERS", "Tree", "columns", "expressions", "meaning", "numpy_type", "program"]

INTS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f16", "f32", "f64")
NUMBERS = (*INTS, *FLOATS)
_ROW = 36  # numbers in a column


@dataclass(frozen=True)
class Tree:
    """An operator on trees. `text`: the source, with `{0}`, `{1}` ... for the operands; `type`: what it gives."""

    kind: str
    operands: tuple[Tree, ...]
    text: str
    type: str
    value: Any = None

    def __str__(self) -> str:
        return self.text.format(*self.operands)


# ---- types -----------------------------------------------------------------------------------------------------------


def bits(name: str) -> int:
    """How many bits a number of that type has."""
    return int(name[1:])


def numpy_type(name: str) -> np.dtype[Any]:
    """The type as numpy calls it."""
    return np.dtype(np.bool_ if name == "u1" else f"{name[0]}{bits(name) // 8}")


def common(a: str, b: str) -> str:
    """Floats beat integers, then the wider wins, then the unsigned."""
    return max(a, b, key=lambda name: (name in FLOATS, bits(name), name[0] == "u"))


def arithmetic(a: str, b: str) -> str:
    """The type in which two numbers are added: truth values count as i32."""
    kind = common(a, b)
    return "i32" if kind == "u1" else kind


def wrap(value: int, name: str) -> int:
    """`value` modulo 2**bits, in the range of the type."""
    value &= 2 ** bits(name) - 1
    return value - 2 ** bits(name) if name[0] == "i" and value >> (bits(name) - 1) else value


def cast(value: Any, source: str, target: str) -> Any:
    """Truth is `!= 0`; integers wrap; floats lose their fraction and saturate, NaN is 0; else the nearest number."""
    if source == target:
        return value
    if target == "u1":
        return bool(value != 0)
    if target in FLOATS:
        return numpy_type(target).type(value) if source in FLOATS else nearest(int(value), target)
    if source not in FLOATS:
        return wrap(int(value), target)
    if math.isnan(value):
        return 0
    low = -(2 ** (bits(target) - 1)) if target[0] == "i" else 0
    high = 2 ** (bits(target) - (target[0] == "i")) - 1
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(float(value)), low), high)


def nearest(value: int, name: str) -> Any:
    """The float nearest to an integer, of two equally near ones the one with an even mantissa."""
    kind = numpy_type(name).type
    first = kind(float(value))
    if np.isinf(first):
        return first
    around = [first, np.nextafter(first, kind(np.inf)), np.nextafter(first, kind(-np.inf))]
    finite = [x for x in around if np.isfinite(x)]
    unsigned = f"u{bits(name) // 8}"
    return min(finite, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(unsigned)) & 1))


# ---- what operators mean ---------------------------------------------------------------------------------------------


def _floor(x: Any) -> Any:
    return np.floor(x).astype(x.dtype)


def _floordiv(a: Any, b: Any) -> Any:
    return _floor(a / b) if isinstance(a, np.floating) else (a // b if b else 0)


def _mod(a: Any, b: Any) -> Any:
    return a - b * _floor(a / b) if isinstance(a, np.floating) else (a % b if b else 0)


def _raw_div(a: Any, b: Any) -> Any:
    if isinstance(a, np.floating):
        return a / b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0


def _raw_mod(a: Any, b: Any) -> Any:
    if isinstance(a, np.floating):
        return np.fmod(a, b)
    return a - _raw_div(a, b) * b if b else 0


def _power(a: Any, b: Any) -> Any:
    """Of integers: a negative power truncates, so that only 1 and -1 leave something."""
    if b >= 0:
        return pow(a, b, 2**64)
    return 0 if abs(a) != 1 else a if b % 2 else 1


def _order(x: Any) -> Any:
    """-0.0 is smaller than 0.0."""
    return x, not np.signbit(x)


def _least(a: Any, b: Any) -> Any:
    return b if a != a else a if b != b else min(a, b, key=_order)


def _most(a: Any, b: Any) -> Any:
    return b if a != a else a if b != b else max(a, b, key=_order)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "{0} + {1}": operator.add,
    "{0} - {1}": operator.sub,
    "{0} * {1}": operator.mul,
    "{0} // {1}": _floordiv,
    "{0} % {1}": _mod,
    "ti.raw_div({0}, {1})": _raw_div,
    "ti.raw_mod({0}, {1})": _raw_mod,
    "ti.min({0}, {1})": _least,
    "ti.max({0}, {1})": _most,
}
_BITS: dict[str, Callable[[int, int], int]] = {
    "{0} & {1}": operator.and_,
    "{0} | {1}": operator.or_,
    "{0} ^ {1}": operator.xor,
}
_SHIFTS = ("{0} << {1}", "{0} >> {1}", "ti.bit_shr({0}, {1})", "ti.bit_shl({0}, {1})", "ti.bit_sar({0}, {1})")
_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_UNARY = ("-{0}", "abs({0})", "~{0}", "not {0}", "ti.floor({0})", "ti.ceil({0})", "ti.sqrt({0})", "ti.round({0})")


def meaning(tree: Tree, row: dict[str, Any]) -> Any:
    """The value of a tree on one row of the columns: a bool, an int in its type's range, or a numpy float."""
    with np.errstate(all="ignore"):
        return _RULES[tree.kind](tree, row)


def _operands(tree: Tree, row: dict[str, Any], kind: str) -> list[Any]:
    return [cast(meaning(part, row), part.type, kind) for part in tree.operands]


def _fitted(value: Any, name: str) -> Any:
    return value if name in FLOATS else bool(value) if name == "u1" else wrap(int(value), name)


def _binary(tree: Tree, row: dict[str, Any]) -> Any:
    return _fitted(_ARITHMETIC[tree.text[1:-1]](*_operands(tree, row, tree.type)), tree.type)


def _quotient(tree: Tree, row: dict[str, Any]) -> Any:
    a, b = _operands(tree, row, tree.type)
    return a / b


def _bitwise(tree: Tree, row: dict[str, Any]) -> Any:
    return _fitted(_BITS[tree.text[1:-1]](*map(int, _operands(tree, row, tree.type))), tree.type)


def _shift(tree: Tree, row: dict[str, Any]) -> Any:
    value, amount = (int(x) for x in _operands(tree, row, tree.type))
    amount %= bits(tree.type)
    if "<<" in tree.text or "shl" in tree.text:
        return wrap(value << amount, tree.type)
    if "bit_shr" in tree.text:
        return wrap((value & (2 ** bits(tree.type) - 1)) >> amount, tree.type)
    return value >> amount


def _powers(tree: Tree, row: dict[str, Any]) -> Any:
    return wrap(_power(*_operands(tree, row, tree.type)), tree.type)


def _compare(tree: Tree, row: dict[str, Any]) -> Any:
    """A chain holds if all its links do."""
    values = [meaning(part, row) for part in tree.operands]
    for sign, a, b, left, right in zip(tree.value, values, values[1:], tree.operands, tree.operands[1:]):
        kind = common(left.type, right.type)
        if not _COMPARES[sign](cast(a, left.type, kind), cast(b, right.type, kind)):
            return False
    return True


def _single(tree: Tree, row: dict[str, Any]) -> Any:
    (x,) = tree.operands
    value = meaning(x, row)
    if tree.text == "(not {0})":
        return bool(value == 0)
    if tree.text == "(~{0})":
        return not value if tree.type == "u1" else wrap(~int(value), tree.type)
    value = cast(value, x.type, tree.type)
    if tree.text == "(-{0})":
        return _fitted(-value, tree.type)
    if tree.text == "(abs({0}))":
        return _fitted(abs(value), tree.type)
    if tree.text == "(ti.sqrt({0}))":
        return np.sqrt(value)
    if tree.type not in FLOATS:
        return value
    return _ROUNDED[tree.text](value)


def _round(x: Any) -> Any:
    """Halves go away from zero; zeros and what is not finite stay."""
    if not np.isfinite(x) or x == np.trunc(x):
        return x
    whole = Fraction(float(abs(x))) + Fraction(1, 2)
    return np.copysign(numpy_type(f"f{x.dtype.itemsize * 8}").type(math.floor(whole)), x)


_ROUNDED: dict[str, Callable[[Any], Any]] = {"(ti.floor({0}))": np.floor, "(ti.ceil({0}))": np.ceil,
                                             "(ti.round({0}))": _round}  # fmt: skip


def _choice(tree: Tree, row: dict[str, Any]) -> Any:
    a, b, condition = tree.operands
    taken = a if meaning(condition, row) else b
    return cast(meaning(taken, row), taken.type, tree.type)


def _both(tree: Tree, row: dict[str, Any]) -> Any:
    """`a and b` is b if a holds, else a; `a or b` the other way round."""
    a, b = tree.operands
    first = meaning(a, row)
    taken = b if bool(first) is (" and " in tree.text) else a
    return cast(meaning(taken, row), taken.type, tree.type)


_RULES: dict[str, Callable[[Tree, dict[str, Any]], Any]] = {
    "leaf": lambda tree, row: row[tree.type],
    "literal": lambda tree, row: tree.value,
    "arithmetic": _binary,
    "quotient": _quotient,
    "bitwise": _bitwise,
    "shift": _shift,
    "power": _powers,
    "compare": _compare,
    "unary": _single,
    "cast": lambda tree, row: cast(meaning(tree.operands[0], row), tree.operands[0].type, tree.type),
    "choice": _choice,
    "both": _both,
}


# ---- drawing ---------------------------------------------------------------------------------------------------------

_WHOLE_LITERALS = (0, 1, 2, 3, 7, 31, 33, 255, 65_536, 2**31 - 1, -1, -2, -5)
_REAL_LITERALS = (0.0, 0.5, 1.0, -1.5, 3.25, -2e7, 1e20)


class _Drawer:
    """Draws trees."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def leaf(self, names: tuple[str, ...] = NUMBERS) -> Tree:
        name = self.pick(names)
        return Tree("leaf", (), f"{name}s[i]", name)

    def second(self, depth: int, whole: bool) -> Tree:
        """A right operand: now and then a literal."""
        if self.draw(st.integers(0, 3)):
            return self.number(depth, whole)
        if whole or self.draw(st.booleans()):
            value = self.pick(_WHOLE_LITERALS)
            return Tree("literal", (), f"({value})", "i32", value)
        value = self.pick(_REAL_LITERALS)
        return Tree("literal", (), f"({value})", "f32", np.float32(value))

    def number(self, depth: int, whole: bool = False) -> Tree:
        """A tree of any type; `whole`: of an integer type, or truth."""
        if depth <= 0:
            return self.leaf(INTS if whole else NUMBERS)
        kinds = ("arithmetic", "bitwise", "shift", "power", "compare", "unary", "cast", "choice", "both")
        kind = self.pick(kinds if whole else ("arithmetic", "quotient", *kinds))
        made: Tree = getattr(self, "_" + kind)(depth - 1, whole)
        return made

    def _arithmetic(self, depth: int, whole: bool) -> Tree:
        a, b = self.number(depth, whole), self.second(depth, whole)
        kind = arithmetic(a.type, b.type)
        text = self.pick(tuple(_ARITHMETIC))
        made = Tree("arithmetic", (a, b), f"({text})", kind)
        if "ti.m" in text and kind in FLOATS:  # which zero is the smaller is left open
            return Tree("arithmetic", (made, Tree("literal", (), "0", "i32", 0)), "({0} + {1})", kind)
        return made

    def _quotient(self, depth: int, whole: bool) -> Tree:
        a, b = self.number(depth), self.second(depth, whole)
        kind = common(a.type, b.type)
        return Tree("quotient", (a, b), "({0} / {1})", kind if kind in FLOATS else "f32")

    def _bitwise(self, depth: int, whole: bool) -> Tree:
        del whole
        a, b = self.number(depth, True), self.second(depth, True)
        return Tree("bitwise", (a, b), f"({self.pick(tuple(_BITS))})", common(a.type, b.type))

    def _shift(self, depth: int, whole: bool) -> Tree:
        del whole
        a, b = self.number(depth, True), self.second(depth, True)
        return Tree("shift", (a, b), f"({self.pick(_SHIFTS)})", "i32" if a.type == "u1" else a.type)

    def _power(self, depth: int, whole: bool) -> Tree:
        del whole
        a, b = self.number(depth, True), self.second(depth, True)
        return Tree("power", (a, b), "({0} ** {1})", arithmetic(a.type, b.type))

    def _compare(self, depth: int, whole: bool) -> Tree:
        del whole
        parts = (self.number(depth), self.second(depth, False), self.second(depth, False))[: self.pick((2, 2, 3))]
        if len(parts) == 3 and parts[1].kind == parts[2].kind == "literal":
            parts = parts[:2]
        signs = tuple(self.pick(tuple(_COMPARES)) for _ in parts[1:])
        text = "{0}" + "".join(f" {sign} {{{k}}}" for k, sign in enumerate(signs, 1))
        return Tree("compare", parts, f"({text})", "u1", signs)

    def _unary(self, depth: int, whole: bool) -> Tree:
        text = self.pick([text for text in _UNARY if not (whole and "sqrt" in text)])
        x = self.number(depth, whole or "~" in text)
        kind = "i32" if x.type == "u1" and text[:2] in ("-{", "ab") else x.type
        if "not" in text:
            kind = "u1"
        elif "sqrt" in text:
            kind = x.type if x.type in FLOATS else "f32"
        return Tree("unary", (x,), f"({text})", kind)

    def _cast(self, depth: int, whole: bool) -> Tree:
        kind = self.pick((*INTS, "u1") if whole else (*NUMBERS, "u1"))
        return Tree("cast", (self.number(depth),), f"ti.cast({{0}}, ti.{kind})", kind)

    def _choice(self, depth: int, whole: bool) -> Tree:
        a, b, condition = self.number(depth, whole), self.second(depth, whole), self.number(depth)
        text = self.pick(("({0} if {2} else {1})", "ti.select({2}, {0}, {1})"))
        return Tree("choice", (a, b, condition), text, common(a.type, b.type))

    def _both(self, depth: int, whole: bool) -> Tree:
        a, b = self.number(depth, whole), self.second(depth, whole)
        return Tree("both", (a, b), self.pick(("({0} and {1})", "({0} or {1})")), common(a.type, b.type))


@st.composite
def expressions(draw: Any, count: int = 4, depth: int = 3) -> list[Tree]:
    """Trees, each at least one operator deep."""
    drawer = _Drawer(draw)
    return [drawer.number(draw(st.integers(1, depth)), draw(st.booleans())) for _ in range(count)]


def columns(seed: int) -> dict[str, Any]:
    """For each type a column of numbers, most at the edges: extremes, both zeros, NaN, halves, other types' limits."""
    random = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    edges = [s * x + d for x in (0, 1, 2, 5, 7, 31, 64, 100, *(2**n for n in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64)))
             for s in (1, -1) for d in (-1, 0, 1)]  # fmt: skip
    for name in INTS:
        made[name] = np.array([wrap(x, name) for x in random.choice(len(edges), _ROW) for x in (edges[x],)],
                              numpy_type(name))  # fmt: skip
    for name in FLOATS:
        info = np.finfo(numpy_type(name))
        odd = [0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -7.3, float(info.max),
               float(info.tiny), float(info.smallest_subnormal), 0.49999997]  # fmt: skip
        with np.errstate(all="ignore"):
            made[name] = random.choice(np.array([*odd, *odd, *map(float, edges)]), _ROW).astype(numpy_type(name))
    return made


def program(trees: list[Tree]) -> str:
    """A kernel `run(columns ..., outputs ...)`, each output of its tree's type (truth values as i32)."""
    names = [*(f"{name}s" for name in NUMBERS), *(f"out{k}" for k in range(len(trees)))]
    head = ", ".join(f"{name}: ti.types.ndarray()" for name in names)
    body = "".join(f"        out{k}[i] = {tree}\n" for k, tree in enumerate(trees))
    return f"@ti.kernel\ndef run({head}):\n    for i in range(i8s.shape[0]):\n{body}"
