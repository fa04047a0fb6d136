"""Rewriting by rules: rules are data, compiled to matchers, and run by a worklist along the uses of values.

A rule is a pair of expressions, `Rule("sub-self", x - x, 0, when=integral)`. An op that matches the left one is
replaced by the right one. Expressions consist of variables, constants and the operators of the UNARY and BINARY tables.
A rule holds for scalars and elementwise for whole tensors. All rules with the same operator at their root become one
Python function, so an op that matches no rule costs a few comparisons. After a rewrite, only the users of the new value
and the ops created for it are examined again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import copysign
from typing import Any

from weft.ir.core import Block, Builder, Op, OpT, Value, ops_of
from weft.ir.errors import InternalError
from weft.ir.ops import Binary, Cast, Const, Select, Splat, Unary
from weft.ir.scalar import BINARY, UNARY, cast_value
from weft.ir.types import Prim, Tensor, Type, element, u1, with_element

__all__ = [
    "NUMBERS",
    "Expression",
    "Match",
    "Rewriter",
    "Rule",
    "Table",
    "Variable",
    "apply",
    "compile_rules",
    "constant",
    "discard",
    "expressions",
    "literal",
    "rewrite",
    "variable",
]

Number = int | float | bool
Rewrite = Callable[[Any, "Rewriter"], "Value | None"]
Table = dict[type[Op], Rewrite]


# ---- constants -------------------------------------------------------------------------------------------------------


# Ops that may be a number. Testing this first avoids a call, because most values are not numbers.
NUMBERS = frozenset((Const, Splat))


def literal(value: Value) -> Number | None:
    """The number that `value` is (a constant, or a tensor whose elements are all that constant), else None."""
    if type(value) is Const:
        return value.value
    if type(value) is Splat and type(value.x) is Const:
        return value.x.value
    return None


def _positive_zero(value: Value) -> bool:
    number = literal(value)
    return number is not None and number == 0 and copysign(1.0, number) > 0


def _negative_zero(value: Value) -> bool:
    number = literal(value)
    return number is not None and number == 0 and copysign(1.0, number) < 0


def _all_ones(value: Value) -> bool:
    number = literal(value)
    if number is None:
        return False
    prim = element(value.type)
    return prim.is_int and number == (-1 if prim.is_signed else 2**prim.bits - 1)


# ---- expressions -----------------------------------------------------------------------------------------------------


class Expression:
    """One side of a rule."""

    def __add__(self, other: Expression | Number) -> Expression:
        return apply("add", self, other)

    def __radd__(self, other: Number) -> Expression:
        return apply("add", other, self)

    def __sub__(self, other: Expression | Number) -> Expression:
        return apply("sub", self, other)

    def __rsub__(self, other: Number) -> Expression:
        return apply("sub", other, self)

    def __mul__(self, other: Expression | Number) -> Expression:
        return apply("mul", self, other)

    def __truediv__(self, other: Expression | Number) -> Expression:
        return apply("div", self, other)

    def __rtruediv__(self, other: Number) -> Expression:
        return apply("div", other, self)

    def __floordiv__(self, other: Expression | Number) -> Expression:
        return apply("floordiv", self, other)

    def __rfloordiv__(self, other: Number) -> Expression:
        return apply("floordiv", other, self)

    def __mod__(self, other: Expression | Number) -> Expression:
        return apply("mod", self, other)

    def __pow__(self, other: Expression | Number) -> Expression:
        return apply("pow", self, other)

    def __and__(self, other: Expression | Number) -> Expression:
        return apply("and", self, other)

    def __or__(self, other: Expression | Number) -> Expression:
        return apply("or", self, other)

    def __xor__(self, other: Expression | Number) -> Expression:
        return apply("xor", self, other)

    def __neg__(self) -> Expression:
        return apply("neg", self)


@dataclass(frozen=True, eq=False)
class Variable(Expression):
    """Any value. Each occurrence of the name stands for the same value. `constant`: only a number."""

    name: str
    constant: bool = False


@dataclass(frozen=True, eq=False)
class Fixed(Expression):
    """That number in the type of its context. 0 is not -0.0. "ones" has all bits set."""

    value: Number | str


@dataclass(frozen=True, eq=False)
class Apply(Expression):
    """Operator `kind` of UNARY or BINARY, or "select", or "cast" (to the type of the whole)."""

    kind: str
    args: tuple[Expression, ...]

    @property
    def op(self) -> type[Op]:
        """The class of ops that it matches."""
        special: dict[str, type[Op]] = {"select": Select, "cast": Cast}
        return special.get(self.kind) or (Unary if self.kind in UNARY else Binary)


def apply(kind: str, *args: Expression | Number) -> Expression:
    """`kind` of those operands. Plain numbers become constants."""
    return Apply(kind, expressions(*args))


def expressions(*values: Expression | Number | str) -> tuple[Expression, ...]:
    """The values as expressions."""
    return tuple(value if isinstance(value, Expression) else Fixed(value) for value in values)


def variable(names: str, constant: bool = False) -> list[Any]:
    """One variable for each name in `names`."""
    return [Variable(name, constant) for name in names.split()]


# ---- rules -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """A match of a rule: the op at the root, and the value of each variable."""

    op: Op
    values: dict[str, Value]

    @property
    def elem(self) -> Prim:
        """The element type of the root's last operand (the operands of a comparison, the source of a cast)."""
        return element(self.op.operands[-1].type)

    def number(self, name: str) -> Any:
        """The number that the constant `name` stands for."""
        return literal(self.values[name])


