"""What runs random programs: a wrong compiler is found, its program made small, and a process that dies is told."""

import os
import re
import time
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz import schedules, workers
from tests.fuzz.comparing import compare
from tests.fuzz.configurations import OPTIONAL, Configuration, applied, drawn
from tests.fuzz.execute import GOOD, execute, execute_fast
from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.places import UNTAKEN
from tests.fuzz.program import Program, draw
from tests.fuzz.workers import Plan, explain, run
from tests.order_dependence import OrderDependence
from weft.ir.core import Builder
from weft.ir.ops import Atomic, Binary, Load, Store
from weft.ir.passes import PASSES, pass_
from weft.ir.pipeline import find_pass

EXACT = Configuration(options={"fast_math": False, "offline_cache": False, "cpu_max_num_threads": 1})


def small(name, lines):
    """A program of a loop with those lines."""
    stmts = [Stmt("own store", [(f"{target} = {{0}}", None)], [value]) for target, value in lines]
    loop = Stmt("parallel range", [("for i in range(COUNT):", Body(stmts))])
    return Program(name, [], Body([loop]), "", {}, "same")


def number(text, *parts):
    return Expr("arithmetic" if parts else "own element", text, "int", [*parts])


DIFFERENCE = number("({0} - {1})", number("r_i8[i]"), number("o_i16[i]"))
PROGRAM = small("small", [
    ("o_i32[i]", number("({0} * {1})", number("perm[i]"), DIFFERENCE)),
    ("o_i64[i]", number("({0} + {1})", number("perm_2[i]"), number("perm[i]"))),
    ("o_u8[i]", number("ti.cast({0}, ti.u8)", number("perm_2[i]"))),
])  # fmt: skip


@pytest.fixture
def wrong(monkeypatch):
    """A compiler that swaps the operands of differences, in a pass that says it lifts sums."""
    honest = find_pass("lift_sums")
    monkeypatch.setitem(PASSES, "lift_sums", honest)  # and back, after the test

    @pass_("lift_sums")
    def swap(root, config):
        differences = [op for op in root.walk() if isinstance(op, Binary) and op.kind == "sub"]
        for op in differences:
            op.set_operands([op.rhs, op.lhs], op.groups)
        return honest(root, config) or bool(differences)


def test_an_honest_compiler_agrees_with_the_evaluator():
    assert execute(PROGRAM, EXACT).status == "same"


def test_a_wrong_pass_is_found_named_and_shown_in_a_small_program(wrong, tmp_path):
    outcome = execute(PROGRAM, EXACT)
    assert outcome.status == "differs"
    assert outcome.places == ["o_i32"]
    told = explain(Plan("small", 1, folder=tmp_path), PROGRAM, EXACT, outcome)
    assert "by: lift_sums" in told
    text = (tmp_path / "small.py").read_text()
    assert "o_i64" not in text
    assert "o_u8" not in text
    assert " - " in text
    assert "ROWS, COLS, COUNT, SLOTS = 1, 1, 1, 4" in text
    assert "shape=(24,)" not in text
    assert "binary sub" in (tmp_path / "small.chi").read_text()


def test_a_difference_in_a_field_without_axes_is_shown(wrong):
    program = small("alone", [("z_add_i32[None]", number("({0} - {1})", number("r_i8[3]"), number("r_u8[4]")))])
    outcome = execute(program, EXACT)
    assert (outcome.status, outcome.places) == ("differs", ["z_add_i32"])
    assert outcome.detail.count("np.int32") == 2


@pytest.fixture
def racing(monkeypatch):
    """A compiler that makes a load and a store of each sum in memory, in a pass that says it lifts sums."""
    honest = find_pass("lift_sums")
    monkeypatch.setitem(PASSES, "lift_sums", honest)

    @pass_("lift_sums")
    def demote(root, config):
        sums = [op for op in root.walk() if isinstance(op, Atomic) and op.kind == "add"]
        for op in sums:
            builder = Builder.at(op)
            old = builder.add(Load(op.ptr))
            builder.add(Store(op.ptr, builder.add(Binary("add", old, op.value, type=old.type))))
            op.replace_uses(old)
            op.erase()
        return honest(root, config) or bool(sums)


SUM = small("sums", [("z_add_i32[None]", number("r_u8[i]"))])
SUM.body.stmts[0].bodies[0].stmts[0].clauses[0] = ("z_add_i32[None] += {0}", None)
EXACT_SUM = Configuration(options=EXACT.options, off=("thread_local",))


def test_a_lost_atomic_shows_under_schedules_alone(racing, tmp_path):
    assert execute(SUM, EXACT_SUM).status == "same"
    outcome = execute(SUM, EXACT_SUM, range(12))
    assert outcome.status == "differs"
    assert "the last level under schedule" in outcome.detail
    assert "z_add_i32" in outcome.detail
    told = explain(Plan("sums", 1, folder=tmp_path), SUM, EXACT_SUM, outcome, range(12))
    assert "z_add_i32[None] += " in told
    assert "ROWS, COLS, COUNT, SLOTS = 1, 2, 2, 4" in (tmp_path / "sums.py").read_text()


def test_what_order_dependence_does_not_say_is_found(monkeypatch):
    append = small("append", [("lists_0[ti.atomic_add(z_slots[None], 1)]", number("r_u8[i]"))])
    assert execute(append, EXACT, range(3)).status == "same"
    monkeypatch.setattr(schedules, "order_dependence", lambda kernel, functions: OrderDependence())
    outcome = execute(append, EXACT, range(3))
    assert "the order shows in lists_0" in outcome.detail


