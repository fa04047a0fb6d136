"""An interrupt ends a launch that makes or frees cells of sparse nodes: at whatever iteration that happens, no cell and
no slot is lost, and no cell has two slots. And what that rests on: without it, a program below notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

import pytest

from tests.ir.test_hashed_cells import ADD, CONFIG, DROP, Machine, lowered
from tests.ir.test_sparse_deactivation import lost, zeros
from tests.ir.test_sparse_lowering import kernel_of
from tests.sampling import draws
from tests.sparse_trees import Declared, I, J, branch, declare, lower, place, stored_slots
from weft.codegen.llvm.callees import survey
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.ops import Kernel, While
from weft.ir.runtime_library import claims, hashed_cells
from weft.ir.runtime_library.sparse import forget_functions
from weft.ir.storage.snode import SNode
from weft.ir.transforms import enumerate_cells
from weft.ir.transforms.mapping.choose_stretches import choose_stretches
from weft.ir.types import i32

STEP = 7 // draws(7)  # iterations from one interrupt to the next


def interrupted(kernel: Kernel, functions: list[Kernel], prepare: Callable[[], Memory]) -> Iterator[Memory]:
    """Memories after a launch that an interrupt ended: after each number of iterations of its loops, or a sample of
    them. The last one is that after a whole launch."""
    limit, ended = 0, True
    while ended:
        memory = prepare()
        ended = False
        try:
            evaluate(kernel, [], memory, CONFIG, limit, functions)
        except Fault:
            ended = True
        yield memory
        limit += STEP
        assert limit < 10_000


# ---- a hash node -----------------------------------------------------------------------------------------------------

HEAD = """
%e = const 6 : i32
parallel_for begins=[%0], ends=[%e] (%i: i32) {
  %p0 = field_ptr @at[%i, %0] : *i32
  %a0 = load %p0 : i32
"""


def prepared() -> Machine:
    """A machine with the cells 3 to 8, of which the last two were made after two others went."""
    machine = Machine(6)
    machine.each(ADD, [(cell,) for cell in range(1, 7)], None)
    machine.each(DROP, [(1,), (2,)], None)
    machine.each(ADD, [(7,), (8,)], None)
    for number, cell in enumerate((3, 9, 4, 10, 5, 11)):
        machine.memory.place(machine.indices, [number, 0]).store(cell, i32)
    return machine


def hash_cells_that_go() -> None:
    """A launch deactivates three cells, and fills the table anew. Afterwards, all slots can be used."""
    seen = set[frozenset[int]]()
    for memory in interrupted(*lowered(6, 1, f"{HEAD}{DROP}\n}}"), lambda: prepared().memory):
        machine = Machine(6)
        machine.memory = memory
        assert zeros(memory, machine.node)
        found = frozenset(machine.centred(at)[0] for at in stored_slots(memory, machine.node))
        assert {6, 7, 8} <= found <= {3, 4, 5, 6, 7, 8}
        seen.add(found)
        machine.each(DROP, [(3,), (4,), (5,)], None)
        machine.each(ADD, [(12,), (13,), (14,), (7,)], None)
        assert machine.cells() == {(6,): 1, (7,): 2, (8,): 1, (12,): 1, (13,): 1, (14,): 1}
    assert len(seen) > 2


def full() -> Machine:
    """A machine with the cells 6 to 8, and three free slots, of cells that went."""
    machine = prepared()
    machine.each(DROP, [(3,), (4,), (5,)], None)
    for number, cell in enumerate((9, 10, 11, 9, 10, 11)):
        machine.memory.place(machine.indices, [number, 0]).store(cell, i32)
    return machine


def hash_cells_that_come() -> None:
    """A launch makes three cells, and the next one finds no lock closed and all slots."""
    for memory in interrupted(*lowered(6, 1, f"{HEAD}{ADD.replace('AT', '%a0')}\n}}"), lambda: full().memory):
        machine = Machine(6)
        machine.memory = memory
        assert zeros(memory, machine.node)
        before = machine.cells()
        assert set(before) >= {(6,), (7,), (8,)}
        machine.each(ADD, [(9,), (10,), (11,)], None)
        after = {(cell,): before.get((cell,), 0) + (cell > 8) for cell in range(6, 12)}
        assert machine.cells() == after


# ---- pointer nodes ---------------------------------------------------------------------------------------------------

# The number of iterations is not known, so cells are made before the loop.
MAKE = """
%q = field_ptr @n[%0] : *i32
%e = load %q : i32
parallel_for begins=[%0], ends=[%e] (%i: i32) {
  %p = field_ptr @x[%i] : *i32
  %o = atomic add %p, %1
}
"""
FREE = "parallel_for begins=[%0], ends=[%4] (%i: i32) { deactivate @P0[%i] }"
EMPTY = "struct_for @P0.table, cells=true (%a: i32) { deactivate @P0[%a] }"  # needs no marks
COUNT = 12


@cache
def tree() -> Declared:
    root = SNode("root")
    place(branch(branch(root, "pointer", (I, 4)), "pointer", (I, 3)), "x", i32)
    place(branch(root, "dense", (J, 8)), "n", i32)
    return declare(root)


@cache
def pointed(body: str) -> tuple[Kernel, list[Kernel]]:
    return lower(kernel_of(tree(), body), CONFIG)


def run(body: str, memory: Memory) -> None:
    kernel, functions = pointed(body)
    evaluate(kernel, [], memory, CONFIG, functions=functions)


def ready(*bodies: str) -> Memory:
    memory = Memory.of(tree().fields, tree().nodes)
    memory.place(next(one for one in tree().fields if one.name == "n"), [0]).store(COUNT, i32)
    for body in bodies:
        run(body, memory)
    return memory


def pointer_cells_that_come() -> None:
    """A launch makes all cells of two levels, and another one frees them."""
    for memory in interrupted(*pointed(MAKE), ready):
        for body in (FREE, MAKE, FREE):
            run(body, memory)
            assert not any(lost(memory, node) for node in tree().nodes)
            assert all(zeros(memory, node) for node in tree().nodes)


def pointer_cells_that_go(way: str = FREE) -> None:
    """A launch frees all cells of two levels, and another one makes them."""
    for memory in interrupted(*pointed(way), lambda: ready(MAKE)):
        for body in (MAKE, way, MAKE):
            run(body, memory)
        assert not any(lost(memory, node) for node in tree().nodes)
        assert all(zeros(memory, node) for node in tree().nodes)


def pointer_cells_that_all_go() -> None:
    """The same by a loop over them."""
    pointer_cells_that_go(EMPTY)


PROGRAMS = {
    program.__name__: program
    for program in (
        hash_cells_that_go,
        hash_cells_that_come,
        pointer_cells_that_come,
        pointer_cells_that_go,
        pointer_cells_that_all_go,
    )
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_anywhere(name: str) -> None:
    PROGRAMS[name]()


# What is left out: the programs that notice it.
WEAKER = {
    "interrupts are held while cells are collected": (
        "hash_cells_that_go",
        "pointer_cells_that_go",
        "pointer_cells_that_all_go",
    ),
    "interrupts are held while cells are made": ("pointer_cells_that_come",),
    "functions run as a whole": ("hash_cells_that_come",),
}


def weaken(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if what == "functions run as a whole":
        made = hashed_cells.written_on

        def plain(nodes: Any, signature: str, *more: Any) -> Kernel:
            return made(nodes, signature.replace(" whole=true", ""), *more)

        monkeypatch.setattr(hashed_cells, "written_on", plain)
        return
    module = claims if what.endswith("made") else enumerate_cells
    monkeypatch.setattr(module, "held_text", lambda *_: "")


@pytest.mark.parametrize("name", [(what, name) for what, names in WEAKER.items() for name in names])
def test_what_it_rests_on(name: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    what, program = name
    lowered.cache_clear()
    forget_functions()
    pointed.cache_clear()
    weaken(what, monkeypatch)
    monkeypatch.setattr(f"{__name__}.STEP", 1)
    try:
        with pytest.raises((AssertionError, Fault)):
            PROGRAMS[program]()
    finally:
        lowered.cache_clear()
        forget_functions()
        pointed.cache_clear()


def test_functions_have_no_tests_whether_the_launch_must_end() -> None:
    """A failure in another thread would end a function of the library where it tests that, or calls one that does."""
    made = [*lowered(6, 1, f"{HEAD}{ADD.replace('AT', '%a0')}\n{DROP}\n}}")[1], *pointed(MAKE)[1], *pointed(FREE)[1]]
    functions = [cast(Kernel, one.clone({})) for one in {one.symbol: one for one in made}.values()]
    assert {"H0_reach", "H0_deactivate", "P0_deactivate"} <= {one.symbol for one in functions}
    for one in functions:
        assert not choose_stretches(one, CONFIG)
    found = survey(functions, lambda op: isinstance(op, While) and op.stretch != 0)
    assert not any(callee.fails for name, callee in found.items() if name.startswith("H0"))
