"""Which inner loops may run their rounds in lanes, and how far out their sums may stay vectors."""

from __future__ import annotations

import textwrap

import pytest

from weft.ir.core import Op, Value, ops_of
from weft.ir.mapping.fold_choice import could_fold, inner_loops, sums_fold
from weft.ir.ops import Alloca, For, While
from weft.ir.parse import parse
from weft.ir.schedule import LoopSchedule
from weft.ir.tasks import tasks_of
from weft.ir.uniform import Uniformity

KERNEL = """\
kernel @k(n: i32) -> () {{
  task range_for bounds {{
    %begin = const 0 : i64
    %end = const 5000 : i64
    yield begins=[%begin], ends=[%end]
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %zero = const 0 : i64
    %one = const 1 : i64
    %two = const 2 : i64
    %four = const 4 : i64
    %ten = const 10 : i64
    %u0 = const 0 : u32
    %u1 = const 1 : u32
    %u9 = const 9 : u32
    %i0 = const 0 : i32
    %i1 = const 1 : i32
    %i9 = const 9 : i32
    %unit = const 1.0 : f32
    %n = scalar_arg index=0, part=0 : i32
    %some = binary lt %n, %i1 : u1
  }} body (%i: i64) {{
    %place = address %base, indices=[%i], strides=[%four], offset=0, scope="field:x" : *f32
    %s = alloca : *f32
    %t = alloca : *f32
    store %s, %unit
    store %t, %unit
{body}
    %total = load %s : f32
    store %place, %total
  }}
}}
"""


def ops(body: str) -> list[Op]:
    (task,) = tasks_of(parse(KERNEL.format(body=textwrap.indent(body, "    "))))
    return ops_of(task.body)


def add(local: str = "s", name: str = "a", kind: str = "add", by: str = "%unit") -> str:
    return f"%{name}0 = load %{local} : f32\n%{name}1 = binary {kind} %{name}0, {by} : f32\nstore %{local}, %{name}1\n"


def loop(body: str, index: str = "%j: i64", bounds: str = "%zero, %ten, %one") -> str:
    return f"for {bounds} ({index}) {{\n{textwrap.indent(body, '  ')}}}\n"


@pytest.mark.parametrize(
    ("body", "may"),
    [
        (loop(add()), True),
        (loop(add(), "%j: i32", "%i0, %i9, %i1"), True),
        (loop(add(), "%j: u32", "%u0, %u9, %u1"), False),
        (loop(add(), bounds="%zero, %ten, %two"), False),
        (loop(add() + "store %place, %unit\n"), False),
        (loop(add() + "%o = atomic add %place, %unit : f32\n"), False),
        (loop(add() + "%o = random : f32\nstore %t, %o\n"), False),
        (loop(add() + "while {\n  break\n}\n"), False),
        (loop(add() + loop("", "%k: i64")), False),
        (loop("if %some then {\n  break\n}\n" + add()), False),
        (loop("if %some then {\n  continue\n}\n" + add()), True),
    ],
)
def test_loops_that_may(body: str, may: bool) -> None:
    first = next(op for op in ops(body) if isinstance(op, For))
    assert could_fold(first) == may


@pytest.mark.parametrize(
    ("body", "exact", "fast"),
    [
        (add(kind="add"), False, True),
        (add(kind="max"), False, True),
        (add() + add(name="b", kind="sub"), False, True),
        (add() + add(name="b", kind="max"), False, False),
        (add() + add("t", "b", "max"), False, True),
    ],
)
def test_sums_in_any_order(body: str, exact: bool, fast: bool) -> None:
    """Floats only with `fast_math`; one operator for each sum."""
    facts = Uniformity(next(op for op in ops(loop(body)) if isinstance(op, For)))
    assert facts.reason == ""
    assert (sums_fold(facts, False), sums_fold(facts, True)) == (exact, fast)


def homes(body: str) -> dict[str, str]:
    """Of each local that the innermost loops sum up in: the loop that it is a vector for, by its index ("while" if it
    has none)."""
    inside = ops(body)
    loops = [op for op in inside if isinstance(op, For)]
    innermost = [one for one in loops if not any(isinstance(op, (For, While)) for op in ops_of(one.body))]
    facts = {one: Uniformity(one) for one in innermost}
    for one, each in facts.items():
        if not each.reason and each.sums:
            one.schedule = LoopSchedule(lanes=8)
    found = dict[str, str]()
    for home, how in inner_loops(inside).items():
        for local in how.totals:
            found[_name(local)] = home.body.args[0].name if isinstance(home, For) else "while"
    return found


def _name(local: Value) -> str:
    assert isinstance(local, Alloca)
    return local.name


INNER = loop(add(), "%k: i64")
STRIDED = loop(add(name="b"), "%l: i64", "%zero, %ten, %two")


@pytest.mark.parametrize(
    ("around", "home"),
    [
        (INNER, "j"),
        ("%c = load %t : f32\n" + INNER, "j"),
        ("%c = load %s : f32\nstore %t, %c\n" + INNER, "k"),
        (INNER + "store %s, %unit\n", "k"),
        (INNER + add(name="b"), "j"),
        (INNER + add(name="b", kind="sub"), "j"),
        (INNER + add(name="b", kind="max"), "k"),
        (INNER + add(name="b") + "store %t, %b1\n", "k"),
        (INNER + "%b0 = load %s : f32\n%b1 = binary add %b0, %unit : f32\nstore %t, %b1\n", "k"),
        (INNER + "%b0 = load %s : f32\n%b1 = binary sub %unit, %b0 : f32\nstore %s, %b1\n", "k"),
        (INNER + "%b0 = load %s : f32\n%b1 = unary neg %b0 : f32\nstore %s, %b1\n", "k"),
        (INNER + "%b0 = load %t : f32\n%b1 = binary add %b0, %unit : f32\nstore %s, %b1\n", "k"),
        (INNER + "%b0 = load %s : f32\n%b1 = binary add %unit, %b0 : f32\nstore %s, %b1\n", "j"),
        (INNER + add(name="b") + "store %t, %b0\n", "k"),
        ("if %some then {\n" + INNER + "}\n", "j"),
        ("if %some then {\n" + INNER + "} orelse {\n" + add(name="b") + "}\n", "j"),
        (INNER + loop(add(name="b"), "%l: i64"), "j"),
        (INNER + loop(add(name="b", kind="max"), "%l: i64"), "k l"),
    ],
)
def test_how_long_a_sum_stays_a_vector(around: str, home: str) -> None:
    """To the outermost loop that only adds to it; outside of that, somebody reads it."""
    body = loop(around)
    found = homes(body)
    assert found["s"] in home.split()
    assert (found["s"] == "j") == (home == "j")


def test_a_local_of_the_loop_around() -> None:
    body = loop(
        "%u = alloca : *f32\nstore %u, %unit\n" + loop(add("u"), "%k: i64") + "%v = load %u : f32\nstore %t, %v\n"
    )
    assert homes(body) == {"u": "k"}


def test_loops_of_any_kind_around() -> None:
    assert homes("while {\n" + INNER + "if %some then {\n  break\n}\n}\n") == {"s": "while"}
    assert homes(loop(STRIDED + INNER))["s"] == "j"
    assert homes("if %some then {\n" + INNER + "}\n") == {"s": "k"}