def left(taken, appended, count):
    """What a program with a list of 8 leaves: so many slots hold 5, and `appended`."""
    values = [5] * taken + [*appended]
    values += [UNTAKEN] * (8 - len(values))
    return {"lists_0": np.array(values, np.int32), "z_slots": np.array(count, np.int32), "printed": []}


def test_appends_are_compared_as_multisets_and_a_lost_one_is_found():
    assert compare(left(2, [1, 2], 4), left(2, [2, 1], 4)) == []
    assert compare(left(2, [1, 2], 4), left(2, [1], 4)) == ["lists_0"]
    assert compare(left(2, [1, 2], 4), left(2, [1, 3], 4)) == ["lists_0"]


def test_which_values_a_full_list_has_depends_on_the_order():
    """The counter is that of other lists too, so that slots of this one may be free."""
    assert compare(left(6, [1], 9), left(6, [2], 9)) == []
    assert compare(left(6, [1], 9), left(6, [2], 8)) == ["lists_0", "z_slots"]


def test_extremes_by_if_are_atomics_for_each_default_type():
    """`e = ti.cast(x, ti.f16) + 0.0` would be an f64 with `default_fp=f64`: then `m = e` is a plain assignment, which
    debug mode refuses."""
    drawn_ = (draw(f"extreme-{n}", [("in", "parallel range", "extreme by if")]) for n in range(100))
    programs = [one for one in drawn_ if one.safe and re.search(r"m(\d+) = ti.cast\(perm\[3\], ti.f(16|32)\)[^@]*"
                                                                r"            m\1 = e", one.code)]  # fmt: skip
    assert len(programs) >= 3
    for program in programs[:3]:
        configuration = Configuration(options={**EXACT.options, "debug": True}, default_fp="f64")
        assert execute(program, configuration).status in GOOD, program.code


FAST = {  # programs, and the freedom of fast_math that each difference comes from
    "({0} + 0.0)": "algebra",
    "({0} / 3.0)": "arcp or algebra",
}


@pytest.mark.parametrize("text", FAST)
def test_differences_by_fast_math_have_their_cause(text):
    """Twice: what is compiled for the first is kept."""
    program = small("fast", [("o_f64[i]", number(text, number("r_f64[i]")))])
    for _ in range(2):
        outcome = execute_fast(program, EXACT)
        assert outcome.status == f"rounds by {FAST[text]}"
        assert not outcome.detail.endswith(" 0 units in the last place") or "+ 0.0" in text


def test_saved_programs_run_alone(wrong, tmp_path, capsys):
    explain(Plan("small", 1, folder=tmp_path, shrinks=False), PROGRAM, EXACT, execute(PROGRAM, EXACT))
    path = tmp_path / "small.py"
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": "program"})
    assert "o_i32 [" in capsys.readouterr().out


def test_an_error_that_python_finds_in_constants_is_no_finding():
    assert execute(small("told", [("o_i32[i]", number("ti.static(3 % LIST[1])"))]), EXACT).status == "told"


def test_a_refused_program_is_no_crash():
    assert execute(small("refused", [("o_i32[i]", number("nowhere"))]), EXACT).status == "refused"


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_pass_switched_off_does_nothing(name):
    with applied(Configuration(options=EXACT.options, off=(name,))):
        assert PASSES[name] is not find_pass("scalarize")
        assert execute_inside(name)
    assert PASSES[name].__name__ == name


def execute_inside(name):
    return find_pass(name)(None, None) is False


def dies(plan, first, pipe):
    """A worker that the second program ends."""
    for n in range(first, plan.first + plan.count):
        pipe.send(("begins", n, "", ""))
        if n == 1:
            pipe.close()
            os._exit(7)
        pipe.send(("ended", n, "same", ""))


def test_a_process_that_dies_is_told_and_the_next_goes_on(monkeypatch, tmp_path):
    monkeypatch.setattr(workers, "_work", dies)
    monkeypatch.setattr(workers, "_START", "fork")
    report = run(Plan("s", 4, folder=Path(tmp_path)))
    assert report.ended == {"same": 3, "died": 1}
    assert report.found == [("s-1", "died: the process ended with 7")]
    assert (tmp_path / "s-1.py").exists()


def slow_to_shrink(plan, first, pipe):
    """A worker that finds a difference, and ends while it makes the program small."""
    pipe.send(("begins", first, "", ""))
    pipe.send(("found", first, "differs", "the value of x"))
    pipe.close()
    os._exit(7)


def test_what_was_found_is_told_though_it_is_not_made_small(monkeypatch, tmp_path):
    monkeypatch.setattr(workers, "_work", slow_to_shrink)
    monkeypatch.setattr(workers, "_START", "fork")
    report = run(Plan("s", 1, folder=Path(tmp_path)))
    assert report.ended == {"differs": 1}
    assert report.found == [("s-0", "differs: the value of x")]
    assert "differs" in (tmp_path / "s-0.py").read_text()


def still_shrinking(plan, first, pipe):
    """A worker that finds a difference, and is not done with it when the time ends."""
    pipe.send(("begins", first, "", ""))
    pipe.send(("found", first, "differs", "the value of x"))
    time.sleep(60)


def test_what_was_found_is_told_when_the_time_ends(monkeypatch, tmp_path):
    monkeypatch.setattr(workers, "_work", still_shrinking)
    monkeypatch.setattr(workers, "_START", "fork")
    report = run(Plan("s", 1, folder=Path(tmp_path), minutes=0.01))
    assert report.found == [("s-0", "differs: the value of x")]
    assert (tmp_path / "s-0.py").exists()


def test_configurations_are_the_same_each_time_and_differ():
    assert drawn("a", safe=True) == drawn("a", safe=True)
    assert len({str(drawn(f"c{n}")) for n in range(50)}) > 30
