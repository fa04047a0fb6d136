"""Searches for cells of hash nodes: as few as possible, where the task does not change which cells are active."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.ir.test_sparse_lowering import PLAIN, compare, kernel_of
from tests.sampling import every
from tests.sparse_trees import Declared, I, J, branch, declare, place
from weft.ir.core import Op
from weft.ir.errors import InternalError
from weft.ir.evaluate import Fault
from weft.ir.ops import Const, For, If, Invoke, Task
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.storage.snode import SNode
from weft.ir.target import CPU, GPU, Traits
from weft.ir.transforms import cells_around, hashed_slots, lower_sparse
from weft.ir.types import i32, u1

QUICK = replace(PLAIN, verify=False)
AFTER = TO_TASKS + TO_LOWERED[: TO_LOWERED.index("lower_visits") + 1]
EDGE = 1 << 29  # indices are in [-EDGE, EDGE)


def trees() -> Declared:
    """Two fields in one tree, and one in another, in cells of 4 x 8 elements."""
    root = SNode("root")
    place(root, "sum", i32)
    for names in (("x", "y"), ("z",)):
        cell = branch(branch(root, "hash", (I, 5), (J, 5)), "dense", (I, 4), (J, 8))
        for name in names:
            place(cell, name, i32)
    return declare(root, dict.fromkeys("xyz", (-EDGE, -EDGE)))


def stores(field: str, cells: Sequence[tuple[int, int]]) -> str:
    """Statements that set elements to 1, 2, ..."""
    text = ""
    for number, at in enumerate(cells):
        names = [f"%{field}{number}_{axis}" for axis in range(2)]
        text += "".join(f"{name} = const {index} : i32\n" for name, index in zip(names, at, strict=True))
        p, v = f"%{field}p{number}", f"%{field}v{number}"
        text += f"{v} = const {number + 1} : i32\n{p} = field_ptr @{field}[{', '.join(names)}] : *i32\nstore {p}, {v}\n"
    return text


def near(field: str, steps: Sequence[tuple[int, int]]) -> str:
    """The sum `%t` of elements at these distances from (%i, %j)."""
    text = "%t0 = binary add %0, %0 : i32\n"
    for number, step in enumerate(steps):
        for axis, (name, by) in enumerate(zip("ij", step, strict=True)):
            a, s = f"%a{number}_{axis}", f"%s{number}_{axis}"
            text += f"{s} = const {by} : i32\n{a} = binary add %{name}, {s} : i32\n"
        text += (
            f"%r{number} = field_ptr @{field}[%a{number}_0, %a{number}_1] : *i32\n%w{number} = load %r{number} : i32\n"
        )
        text += f"%t{number + 1} = binary add %t{number}, %w{number} : i32\n"
    return text + f"%t = binary add %t{len(steps)}, %1 : i32\n"


CROSS = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))
SQUARE = tuple((a, b) for a in (-1, 0, 1) for b in (-1, 0, 1))
FAR = ((-4, 0), (5, 9), (0, -17), (-6, 2))
STORE = "%q = field_ptr @{to}[%i, %j] : *i32\nstore %q, %t\n"
# At corners of cells, also around 0, and at the ends of the domain.
CELLS = ((-1, -1), (0, 0), (3, 7), (4, 8), (4, -1), (-EDGE, -EDGE), (EDGE - 1, EDGE - 1), (-EDGE, EDGE - 1))
START = {"x": CELLS[:5], "z": CELLS[1:3] + CELLS[4:5] + CELLS[5:7]}


def loop(body: str, over: str = "y") -> str:
    return f"struct_for @{over} (%i: i32, %j: i32) {{\n{body}\n}}"


PROGRAMS = {
    "around, in the same tree": ("x", "y", CROSS),
    "around, in another tree": ("z", "y", CROSS),
    "corners": ("x", "y", SQUARE),
    "corners in another tree": ("z", "y", SQUARE),
    "further away": ("z", "y", FAR),
    "further away, in the same tree": ("x", "y", FAR),
    "along the rows": ("x", "y", ((0, -1), (0, 2))),
    "across the rows": ("z", "y", ((-1, 0), (2, 0))),
}
TOGETHER = "\n".join(stores(name, cells) for name, cells in START.items())


@pytest.mark.parametrize("name", every(2, PROGRAMS))
def test_values(name: str) -> None:
    source, to, steps = PROGRAMS[name]
    body = near(source, steps) + STORE.format(to=to)
    for config in (QUICK, replace(QUICK, traits=GPU)):
        compare(trees(), [(TOGETHER, ""), (loop(body), ""), (loop(body), "")], config)


@pytest.mark.parametrize("which", ["-EDGE", "EDGE"])
def test_the_ends_of_the_domain(which: str) -> None:
    """What is out of range reads 0, also where the element that is read in its place is active."""
    cells = (CELLS[5], CELLS[7]) if which == "-EDGE" else (CELLS[6], (EDGE - 1, -EDGE))
    start = "\n".join(stores(name, cells) for name in "xz")
    for source in "xz":
        body = near(source, SQUARE) + STORE.format(to="y")
        compare(trees(), [(start, ""), (loop(body), "")], QUICK)


def searched(body: str, config: Any = QUICK) -> tuple[int, int]:
    """How many searches the last task has in an iteration, and how many of them in loops."""
    kernel = kernel_of(trees(), body)
    run_passes(kernel, AFTER, config)
    task = [op for op in kernel.body if isinstance(op, Task) and op.kind != "serial"][-1]
    found = [op for op in task.all_of(Invoke) if op.function.endswith("_find")]
    return len(found), sum(_in_loop(op) for op in found)


def _in_loop(op: Op) -> bool:
    around = op.parent
    while around is not None and not isinstance(around, For):
        around = around.parent
    return around is not None


@pytest.mark.parametrize(
    ("source", "steps", "count"),
    [
        ("x", CROSS, 4),
        ("z", CROSS, 5),
        ("x", SQUARE, 8),
        ("z", SQUARE, 9),
        ("z", ((-1, 0), (2, 0)), 3),
        ("x", ((0, 0),), 0),
    ],
)
def test_each_cell_is_searched_for_once(source: str, steps: Any, count: int) -> None:
    """Once for each visited cell. On a GPU, an iteration is an element, which searches for each cell that it reads."""
    body = loop(near(source, steps) + STORE.format(to="y"))
    assert searched(body) == (count, 0)
    many, inside = searched(body, replace(QUICK, traits=GPU))
    assert many <= 2 * len(steps)  # in two versions
    assert not inside


def test_a_read_sees_what_the_iteration_has_made() -> None:
    """The element that an iteration writes is in a new cell, and is read before and after it."""
    step = "%k = const 40 : i32\n%c = binary add %j, %k : i32\n%e = field_ptr @x[%i, %c] : *i32\n"
    one = "%b = load %e : i32\nstore %e, %7\n%f = field_ptr @x[%i, %c] : *i32\n%a = load %f : i32\n"
    add = "%u = binary add %a, %b : i32\n%s = field_ptr @sum[] : *i32\n%o = atomic add %s, %u\n"
    program = [(stores("z", CELLS[:1]), ""), (loop(step + one + add, "z"), ""), (loop(step + one + add, "z"), "")]
    compare(trees(), program, QUICK)


def rows(outer: int, inner: int, stride: int = 1) -> str:
    """A loop over a box that reads the elements of x from (-6, -12) on, and adds multiples of them to the sum."""
    return f"""
