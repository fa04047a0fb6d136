"""Of elements near one another, a task asks for the cells of some, which are those of all."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from tests.ir.test_sparse_lowering import PLAIN, compare, kernel_of
from tests.sampling import draws, every
from tests.sparse_trees import Declared, I, J, branch, declare, place
from weft.ir.ops import FieldPtr, Store
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.storage.snode import SNode
from weft.ir.target import CPU
from weft.ir.tasks import parallel_tasks
from weft.ir.transforms import activate_ahead, covered_cells
from weft.ir.types import i32

QUICK = replace(PLAIN, verify=False, traits=replace(CPU, piece=4, groups=3))


@pytest.fixture(autouse=True)
def short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of a few iterations count, too, and pieces of a few entries."""
    monkeypatch.setattr("weft.ir.storage.layout.PIECE", 1)
    monkeypatch.setattr(activate_ahead, "_FEW", 0)


def tree(sizes: tuple[int, int], offset: int = 0) -> Declared:
    """`x` and `y` in cells of that size, of 60 x 60 elements, and `z` in cells of another node; `k` has indices."""
    root = SNode("root")
    place(branch(root, "dense", (I, 40)), "k", i32)
    node = branch(root, "pointer", (I, 60 // sizes[0]), (J, 60 // sizes[1]))
    cell = branch(node, "dense", (I, sizes[0]), (J, sizes[1]))
    place(cell, "x", i32)
    place(cell, "y", i32)
    other = branch(root, "pointer", (I, 60 // sizes[0]), (J, 60 // sizes[1]))
    place(branch(other, "dense", (I, sizes[0]), (J, sizes[1])), "z", i32)
    return declare(root, {"x": (offset, offset)} if offset else None)


FILL = """
%e = const 40 : i32
%m = const 1103 : i32
%b = const 45 : i32
parallel_for begins=[%0], ends=[%e] (%i: i32) {
  %a = binary mul %i, %m : i32
  %c = binary raw_mod %a, %b : i32
  %p = field_ptr @k[%i] : *i32
  store %p, %c
}
"""


def scatter(points: list[tuple[str, int, int]], condition: str = "") -> str:
    """A loop that adds to elements near an index from memory. `condition`: text before the fourth of them."""
    lines = list[str]()
    for n, (name, a, b) in enumerate(points):
        lines.append(condition if n == 3 else "")
        lines.append(f"%a{n} = const {a} : i32\n%b{n} = const {b} : i32")
        lines.append(f"%u{n} = binary add %j, %a{n} : i32\n%v{n} = binary add %j, %b{n} : i32")
        lines.append(f"%p{n} = field_ptr @{name}[%u{n}, %v{n}] : *i32\n%o{n} = atomic add %p{n}, %{n % 9 + 1} : i32")
    body = "\n".join(lines)
    return f"%end = const 40 : i32\nparallel_for begins=[%0], ends=[%end] (%i: i32) {{\n{LOAD}{body}\n}}"


LOAD = "%kp = field_ptr @k[%i] : *i32\n%j = load %kp : i32\n"


def marks(made: Declared, body: str) -> int:
    """For how many elements a task asks for cells."""
    kernel = kernel_of(made, body)
    run_passes(kernel, TO_TASKS[: TO_TASKS.index("lower_sparse")], replace(QUICK, mask_out_of_bounds=False))
    stores = [op for task in parallel_tasks(kernel) if not task.routine for op in task.all_of(Store)]
    return sum(isinstance(op.ptr, FieldPtr) and op.ptr.field.name.endswith(".marks") for op in stores)


def near(reach: int, *names: str) -> list[tuple[str, int, int]]:
    return [(name, a, b) for name in names or ("x",) for a, b in product(range(reach), repeat=2)]


@pytest.mark.parametrize(
    ("points", "sizes", "asked"),
    every(
        3,
        [
            (near(3), (4, 4), 4),
            (near(3), (2, 4), 4),
            (near(3), (1, 4), 6),
            (near(4), (2, 4), 6),
            (near(5), (4, 4), 4),
            (near(6), (4, 4), 9),
            (near(3, "x", "y"), (4, 4), 4),
            (near(3)[:-1], (4, 4), 6),
            ([("x", 0, 0), ("x", 1, 1), ("x", 2, 2)], (4, 4), 3),
            ([("x", 0, 0), ("x", 9, 9)], (4, 4), 2),
            ([("x", 5, 5)] * 3, (4, 4), 1),
        ],
    ),
)
def test_how_many_cells_are_asked_for(points: list[tuple[str, int, int]], sizes: tuple[int, int], asked: int) -> None:
    made = tree(sizes)
    assert marks(made, scatter(points)) == asked
    compare(made, [(FILL, ""), (scatter(points), "")], QUICK)


def test_what_runs_under_another_condition_asks_for_itself() -> None:
    inside = "%is = binary lt %j, %9 : u1\nif %is then {"
    nested = scatter(near(3), inside).removesuffix("}") + "}\n}"
    assert marks(tree((4, 4)), nested) == 2 + 4
    left = "%is = binary lt %j, %9 : u1\nif %is then { continue }"
    assert marks(tree((4, 4)), scatter(near(3), left)) == 9
    for body in (nested, scatter(near(3), left)):
        compare(tree((4, 4)), [(FILL, ""), (body, "")], QUICK)


@pytest.mark.parametrize(
    ("element", "asked"),
    [("@z[%j, %j]", 5), ("@x[%i, %i]", 5), ("@x[%i, %j]", 5), ("@y[%j, %j]", 4)],
    ids=["of another node", "elsewhere", "in another row", "of the same cell"],
)
def test_elements_that_others_do_not_cover_ask_for_themselves(element: str, asked: int) -> None:
    body = scatter(near(3), f"%q = field_ptr {element} : *i32\n%r = atomic add %q, %1 : i32")
    assert marks(tree((4, 4)), body) == asked
    compare(tree((4, 4)), [(FILL, ""), (body, "")], QUICK)


@pytest.mark.parametrize("seed", range(draws(24)))
def test_random_neighbours(seed: int) -> None:
    rng = Random(f"covered {seed}")
    sizes, reach = (rng.choice((1, 2, 3, 4, 5)), rng.choice((1, 2, 3, 4, 5))), rng.randint(1, 8)
    points = [(rng.choice("xy"), rng.randrange(reach), rng.randrange(reach)) for _ in range(rng.randint(1, 20))]
    if rng.random() < 0.5:
        points = [("x", a, b) for a, b in product(range(reach), range(rng.randint(1, 4)))]
    compare(tree(sizes, rng.choice((0, 0, -3))), [(FILL, ""), (scatter(points), "")], QUICK)


def test_elements_further_apart_than_a_cell_need_more_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = covered_cells._steps
    monkeypatch.setattr(covered_cells, "_steps", lambda places, size: steps(places, size + 3))
    points, made = near(8), tree((4, 4))
    with pytest.raises(AssertionError):
        compare(made, [(FILL, ""), (scatter(points), "")], QUICK)
