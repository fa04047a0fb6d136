"""Decides whether the box of a task may be computed before the tasks in front of it, or while the task runs."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.addresses import root_of
from weft.ir.alias import is_access, space_of
from weft.ir.core import Value, ops_of
from weft.ir.ops import Alloca, Invoke, Load, RunRoutine, SharedBase, Task, TempPtr, TreeBase
from weft.ir.scopes import Scope
from weft.ir.tasks import touched_names

__all__ = ["is_known_before", "leaves_its_box"]

_CHEAP = 24  # ops that each thread may run to know the box


def is_known_before(task: Task, since: Sequence[Task]) -> bool:
    """Whether the bounds of a task are the same before these tasks: they read temporaries that these do not use."""
    read = [root_of(op.ptr) for op in task.bounds if isinstance(op, Load)]
    inside = [op for other in since for op in ops_of(other.prologue, other.body, other.epilogue)]
    used = {op.offset for op in inside if isinstance(op, TempPtr)}
    return all(isinstance(root, TempPtr) and root.offset not in used for root in read)


def leaves_its_box(task: Task) -> bool:
    """Whether the bounds of a task read trees, and nothing that the task may write. So they are the same at any time
    while it runs, and each thread can compute them."""
    bounds = list(task.bounds)
    read = [op for op in bounds if isinstance(op, Load)]
    if not read or len(bounds) > _CHEAP or any(not (op.pure or op in read or op is task.bounds.last) for op in bounds):
        return False
    scopes = [space_of(op.ptr) for op in read if isinstance(root_of(op.ptr), TreeBase)]
    if len(scopes) < len(read):
        return False
    inside = ops_of(task.prologue, task.body, task.epilogue)
    named = touched_names(
        [op for op in inside if isinstance(op, Invoke)], [op for op in inside if isinstance(op, RunRoutine)]
    )
    written = [op.ptr for op in inside if is_access(op) and op.writes]
    return all(
        isinstance(scope, Scope)  # not of lent memory, which other addresses may be in
        and scope.name not in named
        and not any(_may_be_in(ptr, scope) for ptr in written)
        for scope in scopes
    )


def _may_be_in(ptr: Value, scope: Scope) -> bool:
    """Whether an address may be one of that scope."""
    if isinstance(root_of(ptr), (Alloca, TempPtr, SharedBase)):
        return False
    other = space_of(ptr)
    return not isinstance(other, Scope) or scope.may_overlap(other)
