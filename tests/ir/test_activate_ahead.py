"""Cells that are activated before the task that writes them: when that is legal, and what it leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.ir.key_loops import keyed, keys
from tests.ir.test_sparse_lowering import PLAIN, agree, compare, kernel_of
from tests.sampling import draws, every
from tests.sparse_trees import Declared, I, J, branch, declare, lower, place, slots
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.interleaving import Schedule
from weft.ir.ops import FieldPtr
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.storage.snode import SNode
from weft.ir.target import CPU
from weft.ir.tasks import box_of, parallel_tasks
from weft.ir.transforms import activate_ahead, early_copies
from weft.ir.types import i32

QUICK = replace(PLAIN, verify=False, threads=3)


@pytest.fixture(autouse=True)
def short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of a few iterations count, too."""
    monkeypatch.setattr(activate_ahead, "_FEW", 0)


def tree(most: int = 1 << 40) -> Declared:
    """`x` below one pointer node, `z` below two, `m` below a mask and `l` in lists below a pointer node. `k`, `f` and
    `sum` are dense."""
    root = SNode("root")
    place(root, "sum", i32)
    place(branch(root, "dense", (I, 20)), "k", i32)
    place(branch(root, "dense", (I, 20)), "f", i32)
    place(branch(branch(root, "pointer", (I, 8)), "dense", (I, 4)), "x", i32)
    place(branch(branch(branch(root, "pointer", (I, 4)), "pointer", (I, 4)), "dense", (I, 2)), "z", i32)
    place(branch(branch(root, "pointer", (I, 8)), "bitmasked", (I, 4)), "m", i32)
    place(branch(branch(root, "pointer", (I, 8)), "dynamic", (J, 8), chunk=4), "l", i32)
    return declare(root, most=most)


KEYS = "%limit = const 32 : i32\n" + keys(20, "%key_c = binary raw_mod %key_b, %limit : i32")
LOOP = keyed(20)
KEY = "%j = load %kp : i32\n"
ADD = "%p = field_ptr @x[%j] : *i32\n%old = atomic add %p, %i : i32"

LEGAL = {
    "an index from memory": KEY + ADD,
    "two nodes above one another": KEY + ADD.replace("@x", "@z"),
    "a condition on memory": KEY + f"%w = load %fp\n%c = binary eq %w, %1 : u1\nif %c then {{ {ADD} }}",
    "a trip count from memory": f"%w = load %fp\nfor %0, %w, %1 (%e: i32) {{ {KEY}{ADD} }}",
    "a value that the task changes": KEY
    + "%w = load %fp\n%w1 = binary add %w, %1 : i32\nstore %fp, %w1\n"
    + ADD.replace("%i : i32", "%w : i32"),
    "a local variable": f"{KEY}%v1 = alloca : *i32\nstore %v1, %j\n%j2 = load %v1\n" + ADD.replace("%j]", "%j2]"),
    "a loop that is left": f"for %0, %9, %1 (%e: i32) {{ %w = load %fp\n%c = binary eq %w, %e : u1\n"
    f"if %c then {{ break }}\n{KEY}{ADD} }}",
    "a sum beside it": KEY + ADD + "\n%s = field_ptr @sum[] : *i32\n%s1 = atomic add %s, %1 : i32",
    "an op on the cell": KEY + "%c = binary raw_div %j, %4 : i32\nactivate @P0[%c]",
    "an op on a cell below another one": KEY + "%c = binary raw_div %j, %2 : i32\nactivate @P2[%c]",
    "two fields": KEY
    + ADD
    + "\n"
    + ADD.replace("@x", "@z").replace("%p ", "%p2 ").replace("%p,", "%p2,").replace("%old", "%old2"),
    "and an append": KEY + ADD + "\n%c = binary raw_div %j, %4 : i32\n%n = append @D6[%c]",
}
ILLEGAL = {
    "an index that the task changes": KEY + "%j1 = binary xor %j, %1 : i32\nstore %kp, %j1\n" + ADD,
    "an index that another iteration changes": "%other = field_ptr @k[%0] : *i32\n%j = load %other\n"
    + ADD
    + "\n%first = binary eq %i, %0 : u1\nif %first then { store %kp, %9 }",
    "a condition on what the task changes": KEY
    + f"%w = load %fp\n%c = binary eq %w, %1 : u1\nif %c then {{ {ADD} }}\nstore %fp, %0",
    "a trip count that the task changes": f"%w = load %fp\nfor %0, %w, %1 (%e: i32) {{ {KEY}{ADD} }}\nstore %fp, %0",
    "the result of an atomic": "%s = field_ptr @sum[] : *i32\n%j = atomic add %s, %1 : i32\n" + ADD,
    "the field itself": "%xp = field_ptr @x[%i] : *i32\n%j = load %xp\n" + ADD,
    "a task that deactivates": KEY + "%c = binary raw_div %j, %4 : i32\ndeactivate @P0[%c]\n" + ADD,
    "a task that asks": KEY
    + ADD
    + "\n%c = binary raw_div %j, %4 : i32\n%is = is_active @P0[%c]\n%is1 = cast %is : i32\nstore %fp, %is1",
    "a mask": KEY + ADD.replace("@x", "@m"),
    "a list": KEY + "%c = binary raw_div %j, %4 : i32\n%p = field_ptr @l[%c, %3] : *i32\nstore %p, %i",
}
ILLEGAL["a function that changes the index"] = f"invoke function=change, [%i], touched=(k)\n{KEY}{ADD}"
ORDERED = ("an index that another iteration changes", "the result of an atomic", "the field itself")
ORDERED = (*ORDERED, "a task that deactivates", "a task that asks", "a list", "a function that changes the index")


