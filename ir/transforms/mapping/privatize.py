"""Privatization on CPUs: each thread updates a private copy of a small field, and the copies are merged once at the
end.

    task range_for ... { atomic add %bins, %1 }                       threads lock, and wait for each other

    task range_for, schedule={privatized=({scope="field:bins", kind=add, ...})} ... { atomic add %bins, %1 }

The ops stay unchanged: code generation replaces the base address of the field. Privatization is chosen only if it
removes all locks from the loop. It is not chosen if one thread runs all iterations. Lanes add to the copy of their
thread, one after another.
`mapping/privatizable.py` says which fields may be privatized.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.core import ops_of
from weft.ir.mapping.privatizable import Limits, privatizable_fields
from weft.ir.ops import Address, Atomic, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.schedule import Privatized
from weft.ir.tasks import parallel_tasks

__all__ = ["privatize"]


@pass_("privatize")
def privatize(root: Kernel, config: CompileConfig) -> bool:
    """Choose the fields of which each thread gets a private copy."""
    assert config.target is not None
    changed = False
    for task in parallel_tasks(root):
        copies = () if config.target.threads == 1 else _copies(task, root)
        if copies:
            task.schedule = replace(task.schedule, privatized=copies)
            changed = True
    return changed


def _copies(task: Task, kernel: Kernel) -> tuple[Privatized, ...]:
    """The fields to privatize, if that removes all contended atomics from the loop."""
    found = privatizable_fields(task, kernel.fields, Limits())
    scopes = {copy.scope for copy in found}
    atomics = (op for op in ops_of(task.body) if isinstance(op, Atomic))
    return found if all(isinstance(op.ptr, Address) and op.ptr.scope.whole in scopes for op in atomics) else ()
