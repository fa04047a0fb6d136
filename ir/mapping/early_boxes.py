"""Decides whether the box of a task may be computed before the tasks in front of it."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.addresses import root_of
from weft.ir.core import ops_of
from weft.ir.ops import Load, Task, TempPtr

__all__ = ["is_known_before"]


def is_known_before(task: Task, since: Sequence[Task]) -> bool:
    """Whether the bounds of a task are the same before these tasks: they read temporaries that these do not use."""
    read = [root_of(op.ptr) for op in task.bounds if isinstance(op, Load)]
    inside = [op for other in since for op in ops_of(other.prologue, other.body, other.epilogue)]
    used = {op.offset for op in inside if isinstance(op, TempPtr)}
    return all(isinstance(root, TempPtr) and root.offset not in used for root in read)
