"""The routines of a kernel that can be compiled apart from it: runs of tasks that the run-time library has made.

    task ... routine="claim P" { tree_base tree=4 ... scope="field:P.marks" }
                                                              ->  kernel @routine() { task ... { tree_base tree=0 ...
                                                                                                 scope="field:0" } }

In the kernel of a routine, trees, temporaries and memory are numbered by their first use. So the routines of two nodes
are equal if the nodes are laid out alike, whatever else their kernels do. Tasks stay in the kernel if they do anything
but compute, branch, access trees, and hold interrupts, or if they share temporaries with other tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from weft.ir.core import Op, Value
from weft.ir.mapping.joined_trees import joined_in
from weft.ir.ops import (
    Address,
    Arg,
    ArrayBase,
    ArrayExtent,
    ArrayPtr,
    ArrayShape,
    ArrayStride,
    HoldInterrupts,
    Kernel,
    ScalarArg,
    Task,
    TempPtr,
    TreeBase,
)
from weft.ir.scopes import Scope
from weft.ir.tasks import tasks_of

__all__ = ["Routine", "is_alone", "numbered", "routines_in"]

_OF_ARGUMENTS = (Arg, ArrayBase, ArrayExtent, ArrayPtr, ArrayShape, ArrayStride, ScalarArg)


@dataclass(frozen=True)
class Routine:
    """Tasks of a kernel, by their number, as a kernel of their own. Its tree k is tree `trees[k]` of the first one,
    from byte `begins[k]` on. `shared`: other kernels have the same object."""

    first: int
    count: int
    kernel: Kernel
    trees: tuple[int, ...]
    begins: tuple[int, ...]
    shared: bool = False


def routines_in(kernel: Kernel) -> list[Routine]:
    """The routines whose tasks are in a kernel that is mapped to its target."""
    found, number = list[Routine](), 0
    for name, group in groupby(tasks_of(kernel), key=lambda task: task.routine):
        tasks = list(group)
        if name and is_alone(tasks, kernel):
            found.append(numbered(tasks, number))
        number += len(tasks)
    return found


def is_alone(tasks: Sequence[Task], kernel: Kernel) -> bool:
    """Whether nothing but memory of trees connects the tasks with the rest of the kernel."""
    if any(task.schedule.privatized for task in tasks):
        return False
    inside = [op for task in tasks for op in task.walk()]
    if any(isinstance(op, _OF_ARGUMENTS) or op.exits or not _is_harmless(op) for op in inside):
        return False
    if any(isinstance(op, Address) and isinstance(op.base, TempPtr) and (op.indices or op.offset) for op in inside):
        return False  # of several words
    own = {op.offset for op in inside if isinstance(op, TempPtr)}
    others = (op for task in tasks_of(kernel) if task not in tasks for op in task.all_of(TempPtr))
    return own.isdisjoint(op.offset for op in others)


def _is_harmless(op: Op) -> bool:
    """Whether the op has no effect but on memory and on the record of the launch, which a routine has too."""
    return op.effect in ("", "address") or isinstance(op, HoldInterrupts)


def numbered(tasks: Sequence[Task], first: int = 0) -> Routine:
    """Tasks that are alone, the first of which has that number in its kernel, as a routine."""
    made, copies = Kernel("routine"), dict[Value, Value]()
    for task in tasks:
        copy = task.clone(copies)
        assert isinstance(copy, Task)
        copy.read_set, copy.write_set, copy.routine = (), (), ""
        made.body.append(copy)
    numbering = _Numbering()
    for op in made.walk():
        op.name = ""
        for region in op.regions:
            for arg in region.args:
                arg.name = ""
        numbering.renumber(op)
    begins = tuple(_begin(made, tree) for tree in range(len(numbering.trees)))
    made.temp_bytes = 8 * len(numbering.temps)
    for task in tasks_of(made):
        task.schedule = replace(task.schedule, joined=tuple(sorted(joined_in(task, made))))
    return Routine(first, len(tasks), made, tuple(numbering.trees), begins)


def _begin(kernel: Kernel, tree: int) -> int:
    """Let the tree begin where its first used part begins; gives the byte. (The tables of all nodes at the root are in
    one tree.)"""
    users = [user for op in kernel.all_of(TreeBase) if op.tree == tree for user in op.users]
    parts = [user for user in users if isinstance(user, Address)]
    if len(parts) < len(users):
        return 0
    begin = min(part.offset for part in parts)
    for part in parts:
        part.offset -= begin
    return begin


class _Numbering:
    """Numbers what a routine uses, in the order of its first uses."""

    def __init__(self) -> None:
        self.trees, self.temps, self.spaces = dict[int, int](), dict[int, int](), dict[str, str]()

    def renumber(self, op: Op) -> None:
        if isinstance(op, TreeBase):
            op.tree = self.trees.setdefault(op.tree, len(self.trees))
        elif isinstance(op, TempPtr):
            op.offset = self.temps.setdefault(op.offset, 8 * len(self.temps))
        elif isinstance(op, Address):
            kind = op.scope.kind
            space = self.spaces.setdefault(op.scope.space, f"{kind}:{len(self.spaces)}" if kind else "")
            op.scope = Scope(space, op.scope.component, op.scope.exposed)
