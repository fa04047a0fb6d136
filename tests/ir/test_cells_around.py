"""The cells around a visited one are looked up once, and an access chooses among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.ir.test_peel_cells import AROUND, INTO, LOOP_3, START_3, beside, drawn_cells, solid
from tests.ir.test_sparse_conditions import test_values_where_an_index_is_kept_in_range as chosen
from tests.ir.test_sparse_lowering import PLAIN, compare, kernel_of
from tests.sampling import draws, every
from tests.sparse_programs import Draw
from tests.sparse_trees import Declared, I, J, K, branch, declare, place
from weft.ir.core import Op
from weft.ir.errors import InternalError
from weft.ir.evaluate import Fault
from weft.ir.ops import Const, FieldPtr, For, Load, Task
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.storage.snode import SNode
from weft.ir.transforms import cells_around, lower_sparse
from weft.ir.types import i32, u1

QUICK = replace(PLAIN, verify=False)


def kept(*steps: tuple[int, int, int], low: int = 0, cut: int = 0, of: str = "x", first: int = 0) -> str:
    """The sum `%t` of elements at these distances, whose indices are kept `cut` elements inside of the field."""
    text = "%t0 = binary add %0, %0 : i32\n"
    for n, step in enumerate(steps):
        for name, distance, extent in zip("ijk", step, (4, 8, 16), strict=True):
            text += f"%{name}d{n} = const {distance} : i32\n%{name}s{n} = binary add %{name}, %{name}d{n} : i32\n"
            text += f"%{name}l{n} = const {first + low} : i32\n%{name}h{n} = const {first + extent - 1 - cut} : i32\n"
            text += f"%{name}m{n} = binary max %{name}s{n}, %{name}l{n} : i32\n"
            text += f"%{name}k{n} = binary min %{name}m{n}, %{name}h{n} : i32\n"
        text += f"%p{n} = field_ptr @{of}[%ik{n}, %jk{n}, %kk{n}] : *i32\n%v{n} = load %p{n} : i32\n"
        text += f"%w{n} = const {n + 3} : i32\n%x{n} = binary mul %v{n}, %w{n} : i32\n"
        text += f"%t{n + 1} = binary add %t{n}, %x{n} : i32\n"
    return text + f"%t = binary add %t{len(steps)}, %1 : i32\n"


CROSS = ((-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1), (0, 0, 0))
CORNERS = tuple((a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1))


def fill(first: tuple[int, ...] = (0, 0, 0)) -> str:
    """A loop that gives all elements of x values of their own, but those of one cell."""
    text = "%all = const 16 : i32\n%big = const 128 : i32\n"
    text += "\n".join(f"%{name}f = const {at} : i32" for name, at in zip("ijk", first, strict=True))
    text += "\nparallel_for begins=[%0, %0, %0], ends=[%4, %8, %all] (%i: i32, %j: i32, %k: i32) {\n"
    text += "\n".join(f"%{name}e = binary add %{name}, %{name}f : i32" for name in "ijk")
    return (
        text
        + """
