"""The rows of cells are peeled where elements near the own one are read: same values, and slots outside of loops."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.ir.test_sparse_lowering import PLAIN, compare, kernel_of
from tests.sampling import draws
from tests.sparse_programs import Draw, moved
from tests.sparse_trees import Declared, I, J, K, branch, declare, place
from weft.ir.config import CompileConfig
from weft.ir.ops import FieldPtr, For, Load, Store, Task
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.storage.snode import SNode
from weft.ir.target import GPU
from weft.ir.text import print_ir
from weft.ir.transforms.peel_cells import peel_cells
from weft.ir.types import i32

QUICK = replace(PLAIN, verify=False)
AFTER = TO_TASKS[: TO_TASKS.index("peel_cells") + 1]


def tree() -> Declared:
    """Two fields of 12 x 16 elements in cells of 4 x 8, in the same cells."""
    root = SNode("root")
    place(root, "sum", i32)
    cell = branch(branch(root, "pointer", (I, 3), (J, 2)), "dense", (I, 4), (J, 8))
    place(cell, "x", i32)
    place(cell, "y", i32)
    return declare(root)


def read(at: str, name: str) -> str:
    return f"%p{name} = field_ptr @x[{at}] : *i32\n%{name} = load %p{name} : i32\n"


def near(*steps: tuple[int, int]) -> str:
    """The sum `%t` of elements at these distances."""
    text = "%t0 = binary add %0, %0 : i32\n"
    for number, (a, b) in enumerate(steps):
        text += f"%a{number} = const {a} : i32\n%b{number} = const {b} : i32\n"
        text += f"%i{number} = binary add %i, %a{number} : i32\n%j{number} = binary add %j, %b{number} : i32\n"
        text += read(f"%i{number}, %j{number}", f"v{number}")
        text += f"%t{number + 1} = binary add %t{number}, %v{number} : i32\n"
    return text + f"%t = binary add %t{len(steps)}, %1 : i32\n"


STORE = "%q = field_ptr @y[%i, %j] : *i32\nstore %q, %t\n"
CROSS = near((-1, 0), (1, 0), (0, -1), (0, 1))
# At the corners of cells and of the domain, with a cell that is not active in between.
START = "%far = const 15 : i32\n%ten = const 11 : i32\n" + "\n".join(
    f"%p{k} = field_ptr @x[{at}] : *i32\nstore %p{k}, %{k + 1}"
    for k, at in enumerate(("%0, %0", "%3, %7", "%4, %7", "%3, %8", "%0, %far", "%ten, %far", "%1, %6", "%2, %1"))
)


def loop(body: str, simd: str = "") -> str:
    return f"struct_for @x{simd} (%i: i32, %j: i32) {{\n{body}\n}}"


PEELED = {
    "a cross": CROSS + STORE,
    "one side": near((0, -1)) + STORE,
    "the other side, far": near((1, 2), (-1, 0)) + STORE,
    "corners": near((-1, -1), (-1, 1), (1, -1), (1, 1)) + STORE,
    "sums into shared memory": CROSS + "%q = field_ptr @sum[] : *i32\n%o = atomic add %q, %t : i32\n",
    "a local of the iteration": CROSS + "%l = alloca : *i32\nstore %l, %0\n%c = binary gt %t, %4 : u1\n"
    "if %c then { store %l, %t }\n%t9 = load %l : i32\n" + STORE.replace("%t", "%t9"),
    "a maximum of the iteration": CROSS + "%l = alloca : *i32\nstore %l, %2\n%old = load %l : i32\n"
    "%m = binary max %old, %i : i32\nstore %l, %m\n%w = load %l : i32\n%t9 = binary add %w, %t : i32\n"
    + STORE.replace("%t", "%t9"),
    "an iteration that ends early": CROSS + "%c = binary gt %t, %4 : u1\nif %c then { continue }\n" + STORE,
    "an iteration that ends in a branch": CROSS
    + "%c = binary gt %t, %4 : u1\n%d = binary gt %t, %8 : u1\nif %c then {\n"
    + STORE.replace("%q", "%q0").replace("%t", "%2")
    + "if %d then { continue }\n%s5 = field_ptr @sum[] : *i32\n%o = atomic add %s5, %t : i32\n}\n"
    + STORE,
    "an inner loop": "%l = alloca : *i32\nstore %l, %1\n%m = const -1 : i32\nfor %m, %2, %1 (%k: i32) {\n"
    "%b = binary add %j, %k : i32\n"
    + read("%i, %b", "vb")
    + "%s = load %l : i32\n%s1 = binary add %s, %vb : i32\nstore %l, %s1\n}\n%t = load %l : i32\n"
    + STORE,
    "an index that is kept in range": "%m = const -1 : i32\n%b0 = binary add %j, %m : i32\n"
    "%b = binary max %b0, %0 : i32\n%d0 = binary add %j, %1 : i32\n%last = const 15 : i32\n"
    "%d = binary min %d0, %last : i32\n"
    + read("%i, %b", "vb")
    + read("%i, %d", "vd")
    + "%t = binary add %vb, %vd : i32\n"
    + STORE,
    "other rows": near((-1, 0), (1, 0)) + STORE,
    "as far as a cell": near((0, -8), (0, 8)) + STORE,
    "so far that little is left": near((0, -4), (0, 3)) + STORE,
    "a store beside the own element": "%b = binary add %j, %1 : i32\n%q = field_ptr @y[%i, %b] : *i32\nstore %q, %j",
}
WHOLE = {
    "own elements": read("%i, %j", "t") + STORE,
    "twice the index": "%b0 = binary mul %j, %2 : i32\n%n = const 16 : i32\n%b = binary raw_mod %b0, %n : i32\n"
    + read("%i, %b", "t")
    + STORE,
    "a question that stops": CROSS + 'assert %1, [%i], message="{}"\n'.replace("%1", "%u") + STORE,
}
WHOLE["a question that stops"] = "%u = binary ge %i, %0 : u1\n" + WHOLE["a question that stops"]
# Every second element becomes the sum of its neighbours, as on a board of chess.
COLOURED = CROSS + (
    "%ij = binary add %i, %j : i32\n%odd = binary and %ij, %1 : i32\n%c = binary eq %odd, %1 : u1\n"
    + read("%i, %j", "own")
    + "%new = select %c, %t, %own : i32\n%q = field_ptr @x[%i, %j] : *i32\nstore %q, %new\n"
)
NULL = "%pz = field_ptr @sum[] : *i32\n%z = load %pz : i32\n%j7 = binary add %j, %z : i32\n%last = const 15 : i32\n"
NULL += "%j8 = binary min %j7, %last : i32\n%jz = binary max %j8, %0 : i32\n"  # %jz is %j
AT_ONCE = {
    "every second element": COLOURED,
    "the new values are stored elsewhere, too": COLOURED + STORE.replace("%q", "%q2").replace("%t", "%new"),
    "what another field holds is read then": COLOURED
    + "%p9 = field_ptr @sum[] : *i32\n%v9 = load %p9 : i32\n%t9 = binary add %new, %v9 : i32\n"
    + STORE.replace("%q", "%q2").replace("%t", "%t9"),
}
IN_PARTS = {
    "what was stored is read again": NULL
    + COLOURED
    + read("%i, %jz", "again")
    + STORE.replace("%q", "%q2").replace("%t", "%again"),
    "a branch": COLOURED.replace("store %q, %new", "if %c then { store %q, %t }"),
    "a sum": COLOURED + "%p2 = field_ptr @sum[] : *i32\n%o = atomic add %p2, %t : i32\n",
}


def peeled(body: str, config: object = None, simd: str = "") -> int:
    """The number of loops over parts of rows."""
    kernel = kernel_of(tree(), loop(body, simd))
    run_passes(kernel, AFTER, config or PLAIN)  # type: ignore[arg-type]
    return sum(isinstance(op, For) and op.row for op in kernel.walk())


@pytest.mark.parametrize("name", PEELED)
def test_peeled(name: str) -> None:
    assert peeled(PEELED[name])
    sums = "%s0 = field_ptr @sum[] : *i32\n%r = load %s0 : i32\nreturn [%r]"
    compare(tree(), [(START, ""), (loop(PEELED[name]) + f"\n{sums}", "i32")], QUICK)


@pytest.mark.parametrize("name", AT_ONCE | IN_PARTS)
def test_rows_that_change_what_they_read(name: str) -> None:
    """All loads of a row come before its stores, if an element may not read what it stored."""
    body = (AT_ONCE | IN_PARTS)[name]
    kernel = kernel_of(tree(), loop(body))
    run_passes(kernel, AFTER, PLAIN)
    task = [op for op in kernel.walk() if isinstance(op, Task)][-1]
    assert len(task.body.args) == 1  # the axes of a cell are loops
    loops = [op for op in task.walk() if isinstance(op, For) and not op.row]
    assert len(loops) == (2 if name in AT_ONCE else 1)  # every second row comes first
    rows = loops[-1]
    assert any(isinstance(op, For) and op.row for op in task.walk()) == (name in IN_PARTS)
    if name in AT_ONCE:
        stores = [isinstance(op, Store) and isinstance(op.ptr, FieldPtr) for op in rows.body if not op.pure]
        assert sum(stores) % 8 == 0
        assert stores == sorted(stores)
    compare(tree(), [(START, ""), (loop(body), "")], QUICK)


@pytest.mark.parametrize("name", WHOLE)
def test_left_whole(name: str) -> None:
    assert not peeled(WHOLE[name])
    compare(tree(), [(START, ""), (loop(WHOLE[name]), "")], QUICK)


def test_what_must_know_its_iteration_is_left_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not peeled(CROSS + "%r = random : i32\n" + STORE)
    assert not peeled(CROSS + "invoke function=f, [%i], touched=(sum)\n" + STORE)
    assert not peeled(CROSS + 'print [], parts=("x")\n' + STORE)
    assert not peeled(CROSS + STORE, replace(PLAIN, traits=GPU))
    assert not peeled(CROSS + STORE, simd=", config={simd=8}")
    monkeypatch.setattr("weft.ir.transforms.peel_cells._MOST", 20)
    assert not peeled(CROSS + STORE)


def solid() -> Declared:
    """Two fields of 4 x 8 x 16 elements in cells of 2 x 4 x 8, in the same cells."""
    root = SNode("root")
    place(root, "sum", i32)
    cell = branch(branch(root, "pointer", (I, 2), (J, 2), (K, 2)), "dense", (I, 2), (J, 4), (K, 8))
    place(cell, "x", i32)
    place(cell, "y", i32)
    return declare(root)


def beside(*steps: tuple[int, int, int]) -> str:
    """The sum `%t` of elements at these distances in three axes."""
    text = "%t0 = binary add %0, %0 : i32\n"
    for n, step in enumerate(steps):
        for name, distance in zip("ijk", step, strict=True):
            text += f"%{name}d{n} = const {distance} : i32\n%{name}s{n} = binary add %{name}, %{name}d{n} : i32\n"
        text += read(f"%is{n}, %js{n}, %ks{n}", f"v{n}") + f"%t{n + 1} = binary add %t{n}, %v{n} : i32\n"
    return text + f"%t = binary add %t{len(steps)}, %1 : i32\n"


AROUND = beside((-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1))
INTO = "%q = field_ptr @y[%i, %j, %k] : *i32\nstore %q, %t\n"
LOOP_3 = "struct_for @x (%i: i32, %j: i32, %k: i32) {{\n{}\n}}"
START_3 = "%far = const 15 : i32\n" + "\n".join(
    f"%p{k} = field_ptr @x[{at}] : *i32\nstore %p{k}, %{k + 1}"
    for k, at in enumerate(("%0, %0, %0", "%1, %3, %7", "%2, %3, %7", "%3, %7, %far", "%1, %4, %8"))
)
COLUMNS = {
    "into another field": AROUND + INTO,
    "along the column": beside((-1, 0, 0), (1, 0, 0)) + INTO,
    "across": beside((0, 0, -1)) + INTO,
    "every second element": AROUND
    + "%ij = binary add %i, %j : i32\n%ijk = binary add %ij, %k : i32\n%odd = binary and %ijk, %1 : i32\n"
    + "%c = binary eq %odd, %1 : u1\nif %c then {\n%q = field_ptr @x[%i, %j, %k] : *i32\nstore %q, %t\n}\n",
}
NO_COLUMNS = {
    "sums into shared memory": AROUND + "%q = field_ptr @sum[] : *i32\n%o = atomic add %q, %t : i32\n",
    "own elements": "%p = field_ptr @x[%i, %j, %k] : *i32\n%t = load %p : i32\n" + INTO,
    "an iteration that ends early": AROUND + "%c = binary gt %t, %4 : u1\nif %c then { continue }\n" + INTO,
    "a number of the iteration": AROUND + "%r = random : i32\n" + INTO.replace("%t", "%r"),
}


@pytest.mark.parametrize("name", COLUMNS | NO_COLUMNS)
def test_columns_of_a_gpu(name: str) -> None:
    """An iteration runs all elements along the first axis of a cell."""
    body, config = (COLUMNS | NO_COLUMNS)[name], replace(QUICK, traits=GPU)
    kernel = kernel_of(solid(), LOOP_3.format(body))
    run_passes(kernel, AFTER, config)
    task = [op for op in kernel.walk() if isinstance(op, Task)][-1]
    assert len(task.body.args) == (3 if name in COLUMNS else 4)
    if name != "a number of the iteration":
        compare(solid(), [(START_3, ""), (LOOP_3.format(body), "")], config)


def drawn_cells(rng: Random) -> Declared:
    """Fields in cells of several elements along 2 or 3 axes, some of them in cells of larger cells, or with a field
    beside them."""
    root, axes = SNode("root"), rng.sample(range(3), rng.choice((2, 3)))
    place(root, "sum", i32)
    for name in "ab":
        node = branch(root, rng.choice(("pointer", "bitmasked")), *((axis, rng.choice((1, 2, 3))) for axis in axes))
        if node.kind == "bitmasked" or rng.random() < 0.4:
            node = branch(node, "pointer", *((axis, rng.choice((1, 2))) for axis in axes))
        node = branch(node, "dense", *((axis, rng.choice((2, 3, 4))) for axis in axes))
        place(node, name, i32)
        if rng.random() < 0.4:
            place(node, f"{name}2", i32)
    return moved(rng, root)


@pytest.mark.parametrize("seed", range(draws(32)))
def test_random_loops_in_columns(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops that read around their own element, of which one runs in columns, between loops that make and drop
    cells."""
    monkeypatch.setattr("weft.ir.transforms.peel_cells._WARP", 1)
    monkeypatch.setattr(Draw, "counts", (6, 15))
    rng = Random(f"columns {seed}")
    made = drawn_cells(rng)
    draw, config = Draw(rng, made), replace(QUICK, traits=replace(GPU, piece=4, groups=3))
    around = draw.mirror()
    while not in_columns(made, around, config):
        around = draw.mirror()
    makes = [draw.scatter(field) for field in draw.fields]
    bodies = [*makes, around, draw.drop(), draw.scatter(), around]
    compare(made, [(body, "") for body in bodies], config)


