"""The derivatives of random programs agree with differences, and what checks that finds a wrong derivative."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import derivatives
from tests.fuzz.called import functions_of
from tests.fuzz.configurations import Configuration
from tests.fuzz.derivatives import Subject, execute_derivatives
from tests.fuzz.modes import NESTED, REVERSED, SECOND, with_second
from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.program import Program, draw
from tests.fuzz.spaces import PRECISION
from tests.fuzz.workers import Plan, explain, program_of
from weft.ir.autodiff import companions, pullbacks
from weft.ir.autodiff.demand import Demand
from weft.ir.autodiff.rules import DERIVATIVES
from weft.ir.autodiff.slots import Slots
from weft.ir.config import CompileConfig
from weft.ir.parse import parse
from weft.ir.rewrite import expressions

EXACT = Configuration(options={"fast_math": False, "offline_cache": False, "cpu_max_num_threads": 1})
PLAN = Plan("tests", 1, modes=("jvp",))


def hold(number: int, machine: str = "") -> int:
    """How many differences the program of that number was compared with."""
    program, configuration = program_of(PLAN, number)
    outcome = execute_derivatives(program, configuration, PLAN.modes, machine)
    assert not outcome.bad, f"{configuration}\n{program.code}\n{outcome.status}: {outcome.detail}"
    return outcome.counts["differences other than 0"]


def test_forward_mode_of_random_programs_agrees_with_differences() -> None:
    assert sum(hold(number, "cpu" if number == 0 else "") for number in range(4)) > 200


def test_reverse_mode_of_random_programs_agrees_with_forward_mode() -> None:
    found = 0
    for number in range(8):
        program, configuration = program_of(PLAN, number)
        outcome = execute_derivatives(program, configuration, ("vjp",), "cpu" if number == 0 else "")
        assert not outcome.bad, f"{configuration}\n{program.code}\n{outcome.status}: {outcome.detail}"
        found += outcome.counts["dot products other than 0"]
    assert found >= 8


def test_reverse_mode_of_random_programs_with_narrow_floats() -> None:
    plan, found, kinds = Plan("narrow", 1, modes=("vjp",)), 0, Counter[str]()
    for number in (4, 7, 10, 19):
        program, configuration = program_of(plan, number)
        outcome = execute_derivatives(program, configuration, ("vjp",), "cpu" if number == 7 else "")
        assert not outcome.bad, f"{configuration}\n{program.code}\n{outcome.status}: {outcome.detail}"
        found += outcome.counts["dot products other than 0"]
        kinds[program.floats] += 1
    assert found >= 8
    assert kinds == {"f32": 2, "f16": 2}


@pytest.mark.parametrize("mode", [SECOND, REVERSED])
def test_second_derivatives_of_random_programs_are_symmetric(mode: str) -> None:
    found = 0
    for number in range(4):
        program, configuration = program_of(PLAN, number)
        outcome = execute_derivatives(program, configuration, (mode,), "cpu" if number == 0 else "")
        assert not outcome.bad, f"{configuration}\n{program.code}\n{outcome.status}: {outcome.detail}"
        found += outcome.counts["Hessians other than 0"]
    assert found >= 4


@pytest.mark.parametrize("mode", [SECOND, REVERSED])
def test_a_wrong_second_derivative_is_found(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """That of a product by its second factor."""
    program = small("o_f64[i]", "ti.sin(o_f64[i]) * xs[0, 1] * ti.exp(-abs(o_f64[i] * xs[0, 1]))")
    assert execute_derivatives(program, EXACT, (mode,)).counts["Hessians other than 0"]
    wrong = replace(DERIVATIVES["mul"], partials=DERIVATIVES["mul"].partials[:1] * 2)
    monkeypatch.setitem(companions.DERIVATIVES, "mul", wrong)
    outcome = execute_derivatives(program, EXACT, (mode,))
    assert outcome.status == "differs", outcome.detail
    assert "<u, H v> = " in outcome.detail


def test_reverse_mode_of_the_gradient_of_a_random_program_agrees_with_forward_mode() -> None:
    program, configuration = program_of(Plan("n1", 1, modes=(NESTED,)), 6)
    outcome = execute_derivatives(program, configuration, (NESTED,))
    assert outcome.status == "same", f"{configuration}\n{program.code}\n{outcome.status}: {outcome.detail}"
    assert outcome.counts["gradients of gradients other than 0"] >= 4


def test_a_wrong_gradient_of_a_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that overwrites a gradient: the second reverse mode leaves there what it has given back."""
    program = small("p_f64[i // COLS, i % COLS]", "ti.sin(o_f64[i]) * o_f64[i]")
    right = execute_derivatives(program, EXACT, (NESTED,))
    assert right.status == "same", right.detail
    assert right.counts["gradients of gradients other than 0"] == 6
    clear = pullbacks.clear

    def once(frame: Any, value: Any) -> None:
        if frame.companions.kind == "grad":
            clear(frame, value)

    monkeypatch.setattr(pullbacks, "clear", once)
    outcome = execute_derivatives(program, EXACT, (NESTED,))
    assert outcome.status == "differs", outcome.detail
    assert "<Jv, w> = " in outcome.detail