%ci = binary lt %i, %2 : u1
%cj = binary ge %j, %4 : u1
%ck = binary lt %k, %8 : u1
%c0 = binary or %ci, %cj : u1
%c = binary or %c0, %ck : u1
if %c then {
  %mi = binary mul %i, %big : i32
  %mj = binary mul %j, %all : i32
  %s0 = binary add %mi, %mj : i32
  %s1 = binary add %s0, %k : i32
  %s2 = binary add %s1, %1 : i32
  %p = field_ptr @x[%ie, %je, %ke] : *i32
  store %p, %s2
}
}"""
    )


def wrapped(index: str) -> str:
    """The sum `%t` of the own element and that at `%iw`, which these lines compute: a sum in them wraps around."""
    return (
        f"{index}%p0 = field_ptr @x[%iw, %j, %k] : *i32\n%v0 = load %p0 : i32\n"
        "%p1 = field_ptr @x[%i, %j, %k] : *i32\n%v1 = load %p1 : i32\n%t = binary add %v0, %v1 : i32\n"
    )


UNSIGNED = "%far = const 4294967295 : u32\n%iu = cast %i : u32\n%is = binary add %iu, %far : u32\n"
UNSIGNED += "%iw = cast %is : i64\n"  # %i - 1, or 2**32 - 1
LIMITED = "%far = const 2147483646 : i32\n%im = binary max %i, %2 : i32\n%is = binary add %im, %far : i32\n"
LIMITED += "%iw = binary max %is, %0 : i32\n"  # 0

EVERYWHERE = fill()
PROGRAMS = {
    "a cross": AROUND,
    "a cross in the room": kept(*CROSS),
    "corners in the room": kept(*CORNERS),
    "in a part of the room": kept(*CROSS, low=1, cut=1),
    "kept where the second cells begin": kept((-1, -1, -1), (1, 1, 1), low=8),
    "an unsigned sum that wraps around": wrapped(UNSIGNED),
    "two elements away": kept((-2, 2, -2), (2, -2, 2)),
}


@pytest.mark.parametrize("start", every(2, [EVERYWHERE, START_3]))
@pytest.mark.parametrize("name", every(2, PROGRAMS))
def test_values(name: str, start: str) -> None:
    body = LOOP_3.format(PROGRAMS[name] + INTO)
    compare(solid(), [(start, ""), (body, ""), (body, "")], QUICK)


def test_a_sum_with_a_limit_that_wraps_around() -> None:
    """No index is out of bounds, and nothing tests it."""
    body = LOOP_3.format(wrapped(LIMITED) + INTO)
    compare(solid(), [(EVERYWHERE, ""), (body, "")], replace(QUICK, mask_out_of_bounds=False))


def nested(offset: tuple[int, ...] = (), kind: str = "pointer") -> Declared:
    """Fields x and y in cells of 2 x 4 x 8 elements, two levels of cells in 4 x 8 x 16."""
    root = SNode("root")
    place(root, "sum", i32)
    above = branch(root, kind, (I, 2), (K, 1))
    cell = branch(branch(above, "pointer", (J, 2), (K, 2)), "dense", (I, 2), (J, 4), (K, 8))
    place(cell, "x", i32)
    place(cell, "y", i32)
    return declare(root, dict.fromkeys("xy", offset) if offset else {})


def flat() -> Declared:
    """Fields x and y in cells that cut one axis only: along the others, all elements are in one cell."""
    root = SNode("root")
    place(root, "sum", i32)
    cell = branch(branch(root, "pointer", (I, 2)), "dense", (I, 2), (J, 8), (K, 16))
    place(cell, "x", i32)
    place(cell, "y", i32)
    return declare(root)


@pytest.mark.parametrize("made", [nested, flat, lambda: nested((-3, 2, 7)), lambda: nested(kind="bitmasked")])
def test_other_trees(made: Callable[[], Declared]) -> None:
    """In cells of cells, with offsets, and where an index may be out of range inside of a cell."""
    first = made().fields[1].space.first
    start = fill(first)
    for body in (kept(*CROSS, first=first[0]) if len(set(first)) == 1 else AROUND, beside((-1, -1, 0), (1, 0, 1))):
        loop = LOOP_3.format(body + INTO)
        compare(made(), [(start, ""), (loop, "")], QUICK)


def test_slots_are_looked_up_once_for_each_cell() -> None:
    """No loop in an iteration loads from a table, and no slot is loaded twice."""
    for body in (AROUND, kept(*CROSS)):
        kernel = kernel_of(solid(), LOOP_3.format(body + INTO))
        run_passes(kernel, (*TO_TASKS, "full_simplify"), PLAIN)
        task = [op for op in kernel.walk() if isinstance(op, Task)][-1]
        loads = [op for op in task.walk() if isinstance(op, Load) and _is_of_table(op)]
        assert len(loads) == 6
        assert not any(_in_loop(op) for op in loads)


def _is_of_table(op: Load) -> bool:
    return isinstance(op.ptr, FieldPtr) and "table" in op.ptr.field.name


def _in_loop(op: Op) -> bool:
    around = op.parent
    while around is not None and not isinstance(around, For):
        around = around.parent
    return around is not None


def test_cells_that_the_loop_makes_are_found() -> None:
    """The element that an iteration writes is in a new cell, and is read before and after it."""
    step = "%own = field_ptr @x[%i, %j, %k] : *i32\n%z = load %own : i32\n%h = binary lt %z, %5 : u1\n"
    step += "%c0 = binary add %j, %4 : i32\n%m = const 7 : i32\n%c = binary min %c0, %m : i32\n"
    one = "%e = field_ptr @x[%i, %c, %k] : *i32\n%b = load %e : i32\nif %h then { store %e, %7 }\n"
    one += "%f = field_ptr @x[%i, %c, %k] : *i32\n%a = load %f : i32\n"
    add = "%u = binary add %a, %b : i32\n%s = field_ptr @sum[] : *i32\n%o = atomic add %s, %u\n"
    start = "%p = field_ptr @y[%0, %0, %0] : *i32\nstore %p, %1"
    compare(solid(), [(start, ""), (LOOP_3.format(step + one + add).replace("@x (", "@y ("), "")], QUICK)


@pytest.mark.parametrize("seed", range(draws(32)))
def test_random_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops that read around their own element, between loops that make and drop cells."""
    monkeypatch.setattr(Draw, "counts", (6, 15))
    rng = Random(f"around {seed}")
    made = drawn_cells(rng)
    draw = Draw(rng, made)
    makes = [draw.scatter(field) for field in draw.fields]
    bodies = [*makes, draw.mirror(), draw.mirror(), draw.drop(), draw.scatter(), draw.mirror()]
    compare(made, [(body, "") for body in bodies], QUICK)


def check(name: str) -> Callable[[], None]:
    return lambda: test_values(name, EVERYWHERE)


WEAKER: dict[str, tuple[str, Any, Callable[[], None]]] = {
    "that no part wraps around": ("_is_sum", lambda *_: True, check("an unsigned sum that wraps around")),
    "that no sum wraps around": ("_may_wrap", lambda *_: False, test_a_sum_with_a_limit_that_wraps_around),
    "that no cell is made": ("changed_nodes", lambda *_: set(), test_cells_that_the_loop_makes_are_found),
    "which cell it is": ("_in_step", lambda build, *_: build.add(Const(True, type=u1)), check("a cross")),
    "that a cell has an entry": ("_in_table", lambda build, cell, *_: cell, check("a cross")),
    "in which cells the index is kept": ("_limited", lambda build, one, step, cell: cell, check("a cross in the room")),
    "at which limit an element is": ("_limits", lambda *_: [], check("a cross in the room")),
    "that a limit is at the end of a cell": ("_is_whole", lambda *_: True, check("in a part of the room")),
    "that what is out of range is in no cell": ("is_exact", lambda *_: True, lambda: test_other_trees(flat)),
    "that a condition is whether an index is in range": ("_is_range_test", lambda *_: True, lambda: chosen("0")),
}


@pytest.mark.parametrize("name", WEAKER)
def test_what_it_rests_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    what, instead, program = WEAKER[name]
    for module in (cells_around, lower_sparse):
        if hasattr(module, what):
            monkeypatch.setattr(module, what, instead)
    with pytest.raises((AssertionError, Fault, InternalError)):
        program()
