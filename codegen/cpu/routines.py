"""Calls routines of the run-time library, which are modules of their own, compiled once for all kernels that have them.

    task ... routine="claim P" { A }       call weft_routine_8f0c2a(%ctx, the trees of A and B)
    task ... routine="claim P" { B }  ->   leave if it says that the launch must end

Kernels that visit or make cells of one node have the same tasks for its lists and slots, and these tasks are longer
than most kernels. `ir/mapping/routines.py` gives them numbers instead of names, so that their text is the same. The
name of a routine is a digest of its text, and each text is compiled once (`llvm/kept_objects.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from weft.codegen.llvm.function import FunctionWriter, TargetHooks
from weft.codegen.llvm.interrupts import look
from weft.codegen.llvm.memory_ops import slot_address
from weft.codegen.llvm.module import ModuleWriter
from weft.ir.artifact import Slots
from weft.ir.mapping.routines import Routine

__all__ = ["Called", "Calls", "called"]

_ENTRY, _CALLER = "weft_entry", "weft_routine"


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
        """Write the call of a routine in place of the first of its tasks, and nothing in place of the others. The
        kernel ends if the launch must end."""
        routine = self._first.get(number)
        if routine is None:
            return
        called = emit(routine)
        if called.name not in self._given:
            self._given.add(called.name)
            self._give(self._header + called.text)
        f.module.declare(f"i1 @{called.name}(ptr{', i64' * len(routine.trees)})", "nounwind")
        given = [
            "ptr %ctx",
            *(f"i64 {_begin_of(f, *tree)}" for tree in zip(routine.trees, routine.begins, strict=True)),
        ]
        ends, on = f.set(f"call i1 @{called.name}({', '.join(given)})"), f.fresh_label("on")
        f.branch(ends, f.exit_label, on)
        f.start(on)


def _begin_of(f: FunctionWriter, tree: int, begin: int) -> str:
    """The address of the first byte of a tree that a routine uses."""
    word = f.set(f"load i64, ptr {slot_address(f, Slots.FIRST_TREE + tree)}, align 8")
    return f.set(f"add i64 {word}, {begin}") if begin else word


@dataclass(frozen=True)
class Called:
    """A routine as a module: the name of the function that kernels call, and the text without the header."""

    name: str
    text: str


def called(module: ModuleWriter, target: TargetHooks, trees: int) -> Called:
    """The routine of that module, which uses so many trees. Its name is a digest of its text."""
    _write_caller(module, target, trees)
    text = module.text("")
    name = f"weft_routine_{sha256(text.encode()).hexdigest()[:24]}"
    text = text.replace(f"define void @{_ENTRY}(", f"define internal void @{_ENTRY}(")
    return Called(name, text.replace(f"@{_CALLER}(", f"@{name}("))


def _write_caller(module: ModuleWriter, target: TargetHooks, trees: int) -> None:
    """The function that kernels call. It gives the entry a context: the first words of that of the kernel, and the
    trees. It returns whether the launch must end."""
    f = FunctionWriter(module, target, exit_label="ends")
    words = f.stack(f"[{module.slots.count} x i64]")
    given = [f.set(f"load i64, ptr {slot_address(f, slot)}, align 8") for slot in range(Slots.FIRST_TREE)]
    for position, word in enumerate([*given, *(f"%tree{k}" for k in range(trees))]):
        place = f.set(f"getelementptr inbounds i8, ptr {words}, i64 {8 * position}")
        f.do(f"store i64 {word}, ptr {place}, align 8")
    f.do(f"call void @{_ENTRY}(ptr {words})")
    look(f)
    f.do("ret i1 false")
    f.lines += ["ends:"]
    taken = ", ".join(["ptr noalias %ctx", *(f"i64 %tree{k}" for k in range(trees))])
    signature = f"define i1 @{_CALLER}({taken}) {target.attributes}"
    module.functions.append(f.returning(signature, "i1 true"))
