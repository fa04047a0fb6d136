"""Thread coarsening: a thread takes several neighbouring iterations together, and so moves 16 bytes at a time.

    task range_for body (%i: i64) { %v = load x[%i] ...; store y[%i], ... }                            x, y of f32

    task range_for schedule={across=4, busy=1024} prologue { ...; aligned values=[], taps=[] } body (%i: i64) { ... }

The body is the same; code generation writes each op for all iterations of a thread before the next op: one 16-byte load
of x, four times each op, one 16-byte store. So the loads stand side by side, LLVM joins them, and all are under way at
once. The iterations of a task may run in any order, and so they may run like this. In a stencil a thread takes several
rows as well: cells next to one another have neighbours in common, which are read once.

Not where iterations can end early, loop on their own, or draw numbers in order. The op `aligned` names what must be
multiples of 16 bytes: where it is not, which turns out as the task runs, a thread takes one iteration at a time.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.coarsening import ALONE, Group, group_of
from weft.ir.mapping.warp_sums import warp_loop
from weft.ir.ops import Aligned, Const, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.tasks import parallel_tasks

__all__ = ["coarsen"]


@pass_("coarsen")
def coarsen(root: Kernel, config: CompileConfig) -> bool:
    """Choose how many neighbouring iterations, in how many rows, the threads of each task take."""
    changed = False
    for task in parallel_tasks(root):
        if task.schedule.numbered or warp_loop(task) is not None:
            continue
        group = group_of(task)
        if group != ALONE:
            _take(task, group)
            changed = True
    return changed


def _take(task: Task, group: Group) -> None:
    """Write the choice down."""
    asked = all(not isinstance(value, Const) for value in group.taps)  # a constant is no multiple, or it were no tap
    phases = ("ask" if asked else "anywhere") if group.taps else ""
    task.schedule = replace(task.schedule, across=group.across, rows=group.rows, busy=group.busy, phases=phases)
    task.prologue.append(Aligned([*group.aligned], [*group.taps] if asked else [], span=task.span))
