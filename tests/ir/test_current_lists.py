"""Lists of active cells that a host knows to be current: tasks that make them do not run again, whatever the kernels in
between do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import pytest

from tests.ir.test_sparse_lowering import PLAIN, agree, kernel_of
from tests.mapping import GPU
from tests.sampling import draws, every
from tests.sparse_programs import Draw, drawn_tree
from tests.sparse_trees import Declared, I, branch, declare, lower, place
from weft.codegen.nvptx.target import gpu_target
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.evaluate import Memory, evaluate
from weft.ir.mapping import current_lists
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import map_to_target
from weft.ir.storage.snode import SNode
from weft.ir.target import CUDA
from weft.ir.tasks import tasks_of
from weft.ir.text import print_ir
from weft.ir.types import i32
from weft.ir.verify import verify

CONFIG = replace(PLAIN, arch="cuda", traits=replace(CUDA, piece=2, groups=3), verify=False)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a table may have a few entries."""
    monkeypatch.setattr("weft.ir.storage.layout.PIECE", 1)


Code = tuple[Kernel, Sequence[Kernel]]


def on_gpu(made: Declared, body: str, config: CompileConfig = CONFIG) -> Code:
    """A kernel that is mapped to a GPU, and the functions that it calls."""
    kernel, functions = lower(kernel_of(made, body), config)
    map_to_target(kernel, functions, replace(config, target=gpu_target(GPU)))
    return kernel, functions


def compare_series(made: Declared, bodies: Sequence[str], order: Sequence[int]) -> set[int]:
    """Run kernels in an order, as they are and mapped to a GPU, and compare what they leave. Gives the lists that are
    current then."""
    meant, stored = Memory.of(made.fields, made.nodes), Memory.of(made.fields, made.nodes)
    codes = [on_gpu(made, body) for body in bodies]
    for number in order:
        evaluate(kernel_of(made, bodies[number]), [], meant, CONFIG)
        kernel, functions = codes[number]
        evaluate(kernel, [], stored, CONFIG, functions=functions)
        agree(made, meant, stored)
    return stored.current


@pytest.mark.parametrize("seed", range(draws(64)))
def test_random_series_of_kernels(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.ir.transforms.activate_ahead._FEW", 0)
    rng = Random(f"current {seed}")
    made = drawn_tree(rng)
    draw = Draw(rng, made)
    bodies = [draw.visit(), *(draw.body() for _ in range(2))]
    compare_series(made, bodies, [rng.randrange(3) for _ in range(8)])


def small() -> Declared:
    """Cells of two elements, and a list in each of two cells. `sum` counts."""
    root = SNode("root")
    place(root, "sum", i32)
    place(branch(branch(root, "pointer", (I, 6)), "dense", (I, 2)), "x", i32)
    outer = branch(root, "pointer", (I, 2))
    place(branch(outer, "dynamic", (1, 8), chunk=2), "y", i32)
    place(outer, "z", i32)
    return declare(root)


VISIT = """
  struct_for @x (%i: i32) {
    %p = field_ptr @x[%i] : *i32
    %w = atomic add %p, %1
  }
  struct_for @y (%j: i32, %k: i32) {
    %q = field_ptr @y[%j, %k] : *i32
    %u = atomic add %q, %1
  }
  struct_for @z (%n: i32) {
    %s = field_ptr @z[%n] : *i32
    %t = atomic add %s, %1
  }"""

APPEND = "%r = append @D2[%{0}]\n%l = field_ptr @y[%{0}, %r] : *i32\nstore %l, %7"

# What changes which cells are active: by one thread, in a loop that knows the cells before, in one that does not, by
# functions of the run-time library, and by deactivation.
ROADS = {
    "a write by one thread": "%p = field_ptr @x[%3] : *i32\nstore %p, %2",
    "an activation": "activate @P0[%4]",
    "a loop that writes": """
      %e = const 2000 : i32
      parallel_for begins=[%0], ends=[%e] (%i: i32) {
        %m = binary raw_mod %i, %5 : i32
        %p = field_ptr @x[%m] : *i32
        %w = atomic add %p, %1
      }""",
    "a loop that writes where it reads": """
      parallel_for begins=[%0], ends=[%3] (%i: i32) {
        %s = field_ptr @sum[] : *i32
        %n = atomic add %s, %1
        %m = binary and %n, %3 : i32
        %p = field_ptr @x[%m] : *i32
        %w = atomic add %p, %1
      }""",
    "an append": APPEND.format(1),
    "a loop that appends": """
      parallel_for begins=[%0], ends=[%5] (%i: i32) {
        %m = binary and %i, %1 : i32
        %r = append @D2[%m]
        %p = field_ptr @y[%m, %r] : *i32
        store %p, %i
      }""",
    "a deactivation": "deactivate @P0[%0]",
    "a deactivation of what a list is in": "deactivate @P1[%0]",
}
FIRST = "%p = field_ptr @x[%0] : *i32\nstore %p, %2\n" + APPEND.format(0)


AGAIN = "activate @P0[%0]\n" + APPEND.format(0)  # what was deactivated is 0, unless a loop found it in an old list


def series_with(road: str) -> set[int]:
    return compare_series(small(), [FIRST, VISIT, ROADS[road], AGAIN], [0, 1, 1, 2, 1, 3, 1])


@pytest.mark.parametrize("road", every(3, [*ROADS]))
def test_what_changes_the_cells_outdates_their_list(road: str) -> None:
    assert len(series_with(road)) == 3  # that of x, that of y's lists, and that of their chunks


@pytest.mark.parametrize("road", every(3, [*ROADS]))
def test_a_road_that_is_left_out_shows(road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> tuple[int, ...]:
        return ()

    made = small()
    flags = [task.schedule.outdates for task in tasks_of(on_gpu(made, ROADS[road])[0])]
    assert any(flags)
    monkeypatch.setattr("weft.ir.transforms.mapping.plan_launches.outdated_by", none)
    with pytest.raises(AssertionError):
        series_with(road)


@pytest.mark.parametrize(("part", "road"), [("_written_by", "a loop that writes"), ("_by_calls", "an activation")])
def test_flags_that_are_set_by_ops_or_in_functions_are_found(
    part: str, road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current_lists, part, lambda _: ())
    with pytest.raises(AssertionError):
        series_with(road)


def test_loops_over_a_current_list_run_one_task() -> None:
    current = compare_series(small(), [FIRST, VISIT], [0, 1])
    kernel, _ = on_gpu(small(), VISIT)
    loops = [task for task in tasks_of(kernel) if task.schedule.lists not in current]
    assert [task.routine for task in loops] == ["", "", ""]


def _without_outdates(text: str) -> str:
    return text.replace(", outdates=(2)", "").replace("outdates=(2), ", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_outdates, r"may leave the lists \[2\] out of date"),
        (lambda text: text.replace("lists=2", "lists=4"), "makes the list 4, which its routine does not"),
        (lambda text: text.replace("lists=2, ", "").replace(", lists=2", ""), "makes the list -1"),
    ],
)
def test_a_schedule_that_says_less_is_an_error(change: Callable[[str], str], message: str) -> None:
    kernel, _ = on_gpu(small(), f"{VISIT}\n%p9 = field_ptr @x[%3] : *i32\nstore %p9, %2")
    text = print_ir(kernel)
    assert change(text) != text
    with pytest.raises(InternalError, match=message):
        verify(parse(change(text)), "mapped")