def in_columns(made: Declared, body: str, config: CompileConfig) -> bool:
    """Whether the pass makes columns of the loop."""
    kernel = kernel_of(made, body)
    run_passes(kernel, AFTER[:-1], config)
    return peel_cells(kernel, config)


def test_columns_need_enough_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, size in (("_WARP", 33), ("_COLUMN", 1), ("_MOST", 40)):
        with monkeypatch.context() as patch:
            patch.setattr(f"weft.ir.transforms.peel_cells.{limit}", size)
            kernel = kernel_of(solid(), LOOP_3.format(AROUND + INTO))
            run_passes(kernel, AFTER, replace(QUICK, traits=GPU))
            assert len([op for op in kernel.walk() if isinstance(op, Task)][-1].body.args) == 4


def test_slots_are_loaded_outside_of_the_middle() -> None:
    """In the middle part, the loop loads elements only."""
    kernel = kernel_of(tree(), loop(CROSS + STORE))
    run_passes(kernel, (*TO_TASKS, "full_simplify"), PLAIN)
    (part,) = [op for op in kernel.walk() if isinstance(op, For) and op.row]
    indices = {index for op in part.body if isinstance(op, Load) for index in op.ptr.operands}
    assert part.body.args[0] in indices
    tables = [op for op in part.body if isinstance(op, Load) and "table" in repr(op.ptr.field.name)]  # type: ignore[attr-defined]
    assert not any(part.body.args[0] in op.ptr.operands for op in tables)  # type: ignore[union-attr]


def test_what_the_pass_makes(golden) -> None:  # type: ignore[no-untyped-def]
    kernel = kernel_of(tree(), loop(near((0, -1), (0, 1)) + STORE))
    run_passes(kernel, AFTER, PLAIN)
    golden("peel_cells.txt", "  task " + print_ir(kernel).split("  task ")[-1])
