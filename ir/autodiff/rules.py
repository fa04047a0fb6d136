"""The derivatives of the scalar operators, as data.

A row of UNARY or BINARY (`ir/scalar.py`) names its rule in the column `derivative`. A rule holds one partial derivative
for each operand. It is an expression of the operands `x` and `y` and of the operator's result `r`:

    "mul": Derivative(y, x),

Forward mode, reverse mode, the documentation and the tests read the same rows. `apply_partial` emits the product of a
partial derivative and a tangent (or an adjoint).

At a *kink* an operator has no derivative, or an infinite one, and the rule makes a choice. `kinks` lists these points
with the choice and the reason. Everywhere else, a partial derivative is the mathematical one, rounded. Operators on
integers and comparisons have no rule: integers and truth values carry no derivative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from weft.ir import ops
from weft.ir.core import Builder, Value
from weft.ir.rewrite import Apply, Expression, Fixed, Variable, apply, constant, expressions, variable
from weft.ir.scalar import BINARY, UNARY, Scalar
from weft.ir.types import Type

__all__ = ["DERIVATIVES", "Derivative", "Kink", "apply_partial", "emit", "evaluate", "spell"]

x, y, r = variable("x y r")


@dataclass(frozen=True)
class Kink:
    """A point (`at`: the operands) without a derivative, and the partial derivatives that the rule gives there."""

    at: tuple[float, ...]
    partials: tuple[float, ...]
    why: str


@dataclass(frozen=True)
class Derivative:
    """The partial derivative by each operand. `analytic`: the operator is complex-differentiable, so that a test can
    compare with complex steps."""

    partials: tuple[Expression, ...]
    kinks: tuple[Kink, ...] = ()
    analytic: bool = False


def _rule(*partials: Expression | float, kinks: tuple[Kink, ...] = (), analytic: bool = False) -> Derivative:
    return Derivative(expressions(*partials), kinks, analytic)


def _analytic(*partials: Expression | float, kinks: tuple[Kink, ...] = ()) -> Derivative:
    return _rule(*partials, kinks=kinks, analytic=True)


def _where(condition: Expression, then: Expression | float, otherwise: Expression | float) -> Expression:
    return apply("select", condition, then, otherwise)


_tie = apply("eq", x, y)
_TIES = "each operand has one half, so that the order of the operands does not matter"
_STEP = "the operator is constant between its steps, so the derivative is 0 at a step too"
_larger = apply("max", apply("abs", x), apply("abs", y))  # atan2 divides by it first: squares would leave the range
_reciprocal = 1 / ((x / _larger) * (x / _larger) + (y / _larger) * (y / _larger)) / _larger
_origin = apply("eq", _larger, 0.0)

DERIVATIVES: dict[str, Derivative] = {
    "neg": _analytic(-1.0),
    "abs": _rule(
        apply("sign", x), kinks=(Kink((0.0,), (0.0,), "the mean of the slopes on both sides; a subgradient"),)
    ),
    "step": _rule(0.0, kinks=(Kink((0.0,), (0.0,), _STEP), Kink((0.5,), (0.0,), _STEP))),
    "sqrt": _analytic(
        _where(apply("eq", x, 0.0), 0.0, apply("mul", 0.5, 1.0 / r)),
        kinks=(Kink((0.0,), (0.0,), "the slope is infinite; 0 makes the gradient of a norm 0 at the origin"),),
    ),
    "rsqrt": _analytic(
        _where(apply("eq", x, 0.0), 0.0, apply("mul", -0.5, r * (r * r))),
        kinks=(Kink((0.0,), (0.0,), "the slope is infinite; 0 as for 1 / sqrt(x), so that an unused one adds no NaN"),),
    ),
    "sin": _analytic(apply("cos", x)),
    "cos": _analytic(-apply("sin", x)),
    "tan": _analytic(1.0 + r * r),
    "asin": _analytic(1.0 / apply("sqrt", (1.0 - x) * (1.0 + x))),
    "acos": _analytic(-(1.0 / apply("sqrt", (1.0 - x) * (1.0 + x)))),
    "atan": _analytic(1.0 / (1.0 + x * x)),
    "sinh": _analytic(apply("cosh", x)),
    "cosh": _analytic(apply("sinh", x)),
    "tanh": _analytic((1.0 - r) * (1.0 + r)),
    "exp": _analytic(r),
    "exp2": _analytic(r * math.log(2.0)),
    "log": _analytic(1.0 / x),
    "log2": _analytic(1.0 / math.log(2.0) / x),
    "add": _analytic(1.0, 1.0),
    "sub": _analytic(1.0, -1.0),
    "mul": _analytic(y, x),
    "div": _analytic(1.0 / y, -(r * (1.0 / y))),
    "step2": _rule(0.0, 0.0, kinks=(Kink((6.0, 3.0), (0.0, 0.0), _STEP),)),
    "mod": _rule(
        1.0,
        -(x // y),
        kinks=(Kink((6.0, 3.0), (1.0, -2.0), "the result jumps; the rule is that of the side where it grows from 0"),),
    ),
    "raw_mod": _rule(
        1.0,
        (r - x) / y,
        kinks=(Kink((6.0, 3.0), (1.0, -2.0), "the result jumps; the rule is that of the side where it grows from 0"),),
    ),
    "pow": _analytic(
        _where(
            apply("eq", x, 0.0) & apply("ge", y, 0.0) & apply("lt", y, 1.0), 0.0, y * apply("pow", x, y - 1.0)
        ),
        _where(apply("gt", x, 0.0), r * apply("log", x), 0.0),
        kinks=(
            Kink((0.0, 0.5), (0.0, 0.0), "the slope by the base is infinite; 0 as for sqrt"),
            Kink((0.0, 0.0), (0.0, 0.0), "x ** 0 is 1 for every x"),
            Kink((0.0, 2.0), (0.0, 0.0), "the limit from positive bases"),
            Kink((-2.0, 3.0), (12.0, 0.0), "a negative base has a power at whole exponents only; 0 by the exponent"),
        ),
    ),
    "atan2": _rule(
        _where(_origin, 0.0, (y / _larger) * _reciprocal),
        _where(_origin, 0.0, -((x / _larger) * _reciprocal)),
        kinks=(Kink((0.0, 0.0), (0.0, 0.0), "the angle of the origin is not defined; a choice without NaN"),),
    ),
    "extreme": _rule(
        _where(_tie, 0.5, _where(apply("eq", x, r), 1.0, 0.0)),
        _where(_tie, 0.5, _where(apply("eq", y, r), 1.0, 0.0)),
        kinks=(
            Kink((1.5, 1.5), (0.5, 0.5), _TIES),
            Kink((0.0, -0.0), (0.5, 0.5), _TIES),
            Kink((math.nan, 1.0), (0.0, 1.0), "the result is the operand that is a number"),
            Kink((1.0, math.nan), (1.0, 0.0), "the result is the operand that is a number"),
        ),
    ),
}  # fmt: skip


# ---- what an expression means ----------------------------------------------------------------------------------------


def evaluate(part: Expression, values: Mapping[str, Scalar]) -> Scalar:
    """The number that the expression gives for numbers of one type, computed by the operators of `scalar.py`."""
    if isinstance(part, Variable):
        return values[part.name]
    if isinstance(part, Fixed):
        return type(values["x"])(part.value)
    assert isinstance(part, Apply)
    args = [evaluate(arg, values) for arg in part.args]
    if part.kind == "select":
        return args[1] if args[0] else args[2]
    return UNARY[part.kind].evaluate(*args) if len(args) == 1 else BINARY[part.kind].evaluate(*args)


_SPELLED = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "and": "&",
    "eq": "==", "ge": ">=", "gt": ">", "lt": "<",
}  # fmt: skip


def spell(part: Expression, outer: bool = True) -> str:
    """The expression as text, for documentation."""
    if isinstance(part, Variable):
        return part.name
    if isinstance(part, Fixed):
        return f"{part.value:.6g}" if isinstance(part.value, float) else str(part.value)
    assert isinstance(part, Apply)
    args = [spell(arg, False) for arg in part.args]
    if part.kind == "neg":
        return f"-{args[0]}"
    if part.kind not in _SPELLED:
        return f"{part.kind}({', '.join(spell(arg) for arg in part.args)})"
    text = f"{args[0]} {_SPELLED[part.kind]} {args[1]}"
    return text if outer else f"({text})"


# ---- expressions as ops ----------------------------------------------------------------------------------------------


def emit(part: Expression, values: Mapping[str, Value], build: Builder) -> Value:
    """The value of an expression. `values` holds the operands `x` and `y` and the result `r`, all of one scalar or
    tensor type of floats. A number has the type of the operands."""
    if isinstance(part, Variable):
        return values[part.name]
    if isinstance(part, Fixed):
        return constant(build, part.value, values["x"].type)
    assert isinstance(part, Apply)
    args = [emit(arg, values, build) for arg in part.args]
    if part.kind == "select":
        return build.add(ops.Select(*args))
    return build.add(ops.Unary(part.kind, *args) if len(args) == 1 else ops.Binary(part.kind, *args))


def apply_partial(part: Expression, tangent: Value, values: Mapping[str, Value], build: Builder) -> Value | None:
    """The product of the partial derivative `part` and a tangent or an adjoint; None if the derivative is 0 everywhere.
    A factor of 0 or 1 is no multiplication, so that an operand that does not win a `min` contributes 0 even if its
    tangent is infinite. In `a * (b / c)`, the quotient is multiplied first: the adjoints of both operands of a division
    then share one division."""
    if isinstance(part, Fixed):
        return _scaled(part, tangent, build)
    if isinstance(part, Apply) and part.kind == "neg":
        inner = apply_partial(part.args[0], tangent, values, build)
        return None if inner is None else build.add(ops.Unary("neg", inner))
    if isinstance(part, Apply) and part.kind == "div":
        inner = apply_partial(part.args[0], tangent, values, build)
        return None if inner is None else build.add(ops.Binary("div", inner, emit(part.args[1], values, build)))
    if isinstance(part, Apply) and part.kind == "mul" and _is_quotient(part.args[1]):
        inner = apply_partial(part.args[1], tangent, values, build)
        return None if inner is None else build.add(ops.Binary("mul", emit(part.args[0], values, build), inner))
    if isinstance(part, Apply) and part.kind == "select":
        condition = emit(part.args[0], values, build)
        sides = [apply_partial(side, tangent, values, build) for side in part.args[1:]]
        zero = constant(build, 0.0, tangent.type)
        return build.add(ops.Select(condition, *(zero if side is None else side for side in sides)))
    return build.add(ops.Binary("mul", emit(part, values, build), tangent))


def _is_quotient(part: Expression) -> bool:
    return isinstance(part, Apply) and part.kind == "div"


def _scaled(number: Fixed, tangent: Value, build: Builder) -> Value | None:
    if number.value == 0.0:
        return None
    if number.value == 1.0:
        return tangent
    if number.value == -1.0:
        return build.add(ops.Unary("neg", tangent))
    kind: Type = tangent.type
    return build.add(ops.Binary("mul", constant(build, number.value, kind), tangent))