def test_large_numbers_on_the_way_are_no_place_for_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    program = small("o_f64[i]", "ti.sin(ti.sin(o_f64[i]) * 1e12) * 1e-12 + o_f64[i]")
    outcome = execute_derivatives(program, EXACT)
    assert outcome.status == "same", outcome.detail
    monkeypatch.setattr(derivatives, "_ROUGH", 1e20)
    assert execute_derivatives(program, EXACT).status == "differs"


def test_kinks_side_by_side_are_no_place_for_differences() -> None:
    """The remainder jumps a thousand times within the step of a difference, which gives the mean slope, 0."""
    program = small("o_f64[i]", "o_f64[i] * (1.5 % (o_f64[i] * 1e-9))")
    outcome = execute_derivatives(program, EXACT)
    assert outcome.status == "same", outcome.detail
    assert outcome.counts["programs with kinks closer than differences"] == 1


@pytest.mark.emulated
def test_forward_mode_of_a_random_program_on_an_emulated_gpu() -> None:
    assert hold(5, "emulated") > 20


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("tens", range(20))
def test_derivatives_of_many_random_programs_are_right(tens: int) -> None:
    for number in range(100 + 10 * tens, 110 + 10 * tens):
        program, configuration = program_of(PLAN, number)
        outcome = execute_derivatives(program, configuration, ("jvp", "vjp"), "cpu" if number % 3 == 0 else "")
        assert not outcome.bad, f"{configuration}\n{program.code}\n{outcome.status}: {outcome.detail}"


def small(target: str, value: str) -> Program:
    """A program of one parallel loop with one assignment."""
    stmt = Stmt("own store", [(f"{target} = {{0}}", None)], [Expr("function", value, "real")])
    other = Stmt("own store", [("o_i32[i] = {0}", None)], [Expr("index array", "perm[i]", "int")])
    loop = Stmt("parallel range", [("for i in range(COUNT):", Body([other, stmt]))])
    return Program("small-0", [], Body([loop]), "", {}, "same", smooth=True)


def test_a_wrong_derivative_is_found_and_shown_in_a_small_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = small("o_f64[i]", "ti.sin(o_f64[i] * xs[0, 1])")
    assert execute_derivatives(program, EXACT).status == "same"
    wrong = replace(DERIVATIVES["sin"], partials=expressions(DERIVATIVES["cos"].partials[0]))
    monkeypatch.setitem(companions.DERIVATIVES, "sin", wrong)
    outcome = execute_derivatives(program, EXACT)
    assert outcome.status == "differs"
    assert outcome.detail.startswith("jvp, chi: the dual of number")
    told = explain(replace(PLAN, folder=tmp_path), program, EXACT, outcome)
    assert "ti.sin" in told
    assert "o_i32[i]" not in (tmp_path / "small-0.py").read_text()


LOOP = """t0 = o_f64[i]
for k in range(9): t0 = ti.sin(t0) * xs[0, 1]
p_f64[i // COLS, i % COLS] = t0 * t0
p_f64[i // COLS, i % COLS] = p_f64[i // COLS, i % COLS] + t0"""


def _nothing(*_: object) -> None:
    pass


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        (Demand, "state", lambda *_: []),
        (Slots, "keep", _nothing),
        (pullbacks, "clear", _nothing),
    ],
    ids=["no state", "nothing kept", "overwritten memory keeps its adjoint"],
)
@pytest.mark.parametrize("floats", ["f64", "f32"])
def test_errors_of_reverse_mode_are_found(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, wrong: object, floats: str
) -> None:
    stmts = [Stmt("own store", [(line, None)]) for line in (*LOOP.splitlines(), "o_f64[i] = 1.0")]
    loop = Stmt("parallel range", [("for i in range(COUNT):", Body(stmts))])
    program = Program("loop-1", [], Body([loop]), "", {}, "same", smooth=True, floats=floats)
    assert execute_derivatives(program, EXACT, ("vjp",)).counts["dot products other than 0"]
    monkeypatch.setattr(owner, name, wrong)
    outcome = execute_derivatives(program, EXACT, ("vjp",))
    assert outcome.status == "differs", outcome.detail
    assert "<Jv, w> = " in outcome.detail