# The own index, in a way that no pass sees through.
AGAIN = "%by = const 21 : i32\n%g1 = binary mul %i, %by : i32\n%g = binary raw_mod %g1, %count : i32\n"
AGAIN += "%again = field_ptr @f[%g] : *i32\n"
ILLEGAL["a condition on what the iteration has changed"] = (
    f"store %fp, %9\n{AGAIN}{KEY}%w = load %again\n%c = binary eq %w, %9 : u1\nif %c then {{ {ADD} }}"
)
ILLEGAL["an index that the iteration has changed"] = f"store %fp, %9\n{AGAIN}%j = load %again\n{ADD}"


def check(body: str, config: CompileConfig) -> None:
    """Run a loop twice, as it is and lowered, and compare what it leaves."""
    made = tree()
    meant, stored = Memory.of(made.fields, made.nodes), Memory.of(made.fields, made.nodes)
    kernel, functions = lower(kernel_of(made, KEYS + body), config)
    for _ in range(2):
        evaluate(kernel_of(made, KEYS + body), [], meant, config)
        evaluate(kernel, [], stored, config, functions=functions)
        agree(made, meant, stored)


def asking(body: str, **traits: Any) -> int:
    """How many tasks ask for cells."""
    kernel = kernel_of(tree(), body)
    run_passes(kernel, TO_TASKS[: TO_TASKS.index("lower_sparse")], replace(QUICK, traits=replace(CPU, **traits)))
    return sum(
        any(op.field.name.endswith(".claimed") for op in task.all_of(FieldPtr))
        for task in parallel_tasks(kernel)
        if not task.routine
    )


@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize("case", every(3, LEGAL))
def test_what_is_activated_ahead(case: str, stops: bool) -> None:
    body = LOOP.format(LEGAL[case])
    levels = 2 if "@z" in body or "@P2" in body else 1
    assert asking(body, stops=stops) == levels
    check(body, replace(QUICK, traits=replace(CPU, stops=stops, groups=3)))


@pytest.mark.parametrize("case", every(3, ILLEGAL))
def test_what_is_not_activated_ahead(case: str) -> None:
    body = LOOP.format(ILLEGAL[case])
    assert asking(body) == 0
    if case not in ORDERED:
        check(body, QUICK)


@pytest.mark.parametrize("case", [name for name in ILLEGAL if "has changed" in name])
def test_without_the_condition_cells_are_missing(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_copies, "_meet", lambda a, b: False)
    body = LOOP.format(ILLEGAL[case])
    assert asking(body) == 1
    with pytest.raises(AssertionError):
        check(body, QUICK)


BLOCK = "%pad = shared shape=(20) : [i32; 1]\n%at = array_ptr %pad, [%i] : *i32\n"
SHUFFLE = "%u = const 15 : u32\n%o = simt shuffle [%u, %j, %0] : i32\n"
TOGETHER = {
    "memory of a block beside it": (f"{BLOCK}store %at, %i\nsimt block_sync []\n{KEY}{ADD}", 1),
    "an index in memory of a block": (
        f"{BLOCK}{KEY}store %at, %j\nsimt block_sync []\n%o = load %at\n" + ADD.replace("%j]", "%o]"),
        0,
    ),
    "an index of another thread": (KEY + SHUFFLE + ADD.replace("%j]", "%o]"), 0),
    "a condition of another thread": (f"{KEY}{SHUFFLE}%c = binary eq %o, %1 : u1\nif %c then {{ {ADD} }}", 0),
}


@pytest.mark.parametrize("case", TOGETHER)
def test_threads_that_work_together(case: str) -> None:
    """The cells must not depend on other threads: the copy of the task computes them alone."""
    body, tasks = TOGETHER[case]
    assert asking(LOOP.format(body)) == tasks