def _always(_: Match) -> bool:
    return True


@dataclass(frozen=True)
class Rule:
    """Replaces `pattern` by `result` if `when` holds. `fast`: only with fast_math. The result may differ by rounding or
    in the sign of a zero, but never in what is NaN or infinite among finite operands."""

    name: str
    pattern: Expression
    result: Expression | Number
    when: Callable[[Match], bool] = _always
    fast: bool = False


def compile_rules(rules: Sequence[Rule], fast_math: bool) -> dict[str, Rewrite]:
    """One function for all rules with the same operator at the root: `function(op, rewriter)` gives the new value."""
    by_root: dict[str, list[Rule]] = {}
    for rule in rules:
        assert isinstance(rule.pattern, Apply)
        if fast_math or not rule.fast:
            by_root.setdefault(rule.pattern.kind, []).append(rule)
    return {kind: _compile(group) for kind, group in by_root.items()}


def _compile(rules: list[Rule]) -> Rewrite:
    """The source text of the matchers: one `if` for each order of each pattern's commutative operands. If no operand is
    a number, which is the usual case, rules that need one are skipped."""
    scope: dict[str, Any] = {
        "Match": Match,
        "NUMBERS": NUMBERS,
        "literal": literal,
        "zero": _positive_zero,
        "minus_zero": _negative_zero,
        "ones": _all_ones,
        "result": _result,
        **{cls.__name__: cls for cls in (Unary, Binary, Select, Cast)},
    }
    lines = ["def match(op, build):", "    operands = op.operands"]
    arity = max(len(rule.pattern.args) for rule in rules if isinstance(rule.pattern, Apply))
    for n in range(arity):
        number = f"literal(operand{n}) if type(operand{n}) in NUMBERS else None"
        lines.append(f"    operand{n} = operands[{n}]; number{n} = {number}")
    with_numbers: list[str] = []
    without: list[str] = []
    for position, rule in enumerate(rules):
        scope[f"rule{position}"], scope[f"when{position}"] = rule, rule.when
        for pattern in _orders(rule.pattern):
            tests, bound = _tests(pattern)
            test = [
                f"    if {' and '.join(tests) or 'True'}:",
                f"        found = Match(op, {{{', '.join(f'{n!r}: {at}' for n, at in bound.items())}}})",
                f"        if when{position}(found):",
                f"            return result(rule{position}, found, build)",
            ]
            with_numbers += test
            if not any(one.startswith("number") for one in tests):
                without += test
    lines.append(f"    if {' and '.join(f'number{n} is None' for n in range(arity))}:")
    lines += [*(f"    {line}" for line in without), "        return None", *with_numbers]
    exec("\n".join(lines), scope)  # noqa: S102 - the text is ours, from the rules
    made: Rewrite = scope["match"]
    return made


def _orders(pattern: Expression) -> list[Expression]:
    """The pattern with the operands of its commutative operators in every order."""
    if not isinstance(pattern, Apply):
        return [pattern]
    choices: list[tuple[Expression, ...]] = [()]
    for arg in pattern.args:
        choices = [(*done, order) for done in choices for order in _orders(arg)]
    if pattern.kind in BINARY and BINARY[pattern.kind].commutative:
        choices += [args[::-1] for args in choices if _swappable(*args)]
    return [Apply(pattern.kind, args) for args in choices]


def _swappable(a: Expression, b: Expression) -> bool:
    """Constants are on the right, so a pattern with a constant there has only one order."""
    return a is not b and not isinstance(b, Fixed) and not (isinstance(b, Variable) and b.constant)


def _tests(pattern: Expression) -> tuple[list[str], dict[str, str]]:
    """The conditions under which `op` matches, as source, and where each variable is found."""
    tests: list[str] = []
    bound: dict[str, str] = {}
    pending: list[tuple[Expression, str]] = []
    assert isinstance(pattern, Apply)
    pending += [(arg, f"operand{position}") for position, arg in enumerate(pattern.args)]
    while pending:
        part, at = pending.pop(0)
        if isinstance(part, Apply):
            tests.append(f"type({at}) is {part.op.__name__}")
            if part.kind in UNARY or part.kind in BINARY:
                tests.append(f"{at}.kind == {part.kind!r}")
            pending += [(arg, f"{at}.operands[{position}]") for position, arg in enumerate(part.args)]
        elif isinstance(part, Fixed):
            tests += _number_tests(part.value, at)
        elif isinstance(part, Variable) and part.name in bound:
            tests.append(f"{at} is {bound[part.name]}")
        elif isinstance(part, Variable):
            bound[part.name] = at
            if part.constant:
                tests.append(f"{_number(at)} is not None")
    return tests, bound


