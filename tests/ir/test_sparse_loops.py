"""Loops over sparse fields and nodes, and the collection of deactivated cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.ir.test_sparse_lowering import PLAIN, compare, kernel_of, mixed
from tests.sampling import only
from tests.sparse_trees import I, J, branch, declare, lower, place, slots
from weft.ir.errors import CompilationError
from weft.ir.evaluate import Memory, evaluate
from weft.ir.interleaving import Schedule
from weft.ir.ops import Atomic, FieldPtr, ParallelFor
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.storage.snode import SNode
from weft.ir.tasks import parallel_tasks, tasks_of
from weft.ir.text import print_ir

QUICK = replace(PLAIN, verify=False, threads=3)

FILL = """
  %e = const 24 : i32
  parallel_for begins=[%0], ends=[%e] (%i: i32) {
    %j1 = binary mul %i, %7 : i32
    %j = binary raw_mod %j1, %e : i32
    %p = field_ptr @x[%i, %j] : *f32
    %f = cast %i : f32
    store %p, %f
    %c4 = const 16 : i32
    %jm = binary raw_mod %j, %8 : i32
    %im = binary raw_mod %i, %c4 : i32
    %m = field_ptr @m[%im, %jm] : *f32
    store %m, %f
    %yi = binary raw_mod %i, %9 : i32
    %y = field_ptr @y[%yi] : *f32
    store %y, %f
    %zi = binary raw_mod %i, %5 : i32
    %zj = binary raw_mod %j, %9 : i32
    %z = field_ptr @z[%zj, %zi] : *i32
    store %z, %i
  }"""

LOOPS = """
  struct_for @x (%a: i32, %b: i32) {
    %q = field_ptr @x[%a, %b] : *f32
    %w = atomic add %q, %v
  }
  struct_for @m (%a2: i32, %b2: i32) {
    %q2 = field_ptr @m[%a2, %b2] : *f32
    %w2 = atomic add %q2, %v
  }
  struct_for @y (%a3: i32) {
    %q3 = field_ptr @y[%a3] : *f32
    %w3 = atomic add %q3, %v
  }
  struct_for @z (%a4: i32, %b4: i32) {
    %q4 = field_ptr @z[%a4, %b4] : *i32
    %w4 = atomic add %q4, %9
  }
  struct_for @P0.table, cells=true (%a5: i32, %b5: i32) {
    %q5 = field_ptr @coarse[%a5, %b5] : *i32
    %w5 = atomic add %q5, %9
  }
  struct_for @B2.table, cells=true (%a6: i32, %b6: i32) {
    %q6 = field_ptr @m[%a6, %b6] : *f32
    %w6 = atomic add %q6, %v
  }
"""

DROP = """
  struct_for @P1.table, cells=true (%a: i32, %b: i32) {
    %s = binary add %a, %b : i32
    %h = binary and %s, %1 : i32
    %o = binary eq %h, %1 : u1
    if %o then { deactivate @P1[%a, %b] }
  }
  struct_for @B2.table, cells=true (%a2: i32, %b2: i32) {
    %s2 = binary add %a2, %b2 : i32
    %h2 = binary and %s2, %1 : i32
    %o2 = binary eq %h2, %1 : u1
    if %o2 then { deactivate @B2[%a2, %b2] }
  }
  deactivate @P0[%2, %1]
  deactivate @D4[%2]
"""

CHAIN = """
  struct_for @y (%a: i32) {
    %n = binary add %a, %1 : i32
    %in = binary lt %n, %9 : u1
    if %in then {
    %q = field_ptr @y[%n] : *f32
    store %q, %v
    }
  }