def test_short_loops_activate_their_cells_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asking(LOOP.format(KEY + ADD)) == 1
    monkeypatch.setattr(activate_ahead, "_FEW", 20)
    assert asking(LOOP.format(KEY + ADD)) == 0


def test_a_table_with_too_many_entries_is_left_alone() -> None:
    for extent, tasks in ((2**20 - 1, 1), (2**20, 0)):
        root = SNode("root")
        place(branch(root, "pointer", (I, 2048), (J, extent)), "w", i32)
        body = "%n = const 5000 : i32\nparallel_for begins=[%0], ends=[%n] (%i: i32) {\n"
        body += "%p = field_ptr @w[%3, %i] : *i32\nstore %p, %i }"
        kernel = kernel_of(declare(root), body)
        run_passes(kernel, TO_TASKS[: TO_TASKS.index("lower_sparse")], QUICK)
        made = [
            task for task in parallel_tasks(kernel) if any("marks" in op.field.name for op in task.all_of(FieldPtr))
        ]
        assert len(made) > 0 if tasks else not made


def test_own_cells_need_no_activation() -> None:
    loop = "struct_for @x (%i: i32) { %p = field_ptr @x[%i] : *i32\nstore %p, %1 }"
    assert asking(loop) == 0
    assert asking(loop.replace("ptr @x", "ptr @z")) == 2


def test_the_box_has_what_the_cells_depend_on() -> None:
    """A loop over cells of 2 x 4 elements that writes another tree with the same cells asks once for each cell."""
    root = SNode("root")
    place(branch(branch(root, "pointer", (I, 5), (J, 3)), "dense", (I, 2), (J, 4)), "x", i32)
    place(branch(branch(root, "pointer", (I, 5), (J, 3)), "dense", (I, 2), (J, 4)), "y", i32)
    made = declare(root)
    fill = "%n = const 12 : i32\nparallel_for begins=[%0], ends=[%9] (%i: i32) {\n%j = binary add %i, %3 : i32\n"
    fill += "%p = field_ptr @x[%i, %j] : *i32\nstore %p, %i }"
    same = "struct_for @x (%a: i32, %b: i32) { %q = field_ptr @y[%a, %b] : *i32\nstore %q, %b }"
    next_one = "struct_for @x (%a: i32, %b: i32) { %c = binary add %b, %1 : i32\n%l = const 12 : i32\n"
    next_one += "%in = binary lt %c, %l : u1\nif %in then { %q = field_ptr @y[%a, %c] : *i32\nstore %q, %b } }"
    dense = (
        "%u = const 10 : i32\n%w = const 12 : i32\nparallel_for begins=[%0, %0], ends=[%u, %w] (%a: i32, %b: i32) {\n"
    )
    dense += "%p = field_ptr @y[%a, %b] : *i32\nstore %p, %a }"
    for body, points in ((same, 1), (next_one, 4), (dense, 5 * 3)):
        kernel = kernel_of(made, body)
        run_passes(kernel, [*TO_TASKS[: TO_TASKS.index("lower_sparse")], "full_simplify"], QUICK)
        task = next(
            one
            for one in parallel_tasks(kernel)
            if any(op.field.name.endswith(".marks") for op in one.all_of(FieldPtr))
        )
        sizes = 1
        for end in box_of(task).ends:
            sizes *= int(getattr(end, "value", 1))
        assert sizes == points, body
        compare(made, [(fill, ""), (body, "")], QUICK)


ASSERTED = {
    "20 is far": "%far = binary add %i, %9 : i32\n%in = binary lt %far, %count : u1\n"
    'assert %in, [%far], message="{} is far"\n%kq = field_ptr @k[%far] : *i32\n%j = load %kq\n' + ADD,
    "3 rounds": "%t = alloca : *i32\nstore %t, %0\nwhile {\n%t0 = load %t\n"
    "%t1 = binary add %t0, %1 : i32\nstore %t, %t1\n"
    '%in = binary lt %t1, %3 : u1\nassert %in, [%t1], message="{} rounds"\n' + KEY + ADD + "\n}",
}


@pytest.mark.parametrize("message", ASSERTED)
def test_a_loop_with_assertions_activates_its_cells_itself(message: str) -> None:
    """A copy without them would read what is out of bounds, or go on with a loop that only an assertion ends."""
    body = LOOP.format(ASSERTED[message])
    assert asking(body) == 0
    made = tree()
    memory = Memory.of(made.fields, made.nodes)
    kernel, functions = lower(kernel_of(made, KEYS + body), QUICK)
    with pytest.raises(Fault, match=message):
        evaluate(kernel, [], memory, QUICK, functions=functions)


