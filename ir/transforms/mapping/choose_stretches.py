"""Chooses where the loops of a CPU kernel test whether the launch must end.

    while { A }
    for %0, %n, %1 (%i: i64) { for %0, %n, %1 (%j: i64) { A } }

    while stretch=-1024 { A }
    for %0, %n, %1, schedule={stretch=-16} (%i: i64) { for %0, %n, %1, schedule={stretch=40000} (%j: i64) { A } }

A launch must end after a failure in another thread, or an interrupt. A loop tests that after each `stretch` of
iterations, which takes about a millisecond at most:

- A positive stretch splits the loop. LLVM may vectorize the loop over one stretch.
- A negative one makes the loop count its iterations, which costs an instruction for each.
- 0: the loop ends sooner than that, and the loop around it tests.

`short`: the loop probably ends within its first stretch, because each iteration of the loop around it computes the
length of the loop. It is emitted twice, unchanged for the case that it is short.

The iterations of a task are split in the same way (`stretch` of the task). The lengths of stretches are multiples of
256, so that they consist of whole vectors. `even`: they divide the length of a row, which is known, so all are alike.

A function that runs as a whole (`Kernel.whole`) has no tests, and so its callers do not leave after it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.stretches import NEVER, WHOLE, Stretches, even_part
from weft.ir.ops import For, Kernel, Task, While
from weft.ir.passes import pass_
from weft.ir.schedule import Schedule
from weft.ir.tasks import box_of, known_extent, tasks_of

__all__ = ["choose_stretches"]


@pass_("choose_stretches")
def choose_stretches(root: Kernel, config: CompileConfig) -> bool:
    """Choose the number of iterations between two tests, for each loop and each parallel task."""
    if root.whole:
        return False
    changed, known = False, Stretches({})
    for loop in root.all_of(While):
        loop.stretch, changed = known.of(loop), True
    for op in root.all_of(For):
        if (stretch := known.of(op)) != NEVER:
            op.schedule = replace(op.schedule, stretch=stretch, short=known.is_likely_short(op))
            changed = True
    for task in tasks_of(root):
        if task.kind != "serial":
            made = _of_task(task, known)
            changed |= made != task.schedule
            task.schedule = made
    return changed


def _of_task(task: Task, known: Stretches) -> Schedule:
    axes = len(box_of(task).begins)
    row, rows = known_extent(task, axes - 1), axes > 1
    length = math.inf if row is None else row[1] - row[0]
    stretch = known.of_box(task.body, length, rows)
    if stretch <= NEVER:
        return replace(task.schedule, stretch=stretch)
    stretch = -(-stretch // WHOLE) * WHOLE
    even = even_part(length, stretch, WHOLE) if rows or task.schedule.alone else 0
    return replace(task.schedule, stretch=even or stretch, even=even > 0)
