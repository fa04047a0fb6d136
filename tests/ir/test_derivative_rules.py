"""The derivatives of the scalar operators against central differences and complex steps, and at their kinks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft.ir import ops
from weft.ir.autodiff.rules import DERIVATIVES, Derivative, apply_partial, evaluate
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Value
from weft.ir.evaluate import evaluate as run
from weft.ir.memory_model import Memory
from weft.ir.scalar import BINARY, UNARY
from weft.ir.symbols import Param
from weft.ir.types import f64
from weft.ir.verify import verify

ROWS: dict[str, Any] = {kind: row for rows in (UNARY, BINARY) for kind, row in rows.items() if row.derivative}

# Where an operator is defined and smooth, if that is not [-3, 3]: the interval of each operand.
DOMAINS: dict[str, tuple[tuple[float, float], ...]] = {
    "sqrt": ((0.01, 9.0),),
    "rsqrt": ((0.01, 9.0),),
    "tan": ((-1.4, 1.4),),
    "asin": ((-0.97, 0.97),),
    "acos": ((-0.97, 0.97),),
    "log": ((0.01, 9.0),),
    "log2": ((0.01, 9.0),),
    "pow": ((0.1, 4.0), (-3.0, 3.0)),
}


def rule_of(kind: str) -> Derivative:
    return DERIVATIVES[ROWS[kind].derivative]


def points(kind: str) -> list[tuple[np.float64, ...]]:
    """Many points away from the kinks."""
    arity = 1 if kind in UNARY else 2
    low, high = np.array(DOMAINS.get(kind, ((-3.0, 3.0),) * arity)).T
    random = np.random.default_rng(7).uniform(low, high, (400, arity))
    found = [tuple(map(np.float64, point)) for point in random if smooth(kind, point)]
    assert len(found) > 200
    return found


def smooth(kind: str, point: Any) -> bool:
    quotient = point[0] / point[-1] if len(point) > 1 else point[0]
    if kind in ("floor", "ceil", "trunc", "round", "floordiv", "mod", "raw_mod"):
        return bool(abs(2 * quotient - round(2 * quotient)) > 0.01 and abs(point[-1]) > 0.05)
    if kind in ("div", "raw_div", "abs", "sign"):
        return bool(abs(point[-1]) > 0.05)
    return bool(abs(point[0] - point[-1]) > 0.01 or len(point) == 1)


def partials(kind: str, point: tuple[Any, ...]) -> list[Any]:
    values = dict(zip("xy", point))
    values["r"] = ROWS[kind].evaluate(*point)
    with np.errstate(all="ignore"):
        return [evaluate(part, values) for part in rule_of(kind).partials]


def moved(point: tuple[Any, ...], axis: int, by: Any) -> list[Any]:
    return [value + by if number == axis else value + 0 * by for number, value in enumerate(point)]


@pytest.mark.parametrize("kind", ROWS)
def test_a_rule_agrees_with_central_differences(kind: str) -> None:
    function: Callable[..., Any] = ROWS[kind].evaluate
    for point in points(kind):
        for axis, partial in enumerate(partials(kind, point)):
            step = np.float64(1e-5)
            wide = (function(*moved(point, axis, step)) - function(*moved(point, axis, -step))) / (2 * step)
            near = (function(*moved(point, axis, step / 2)) - function(*moved(point, axis, -step / 2))) / step
            assert partial == pytest.approx((4 * near - wide) / 3, rel=1e-8, abs=1e-8), (kind, point, axis)


@pytest.mark.parametrize("kind", [kind for kind in ROWS if rule_of(kind).analytic])
def test_a_rule_agrees_with_complex_steps(kind: str) -> None:
    """f(x + ih) = f(x) + ih f'(x) + O(h^2): without a difference of close numbers, so to the last digits."""
    function: Callable[..., Any] = ROWS[kind].evaluate
    for point in points(kind):
        for axis, partial in enumerate(partials(kind, point)):
            step = 1e-30
            exact = function(*moved(tuple(map(np.complex128, point)), axis, np.complex128(1j * step))).imag / step
            assert partial == pytest.approx(exact, rel=2e-13, abs=2e-15), (kind, point, axis)


@pytest.mark.parametrize("kind", [kind for kind in ROWS if rule_of(kind).kinks])
def test_a_rule_gives_what_is_documented_at_its_kinks(kind: str) -> None:
    for kink in rule_of(kind).kinks:
        assert partials(kind, tuple(map(np.float64, kink.at))) == [*kink.partials], (kind, kink)


@pytest.mark.parametrize("kind", ["sqrt", "rsqrt", "log", "atan2", "div", "tanh"])
@pytest.mark.parametrize("size", [1e-18, 1e18])
def test_rules_are_exact_far_from_one(kind: str, size: float) -> None:
    """In f32, whose range intermediate results must not leave: the same as computed in f64."""
    point = (size, 2 * size)[: 1 if kind in UNARY else 2]
    narrow, wide = partials(kind, tuple(map(np.float32, point))), partials(kind, tuple(map(np.float64, point)))
    assert np.allclose(narrow, wide, rtol=1e-5, atol=0)


@pytest.mark.parametrize("kind", ROWS)
def test_emitted_rules_mean_the_same(kind: str) -> None:
    """The ops that passes emit, executed: partial derivative times tangent."""
    arity = 1 if kind in UNARY else 2
    for axis, partial in enumerate(rule_of(kind).partials):
        kernel = ops.Kernel("k", tuple(Param(name, f64) for name in "xyt"), (f64,))
        build = Builder(kernel.body)
        x, y, tangent = (build.add(ops.Arg(index, type=f64)) for index in range(3))
        result: Value = build.add(ops.Unary(kind, x) if arity == 1 else ops.Binary(kind, x, y))
        product = apply_partial(partial, tangent, {"x": x, "y": y, "r": result}, build)
        build.add(ops.Return([product or build.add(ops.Const(0.0, type=f64))]))
        verify(kernel, "chi")
        kinks = [tuple(map(np.float64, kink.at)) for kink in rule_of(kind).kinks]
        for point in points(kind)[:20] + kinks:
            (given,) = run(kernel, [point[0], point[-1], np.float64(0.7)], Memory(), CompileConfig())
            assert given == pytest.approx(partials(kind, point)[axis] * 0.7, rel=1e-14, abs=0), (kind, point, axis)