def test_points_that_are_not_smooth_are_left_out() -> None:
    """The parameter `pack.x` is 2.5."""
    for value in ("o_f64[i] * abs(pack.x - 2.5)", "o_f64[i] if pack.x == 2.5 else 1.0", "ti.sqrt(pack.x - 2.5)"):
        outcome = execute_derivatives(small("o_f64[i]", value), EXACT)
        assert outcome.status == "same", value
        assert outcome.counts["not smooth"] == 24, value


def test_a_refusal_is_no_success() -> None:
    """It is counted by its message, which names no field or number."""
    program = small("o_f64[i]", "ti.atomic_add(o_f64[0], o_f64[i]) * 2.0")
    outcome = execute_derivatives(program, EXACT, ("vjp",))
    assert outcome.status.startswith("refuses vjp: reverse mode cannot differentiate")
    assert not outcome.bad


def test_a_factor_of_0_is_no_success() -> None:
    """Only the running gradient knows it."""
    outcome = execute_derivatives(small("a_mul_f64[0]", "a_mul_f64[0] * (o_f64[i] - o_f64[i])"), EXACT, ("vjp",))
    assert outcome.status == "same", outcome.detail
    stmt = Stmt("product", [("a_mul_f64[0] *= o_f64[i] - 1.0 * o_f64[i]", None)])
    program = Program("small-0", [], Body([Stmt("parallel range", [("for i in range(COUNT):", Body([stmt]))])]), "", {},
                      "same", smooth=True)  # fmt: skip
    outcome = execute_derivatives(program, EXACT, ("vjp",))
    assert outcome.counts["programs that reverse mode refuses as they run"] == 1
    assert not outcome.counts["dot products"]


def test_functions_have_the_companions_of_the_program() -> None:
    """Also those that are computed again for their values, in a derivative of a derivative."""
    head = (
        "kernel @{}(x: f64) -> ({}) called=true {{ field @y: f64[2] tree=0 terms=((0, 1, 2, 8)) %x = arg index=0 : f64 "
    )
    own = parse(head.format("f", "f64") + "return [%x] }")
    caller = parse(head.format("g", "") + "%r = invoke function=f.rerun.jvp, [%x, %x], touched=(y) : f64 }")
    (made,) = functions_of(caller, [own], CompileConfig(), lambda one: with_second(one, 1, SECOND))
    assert (made.symbol, made.mode) == ("f.rerun.jvp", "rerun.jvp")
    assert [one.name for one in made.params] == ["x", "x.dual"]
    assert {one.name: one.tree for one in made.fields} == {"y": 0, "y.grad": 1, "y.dual": 2, "y.grad.dual": 3}


def test_amplified_rounding_is_told_from_a_wrong_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sine of 1e9 x has 7 exact digits, that of x has 16."""
    rough = small("o_f64[i]", "ti.sin(1e9 * o_f64[i] * xs[0, 1]) * 1e-6")
    monkeypatch.setitem(PRECISION, "f64", replace(PRECISION["f64"], products=0.0))
    outcome = execute_derivatives(rough, EXACT, ("vjp",))
    assert outcome.status == "same", outcome.detail
    assert outcome.counts["dot products lost in rounding"]
    right = Subject.launch

    def launch(self: Subject, mode: str, run: Any, numbers: Any, others: Any) -> None:
        right(self, mode, run, numbers, others)
        if mode == "vjp":
            self.space.write(others, self.space.read(others, False) * 1.00000001, False)

    monkeypatch.setitem(PRECISION, "f64", replace(PRECISION["f64"], products=1e-12))
    monkeypatch.setattr(Subject, "launch", launch)
    assert execute_derivatives(rough, EXACT, ("vjp",)).status == "same"
    smooth = small("o_f64[i]", "ti.sin(o_f64[i] * xs[0, 1])")
    assert execute_derivatives(smooth, EXACT, ("vjp",)).status == "differs"


def test_programs_to_be_differentiated_compute_with_reals() -> None:
    """Each has a derivative that differs from that of a program that does nothing."""
    found = Counter[str]()
    for number in range(8):
        program, configuration = program_of(PLAN, number)
        found += execute_derivatives(program, configuration, ("vjp",)).counts
    assert found["programs in reverse mode that change a derivative"] == found["programs in reverse mode"]


def test_programs_to_be_differentiated_have_f64_only() -> None:
    for number in range(30):
        source = draw(f"smooth-{number}", smooth=True).source
        assert "ti.f32" not in source
        assert "ti.f16" not in source
