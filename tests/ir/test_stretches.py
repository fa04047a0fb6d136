"""How many iterations of a loop run between two tests whether the launch must end."""

from __future__ import annotations

import math

import pytest

from tests.ir.test_schedules import CONFIGS, called, task
from weft.ir.mapping.stretches import MOST_ITERATIONS, NEVER, WHOLE, Stretches, even_part, iterations_of, note_costs
from weft.ir.ops import For, Invoke, While
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.tasks import parallel_tasks, tasks_of

HEAD = """\
kernel @k(n: i64) -> () {
  task serial body {
    %n = scalar_arg index=0, part=0 : i64
    %zero = const 0 : i64
    %one = const 1 : i64
    %down = const -1 : i64
    %some = const 100 : i64
    %many = const 10000000 : i64
    %slot = alloca : *i64
    store %slot, %some
    %base = tree_base tree=0 : *i64
    %place = address %base, indices=[], strides=[], offset=0, scope="field:x" : *i64
    BODY
  }
}
"""
DEAR = "".join(f"%d{k} = unary sin %f{k} : f64\n%f{k + 1} = binary add %d{k}, %f{k} : f64\n" for k in range(20))
DEAR = f"%f0 = cast %i : f64\n{DEAR}"
DEEP = "%e0 = load %slot : i64\n" + "".join(f"%e{k + 1} = binary add %e{k}, %one : i64\n" for k in range(12))


def first(kind: type[For | While], body: str) -> For | While:
    """The first loop of that kind in the body of a task."""
    (made,) = tasks_of(parse(HEAD.replace("BODY", body)))
    return made.all_of(kind)[0]


def loop(before: str, end: str, step: str = "one", inside: str = "", begin: str = "zero") -> For:
    made = first(For, f"{before}\nfor %{begin}, %{end}, %{step} (%i: i64) {{\n{inside}\n}}")
    assert isinstance(made, For)
    return made


@pytest.mark.parametrize(
    ("before", "end", "inside", "short"),
    [
        ("", "n", "", False),  # an argument
        ("", "some", "", False),
        ("%e = binary add %n, %one : i64", "e", "", False),
        ("%e = load %slot : i64", "e", "", True),
        ("%e = load %slot : i64", "e", DEAR, False),  # its iterations cost more than the test
        ("%e = atomic add %place, %one : i64", "e", "", True),
        ("%e = random stream=1 : i64", "e", "", False),
        (DEEP, "e5", "", True),
        (DEEP, "e12", "", False),  # looked for no deeper than that
    ],
    ids=lambda x: str(x)[:20],
)
def test_loops_that_are_likely_short(before: str, end: str, inside: str, short: bool) -> None:
    assert Stretches({}).is_likely_short(loop(before, end, inside=inside)) == short


@pytest.mark.parametrize(
    ("begin", "end", "step", "iterations"),
    [
        ("zero", "some", "one", 100),
        ("some", "zero", "down", 100),
        ("some", "zero", "one", 0),
        ("zero", "some", "down", 0),
        ("zero", "some", "n", math.inf),
        ("zero", "some", "zero", math.inf),
    ],
)
def test_the_most_iterations_of_a_loop(begin: str, end: str, step: str, iterations: float) -> None:
    assert iterations_of(loop("", end, step, begin=begin)) == iterations


def test_loops_around_loops_that_test_themselves() -> None:
    inner = "while {\nbreak\n}"
    assert Stretches({}).of(first(While, inner)) == -MOST_ITERATIONS
    assert Stretches({}).of(first(While, f"while {{\n{inner}\nbreak\n}}")) == -16
    assert Stretches({}).of(loop("", "many", inside=inner)) == -16
    assert Stretches({}).of(loop("", "n", inside=inner)) == -16
    known = first(For, f"%few = const 16 : i64\nfor %zero, %few, %one (%j: i64) {{\n{inner}\n}}")
    assert Stretches({}).of(known) == NEVER  # it would count sixteen iterations, and end
    longer = first(For, f"%few = const 17 : i64\nfor %zero, %few, %one (%j: i64) {{\n{inner}\n}}")
    assert Stretches({}).of(longer) == -16


def test_rows_of_boxes_are_left_whole_where_the_loop_around_tests() -> None:
    body, known = loop("", "some").body, Stretches({})
    assert known.of_box(body, 1e3, False) == NEVER
    assert known.of_box(body, 5e7, False) > NEVER
    assert known.of_box(body, 5e7, True) == NEVER
    assert known.of_box(body, 5e9, True) > NEVER


@pytest.mark.parametrize(
    ("distance", "most", "unit", "part"),
    [
        (1 << 20, 1 << 18, WHOLE, 1 << 18),
        (3 << 18, 1 << 18, WHOLE, 1 << 18),
        ((1 << 20) + 4, 1 << 18, WHOLE, 0),  # no part is a multiple of the unit
        (5 * 7 * 256, 2000, WHOLE, 7 * 256),
        ((1 << 62) + 128, 1 << 61, WHOLE, 0),  # in floats, half of it would be a multiple of the unit
        (math.inf, 1 << 18, WHOLE, 0),
    ],
)
def test_even_parts(distance: float, most: int, unit: int, part: int) -> None:
    assert even_part(distance, most, unit) == part


@pytest.mark.parametrize(("alone", "even"), [(True, True), (False, False)])
def test_a_task_of_one_thread_has_even_stretches(alone: bool, even: bool) -> None:
    text = task(SCHEDULE="alone=true" if alone else "").replace("const 256", "const 1048576000")
    kernel = parse(text)
    run_passes(kernel, ("choose_stretches",), CONFIGS["cpu"], None, "mapped")
    (made,) = parallel_tasks(kernel)
    assert made.schedule.stretch > 0
    assert made.schedule.even == even


def test_the_cost_of_a_function_that_has_no_limit_is_not_noted() -> None:
    def cost(body: str) -> float:
        function, caller = called("f", "10", body), called("k", "10", "invoke function=f, [%i]")
        note_costs(caller, [function])
        return caller.all_of(Invoke)[0].most

    assert cost("while {\nbreak\n}") == 0.0
    assert 0.0 < cost("") < math.inf


_ACCESS = """%at = address {local}, indices=[%i], strides=[%one], offset=0, scope="local:0" : *i64
store %at, %i"""
_ARRAYS = "%few = alloca : *i64x8\n%many_ones = alloca : *i64x100"


@pytest.mark.parametrize(
    ("attributes", "side", "inside", "single"),
    [
        (", seldom=true", "orelse", "", True),
        (", seldom=true", "then", "", False),
        ("", "orelse", "", False),
        (", seldom=true", "orelse", _ACCESS.format(local="%few"), False),  # the elements may be in registers
        (", seldom=true", "orelse", _ACCESS.format(local="%many_ones"), True),
        (", seldom=true", "orelse", f"%own = alloca : *i64x8\n{_ACCESS.format(local='%own')}", True),
    ],
)
def test_loops_in_branches_that_rarely_run_are_not_copied(
    attributes: str, side: str, inside: str, single: bool
) -> None:
    loops = f"for %zero, %some, %one (%j: i64) {{\nfor %zero, %some, %one (%i: i64) {{\n{inside}\n}}\n}}"
    body = f"{_ARRAYS}\n%c = binary lt %zero, %n : u1\nif %c{attributes} {side} {{\n{loops}\n}}"
    kernel = parse(HEAD.replace("BODY", body))
    run_passes(kernel, ("choose_stretches",), CONFIGS["cpu"], None, "mapped")
    assert [op.schedule.single for op in kernel.all_of(For)] == [single, single]
