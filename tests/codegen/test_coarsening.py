"""How many neighbours a thread takes, in how many rows, and what must be multiples of a word for it."""

from __future__ import annotations

import textwrap
from itertools import count

import pytest

from weft.ir.mapping.coarsening import ALONE, Group, accumulators, group_of
from weft.ir.parse import parse
from weft.ir.tasks import tasks_of

KERNEL = """\
kernel @k(n: i32) -> () {{
  task range_for bounds {{
    %from = const 0 : i64
    %to = const 1000 : i64
    yield begins=[%from, %from], ends=[%to, %to]
  }} prologue {{
    %n = scalar_arg index=0, part=0 : i32
    %m = cast %n : i64
    %base = tree_base tree=0 : *i64
    %array = array_base index=0 : *i64
    %pitch = array_stride index=0, axis=0 : i64
    %zero = const 0 : i64
    %one = const 1 : i64
    %two = const 2 : i64
    %four = const 4 : i64
    %twelve = const 12 : i64
    %last = const 999 : i64
    %row = const 4096 : i64
    %odd = const 4108 : i64
    %x = const 0.5 : f32
    {prologue}
  }} body (%i: i64, %j: i64) {{
{body}
  }} epilogue {{
    {epilogue}
  }}
}}
"""
ADDRESS = '%{0} = address {1}, indices=[{2}], strides=[{3}], offset={4}, scope="field:{5}" : *f32\n'


def group(body: str, prologue: str = "", epilogue: str = "") -> Group:
    parts = {"body": textwrap.indent(body, "    "), "prologue": prologue, "epilogue": epilogue}
    (task,) = tasks_of(parse(KERNEL.format(**parts)))
    return group_of(task)


def told(found: Group) -> tuple[int, int, int, str, str]:
    aligned, taps = (" ".join(str(value.name) for value in values) for values in (found.aligned, found.taps))
    return found.across, found.rows, found.busy, aligned, taps


_numbers = count()  # of places


def load(
    field: str = "x", index: str = "%i, %j", strides: str = "%row, %four", offset: int = 0, base: str = "%base"
) -> str:
    name = f"p{next(_numbers)}"
    place = ADDRESS.format(name, base, index, strides, offset, field)
    return f"{place}%v{name} = load %{name}, invariant=true : f32\n"


def store(
    field: str = "y", index: str = "%i, %j", strides: str = "%row, %four", offset: int = 0, base: str = "%base"
) -> str:
    name = f"p{next(_numbers)}"
    return f"{ADDRESS.format(name, base, index, strides, offset, field)}store %{name}, %x\n"


def taps(
    index: str = "%i, %b", strides: str = "%odd, %four", base: str = "%base", end: str = "%four", more: str = ""
) -> str:
    """`x[i, j + q]` for some q."""
    inside = f"%b = binary add %j, %q : i64\n{more}{load('x', index, strides, 0, base)}"
    return f"for %zero, {end}, %one (%q: i64) {{\n{textwrap.indent(inside, '  ')}}}\n"


