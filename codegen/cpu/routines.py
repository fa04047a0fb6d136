"""Calls routines of the run-time library, which are modules of their own, compiled once for all kernels that have them.

    task ... routine="claim P" { A }       words = the services and the record of the launch, and the trees of A and B
    task ... routine="claim P" { B }  ->   call weft_routine_8f0c2a(words)

Kernels that visit or make cells of one node have the same tasks for its lists and slots, and these tasks are longer
than most kernels. `ir/mapping/routines.py` gives them numbers instead of names, so that their text is the same. The
name of a routine is a digest of its text, and each text is compiled once (`llvm/kept_objects.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.interrupts import look
from weft.codegen.llvm.memory_ops import slot_address
from weft.codegen.llvm.module import ModuleWriter
from weft.ir.artifact import Slots
from weft.ir.mapping.routines import Routine

__all__ = ["Called", "Calls", "called"]

_ENTRY = "weft_entry"


class Calls:
    """The routines of a kernel that are compiled apart. `give(text)` gets the module of each of them once."""

    def __init__(self, routines: Sequence[Routine], header: str, give: Callable[[str], None]) -> None:
        self._first = {routine.first: routine for routine in routines}
        self._inside = {routine.first + k for routine in routines for k in range(routine.count)}
        self._header, self._give = header, give
        self._given = set[str]()

    def __contains__(self, number: int) -> bool:
        """Whether that task of the kernel belongs to one of the routines."""
        return number in self._inside

    def write(self, number: int, f: FunctionWriter, emit: Callable[[Routine], Called]) -> None:
        """Write the call of a routine in place of the first of its tasks, and nothing in place of the others."""
        routine = self._first.get(number)
        if routine is None:
            return
        module = emit(routine)
        if module.name not in self._given:
            self._given.add(module.name)
            self._give(self._header + module.text)
        f.module.declare(f"void @{module.name}(ptr)", "nounwind")
        f.do(f"call void @{module.name}(ptr {_context(f, routine, module.slots)})")
        look(f)


@dataclass(frozen=True)
class Called:
    """A routine as a module: the name of its entry, the text without the header, and the words of its context."""

    name: str
    text: str
    slots: Slots


def called(module: ModuleWriter) -> Called:
    """The routine of that module. Its name is a digest of its text."""
    text = module.text("")
    name = f"weft_routine_{sha256(text.encode()).hexdigest()[:24]}"
    return Called(name, text.replace(f"@{_ENTRY}(", f"@{name}("), module.slots)


def _context(f: FunctionWriter, routine: Routine, slots: Slots) -> str:
    """The context of a routine: the first words of that of the kernel, and the trees that the routine uses."""
    words = f.stack(f"[{slots.count} x i64]")
    given = [(slot, 0) for slot in range(Slots.FIRST_TREE)]
    given += [(Slots.FIRST_TREE + tree, begin) for tree, begin in zip(routine.trees, routine.begins, strict=True)]
    for position, (slot, begin) in enumerate(given):
        word = f.set(f"load i64, ptr {slot_address(f, slot)}, align 8")
        word = f.set(f"add i64 {word}, {begin}") if begin else word
        f.do(f"store i64 {word}, ptr {f.set(f'getelementptr inbounds i8, ptr {words}, i64 {8 * position}')}, align 8")
    return words
