"""The cells of hash nodes under schedules: found, made once, freed, found again. And what that rests on: without it,
some program below leaves something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest

from tests.ir.test_cell_lists import listed
from tests.ir.test_sparse_deactivation import lost, zeros
from tests.ir.test_sparse_lowering import PLAIN, kernel_of
from tests.sampling import draws, every
from tests.sparse_trees import Declared, I, J, K, branch, declare, lower, place, stored_slots, stored_value
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.interleaving import Schedule
from weft.ir.ops import Kernel
from weft.ir.runtime_library import cell_lists, hashed_cells, hashed_lists
from weft.ir.runtime_library.sparse import forget_functions
from weft.ir.storage.snode import SNode
from weft.ir.types import i32

Cell = tuple[int, ...]
CONFIG = replace(PLAIN, verify=False)
HALF = 1 << 29
LIMITS = (-HALF, -HALF + 1, -1, 0, 1, HALF - 1)


@cache
def tree(cells: int, axes: int = 1) -> Declared:
    """A field of single elements below a hash node for that many cells, and indices for iterations."""
    root = SNode("root")
    place(branch(root, "hash", *[(I, cells), (J, 1), (K, 1), (3, 1)][:axes]), "x", i32)
    place(branch(root, "dense", (I, 16), (J, 4)), "at", i32)
    offset = tuple(-extent // 2 for extent in declare(root).fields[0].shape)
    return declare(root, {"x": offset})


@cache
def lowered(cells: int, axes: int, body: str) -> tuple[Kernel, list[Kernel]]:
    return lower(kernel_of(tree(cells, axes), body), CONFIG)


class Machine:
    """The memory of a tree, in which kernels run under schedules."""

    def __init__(self, cells: int, axes: int = 1) -> None:
        made, self.size = tree(cells, axes), (cells, axes)
        self.node, (self.field, self.indices) = made.nodes[0], made.fields
        self.memory = Memory.of(made.fields, made.nodes)

    def run(self, body: str, schedule: Schedule | None = None) -> None:
        kernel, functions = lowered(*self.size, body)
        evaluate(kernel, [], self.memory, CONFIG, 20_000, functions, schedule)

    def each(self, what: str, cells: Sequence[Cell], schedule: Schedule | None) -> None:
        """One iteration for each of these cells. In `what`, %a0 and %a1 are its indices, and %i is its number."""
        text = "parallel_for begins=[%0], ends=[%e] (%i: i32) {\n"
        for axis in range(len(self.node.shape)):
            text += f"%p{axis} = field_ptr @at[%i, %{axis}] : *i32\n%a{axis} = load %p{axis} : i32\n"
        for number, cell in enumerate(cells):
            for axis, at in enumerate(cell):
                self.memory.place(self.indices, [number, axis]).store(at, i32)
        self.run(f"%e = const {len(cells)} : i32\n{text}{what.replace('AT', self.names)}\n}}", schedule)

    @property
    def names(self) -> str:
        return ", ".join(f"%a{axis}" for axis in range(len(self.node.shape)))

    def cells(self) -> dict[Cell, int]:
        """The active cells, with their elements. No cell has two slots, and no slot is lost."""
        assert not lost(self.memory, self.node)
        assert zeros(self.memory, self.node)
        return {
            self.centred(at): int(stored_value(self.memory, self.field, at))
            for at in stored_slots(self.memory, self.node)
        }

    def centred(self, at: Cell) -> Cell:
        return tuple(index - extent // 2 for index, extent in zip(at, self.node.shape, strict=True))

    def visited(self, schedule: Schedule) -> list[Cell]:
        """The cells that a loop visits, in the order of its list. It adds 1 to each."""
        args = self.names.replace(",", ": i32,")
        body = f"%p = field_ptr @x[{self.names}] : *i32\n%o = atomic add %p, %1"
        self.run(f"struct_for @x ({args}: i32) {{\n{body}\n}}", schedule)
        return [self.centred(at) for at in listed(self.memory, self.node)]


VISIT = "struct_for @x (%a0: i32) {\n%p = field_ptr @x[%a0] : *i32\n%o = atomic add %p, %1\n}"
ADD = "%q = field_ptr @x[AT] : *i32\n%o = atomic add %q, %1"
# The index of a cell in CHI counts from 0: the element of the field counts from the middle.
DROP = "%h = const 536870912 : i32\n%d = binary add %a0, %h : i32\ndeactivate @H0[%d]"
BOTH = f"""
%b = const 2 : i32
%adds = binary ge %i, %b : u1
%drops = binary lt %i, %b : u1
if %adds then {{ {ADD} }}
if %drops then {{ {DROP} }}
"""


def counted(cells: list[Cell]) -> dict[Cell, int]:
    return {cell: cells.count(cell) for cell in cells}


# ---- programs ----


def cells_that_many_want(schedule: Schedule) -> None:
    """Iterations want the same cells at once, and others whose searches meet theirs; the pool has just enough slots."""
    rng = Random(schedule.seed)
    wanted = [(cell,) for cell in rng.sample(LIMITS, 3)]
    wanted += rng.choices(wanted, k=4)
    machine = Machine(3)
    machine.each(ADD, wanted, schedule)
    assert machine.cells() == counted(wanted)


def two_axes(schedule: Schedule) -> None:
    """Cells that differ along one axis only."""
    rng = Random(schedule.seed)
    wanted = [(rng.choice(LIMITS), rng.choice(LIMITS)) for _ in range(7)]
    machine = Machine(7, 2)
    machine.each(ADD, wanted, schedule)
    assert machine.cells() == counted(wanted)
    assert machine.visited(schedule) == sorted(counted(wanted))


def cells_that_come_and_go(schedule: Schedule) -> None:
    """More cells come and go than there are entries. Iterations deactivate a cell twice, and cells that are not
    active."""
    rng, machine, expected = Random(schedule.seed), Machine(3), dict[Cell, int]()
    for _ in range(6):
        new = [(rng.choice(LIMITS) // rng.choice((1, 3)),) for _ in range(3 - len(expected))]
        machine.each(ADD, new, schedule)
        for cell, count in counted(new).items():
            expected[cell] = expected.get(cell, 0) + count
        assert machine.cells() == expected
        old = [rng.choice([*expected, (17,)]) for _ in range(2)]
        machine.each(DROP, [*old, *old], schedule)
        expected = {cell: value for cell, value in expected.items() if cell not in old}
        assert machine.cells() == expected
        assert machine.visited(schedule) == sorted(expected)
        expected = {cell: value + 1 for cell, value in expected.items()}


def cells_that_are_wanted_while_they_go(schedule: Schedule) -> None:
    """Iterations write cells that others deactivate. Who comes first is open, but a cell has one slot at most, and a
    write is not lost where nothing deactivates."""
    machine = Machine(12)
    machine.each(ADD, [(3,), (4,), (5,)], schedule)
    machine.each(BOTH, [(3,), (4,), (3,), (4,), (3,), (5,)], schedule)
    found = machine.cells()
    assert found.pop((5,)) == 2
    assert set(found) <= {(3,), (4,)}
    assert all(count <= 3 for count in found.values())


def a_full_pool(schedule: Schedule) -> None:
    """One cell too many is an error, and nobody waits for its lock."""
    machine = Machine(3)
    machine.each(ADD, [(1,), (2,), (3,), (1,)], schedule)
    with pytest.raises(Fault, match="its pool has 3 cells"):
        machine.each(ADD, [(4,), (4,), (5,), (1,)], schedule)
    assert {*machine.cells()} == {(1,), (2,), (3,)}


def what_is_left_of_a_full_pool(schedule: Schedule) -> None:
    """The cell for which there was no slot can be made once there is one: its lock is open."""
    machine = Machine(3)
    machine.each(ADD, [(1,), (2,), (3,)], schedule)
    with pytest.raises(Fault, match="its pool has 3 cells"):
        machine.each(ADD, [(4,)], schedule)
    machine.each(DROP, [(1,), (2,)], schedule)
    machine.each(ADD, [(4,), (5,)], schedule)
    assert machine.cells() == counted([(3,), (4,), (5,)])


@cache
def cells_of_the_last_entry() -> list[Cell]:
    """Cells whose search begins at the last entry of the table of a pool of three cells."""
    found = list[Cell]()
    for number in range(100):
        machine = Machine(3)
        machine.each(ADD, [(number,)], None)
        table = machine.memory.read(machine.node.part("hash_table"))
        found += [(number,)] if table[-1] else []
    return found


def searches_that_wrap_around(schedule: Schedule) -> None:
    """Cells whose entries are the last one and the first ones of the table."""
    wanted = Random(schedule.seed).sample(cells_of_the_last_entry(), 3)
    machine = Machine(3)
    machine.each(ADD, wanted * 2, schedule)
    assert machine.cells() == counted(wanted * 2)
    machine.each(DROP, wanted[:2], schedule)
    machine.each(ADD, wanted[1:], schedule)
    assert machine.cells() == {wanted[1]: 1, wanted[2]: 3}


def far_on_four_axes(schedule: Schedule) -> None:
    """The box has more cells than an i64 counts. A bucket ends within the cells of one index on the first axes."""
    most = HALF - 1
    corners = [(0, -most, -HALF, 0), (1, most, most, most)]
    boundary = (2 * HALF - 1) // 32 - most
    wanted = [*corners, (0, boundary, 0, most), (0, boundary, 1, 0)]
    machine = Machine(5, 4)
    machine.each(ADD, wanted, schedule)
    assert machine.visited(schedule) == sorted(wanted)


def order_of_lists(schedule: Schedule) -> None:
    """Most cells are in one bucket, because one is far away; then they are not, because it is gone."""
    rng = Random(schedule.seed)
    near = [(cell,) for cell in rng.sample(range(-40, 40), 9)]
    machine = Machine(12)
    machine.each(ADD, [*near, (HALF - 1,)], schedule)
    assert machine.visited(schedule) == sorted([*near, (HALF - 1,)])
    machine.each(DROP, [(HALF - 1,), near[0]], schedule)
    assert machine.visited(schedule) == sorted(near[1:])
    machine.each(ADD, [(-HALF,)], schedule)
    assert machine.visited(schedule) == sorted([(-HALF,), *near[1:]])


PROGRAMS: dict[str, Callable[[Schedule], None]] = {
    program.__name__: program
    for program in (
        cells_that_many_want,
        two_axes,
        cells_that_come_and_go,
        cells_that_are_wanted_while_they_go,
        a_full_pool,
        what_is_left_of_a_full_pool,
        searches_that_wrap_around,
        far_on_four_axes,
        order_of_lists,
    )
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_under_schedules(name: str) -> None:
    for seed in range(draws(16)):
        PROGRAMS[name](Schedule(seed, weak=seed % 2 == 1))


# What each function and loop rests on: the program that notices when it is not there, the function (or the loops that
# make the list or fill the table), what it says, and what it says instead.
WEAKER: dict[str, tuple[str, str, str, str]] = {
    "a search that does not wrap around": (
        "searches_that_wrap_around",
        "probe",
        "binary and %behind, %mask",
        "binary or %behind, %at",
    ),
    "a bucket of a number that is too large": (
        "far_on_four_axes",
        "bucket",
        "binary and %fits_",
        "binary or %fits_",
    ),
    "a bucket that leaves an axis out": (
        "far_on_four_axes",
        "bucket",
        "binary and %fits_2, %small3",
        "binary and %small3, %small3",
    ),
    "a search that looks at deactivated cells": (
        "cells_that_come_and_go",
        "probe",
        "binary ne %slot, %gone",
        "binary ne %slot, %none",
    ),
    "a search that takes any cell": ("cells_that_many_want", "probe", "if %owned", "if %used"),
    "a search that asks for one axis": ("two_axes", "probe", "binary and %same0, %same1", "binary and %same0, %same0"),
    "a search that does not acquire": ("cells_that_many_want", "probe", "order=acquire", "order=relaxed"),
    "cells that are made without a lock": (
        "cells_that_many_want",
        "reach",
        "binary eq %was, %open",
        "binary eq %open, %open",
    ),
    "cells that are made without a second search": (
        "cells_that_many_want",
        "reach",
        "binary eq %again, %none",
        "binary eq %none, %none",
    ),
    "a full pool that keeps the lock": (
        "what_is_left_of_a_full_pool",
        "reach",
        "atomic_store %lock, %open, order=release\n          return [%none]",
        "return [%none]",
    ),
    "a list that is not made anew": ("order_of_lists", "reach", "atomic_store %changed, %closed", ""),
    "a lock that does not release": ("cells_that_many_want", "reach", "order=release", "order=relaxed"),
    "entries that are taken twice": (
        "cells_that_many_want",
        "enter",
        "binary eq %was, %none",
        "binary eq %none, %none",
    ),
    "entries whose slot is not told": ("order_of_lists", "enter", "atomic_store %kept, %number", ""),
    "entries that do not release": ("cells_that_many_want", "enter", "order=acq_rel", "order=relaxed"),
    "a cell that goes without being there": (
        "cells_that_come_and_go",
        "deactivate",
        "binary ne %slot, %none",
        "binary eq %none, %none",
    ),
    "a cell that goes and is still listed": ("order_of_lists", "deactivate", "atomic_store %kept, %nothing", ""),
    "a cell that goes and ends searches": (
        "cells_that_come_and_go",
        "deactivate",
        "const 4294967295 : u32",
        "const 0 : u32",
    ),
    "marks that are not counted": (
        "cells_that_come_and_go",
        "deactivate",
        "atomic add %lost, %one : i64",
        "atomic_load %lost : i64",
    ),
    "a table that is never filled anew": (
        "cells_that_come_and_go",
        "refill",
        "binary gt %gone_now, %bearable",
        "binary ne %bearable, %bearable",
    ),
    "a table that is filled and was not empty": ("cells_that_come_and_go", "refill", "store %entry, %no_slot", ""),
    "a table that keeps what went": (
        "cells_that_come_and_go",
        "again",
        "binary ne %number, %nothing",
        "binary eq %nothing, %nothing",
    ),
    "a table without the last cells": (
        "cells_that_come_and_go",
        "refill",
        "select %too_many, %ever, %zero",
        "select %too_many, %one, %zero",
    ),
    "buckets that are not sorted": ("order_of_lists", "sort", "invoke function=H0_sift, [%begin, %zero, %last]", ""),
    "no heap before the sort": ("order_of_lists", "sort", "for %zero, %half, %one", "for %half, %half, %one"),
    "the order of one axis": ("two_axes", "precedes", "binary and %same0", "binary and %less0"),
    "a heap without right children": ("order_of_lists", "sift", "binary lt %right, %count", "binary ne %zero, %zero"),
    "a box without what lies below": ("order_of_lists", "box", "atomic max %whole_low0", "atomic min %whole_low0"),
    "a box without what lies above": ("order_of_lists", "box", "atomic max %whole_high0", "atomic min %whole_high0"),
    "cells that went, in buckets": ("order_of_lists", "bucket", "binary eq %number, %zero", "binary ne %zero, %zero"),
    "counts that are not cleared": ("order_of_lists", "list", "store %stale, %zero", ""),
    "sums that are not stored": ("order_of_lists", "list", "store %sum_3, %before_3", ""),
}


def weaken(monkeypatch: pytest.MonkeyPatch, which: str, before: str, after: str) -> list[str]:
    """Let one function or loop say something else. Gives the list of the texts that do, which fills."""
    changed = list[str]()

    def other(text: str, name: str) -> str:
        if name != which or before not in text:
            return text
        changed.append(name)
        return text.replace(before, after)

    for module in (hashed_cells, hashed_lists):
        made = module.written_on

        def weaker(nodes: Any, signature: str, body: str, *more: Any, made: Any = made) -> Kernel:
            return made(nodes, signature, other(body, signature[: signature.index("(")].rpartition("_")[2]), *more)

        monkeypatch.setattr(module, "written_on", weaker)
    for role in ("refill", "hash_list"):
        text = getattr(cell_lists, f"{role}_text")
        name = role.rpartition("_")[2]
        monkeypatch.setattr(cell_lists, f"{role}_text", lambda *of, text=text, name=name: other(text(*of), name))
    return changed


@pytest.mark.parametrize("case", every(6, WEAKER))
def test_what_the_functions_rest_on(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, *weakened = WEAKER[case]
    cells_of_the_last_entry()  # before something is weakened
    lowered.cache_clear()
    forget_functions()
    changed = weaken(monkeypatch, *weakened)
    try:
        noticed = any(_fails(PROGRAMS[name], Schedule(seed, weak=seed % 2 == 1)) for seed in range(60))
    finally:
        lowered.cache_clear()
        forget_functions()
    assert changed
    assert noticed, f"{case}: nobody notices"


def _fails(program: Callable[[Schedule], None], schedule: Schedule) -> bool:
    try:
        program(schedule)
    except (AssertionError, Fault, pytest.fail.Exception):
        return True
    return False


def test_a_list_that_an_interrupt_ended_is_made_anew() -> None:
    cells = [(5,), (-9,), (100,), (3,)]
    for limit in range(5, 1000, 9):  # iterations of loops before the interrupt
        machine = Machine(12)
        machine.each(ADD, cells, None)
        visit, functions = lowered(12, 1, VISIT)
        with suppress(Fault):
            evaluate(visit, [], machine.memory, CONFIG, limit, functions)
            break  # it came to its end
        assert machine.visited(None) == sorted(cells)
    assert limit > 200
