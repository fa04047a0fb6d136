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
length of the loop. It is emitted twice, unchanged for the case that it is short. `single`: the loop is in a branch that
rarely runs, so LLVM does not unroll it. It does if the loop accesses elements of a small local from outside of the
branch by indices: other code could not keep them in registers then.

The iterations of a task are split in the same way (`stretch` of the task). The lengths of stretches are multiples of
256, so that they consist of whole vectors. `even`: they divide the length of a row, which is known, so all are alike.

A function that runs as a whole (`Kernel.whole`) has no tests, and so its callers do not leave after it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

from weft.ir.addresses import root_of
from weft.ir.config import CompileConfig
from weft.ir.core import ops_of, pointee
from weft.ir.lowered_ops import Address
from weft.ir.mapping.stretches import NEVER, WHOLE, Stretches, even_part
from weft.ir.ops import Alloca, ElementPtr, For, If, Kernel, Task, While
from weft.ir.passes import pass_
from weft.ir.schedule import Schedule
from weft.ir.tasks import box_of, known_extent, tasks_of
from weft.ir.types import Tensor

__all__ = ["choose_stretches"]

_REGISTERS = 64  # the most elements of a local that may be in registers


@pass_("choose_stretches")
def choose_stretches(root: Kernel, config: CompileConfig) -> bool:
    """Choose the number of iterations between two tests, for each loop and each parallel task."""
    if root.whole:
        return False
    changed, known = False, Stretches({})
    for loop in root.all_of(While):
        loop.stretch, changed = known.of(loop), True
    for op in root.all_of(For):
        single = _is_rare(op)
        if (stretch := known.of(op)) != NEVER:
            short = known.is_likely_short(op) and not single
            op.schedule, changed = replace(op.schedule, stretch=stretch, short=short), True
        if single:
            op.schedule, changed = replace(op.schedule, single=True), True
    for task in tasks_of(root):
        if task.kind != "serial":
            made = _of_task(task, known)
            changed |= made != task.schedule
            task.schedule = made
    return changed


def _is_rare(loop: For) -> bool:
    """Whether a loop is in a branch that rarely runs, and may stay as it is."""
    path = [loop, *loop.around()]
    branches = [op for inner, op in pairwise(path) if isinstance(op, If) and op.seldom and inner.block is op.orelse]
    if not branches:
        return False
    roots = {root_of(op) for op in ops_of(loop.body) if isinstance(op, (ElementPtr, Address))}
    return not any(isinstance(root, Alloca) and _is_small(root) and not root.within(branches[0]) for root in roots)


def _is_small(local: Alloca) -> bool:
    """Whether the elements of a local may be in registers."""
    whole = pointee(local)
    return not isinstance(whole, Tensor) or whole.count <= _REGISTERS


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