"""


SERIES = {
    "once": (FILL, LOOPS, DROP, LOOPS),
    "again": (FILL, LOOPS, DROP, LOOPS, FILL, LOOPS, DROP, CHAIN),
    "nothing is active": (LOOPS, DROP),
}


@pytest.mark.parametrize("series", only(["once"], [*SERIES]))
def test_loops_visit_the_active_cells(series: str) -> None:
    compare(declare(mixed()), [(body, "") for body in SERIES[series]], QUICK)


def test_a_loop_visits_what_was_active_when_it_began() -> None:
    compare(declare(mixed()), [(FILL, ""), (CHAIN, "")], QUICK)


def test_all_passes_verify() -> None:
    for body in (DROP, CHAIN):
        lower(kernel_of(declare(mixed()), body), PLAIN)


def test_lists_are_in_the_order_of_the_indices_and_kept() -> None:
    root = SNode("root")
    outer = branch(root, "pointer", (I, 2), (J, 3))
    place(branch(branch(outer, "pointer", (I, 2), (J, 2)), "dense", (I, 2)), "x")
    made = declare(root)
    points = [(7, 5), (0, 0), (2, 1), (0, 5), (7, 0), (3, 4), (4, 4)]
    lines: list[str] = []
    for k, (i, j) in enumerate(points):
        lines += [f"%i{k} = const {i} : i32", f"%j{k} = const {j} : i32"]
        lines += [f"%p{k} = field_ptr @x[%i{k}, %j{k}] : *f32", f"store %p{k}, %v"]
    stores = "\n".join(lines)
    loop = """
      struct_for @x (%a: i32, %b: i32) {
        %q = field_ptr @x[%a, %b] : *f32
        store %q, %v
      }"""
    for seed in (None, 1, 2):
        memory = Memory.of(made.fields, made.nodes)
        for body in (stores, loop):
            kernel, functions = lower(kernel_of(made, body), QUICK)
            evaluate(kernel, [], memory, QUICK, functions=functions, schedule=Schedule(seed) if seed else None)
        inner = made.nodes[1]
        count = int(memory.read(inner.part("count")))
        cells = sorted({(i // 2, j) for i, j in points}, key=lambda c: (c[0] // 2, c[1] // 2, c[0], c[1]))
        assert [tuple(map(int, row)) for row in memory.read(inner.part("where"))[:count]] == cells
        assert not int(memory.read(inner.part("changed")))


@pytest.mark.parametrize("dropped", [2, 3])
def test_a_hundred_rebuilds_need_the_slots_of_one(dropped: int) -> None:
    root = SNode("root")
    outer = branch(root, "pointer", (I, 3))
    place(branch(branch(outer, "pointer", (I, 3)), "dense", (I, 2)), "x")
    made = declare(root)
    memory = Memory.of(made.fields, made.nodes)
    rebuild = f"""
      parallel_for begins=[%0], ends=[%9] (%i: i32) {{
        %d = binary mul %i, %2 : i32
        %p = field_ptr @x[%d] : *f32
        %old = atomic add %p, %v
      }}
      parallel_for begins=[%0], ends=[%{dropped}] (%k: i32) {{ deactivate @P0[%k] }}
      %p3 = field_ptr @x[%3] : *f32
      %gone = load %p3
      return [%gone]"""
    kernel, functions = lower(kernel_of(made, rebuild, "f32"), QUICK)
    for _ in range(100):
        assert evaluate(kernel, [], memory, QUICK, functions=functions) == [0]
        used, free = zip(*(slots(memory, node) for node in made.nodes), strict=True)
        left = 3 - dropped  # cells that stay; if none does, all slots are as new
        assert used == ((3, 9) if left else (0, 0))
        assert free == ((2, 6) if left else (0, 0))
    if not left:
        assert not any(memory.trees[node.pool].any() for node in made.nodes)


def test_a_real_function_cannot_deactivate() -> None:
    kernel = kernel_of(declare(mixed()), "deactivate @P0[%0, %0]")
    kernel.called = True
    with pytest.raises(CompilationError, match="a real function cannot deactivate cells"):
        lower(kernel, PLAIN)


def test_what_the_pass_makes(golden: Callable[[str, str], None]) -> None:
    root = SNode("root")
    outer = branch(root, "pointer", (I, 4), (J, 2))
    place(branch(branch(outer, "dense", (I, 2)), "bitmasked", (J, 4)), "x")
    body = """
      struct_for @x (%i: i32, %j: i32) {
        %p = field_ptr @x[%i, %j] : *f32
        %w = load %p
        %s = binary mul %w, %v : f32
        store %p, %s
      }
      deactivate @P0[%1, %1]"""
    kernel = kernel_of(declare(root), body)
    run_passes(kernel, TO_TASKS[: TO_TASKS.index("enumerate_cells") + 1], PLAIN)
    before = print_ir(kernel)
    run_passes(kernel, TO_TASKS[TO_TASKS.index("offload") :], PLAIN, level="chi")
    golden("enumerate_cells.txt", before + print_ir(kernel))


def test_an_iteration_reads_0_after_it_has_deactivated_its_cell() -> None:
    """The list has the slot of the cell, but the table has not."""
    fill = """
      parallel_for begins=[%0], ends=[%9] (%i: i32) {
        %p = field_ptr @x[%i, %i] : *f32
        store %p, %v
      }"""
    drop = """
      struct_for @x (%a: i32, %b: i32) {
        %ca = binary raw_div %a, %3 : i32
        %cb = binary raw_div %b, %3 : i32
        deactivate @P1[%ca, %cb]
        %p = field_ptr @x[%a, %b] : *f32
        %w = load %p
        %whole = cast %w : i32
        %q = field_ptr @z[%0, %0] : *i32
        %old = atomic add %q, %whole
      }"""
    compare(declare(mixed()), [(fill, ""), (drop, "")], QUICK)


def test_own_cells_need_neither_tables_nor_atomics() -> None:
    body = """
      struct_for @x (%a: i32, %b: i32) {
        %p = field_ptr @x[%a, %b] : *f32
        %old = atomic add %p, %v
      }"""
    kernel, functions = lower(kernel_of(declare(mixed()), body), QUICK)
    task = tasks_of(kernel)[-1]
    assert not functions
    assert not task.all_of(Atomic)
    assert (task.read_set, task.write_set) == (("x.cells",), ("x.cells",))


def test_atomics_stay_where_iterations_share_elements() -> None:
    body = """
      struct_for @x (%a: i32, %b: i32) {
        %p = field_ptr @x[%a, %0] : *f32
        %old = atomic add %p, %v
      }"""
    kernel, _ = lower(kernel_of(declare(mixed()), body), QUICK)
    assert tasks_of(kernel)[-1].all_of(Atomic)


def test_loops_share_a_list_unless_something_comes_or_goes_between_them() -> None:
    loop = "struct_for @x (%aN: i32, %bN: i32) { %pN = field_ptr @x[%aN, %bN] : *f32\nstore %pN, %v }\n"
    far = "%p = field_ptr @x[%0, %0] : *f32\nstore %p, %v\n"
    one, two = loop.replace("N", "1"), loop.replace("N", "2")

    def lists(body: str) -> int:
        kernel = kernel_of(declare(mixed()), body)
        run_passes(kernel, ["enumerate_cells"], QUICK)
        return sum(op.field.name == "P1.sums" for op in kernel.all_of(FieldPtr))

    assert lists(one + two) == lists(one) > 0
    assert lists(one + far + two) == 2 * lists(one)
    assert lists(one + "deactivate @P0[%0, %0]\n" + two) == 2 * lists(one)


def test_a_serial_loop_runs_in_the_order_of_the_list() -> None:
    body = """
      %p1 = field_ptr @x[%7, %8] : *f32
      store %p1, %v
      %p2 = field_ptr @x[%1, %2] : *f32
      store %p2, %v
      struct_for @x, config={serialize=true} (%a: i32, %b: i32) {
        %q = field_ptr @coarse[%0, %0] : *i32
        %w = load %q
        %t = binary mul %w, %3 : i32
        %u = binary add %t, %b : i32
        store %q, %u
      }"""
    kernel = kernel_of(declare(mixed()), body)
    run_passes(kernel, ["enumerate_cells"], PLAIN)
    assert not kernel.all_of(ParallelFor)  # those of the list are tasks
    assert [task.routine for task in parallel_tasks(kernel)] == ["list P1"] * 2
    compare(declare(mixed()), [(body, "")], QUICK)


def test_a_table_with_too_many_entries_to_be_counted_is_refused() -> None:
    root = SNode("root")
    place(branch(root, "pointer", (I, 2048), (J, 2**20)), "x")
    body = "struct_for @x (%a: i32, %b: i32) { %p = field_ptr @x[%a, %b] : *f32\nstore %p, %v }"
    kernel = kernel_of(declare(root), body)
    with pytest.raises(CompilationError, match=r"'P0', which has 2048 x 1048576 cells: a table has fewer than 2\*\*31"):
        lower(kernel, PLAIN)


def test_fields_that_nothing_uses_are_left_out() -> None:
    kernel, _ = lower(kernel_of(declare(mixed()), ""), PLAIN)
    assert [symbol.name for symbol in kernel.fields] == []


def test_neighbours_are_in_the_cell_or_beside_it() -> None:
    """Cells of 3 x 3 elements: a quotient of a rest that may be negative."""
    body = """
      struct_for @x (%a: i32, %b: i32) {
        %s = field_ptr @coarse[%0, %0] : *i32
        %l = binary sub %a, %1 : i32
        %p = field_ptr @x[%l, %b] : *f32
        %w = load %p
        %wi = cast %w : i32
        %o1 = atomic add %s, %wi
        %r = binary add %b, %2 : i32
        %q = field_ptr @x[%a, %r] : *f32
        %w2 = load %q
        %w2i = cast %w2 : i32
        %o2 = atomic add %s, %w2i
      }"""
    compare(declare(mixed()), [(FILL, ""), (body, "")], QUICK)
