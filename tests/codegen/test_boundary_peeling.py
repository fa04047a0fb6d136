"""Where clamped indices need no clamp: which ops clamp a loop's index, and what a thread asks of its corners."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from weft.codegen.gpu.boundary_peeling import write_interior_test
from weft.ir.mapping.clamps import ClampedIndex, clamps_of
from weft.ir.ops import Clamp, Task
from weft.ir.parse import parse
from weft.ir.tasks import tasks_of
from weft.ir.transforms.mapping.peel_boundaries import peel

KERNEL = """\
kernel @k(n: i32) -> () {{
  task range_for bounds {{
    %zero = const 0 : i64
    %n = scalar_arg index=0, part=0 : i32
    %end = cast %n : i64
    %known = const 100 : i64
    yield begins=[%zero, %zero], ends=[%end, %known]
  }} prologue {{
    %n1 = scalar_arg index=0, part=0 : i32
    %m = cast %n1 : i64
    %short = cast %n1 : i16
    %none = const 0 : i32
    %none8 = const 0 : i64
    %two = const 2 : i32
    %two8 = const 2 : i64
    %far = const 65536 : i64
    %less = const 65535 : i64
    %half = const 0.5 : f32
  }} body (%i: i64, %j: i64) {{
    %ii = cast %i : i32
    %jj = cast %j : i32
{body}
  }}
}}
"""


def made(body: str) -> Task:
    (task,) = tasks_of(parse(KERNEL.format(body=textwrap.indent(body, "    "))))
    return task


def clamps(body: str) -> list[ClampedIndex]:
    return clamps_of(made(body))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%c = binary max %i, %none8 : i64", (0, 0, 0, True)),
        ("%c = binary min %m, %j : i64", (1, 0, 0, True)),
        ("%c = binary min %jj, %n1 : i32", (1, 0, 0, True)),
        ("%a = binary add %j, %two8 : i64\n%c = binary min %a, %m : i64", (1, 2, 2, True)),
        ("%a = binary add %two8, %j : i64\n%c = binary min %a, %m : i64", (1, 2, 2, True)),
        ("%a = binary sub %j, %two8 : i64\n%c = binary max %a, %none8 : i64", (1, -2, -2, True)),
        ("%a = binary sub %two8, %j : i64\n%c = binary max %a, %none8 : i64", None),
        ("%a = binary add %i, %j : i64\n%c = binary max %a, %none8 : i64", None),
        ("%a = binary mul %j, %two8 : i64\n%c = binary max %a, %none8 : i64", None),
        ("%a = binary add %i, %less : i64\n%c = binary min %a, %m : i64", (0, 65535, 65535, True)),
        ("%a = binary add %i, %far : i64\n%c = binary min %a, %m : i64", None),
        ("%a = binary sub %i, %far : i64\n%c = binary min %a, %m : i64", None),
        ("%a = binary add %i, %m : i64\n%c = binary min %a, %m : i64", None),
        ("%c = binary and %i, %m : i64", None),
        ("%c = binary min %i, %i : i64", None),
        ("%b = binary add %j, %two8 : i64\n%c = binary min %i, %b : i64", None),
        ("for %none8, %m, %two8 (%k: i64) {\n  %c = binary min %i, %k : i64\n}", None),
        ("for %none8, %m, %two8 (%k: i64) {\n  %c = binary min %i, %m : i64\n}", (0, 0, 0, True)),
        ("for %none8, %two8, %two8 (%k: i64) {\n  %a = binary add %k, %i : i64\n  %c = binary min %a, %m : i64\n}",
         (0, 0, 1, True)),
        ("%s = cast %jj : i16\n%c = binary max %s, %short : i16", None),
        ("%s = cast %j : f32\n%c = binary max %s, %half : f32", None),
        ("%a = binary sub %jj, %two : i32\n%w = cast %a : i64\n%c = binary max %w, %none8 : i64", (1, -2, -2, True)),
    ],
)  # fmt: skip
def test_what_is_a_clamp(body: str, expected: tuple[int, int, int, bool] | None) -> None:
    found = clamps(body)
    assert all({one.moved, one.bound} == {one.op.lhs, one.op.rhs} for one in found)
    assert [(one.axis, one.low, one.high, one.fits) for one in found] == ([expected] if expected else [])


def test_clamps_are_found_again_where_they_are_marked() -> None:
    """The range of an index that is computed from a clamped one is known after peeling, too."""
    task = made("%c = binary max %jj, %none : i32\n%w = cast %c : i64\n%d = binary min %w, %m : i64")
    before = [(one.axis, one.low, one.high, one.fits) for one in clamps_of(task)]
    assert len(before) == 2
    assert peel(task)
    assert [(one.axis, one.low, one.high, one.fits) for one in clamps_of(task)] == before


def test_an_index_of_32_bits_may_not_fit() -> None:
    """The index of an axis whose end is not known: what is narrowed may be another number, what is added may wrap."""
    found = clamps("%a = binary add %jj, %two : i32\n%c = binary min %a, %n1 : i32\n%d = binary max %ii, %none : i32")
    assert [one.axis for one in found] == [1, 0]
    text = KERNEL.replace("%end = cast %n : i64", "%end = const 3000000000 : i64").format(
        body="    %d = binary max %ii, %none : i32"
    )
    (task,) = tasks_of(parse(text))
    assert clamps_of(task) == []  # the cast takes some elsewhere
    text = KERNEL.format(body="    %d = binary max %jj, %none : i32").replace(
        "begins=[%zero, %zero]", "begins=[%zero, %low]"
    )
    (task,) = tasks_of(parse(text.replace("%end = cast", "%low = const -3000000000 : i64\n    %end = cast")))
    assert clamps_of(task) == []  # so does one of what lies far below
    text = KERNEL.format(body="    %a = binary add %ii, %two : i32\n    %c = binary min %a, %n1 : i32")
    (task,) = tasks_of(parse(text))
    assert [one.fits for one in clamps_of(task)] == [False]
    text = text.replace("binary add", "binary sub").replace("begins=[%zero,", "begins=[%low,")
    text = text.replace("%end = cast", "%low = const -2147483648 : i64\n    %end = cast")
    (task,) = tasks_of(parse(text))
    assert [one.fits for one in clamps_of(task)] == [False]


class Writer:
    """Takes note of what is computed, as one expression."""

    names = {"n1": "%n1", "m": "%m", "none": "0", "none8": "0"}  # noqa: RUF012

    def set(self, text: str) -> str:
        return f"({text})"

    def use(self, value: Any) -> str:
        return self.names[value.name]

    def spell(self, type: Any) -> str:
        return str(type)


LOW0, HIGH0, LOW1, HIGH1 = "%a", "%b", "%c", "%d"
ABOVE, BELOW = "(icmp sge i64 (add i64 {}, {}), {})", "(icmp sle i64 (add i64 {}, {}), {})"


def asked(body: str) -> list[str]:
    writer: Any = Writer()
    task = made(body)
    peel(task)
    text = write_interior_test(writer, task.all_of(Clamp), [(LOW0, HIGH0), (LOW1, HIGH1)])
    parts = list[str]()
    while text.startswith("(and i1 "):
        text, part = text[len("(and i1 ") : -1].rsplit(", (icmp", 1)
        parts.append("(icmp" + part)
    return [text, *parts[::-1]]


def test_nothing_is_asked_without_clamps() -> None:
    assert asked("%a = binary add %i, %two8 : i64") == ["true"]


def test_the_farthest_neighbour_is_asked_about() -> None:
    body = """