def _number(at: str) -> str:
    """Source for the number at an operand; for those of the root it is known already."""
    return at.replace("operand", "number") if "." not in at else f"literal({at})"


def _number_tests(value: Number | str, at: str) -> list[str]:
    if value == "ones":
        return [f"{_number(at)} is not None", f"ones({at})"]
    if value == 0:
        return [f"{_number(at)} == 0", f"{'zero' if copysign(1.0, float(value)) > 0 else 'minus_zero'}({at})"]
    return [f"{_number(at)} == {value!r}"]


def _result(rule: Rule, found: Match, build: Rewriter) -> Value | None:
    (result,) = expressions(rule.result)
    made = _build(result, found, build, found.op.type)
    return made if made.type is found.op.type else None


def _build(part: Expression, found: Match, build: Rewriter, type: Type) -> Value:
    """The value of an expression. `type` is the type of the context, for plain numbers."""
    if isinstance(part, Variable):
        return found.values[part.name]
    if isinstance(part, Fixed):
        prim = element(type)
        ones = -1 if prim.is_signed else 2**prim.bits - 1
        return build.constant(ones if isinstance(part.value, str) else part.value, type)
    assert isinstance(part, Apply)
    if part.kind == "cast":
        return build.add(Cast(_build(part.args[0], found, build, type), type=type))
    if part.kind == "select":
        condition, a, b = (_build(arg, found, build, type) for arg in part.args)
        return build.add(Select(condition, a, b))
    # A number has the type of the operand beside it.
    values = [None if isinstance(arg, Fixed) else _build(arg, found, build, type) for arg in part.args]
    beside = next((value.type for value in values if value is not None), type)
    operands = [_build(arg, found, build, beside) if value is None else value for arg, value in zip(part.args, values)]
    if part.kind in UNARY:
        return build.unary(part.kind, operands[0])
    return build.binary(part.kind, operands[0], operands[1])


# ---- the engine ------------------------------------------------------------------------------------------------------


class Rewriter(Builder):
    """A builder whose new ops are rewritten in turn. Operators on constants are computed immediately."""

    def __init__(self, work: list[Op]) -> None:
        super().__init__(Block())
        self.work = work
        self.changed = False  # set by functions that edit their op in place

    def add(self, op: OpT) -> OpT:
        """Insert `op` at the point, to be looked at next."""
        self.work.append(op)
        return super().add(op)

    def constant(self, value: Any, type: Type) -> Value:
        """`value` as a constant of a scalar or tensor type."""
        return constant(self, value, type)

    def unary(self, kind: str, x: Value) -> Value:
        """Operator `kind` of `x`."""
        number = literal(x)
        if number is None:
            return self.add(Unary(kind, x))
        result = UNARY[kind].evaluate(cast_value(number, element(x.type)))
        return self.constant(result, _truth(x.type) if UNARY[kind].typing == "truth" else x.type)

    def binary(self, kind: str, a: Value, b: Value) -> Value:
        """Operator `kind` of `a` and `b`, which are of one type."""
        left, right = literal(a), literal(b)
        if left is None or right is None:
            return self.add(Binary(kind, a, b))
        prim, row = element(a.type), BINARY[kind]
        result = row.evaluate(cast_value(left, prim), cast_value(right, prim))
        return self.constant(result, _truth(a.type) if row.typing == "compare" else a.type)


def _truth(type: Type) -> Type:
    return with_element(type, u1)


def constant(build: Builder, value: Any, type: Type) -> Value:
    """`value` (a Python or numpy number) as a constant of that scalar or tensor type, cast to it."""
    number = cast_value(value, element(type)).item()
    scalar = build.add(Const(number, type=element(type)))
    return build.add(Splat(scalar, type=type)) if isinstance(type, Tensor) else scalar


def discard(op: Op) -> None:
    """Erase `op`, which nothing uses, and every pure op that only it used."""
    pending = [value for value in op.operands if isinstance(value, Op)]
    op.erase()
    while pending:
        dead = pending.pop()
        if dead.pure and not dead.users and dead.block is not None:
            pending += [value for value in dead.operands if isinstance(value, Op)]
            dead.erase()


def rewrite(root: Op, table: Table) -> bool:
    """Apply `table` (a function for each class of ops that gives a new value or None) until no rule matches."""
    work = ops_of(*root.regions)
    budget = 1000 + 50 * len(work)
    work.reverse()
    build = Rewriter(work)
    while work:
        op = work.pop()
        function = table.get(type(op))
        if function is None or op.block is None:
            continue
        build.block, build.before, build.span = op.block, op, op.span
        new = function(op, build)
        if new is None:
            continue
        budget -= 1
        if budget < 0:
            raise InternalError(f"rewriting does not terminate at {op!r}")
        build.changed = True
        work.extend(op.users)
        new.name = new.name or op.name
        op.replace_uses(new)
        discard(op)
    return build.changed
