"""Unroll-and-jam: runs several iterations of a serial loop at once, or unrolls a short loop completely.

    for %0, %n, %1 (%j: i64) { %v = load x[%j], invariant=true ...; store %sum, ... }

    for %0, %n, %1, schedule={jam=4} (%j: i64) { ... }

Code generation makes one iteration of four. It first emits the ops of all four that do not depend on an earlier
iteration, such as four adjacent loads, which LLVM merges. Then it emits the rest, iteration by iteration. The remaining
iterations run one at a time. The pass chooses loops that wait for memory that nothing writes, and that are short
enough.

`ahead`: all threads read the same memory in the loop and wait for it at the same time. The loads of the next four
iterations are issued before the current ones are computed.

`unroll`: the loop has few iterations, and their number is known. It is unrolled completely for threads that run at most
this many iterations of the task. Neighbouring iterations of the task can then share what they have in common, such as
the taps of a filter.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.serial_loops import independent_and_ordered, is_shared, most_places, size_of, worth_it
from weft.ir.ops import For, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.schedule import LoopSchedule

__all__ = ["unroll_and_jam"]

_ROUNDS, _SHARED_ROUNDS = 4, 8  # factors of unroll-and-jam
_SMALL = 32  # a body for the larger factor has at most this many ops


@pass_("unroll_and_jam")
def unroll_and_jam(root: Kernel, config: CompileConfig) -> bool:
    """Choose the loops to unroll completely, and the unroll-and-jam factors of the others."""
    changed = False
    for task in root.body:
        for op in task.all_of(For):
            assert isinstance(task, Task)
            schedule = _schedule(task, op)
            if schedule != op.schedule:
                op.schedule = schedule
                changed = True
    return changed


def _schedule(task: Task, op: For) -> LoopSchedule:
    if op.schedule.warp:
        return op.schedule
    places = task.schedule.across * task.schedule.rows
    made = replace(op.schedule, unroll=min(places, most_places(op)) if places > 1 else 0)
    independent, _ = independent_and_ordered(op.body)
    if not worth_it(op, independent):
        return made
    ahead = is_shared(op)
    return replace(made, jam=_SHARED_ROUNDS if ahead and size_of(op.body) <= _SMALL else _ROUNDS, ahead=ahead)
