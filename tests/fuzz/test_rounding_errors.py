"""What tells a wrong derivative from the rounding that a program amplifies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.fuzz.derivatives import execute_derivatives
from tests.fuzz.nodes import Body, Stmt
from tests.fuzz.program import Program
from tests.fuzz.rounding_errors import other_arithmetic, spread
from tests.fuzz.test_derivatives import EXACT, small
from weft.ir.autodiff import companions
from weft.ir.autodiff.rules import DERIVATIVES
from weft.ir.rewrite import expressions
from weft.ir.scalar import BINARY, UNARY


def _results(seed: int | None, kind: str, *operands: Any) -> Any:
    row = (UNARY if len(operands) == 1 else BINARY)[kind].evaluate
    if seed is None:
        return row(*operands)
    with other_arithmetic(seed):
        return (UNARY if len(operands) == 1 else BINARY)[kind].evaluate(*operands)


@pytest.mark.parametrize("kind", ["add", "sub", "mul", "div", "pow", "sin"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_that_are_rounded_move_by_a_unit_in_the_last_place(kind: str, dtype: Any) -> None:
    random = np.random.default_rng(3)
    operands = [random.uniform(0.01, 2.0, 400).astype(dtype) for _ in range(1 if kind == "sin" else 2)]
    usual = _results(None, kind, *operands)
    above, below = np.nextafter(usual, dtype(np.inf)), np.nextafter(usual, dtype(-np.inf))
    moved = [_results(seed, kind, *operands) for seed in (1, 2)]
    for found in moved:
        assert found.dtype == dtype
        assert ((found == above) | (found == below) | (found == usual)).all()
        assert min((found == above).sum(), (found == below).sum()) > 40
    assert (moved[0] != moved[1]).any()
    np.testing.assert_array_equal(moved[0], _results(1, kind, *operands))


def test_exact_results_stay() -> None:
    x = np.random.default_rng(4).uniform(0.5, 2.0, 100)
    same = [("mul", x, np.float64(4.0)), ("div", x, np.float64(0.5)), ("sub", x, x / 2), ("add", x, np.zeros(100)),
            ("mul", x.astype(np.float32).astype(np.float64), np.float64(3.0)), ("pow", x * 0 + 3.0, x * 0 + 2.0),
            ("sin", x * 0), ("exp", x * 0), ("max", x, x / 3), ("abs", -x), ("sqrt", np.arange(9.0) ** 2)]  # fmt: skip
    for seed in range(3):
        for kind, *operands in same:
            np.testing.assert_array_equal(_results(None, kind, *operands), _results(seed, kind, *operands), kind)


def test_a_value_has_the_same_bits_each_time() -> None:
    x, y = np.random.default_rng(5).uniform(0.5, 2.0, (2, 100))
    product = _results(7, "mul", x, y)
    np.testing.assert_array_equal(product, _results(7, "mul", y, x))
    np.testing.assert_array_equal(-product, _results(7, "mul", -x, y))
    np.testing.assert_array_equal(_results(7, "sub", x, y), _results(7, "add", x, -y))


@pytest.mark.parametrize(("factor", "lost"), [(1e14, True), (1.0, False)])
def test_adjoints_that_cancel_are_lost_in_rounding(factor: float, lost: bool) -> None:
    """The derivative by `xs[0, 1]` is 0 in forward mode, and `factor - factor` in reverse mode."""
    program = small("o_f64[i]", f"o_f64[i] + ti.atan2(xs[0, 1], xs[0, 1]) * {factor}")
    outcome = execute_derivatives(
        program, replace(EXACT, options={**EXACT.options, "advanced_optimization": False}), ("vjp",)
    )
    assert outcome.status == "same", outcome.detail
    assert bool(outcome.counts["dot products lost in rounding"]) == lost


def test_what_is_infinite_in_other_arithmetic_cannot_be_told() -> None:
    """An arithmetic that says nothing has no part."""
    told = iter([np.array([1.0, 2.0]), None, np.array([1.5, np.nan]), *[np.array([1.0, 2.0])] * 4])
    np.testing.assert_array_equal(spread(lambda: next(told)), [50.0, np.inf])


WAVE = """t0 = o_f64[i]
for k in range(6): t0 = ti.sin(40.0 * t0)
o_f64[i] = o_f64[i] + 1e-8 * t0"""


def test_narrower_differences_decide_of_quick_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    stmts = [Stmt("own store", [(line, None)]) for line in WAVE.splitlines()]
    loop = Stmt("parallel range", [("for i in range(COUNT):", Body(stmts))])
    program = Program("wave-0", [], Body([loop]), "", {}, "same", smooth=True)
    outcome = execute_derivatives(program, EXACT)
    assert outcome.status == "same", outcome.detail
    assert outcome.counts["programs that narrower differences agree with"] == 1
    wrong = replace(DERIVATIVES["sin"], partials=expressions(DERIVATIVES["cos"].partials[0]))
    monkeypatch.setitem(companions.DERIVATIVES, "sin", wrong)
    assert execute_derivatives(program, EXACT).status == "differs"