%a = binary add %j, %two8 : i64
%b = binary min %a, %m : i64
%c = binary min %j, %m : i64
%d = binary sub %j, %two8 : i64
%e = binary max %d, %none8 : i64
%f = binary max %j, %none8 : i64
%g = binary max %i, %none8 : i64"""
    assert asked(body) == [
        BELOW.format(HIGH1, 2, "%m"),
        ABOVE.format(LOW1, -2, "0"),
        ABOVE.format(LOW0, 0, "0"),
    ]


def test_a_sum_that_may_not_fit_is_asked_about_on_both_sides() -> None:
    up, down = "%a = binary add %ii, %two : i32\n", "%d = binary sub %ii, %two : i32\n"
    wide = "(sext <i32> %n1 to i64)".replace("<i32>", "i32")
    only = asked(up + "%c = binary min %a, %n1 : i32")
    assert only == [BELOW.format(HIGH0, 2, wide), ABOVE.format(LOW0, 2, -(2**31))]
    # A clamp on the other side that lies as far out asks already; one that lies less far does not.
    both = asked(up + "%c = binary min %a, %n1 : i32\n%e = binary max %a, %none : i32")
    zero = "(sext i32 0 to i64)"
    assert both == [BELOW.format(HIGH0, 2, wide), ABOVE.format(LOW0, 2, zero)]
    apart = asked(up + down + "%c = binary min %d, %n1 : i32\n%e = binary max %a, %none : i32")
    assert apart == [BELOW.format(HIGH0, -2, wide), BELOW.format(HIGH0, 2, 2**31 - 1), ABOVE.format(LOW0, 2, zero)]
    farther = up + "%g = binary add %a, %two : i32\n"
    near = asked(farther + "%c = binary min %a, %n1 : i32\n%e = binary max %g, %none : i32")
    assert near == [
        BELOW.format(HIGH0, 2, wide),
        ABOVE.format(LOW0, 2, -(2**31)),
        BELOW.format(HIGH0, 4, 2**31 - 1),
        ABOVE.format(LOW0, 4, zero),
    ]
    # One of another axis, or of 64 bits, says nothing of it.
    other = asked(up + "%c = binary min %a, %n1 : i32\n%f = binary max %jj, %none : i32")
    assert ABOVE.format(LOW0, 2, -(2**31)) in other
    long = asked(up + "%c = binary min %a, %n1 : i32\n%f = binary max %i, %none8 : i64")
    assert ABOVE.format(LOW0, 2, -(2**31)) in long
