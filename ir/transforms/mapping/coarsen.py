"""Thread coarsening: a thread runs several neighbouring iterations at once, and so moves 16 bytes at a time.

    task range_for body (%i: i64) { %v = load x[%i] ...; store y[%i], ... }                            x, y of f32

    task range_for schedule={across=4, busy=1024} prologue { ...; aligned values=[], taps=[] } body (%i: i64) { ... }

The body does not change. Code generation emits each op for all iterations of a thread before the next op: one 16-byte
load of x, four copies of each op, one 16-byte store. The loads are therefore adjacent, LLVM merges them, and all of
them are in flight at once. This order is valid because the iterations of a task may run in any order. In a stencil, a
thread runs several rows as well: neighbouring cells share neighbours, and the thread reads these only once.

The pass skips tasks whose iterations may end early, draw numbers in order, or contain loops that run differently in
each iteration of the task. The op `aligned` lists the values that must be multiples of 16 bytes. The kernel tests them
at run time. If they are not, a thread runs one iteration at a time.
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
    """Choose the number of neighbouring iterations, and of rows of them, that each thread of a task runs at once."""
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
    """Record the choice in the task."""
    asked = all(not isinstance(value, Const) for value in group.taps)  # a constant tap is not a multiple of 16
    phases = ("ask" if asked else "anywhere") if group.taps else ""
    task.schedule = replace(task.schedule, across=group.across, rows=group.rows, busy=group.busy, phases=phases)
    task.prologue.append(Aligned([*group.aligned], [*group.taps] if asked else [], span=task.span))