%n = const {outer} : i32
%m = const {inner} : i32
%a0 = const -6 : i32
%b0 = const -12 : i32
%step = const {stride} : i32
parallel_for begins=[%0, %0], ends=[%n, %m] (%i: i32, %j: i32) {{
  %a = binary add %i, %a0 : i32
  %far = binary mul %j, %step : i32
  %b = binary add %far, %b0 : i32
  %p = field_ptr @x[%a, %b] : *i32
  %found = load %p : i32
  %w = binary add %i, %far : i32
  %u = binary mul %found, %w : i32
  %s = field_ptr @sum[] : *i32
  %o = atomic add %s, %u : i32
}}
"""


def test_the_last_cell_is_remembered() -> None:
    """A thread searches again where the cell of the next element is another one, along any axis."""
    for box in ((12, 24), (1, 30), (20, 1)):
        compare(trees(), [(TOGETHER, ""), (rows(*box), ""), (rows(*box), "")], QUICK)
        compare(trees(), [(TOGETHER, ""), (rows(*box, 3), "")], replace(QUICK, threads=3))


@pytest.mark.parametrize(("stride", "traits", "remembers"), [(1, CPU, True), (3, CPU, False), (1, GPU, False)])
def test_where_the_last_cell_is_remembered(stride: int, traits: Traits, remembers: bool) -> None:
    """On a CPU, if most elements are in the cell of the element before."""
    kernel = kernel_of(trees(), rows(12, 24, stride))
    run_passes(kernel, AFTER, replace(QUICK, traits=traits))
    (found,) = kernel.all_of(Invoke)
    assert isinstance(found.parent, If) == remembers


HERE = f"%far = const {EDGE} : i32\n%u = binary raw_div %far, %4 : i32\n%w = binary raw_div %far, %8 : i32\n"
HERE += "%x0 = field_ptr @x[%0, %0] : *i32\n%x1 = field_ptr @x[%0, %0], activates=false : *i32\n"
HERE += "%y = field_ptr @y[%1, %1] : *i32\n%s = field_ptr @sum[] : *i32\n"
READ = "%b = load %x0 : i32\n%o = atomic add %s, %b\n"
CHANGES = {
    "a store to another field": "store %y, %3\nstore %x1, %9",
    "an atomic op on another field": "%k = atomic add %y, %3\nstore %x1, %9",
    "an activation": "activate @H0[%u, %w]\nstore %x1, %9",
    "a deactivation": "deactivate @H0[%u, %w]",
}


@pytest.mark.parametrize("repeated", every(2, [True, False]))
@pytest.mark.parametrize("change", CHANGES)
def test_ops_that_change_cells(change: str, repeated: bool) -> None:
    """Equal reads before and after them are two searches, also in a loop, which the first one does not leave."""
    between = READ + CHANGES[change]
    if repeated:
        between = f"for %0, %3, %1 (%r: i32) {{\n{between}\n}}"
    after = READ.replace("%b", "%c").replace("%o", "%l") if not repeated else ""
    for start in ("", "store %x0, %7\n"):
        compare(trees(), [(HERE + start, ""), (HERE + between + "\n" + after, "")], QUICK)


def test_functions_change_cells() -> None:
    """A call may change any. In a function, other iterations may do so between any two ops."""

    def changed(body: str, called: bool) -> set[str]:
        kernel = kernel_of(trees(), body)
        kernel.called = called
        return {node.name for node in hashed_slots.changed_nodes(kernel, list(kernel.walk()))}

    assert changed("invoke function=f, [] : void", called=False) == {"H0", "H1"}
    assert changed(HERE + READ, called=False) == set()
    assert changed(HERE + READ, called=True) == {"H0", "H1"}


WEAKER: dict[str, tuple[str, Any, Callable[[], None]]] = {
    "that no cell is made": ("changed_nodes", lambda *_: set(), test_a_read_sees_what_the_iteration_has_made),
    "which cell it is": ("_in_step", lambda build, *_: build.add(Const(True, type=u1)), lambda: test_values("corners")),
    "how many cells it may be": ("_MOST", 1, lambda: test_each_cell_is_searched_for_once("x", CROSS, 4)),
}


@pytest.mark.parametrize("name", WEAKER)
def test_what_it_rests_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    what, instead, program = WEAKER[name]
    for module in (cells_around, hashed_slots, lower_sparse):
        if hasattr(module, what):
            monkeypatch.setattr(module, what, instead)
    with pytest.raises((AssertionError, Fault, InternalError)):
        program()
