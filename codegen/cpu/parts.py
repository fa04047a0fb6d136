"""Splits a long kernel into several LLVM modules, which threads compile concurrently
(docs/adr/0029-tasks-in-threads.md).

    module 0    weft_entry, serial tasks, short loops, whatever calls functions
    module 1    weft_task0, weft_task1 (with all that belongs to their loops)
    module 2    weft_task3 ...

The lengths of the loops decide where to cut before code is emitted. A part is therefore handed over as soon as its last
loop is emitted, and compiled while the next loop is emitted. A kernel that LLVM compiles quickly stays in one module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from weft.ir.mapping.cost import length
from weft.ir.ops import Invoke, Kernel, Task

if TYPE_CHECKING:
    from weft.codegen.llvm.module import ModuleWriter

__all__ = ["Parts", "cuts_of"]

# Ops of the loops of a module: fewer are not worth a module of their own.
_LEAST = 250

# How functions of loops begin: the entry calls them, or gives the pool their addresses.
_BODY = re.compile(r"^define internal void @(weft_task\w+)\(", re.MULTILINE)

# And how those that belong to no loop do: each module has its own of those that it calls.
_SHARED = re.compile(r"\s*define internal [^@]*@(?!weft_task)(\w+)\(")


class Parts:
    """The modules of a kernel that is split after these tasks. `give(text, lines)` gets each of them, the one with the
    entry last."""

    def __init__(self, cuts: frozenset[int], header: str, give: Callable[[str, int], None]) -> None:
        self._cuts, self._header, self._give = cuts, header, give
        self._seen = 0
        self._shared: dict[str, str] = {}
        self._staying: list[str] = []
        self._pending: list[str] = []
        self._elsewhere: list[str] = []

    def written(self, module: ModuleWriter, number: int, task: Task) -> None:
        """The functions of a task were written into the module, and no others since the last."""
        self._sort(module, self._staying if _stays(task) else self._pending)
        if number in self._cuts:
            functions = [_BODY.sub(r"define void @\1(", text) for text in self._pending]
            self._elsewhere += [name for text in self._pending for name in _BODY.findall(text)]
            functions += [text for name, text in self._shared.items() if any(f"@{name}(" in one for one in functions)]
            self._give(module.text(self._header, functions), _lines(functions))
            self._pending.clear()

    def finish(self, module: ModuleWriter) -> None:
        """Everything is emitted: hand over the rest."""
        self._sort(module, self._staying)
        declared = [f"declare void @{name}(ptr, ptr, i64, i64) nounwind" for name in self._elsewhere]
        functions = [*self._shared.values(), *self._pending, *self._staying]
        self._give(module.text(self._header, [*declared, "", *functions]), _lines(functions))

    def _sort(self, module: ModuleWriter, where: list[str]) -> None:
        """Assign new functions to their module."""
        for text in module.functions[self._seen :]:
            shared = _SHARED.match(text)
            if shared is None:
                where.append(text)
            else:
                self._shared[shared[1]] = text
        self._seen = len(module.functions)


def _lines(functions: Sequence[str]) -> int:
    return sum(text.count("\n") for text in functions)


def _stays(task: Task) -> bool:
    """Functions that belong to the entry, and functions that calls use: there is one of each."""
    return task.kind == "serial" or bool(task.routine) or bool(task.all_of(Invoke))


def cuts_of(kernel: Kernel) -> frozenset[int]:
    """The numbers of the tasks after which to split a kernel, or none if it stays whole."""
    cuts = list[int]()
    staying = pending = 0
    for number, task in enumerate(op for op in kernel.body if isinstance(op, Task)):
        if task.routine:  # compiled apart
            continue
        if _stays(task):
            staying += length(task)
            continue
        pending += length(task)
        if pending >= _LEAST:
            cuts.append(number)
            pending = 0
    if staying + pending < _LEAST:  # the entry is not worth a module either
        cuts = cuts[:-1]
    return frozenset(cuts)
