"""Loops over cells that write other trees: cells are activated ahead, once for each visited cell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ir.test_sparse_lowering import PLAIN, compare, kernel_of
from tests.sparse_trees import Declared, I, J, branch, declare, place
from weft.ir.config import CompileConfig
from weft.ir.ops import FieldPtr
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.storage.snode import SNode
from weft.ir.tasks import box_of, parallel_tasks
from weft.ir.text import print_ir
from weft.ir.types import i32

QUICK = replace(PLAIN, verify=False)
BEFORE = TO_TASKS[: TO_TASKS.index("activate_ahead") + 1]


Axes = tuple[tuple[int, int], ...]
TREES: dict[str, tuple[tuple[str, Axes], ...]] = {
    "same": (("pointer", ((I, 8),)), ("dense", ((I, 4),))),
    "larger": (("pointer", ((I, 4),)), ("dense", ((I, 8),))),
    "smaller": (("pointer", ((I, 16),)), ("dense", ((I, 2),))),
    "nested": (("pointer", ((I, 2),)), ("pointer", ((I, 4),)), ("dense", ((I, 4),))),
    "longer": (("pointer", ((I, 16),)), ("dense", ((I, 4),))),
    "wide": (("pointer", ((I, 8), (J, 2))), ("dense", ((I, 4), (J, 2)))),
    "unit": (("pointer", ((I, 32),)), ("dense", ((J, 2),))),
    "mask": (("bitmasked", ((I, 32),)),),
}


def tree(*names: str) -> Declared:
    """Fields of 32 elements and more, which lie in cells of many sizes. The loops run over x."""
    root = SNode("root")
    place(root, "sum", i32)
    place(root, "none", i32)
    place(branch(branch(root, "pointer", (I, 8)), "dense", (I, 4)), "x", i32)
    for name in names:
        node = root
        for kind, axes in TREES.get(name, ()):
            node = branch(node, kind, *axes)
        place(branch(root, "dynamic", (I, 40), chunk=4) if name == "list" else node, name, i32)
    return declare(root, {"longer": (-8,)} if "longer" in names else {})


def used(body: str) -> Declared:
    """The tree with the fields that a kernel names."""
    return tree(*(name for name in (*TREES, "list") if f"@{name}[" in body))


START = (
    "%n = const 20 : i32\n%p0 = field_ptr @x[%5] : *i32\nstore %p0, %1\n%p1 = field_ptr @x[%n] : *i32\nstore %p1, %2"
)


def loop(body: str) -> str:
    return f"%n = const 20 : i32\n%m = const -4 : i32\nstruct_for @x (%i: i32) {{\n{body}\n}}"


def stored(place: str, value: str = "%i", name: str = "q") -> str:
    return f"%{name} = field_ptr @{place} : *i32\nstore %{name}, {value}"


AHEAD = {
    "cells of the same size": stored("same[%i]"),
    "larger cells": stored("larger[%i]"),
    "nested nodes": stored("nested[%i]"),
    "a field with an offset": stored("longer[%i]"),
    "the next cell": "%k = binary add %i, %4 : i32\n" + stored("longer[%k]"),
    "the cell before": "%k = binary add %i, %m : i32\n" + stored("longer[%k]"),
    "a fixed cell along another axis": stored("wide[%i, %3]"),
    "an atomic": "%q = field_ptr @same[%i] : *i32\n%o = atomic add %q, %3 : i32",
    "two fields": stored("same[%i]") + "\n" + stored("larger[%i]", "%2", "r"),
    "a condition as well": stored("same[%i]")
    + "\n%t = binary gt %i, %9 : u1\nif %t then { "
    + stored("same[%i]", "%1", "r")
    + " }",
}
OTHERS = {
    "smaller cells": stored("smaller[%i]"),
    "cells that begin elsewhere": "%k = binary add %i, %1 : i32\n" + stored("longer[%k]"),
    "larger cells that begin elsewhere": "%k = binary add %i, %1 : i32\n" + stored("larger[%k]"),
    "a fixed element": stored("same[%9]", "%1"),
    "another multiple": "%k1 = binary mul %i, %3 : i32\n%k = binary raw_mod %k1, %n : i32\n" + stored("same[%k]"),
    "a condition": "%t = binary gt %i, %9 : u1\nif %t then { " + stored("same[%i]") + " }",
    "an inner loop that may not run": "%l = field_ptr @none[] : *i32\n%u = load %l : i32\n"
    + "for %0, %u, %1 (%t: i32) { "
    + stored("same[%i]", "%t")
    + " }",
    "an index that may be out of range": "%k = binary add %i, %4 : i32\n" + stored("same[%k]"),
    "a question before": "%a = is_active @P1[%i]\n%w = cast %a : i32\n%s = field_ptr @sum[] : *i32\n"
    + "%o = atomic add %s, %w : i32\n"
    + stored("unit[%i, %1]"),
    "a mask": stored("mask[%i]"),
    "a list": stored("list[%i]"),
    "an address that does not activate": "%q = field_ptr @same[%i], activates=false : *i32\nstore %q, %i",
    "reads": "%q = field_ptr @same[%i] : *i32\n%v1 = load %q : i32\n" + stored("x[%i]", "%v1", "r"),
    "a task that deactivates": "deactivate @P1[%i]\n" + stored("unit[%i, %1]"),
    "the own cell": stored("x[%i]"),
}


def known(body: str) -> int:
    """The number of addresses in cells that are activated ahead."""
    kernel = kernel_of(used(body), loop(body))
    run_passes(kernel, BEFORE, PLAIN)
    return sum(isinstance(op, FieldPtr) and op.active for op in kernel.walk())


@pytest.mark.parametrize("name", AHEAD)
def test_activated_ahead(name: str) -> None:
    assert known(AHEAD[name])
    compare(used(AHEAD[name]), [(START, ""), (loop(AHEAD[name]), "")], QUICK)


@pytest.mark.parametrize("name", OTHERS)
def test_other_writes(name: str) -> None:
    compare(used(OTHERS[name]), [(START, ""), (loop(OTHERS[name]), "")], QUICK)


def test_what_the_pass_makes(golden) -> None:  # type: ignore[no-untyped-def]
    kernel = kernel_of(tree("larger"), loop(AHEAD["larger cells"]))
    run_passes(kernel, BEFORE, CompileConfig())
    golden("activate_ahead.txt", print_ir(kernel))


@pytest.mark.parametrize(("end", "axes"), [("const 4", 1), ("const 5", 2), ("load %l", 2), ("binary min %4, %none", 2)])
def test_axes_of_one_iteration_are_left_out_of_the_copy(end: str, axes: int) -> None:
    body = f"""
      %first = const 3 : i32
      %l = field_ptr @none[] : *i32
      %none = load %l : i32
      %end = {end} : i32
      %rows = const 1400 : i32
      %size = const 16 : i32
      parallel_for begins=[%0, %first], ends=[%rows, %end] (%i: i32, %j: i32) {{
        %s = binary add %i, %j : i32
        %k = binary raw_mod %s, %size : i32
        %q = field_ptr @same[%k] : *i32
        %o = atomic add %q, %1 : i32
      }}"""
    kernel = kernel_of(tree("same"), body)
    run_passes(kernel, BEFORE, CompileConfig())
    asking = next(task for task in parallel_tasks(kernel) if not task.routine)
    assert len(box_of(asking).begins) == axes
    compare(tree("same"), [(body, "")], QUICK)
