"""Random programs that take minima and maxima of a few elements, and read them between: reverse mode against forward
mode."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.derivatives import execute_derivatives
from tests.fuzz.nodes import Body, Stmt
from tests.fuzz.program import Program
from tests.fuzz.test_derivatives import EXACT
from tests.sampling import draws

_LINES = (
    "ti.atomic_max({own}, {own} * {c} + {d})",
    "ti.atomic_min({own}, {own} * {c} - {d})",
    "ti.atomic_max({own}, o_f32[i] * {c})",
    "ti.atomic_max({own}, {d})",
    "o_f32[i] = ti.sin({own}) * {c} + {d}",
    "o_f32[i] += {own} * {own}",
    "{own} *= {c} + o_f32[i]",
    "t = ti.atomic_max({own}, {c} - {own})",
)


def _program(number: int) -> Program:
    random = Random(f"extremes {number}")
    loops = []
    for _ in range(random.choice((1, 2, 3))):
        lines = [_line(random) for _ in range(random.choice((1, 2, 3)))]
        stmts = [Stmt("own store", [(line, None)]) for line in lines]
        if random.random() < 0.3:
            stmts = [Stmt("serial range", [("for k in range(3):", Body(stmts))])]
        loops.append(Stmt("parallel range", [("for i in range(COUNT):", Body(stmts))]))
    return Program(f"extremes-{number}", [], Body(loops), "", {}, "same", smooth=True)


def _line(random: Random) -> str:
    """One that accesses the own element of the iteration, by an index of which nothing is known."""
    numbers = {name: f"{random.uniform(-2, 2):.3f}" for name in "cd"}
    return random.choice(_LINES).format(own="o_f64[perm[i]]", **numbers)


@pytest.mark.parametrize("number", range(4, 4 + draws(24)))
def test_extremes_of_a_few_elements(number: int) -> None:
    program = _program(number)
    outcome = execute_derivatives(program, EXACT, ("vjp",))
    assert outcome.status == "same" or outcome.status.startswith("refuses"), f"{program.code}\n{outcome.detail}"
