"""What `mask_accesses` asks, and where: once for a task, once for a loop, at each access, or nowhere."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

from tests.ir.test_mask_accesses import BEFORE, MASKED, PLAIN
from weft.ir import ops
from weft.ir.access_ranges import wraps_not
from weft.ir.evaluate import Memory, evaluate
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir
from weft.ir.transforms.mask_accesses import mask_accesses
from weft.ir.types import i32, i64

FRAME = """\
kernel @k(n: i32, m: i32, a: [i32; 1 wide], k: i64) -> () {{
  field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
  field @w: i32[8] tree=1 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
  field @v: i32x3[8] tree=2 components=(0, 4, 8) terms=((0, 1, 8, 12)) offset=(0) order=(0)
  %0 = const 0 : i32
  %1 = const 1 : i32
  %3 = const 3 : i32
  %7 = const 7 : i32
  %8 = const 8 : i32
  %minus = const -1 : i32
  %n = arg index=0 : i32
  %m = arg index=1 : i32
{body}
}}
"""
READ = "%r = load %p : i32\n%o = atomic add %own, %r : i32"


def box(body: str, begin: str = "%0", end: str = "%8") -> str:
    """A parallel loop."""
    body = "%own = field_ptr @w[%i]\n" + body
    return f"parallel_for begins=[{begin}], ends=[{end}] (%i: i32) {{\n{textwrap.indent(body, '  ')}\n}}"


LATER = """
%first = field_ptr @w[%0]
%f = load %first : i32
store %first, %1
"""

# The kernel; how many tasks there are then, loops that are written twice, and masks.
CASES: dict[str, tuple[str, tuple[int, int, int]]] = {
    "down over a constant range": (
        box("for %7, %minus, %minus (%l: i32) {\n%p = field_ptr @x[%l]\n" + READ + "\n}"),
        (1, 0, 0),
    ),
    "down from one too far": (
        box("for %8, %minus, %minus (%l: i32) {\n%p = field_ptr @x[%l]\n" + READ + "\n}"),
        (1, 0, 1),
    ),
    "down over a range that is not known": (
        box("for %n, %m, %minus (%l: i32) {\n%p = field_ptr @x[%l]\n" + READ + "\n}"),
        (2, 0, 1),
    ),
    "from an index that is not known": (box("%p = field_ptr @x[%i]\n" + READ, "%n", "%8"), (2, 0, 2)),
    "an index that an earlier task has read": (
        LATER + box("%j = binary add %i, %f : i32\n%p = field_ptr @x[%j]\n" + READ),
        (3, 0, 1),
    ),
    "a box that is read from memory": (
        "%first = field_ptr @x[%0]\n%f = load %first : i32\n" + box("%p = field_ptr @x[%i]\n" + READ, "%0", "%f"),
        (2, 0, 2),
    ),
    "a sum of 64 bits that is known": (
        """
        %k = arg index=3 : i64
        %kk = binary add %k, %k : i64
        %0w = cast %0 : i64
        %8w = cast %8 : i64
        %c = binary ge %kk, %0w : u1
        %d = binary lt %kk, %8w : u1
        if %c then {
          if %d then {
            %p = field_ptr @x[%kk]
            store %p, %1
          }
        }""",
        (1, 0, 0),
    ),
    "an index that the task itself changes": (
        "%s = shared_local : *i32\nstore %s, %1\n"
        + box("%f = load %s : i32\n%p = field_ptr @x[%f]\n" + READ + "\n%q = atomic add %s, %1 : i32"),
        (2, 0, 1),
    ),
}

OWN = "%f = load %own : i32\n"  # a number that only the iteration knows
INNER = "for %0, %f, %1 (%l: i32) {\n%p = field_ptr @x[%l]\n" + READ
CASES |= {
    "a quotient of what is known": (
        box("%h = binary floordiv %n, %3 : i32\n%j = binary add %i, %h : i32\n%p = field_ptr @x[%j]\n" + READ),
        (2, 0, 1),
    ),
    "a loop whose length only the iteration knows": (box(OWN + INNER + "\n}"), (1, 1, 1)),
    "two loops, one behind the other": (
        box(OWN + INNER + "\n}\n" + re.sub(r"%([lpro])\b", r"%\1_", INNER) + "\n}"),
        (1, 2, 2),
    ),
    "a long loop": (
        box(OWN + INNER + "".join(f"\n%o{k} = atomic add %own, %r : i32" for k in range(200)) + "\n}"),
        (1, 0, 1),
    ),
    "an extent that a condition has asked about": (
        box(
            """%a = arg index=2 : [i32; 1 wide]
            %s = array_shape %a, axis=0 : i64
            %iw = cast %i : i64
            %c = binary lt %iw, %s : u1
            if %c then {
              %p = array_ptr %a[%iw]
              %r = load %p : i32
              %o = atomic add %own, %r : i32
            }"""
        ),
        (1, 0, 0),
    ),
}


def masked(body: str) -> tuple[ops.Kernel, bool]:
    """The kernel, and whether the pass has changed it."""
    kernel = run_passes(parse(FRAME.format(body=textwrap.indent(body, "  "))), BEFORE, MASKED)
    before = print_ir(kernel)
    changed = mask_accesses(kernel, MASKED)
    assert changed == (print_ir(kernel) != before)
    return kernel, changed


@pytest.mark.parametrize("name", CASES)
def test_where_it_is_asked(name: str) -> None:
    body, expected = CASES[name]
    kernel, changed = masked(body)
    versions = sum(op.versioned for op in kernel.all_of(ops.If))
    assert (len(kernel.all_of(ops.Task)), versions, len(kernel.all_of(ops.Warn))) == expected
    assert changed == any(expected[1:])


def test_the_extent_of_an_array_is_not_cut_off() -> None:
    kernel, _ = masked(box("%a = arg index=2 : [i32; 1 wide]\n%p = array_ptr %a[%n]\n" + READ))
    casts = kernel.all_of(ops.Cast)
    assert any(isinstance(cast.x, ops.Arg) and cast.type is i64 for cast in casts)
    assert not any(cast.type is i32 for cast in casts)


@pytest.mark.parametrize(
    ("n", "m", "told"),
    [(2, 7, []), (3, 7, ["v[3] of (3,)"]), (2, 8, ["v[8] of (8,)"]), (-1, -1, ["v[-1] of (3,)", "v[-1] of (8,)"])],
)
def test_what_is_outside_is_told(n: int, m: int, told: list[str]) -> None:
    kernel, _ = masked("%c = field_ptr @v[%m]\n%p = element_ptr %c[%n]\nstore %p, %1")
    memory = Memory.of(kernel.fields)
    evaluate(kernel, [n, m, np.zeros(0, np.int32), 0], memory, PLAIN)
    assert [line.replace(" is out of bounds: its shape is", " of") for line in memory.warned] == told


CELLS = """\
kernel @k(n: i32, a: [i32; 2]) -> () {
  field @p: {a: i32, b: i32x3}[8] tree=0 components=(0, 4, 8, 12) terms=((0, 1, 8, 16)) offset=(0) order=(0)
  %n = arg index=0 : i32
  %a = arg index=1 : [i32; 2]
  %0 = const 0 : i32
  %from = field_ptr @p[%n]
  %cell = load %from
  %to = field_ptr @p[%0]
  store %to, %cell
  %place = array_ptr %a[%n, %n]
  store %place, %0
}
"""


@pytest.mark.parametrize("n", [1, 3, 8])
def test_cells_and_arrays_of_two_axes(n: int) -> None:
    """A cell that is not there is zero."""
    kernel = run_passes(parse(CELLS), (*BEFORE, "mask_accesses"), MASKED)
    memory, a = Memory.of(kernel.fields), np.ones((4, 5), np.int32)
    p = memory.trees[0].view(np.int32)
    p[:] = range(1, 33)
    evaluate(kernel, [n, a], memory, PLAIN)
    assert p[:4].tolist() == {1: [5, 6, 7, 8], 3: [13, 14, 15, 16], 8: [0, 0, 0, 0]}[n]
    assert a.sum() == (19 if n < 4 else 20)
    told = ["p[8] is out of bounds: its shape is (8,)", "a[8, 8] is out of bounds: its shape is (4, 5)"]
    assert memory.warned == (told if n == 8 else [])


IN_PROLOGUE = """\
kernel @k(n: i32) -> () {
  field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
  task range_for bounds {
    %0 = const 0 : i32
    %1 = const 8 : i32
    yield begins=[%0], ends=[%1]
  } prologue {
    %v = VALUE
  } body (%i: i32) {
    %j = binary add %i, %v : i32
    %p = field_ptr @x[%j] : *i32
    store %p, %i
  }
}
"""


@pytest.mark.parametrize(("value", "tasks"), [("arg index=0 : i32", 2), ("random : i32", 1)])
def test_what_a_prologue_computes_anew_is_not_asked_before_the_task(value: str, tasks: int) -> None:
    kernel = parse(IN_PROLOGUE.replace("VALUE", value))
    run_passes(kernel, ("mask_accesses",), MASKED, level="tasks")
    assert (len(kernel.all_of(ops.Task)), len(kernel.all_of(ops.Warn))) == (tasks, 1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%j = binary add %n, %m : i32", False),
        ("%j = binary add %i, %1 : i32", True),
        ("%j = unary neg %n : i32", False),
        ("%j = unary neg %i : i32", True),
        ("%j = unary abs %n : i32", True),
        ("%s = binary add %n, %m : i32\n%j = binary min %s, %i : i32", False),
        ("%s = binary add %n, %m : i32\n%j = binary min %i, %s : i32", False),
        ("%j = binary max %n, %i : i32", True),
        ("%s = binary add %n, %m : i32\n%j = cast %s : i64", True),
    ],
)
def test_indices_that_may_wrap_around(body: str, expected: bool) -> None:
    kernel = parse(FRAME.format(body=textwrap.indent(box(body), "  ")))
    (index,) = (op for op in kernel.walk() if op.name == "j")
    assert wraps_not(index) == expected