CLAMP = "%low = binary max %b, %zero : i64\n%c = binary min %low, %last : i64\n"
STENCIL = load() + load(offset=4) + load(offset=-4) + store()
BUSY, SHARED = 1024, 128


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (load() + store(), (4, 1, BUSY, "", "")),
        (load(strides="%odd, %four") + store(), None),
        (load(strides="%pitch, %four", base="%array") + store(), (4, 1, BUSY, "array pitch", "")),
        (load(strides="%odd, %four", base="%array") + store(), None),
        (load(strides="%row, %four", base="%array") + store(), (4, 1, BUSY, "array", "")),
        (load(strides="%row, %m") + store(), None),
        (load() + store(index="%j, %i"), None),
        # Three reads of one field: rows as well, as many as the ops allow.
        (STENCIL, (4, 4, BUSY, "", "")),
        (STENCIL + "".join(f"%a{k} = binary mul %x, %x : f32\n" for k in range(40)), (4, 2, BUSY, "", "")),
        (STENCIL + "".join(f"%a{k} = binary mul %x, %x : f32\n" for k in range(90)), (4, 1, BUSY, "", "")),
        (load("y") + store() + store(), (4, 1, BUSY, "", "")),
        # Vectors of three fill no words: half of them are written, but where neighbours have reads in common.
        ("".join(load(strides="%row, %twelve", offset=4 * k) for k in range(3)) + store(), (4, 1, BUSY, "", "")),
        ("".join(store(strides="%row, %twelve", offset=4 * k) for k in range(3)), (2, 1, BUSY, "", "")),
        # Loops that a thread makes long.
        ("for %zero, %m, %one (%q: i64) {\n" + load("w", "%q", "%four") + "}\n" + store(), (2, 1, SHARED, "", "")),
        (
            "for %zero, %m, %one (%q: i64) {\n" + load("w", "%q, %i", "%four, %row") + "}\n" + store(),
            (2, 1, BUSY, "", ""),
        ),
        # Filters: rows may begin anywhere where the loop is written out.
        (taps() + store(), (4, 1, BUSY, "", "odd")),
        (taps() + store(strides="%odd, %four"), (4, 1, BUSY, "", "odd")),
        (taps(strides="%row, %four") + store(), (4, 1, BUSY, "", "")),
        (taps(end="%last") + store(), (2, 1, BUSY, "", "")),
        (taps(end="%last") + store(strides="%odd, %four"), None),
        (taps(strides="%pitch, %four", base="%array") + store(), (4, 1, BUSY, "", "array pitch")),
        (taps(strides="%pitch, %four", base="%array", end="%last") + store(), (2, 1, BUSY, "", "array pitch")),
        (taps(index="%i, %q") + store(strides="%odd, %four"), None),
        (taps(index="%b, %b") + store(strides="%odd, %four"), None),
        (taps("%i, %c", more=CLAMP) + store(), (4, 1, BUSY, "", "odd")),
        (taps("%i, %d", more=CLAMP + "%d = binary mul %c, %two : i64\n") + store(), (4, 1, BUSY, "", "")),
        (taps("%q, %d", more=CLAMP + "%d = binary add %c, %i : i64\n") + store(), (4, 1, BUSY, "", "")),
        (taps("%q, %d", more=CLAMP + "%d = binary add %i, %c : i64\n") + store(), (4, 1, BUSY, "", "")),
        ("%own = alloca : *f32x9\n" + taps("%b", "%four", "%own") + store(strides="%odd, %four"), None),
    ],
)
def test_groups(body: str, expected: tuple[int, int, int, str, str] | None) -> None:
    found = group(body)
    assert found == ALONE if expected is None else told(found) == expected


def test_what_only_reads_has_twice_as_much_under_way() -> None:
    """Where the thread adds up what it reads, for the block."""
    prologue, epilogue = "%acc = alloca : *f32", "%end = cast %n : i64"
    add = "%o = load %acc : f32\n%s = binary add %o, %x : f32\nstore %acc, %s\n"
    assert told(group(load() + add, prologue, epilogue))[:2] == (8, 1)
    assert told(group(load() + add, prologue))[:2] == (4, 1)
    assert told(group(load() + add + store(), prologue, epilogue))[:2] == (4, 1)
    atomic = store().replace("store %", "%z = atomic add %").replace("x\n", "x : f32\n")
    assert told(group(load() + add + atomic, prologue, epilogue))[:2] == (4, 1)


def test_a_line_has_no_rows_and_a_serial_task_no_neighbours() -> None:
    text = KERNEL.format(body=textwrap.indent(STENCIL, "    "), prologue="", epilogue="")
    line = text.replace("(%i: i64, %j: i64)", "(%j: i64)").replace("[%from, %from]", "[%from]")
    line = line.replace("[%to, %to]", "[%to]").replace("[%i, %j]", "[%zero, %j]")
    (task,) = tasks_of(parse(line))
    assert told(group_of(task)) == (4, 1, BUSY, "", "")
    (task,) = tasks_of(parse("kernel @k() -> () {\n  task serial body {\n    %x = const 0 : i32\n  }\n}"))
    assert group_of(task) == ALONE


def test_values_that_iterations_of_a_thread_share() -> None:
    prologue = "%acc = alloca : *f32x2\n    " + "    ".join(
        ADDRESS.format(name, base, "", "", 4, "s")
        for name, base in (("part", "%acc"), ("far", "%base"), ("far2", "%far"))
    )
    (task,) = tasks_of(parse(KERNEL.format(body="", prologue=prologue, epilogue="")))
    assert {value.name for value in accumulators(task)} == {"acc", "part"}
