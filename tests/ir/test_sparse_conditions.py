"""When a slot comes from the list of cells instead of the table, and when a list of cells is kept: a case for each
condition, which goes wrong without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ir.test_sparse_lowering import PLAIN, compare, kernel_of
from tests.sampling import only
from tests.sparse_trees import Declared, I, J, branch, declare, place
from weft.ir.ops import FieldPtr, Select
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.storage.snode import SNode
from weft.ir.types import i32, u32

QUICK = replace(PLAIN, verify=False)


def tree(size: int) -> Declared:
    """Two fields in cells of that size, and one with two axes."""
    root = SNode("root")
    place(root, "sum", i32)
    place(branch(branch(root, "pointer", (I, 8)), "dense", (I, size)), "x", i32)
    place(branch(branch(root, "pointer", (I, 8)), "dense", (I, size)), "y", i32)
    place(branch(branch(root, "pointer", (I, 4), (J, 4)), "dense", (I, 2), (J, 2)), "z", i32)
    return declare(root)


START = "\n".join(
    f"%p{k} = field_ptr @{field} : *i32\nstore %p{k}, %{1 + k}"
    for k, field in enumerate(("x[%5]", "x[%9]", "x[%1]", "y[%9]", "z[%0, %2]", "z[%2, %5]", "x[%n]"))
)
START = f"%n = const 20 : i32\n{START}"
COUNT = """struct_for @{0} (%k{1}: i32) {{
  %s{1} = field_ptr @sum[] : *i32
  %o{1} = atomic add %s{1}, %1 : i32
}}"""
READ = """struct_for @x (%i: i32) {{
  {0}
  %p = field_ptr @x[%at] : *i32
  %r = load %p
  %s = field_ptr @sum[] : *i32
  %o = atomic add %s, %r : i32
}}"""
ADD = """struct_for @P0.table, cells=true (%c: i32) {{
  {0}
  %p = field_ptr @x[%at] : *i32
  %o = atomic add %p, %3 : i32
}}"""

CASES = {
    "a task that deactivates": READ.format(
        "%c = binary raw_div %i, %size : i32\ndeactivate @P0[%c]\n%at = binary add %i, %0 : i32"
    ),
    "an iteration that activates another element": COUNT.format("x", 1)
    + "\nstruct_for @x (%i: i32) { %j1 = binary add %i, %size : i32\n%e = binary mul %size, %8 : i32\n"
    + "%j = binary raw_mod %j1, %e : i32\n%p = field_ptr @x[%j] : *i32\n%o = atomic add %p, %3 : i32 }\n"
    + COUNT.format("x", 2),
    "an iteration that activates the same index of another field": COUNT.format("y", 1)
    + "\nstruct_for @x (%i: i32) { %p = field_ptr @y[%i] : *i32\n%o = atomic add %p, %3 : i32 }\n"
    + COUNT.format("y", 2),
    "a statement between loops": COUNT.format("x", 1)
    + "\n%two = binary mul %size, %2 : i32\n%p = field_ptr @x[%two] : *i32\nstore %p, %1\n"
    + COUNT.format("x", 2),
    "the element before": READ.format("%m = const -1 : i32\n%at = binary add %i, %m : i32"),
    "the element behind": READ.format("%at = binary add %i, %1 : i32"),
    "far before": READ.format("%m = const -17 : i32\n%at = binary add %i, %m : i32"),
    "far behind": READ.format("%at1 = binary add %i, %9 : i32\n%at = binary add %at1, %9 : i32"),
    "the last element of a cell": ADD.format(
        "%f = binary mul %c, %size : i32\n%l = binary sub %size, %1 : i32\n%at = binary add %f, %l : i32"
    ),
    "the first element of the next cell": ADD.format(
        "%f = binary mul %c, %size : i32\n%at = binary add %f, %size : i32"
    ),
    "the last element of the cell before": ADD.format(
        "%f = binary mul %c, %size : i32\n%m = const -1 : i32\n%at = binary add %f, %m : i32"
    ),
    "another multiple of the cell": ADD.format("%f = binary mul %c, %2 : i32\n%at = binary add %f, %1 : i32"),
    "axes that are exchanged": "struct_for @z (%i: i32, %j: i32) { %p = field_ptr @z[%j, %i] : *i32\n"
    "%r = load %p\n%s = field_ptr @sum[] : *i32\n%o = atomic add %s, %r : i32 }",
}


@pytest.mark.parametrize("size", only([3], [3, 4]))
@pytest.mark.parametrize("name", CASES)
def test_conditions(name: str, size: int) -> None:
    body = f"%size = const {size} : i32\n{CASES[name]}"
    compare(tree(size), [(START, ""), (body, ""), (COUNT.format("x", 1), "")], QUICK)


def masks() -> Declared:
    """A mask in the memory of the root, and two pointers."""
    root = SNode("root")
    place(root, "sum", i32)
    place(branch(root, "bitmasked", (I, 8)), "x", i32)
    place(branch(branch(branch(root, "pointer", (I, 2)), "pointer", (I, 2)), "dense", (I, 2)), "y", i32)
    return declare(root)


BEGIN = "%p = field_ptr @x[%3] : *i32\nstore %p, %5\n%q = field_ptr @y[%1] : *i32\nstore %q, %6"
ADDED = "%r{0} = load {1}\n%s{0} = field_ptr @sum[] : *i32\n%o{0} = atomic add %s{0}, %r{0} : i32\n"

CHANGES = {
    "the cells of a mask": "%p = field_ptr @x[%3] : *i32\n"
    + ADDED.format(1, "%p")
    + "deactivate @B0[%3]\n"
    + ADDED.format(2, "%p"),
    "the table": "%p = field_ptr @y[%6] : *i32\n%q = field_ptr @y[%7] : *i32\n"
    + ADDED.format(1, "%q")
    + "store %p, %3\nstore %q, %4\n"
    + ADDED.format(2, "%q"),
    "the cells below": f"{COUNT.format('y', 1)}\ndeactivate @P1[%0]\n{COUNT.format('y', 2)}",
    "the marks that a loop visits": "struct_for @x (%i: i32) { %j = binary add %i, %1 : i32\n"
    "%p = field_ptr @x[%j] : *i32\n%o = atomic add %p, %1 : i32 }",
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_an_op_changes(name: str) -> None:
    compare(masks(), [(BEGIN, ""), (CHANGES[name], ""), (COUNT.format("y", 1), "")], QUICK)


def marked() -> Declared:
    """Masks of the same shape, two fields in one of them, and lists."""
    root = SNode("root")
    place(root, "sum", i32)
    cell = branch(branch(root, "pointer", (I, 2)), "bitmasked", (I, 4))
    place(cell, "x", i32)
    place(cell, "beside", i32)
    place(branch(branch(root, "pointer", (I, 2)), "bitmasked", (I, 4)), "y", i32)
    place(branch(root, "dynamic", (I, 8), chunk=4), "list", i32)
    return declare(root)


FIRST = "%p = field_ptr @x[%3] : *i32\nstore %p, %5\n%q = field_ptr @x[%6] : *i32\nstore %q, %6\n"
FIRST += "%l = field_ptr @list[%2] : *i32\nstore %l, %4"
ADD_TO = "%p{0} = field_ptr @{0}[{1}] : *i32\n%o{0} = atomic add %p{0}, %2 : i32\n"
OWN = {
    "the own element": ("struct_for @x (%i: i32) {" + ADD_TO.format("x", "%i") + "}", 1),
    "another field in the cell": ("struct_for @x (%i: i32) {" + ADD_TO.format("beside", "%i") + "}", 1),
    "an element of a list": ("struct_for @list (%i: i32) {" + ADD_TO.format("list", "%i") + "}", 1),
    "another mask": ("struct_for @x (%i: i32) {" + ADD_TO.format("y", "%i") + "}", 0),
    "the element beside": (
        "struct_for @x (%i: i32) { %k1 = binary add %i, %1 : i32\n%k = binary raw_mod %k1, %8 : i32\n"
        + ADD_TO.format("x", "%k")
        + "}",
        0,
    ),
    "a loop that deactivates": ("struct_for @x (%i: i32) { deactivate @B1[%i]\n" + ADD_TO.format("x", "%i") + "}", 0),
    "a loop over cells": ("struct_for @B1.table, cells=true (%i: i32) {" + ADD_TO.format("x", "%i") + "}", 0),
}


@pytest.mark.parametrize("name", OWN)
def test_own_elements_are_active(name: str) -> None:
    body, active = OWN[name]
    kernel = kernel_of(marked(), body)
    run_passes(kernel, TO_TASKS[: TO_TASKS.index("enumerate_cells") + 1], QUICK)
    assert sum(isinstance(op, FieldPtr) and op.active for op in kernel.walk()) == active
    compare(marked(), [(FIRST, ""), (body, ""), (COUNT.format("x", 1) + "\n" + COUNT.format("y", 2), "")], QUICK)


KEPT = """struct_for @x (%i: i32) {{
  %c = binary lt %i, %2 : u1
  %k = select %c, %i, %5 : i32
  %p = field_ptr @x[%k] : *i32
  %got = load %p
  {0}
  %q = field_ptr @list[%i] : *i32
  store %q, %w
}}"""
CHOSEN = {
    "0": "%w = select %c, %got, %0 : i32",
    "another number": "%w = select %c, %got, %1 : i32",
    "the other side": "%w = select %c, %0, %got : i32",
    "twice": "%w0 = select %c, %got, %0 : i32\n%w = binary add %w0, %got : i32",
    "by another condition": "%d = binary gt %i, %0 : u1\n%w = select %d, %got, %0 : i32",
    "by two conditions": "%d = binary gt %i, %0 : u1\n%e = binary and %c, %d : u1\n%w = select %e, %got, %0 : i32",
}


@pytest.mark.parametrize("name", CHOSEN)
def test_values_where_an_index_is_kept_in_range(name: str) -> None:
    """Where the value is 0 anyway, the load reads the cell of zeros."""
    first = "%p0 = field_ptr @x[%0] : *i32\nstore %p0, %3\n%p1 = field_ptr @x[%5] : *i32\nstore %p1, %4"
    body = KEPT.format(CHOSEN[name])
    compare(marked(), [(first, ""), (body, "")], QUICK)
    kernel = kernel_of(marked(), body)
    run_passes(kernel, TO_TASKS, QUICK)
    slots = [op for op in kernel.walk() if isinstance(op, Select) and op.type is u32]
    assert bool(slots) == (name == "0")