def test_a_node_without_memory_leaves_no_marks_of_another_one() -> None:
    root = SNode("root")
    for name, size in (("x", 4), ("y", 1)):
        place(branch(branch(root, "pointer", (I, 32 // size)), "dense", (I, size)), name, i32)
    made = declare(root, most=300)
    memory = Memory.of(made.fields, made.nodes)
    few = "parallel_for begins=[%0], ends=[%2] (%i: i32) {\n"
    many = "%n = const 32 : i32\n" + few.replace("%2", "%n")
    add = "%p = field_ptr @x[%i] : *i32\n%q = field_ptr @y[%i] : *i32\nstore %p, %1\nstore %q, %1 }"
    kernel, functions = lower(kernel_of(made, many + add), QUICK)
    with pytest.raises(Fault, match="no memory for"):
        evaluate(kernel, [], memory, QUICK, functions=functions)
    for node in made.nodes:
        assert not memory.read(node.part("marks")).any(), node.name
        assert memory.read(node.part("claimed")) == 0


@pytest.mark.parametrize("field", ["x", "z"])
def test_too_few_slots_are_known_before_anything_is_written(field: str) -> None:
    made = tree(most=300)
    memory = Memory.of(made.fields, made.nodes)
    body = LOOP.format(KEY + "store %fp, %7\n" + ADD.replace("@x", f"@{field}"))
    node = next(one for one in made.fields if one.name == field).node
    assert node is not None
    assert node.capacity < len(node.shape) * 9
    for stops in (True, False):
        config = replace(QUICK, traits=replace(CPU, stops=stops))
        keys, _ = lower(kernel_of(made, KEYS), config)
        evaluate(keys, [], memory, config)
        kernel, functions = lower(kernel_of(made, body), config)
        before = memory.read(made.fields[2]).tolist()
        for _ in range(2):
            with pytest.raises(
                Fault, match=r"no memory for \d+ new cells of 'P\d': its pool has \d cells of \d+ bytes"
            ):
                evaluate(kernel, [], memory, config, functions=functions)
            assert memory.read(made.fields[2]).tolist() == before
            assert slots(memory, node)[0] == 0 or node.parent is not None
    few = f"%p1 = field_ptr @{field}[%1] : *i32\nstore %p1, %1\n"
    kernel, functions = lower(kernel_of(made, few), QUICK)
    evaluate(kernel, [], memory, QUICK, functions=functions)
    assert slots(memory, node) == (1, 0)


@pytest.mark.parametrize("seed", range(draws(24)))
def test_iterations_interleave(seed: int) -> None:
    made, config = tree(), replace(QUICK, traits=replace(CPU, groups=3))
    meant, stored = Memory.of(made.fields, made.nodes), Memory.of(made.fields, made.nodes)
    for text in (KEYS, LOOP.format(LEGAL["two fields"]), LOOP.format(LEGAL["an op on a cell below another one"])):
        evaluate(kernel_of(made, text), [], meant, config)
        kernel, functions = lower(kernel_of(made, text), config)
        evaluate(kernel, [], stored, config, functions=functions, schedule=Schedule(seed, seed % 2 == 1))
        agree(made, meant, stored)


def test_slots_are_in_the_order_of_the_cells() -> None:
    made, memory = tree(), None
    for seed in range(4):
        memory = Memory.of(made.fields, made.nodes)
        for text in (KEYS, LOOP.format(KEY + ADD)):
            kernel, functions = lower(kernel_of(made, text), QUICK)
            evaluate(kernel, [], memory, QUICK, functions=functions, schedule=Schedule(seed))
        table = [int(slot) for slot in memory.read(made.nodes[0].table) if slot]
        assert table == [*range(1, len(table) + 1)]


@pytest.mark.parametrize("field", ["x", "z"])
def test_marks_of_a_launch_that_did_not_end_are_forgotten(field: str) -> None:
    made = tree()
    memory = Memory.of(made.fields, made.nodes)
    node = next(one for one in made.fields if one.name == field).node
    assert node is not None
    ones = f"%p1 = field_ptr @{field}[%1] : *i32\nstore %p1, %1\n"
    loop = f"parallel_for begins=[%0], ends=[%2] (%i: i32) {{ %p = field_ptr @{field}[%i] : *i32\nstore %p, %7 }}"
    meant = Memory.of(made.fields, made.nodes)
    for body in (ones, loop):
        if body is loop:
            for role, at in (
                ("marks", [1 if node.home else 0, 1]),
                ("touched", [1 if node.home else 0]),
                ("claimed", []),
            ):
                part = node.part(role)
                memory.place(part, at).store(1, part.dtype)
        evaluate(kernel_of(made, body), [], meant, QUICK)
        kernel, functions = lower(kernel_of(made, body), QUICK)
        evaluate(kernel, [], memory, QUICK, functions=functions)
        agree(made, meant, memory)
