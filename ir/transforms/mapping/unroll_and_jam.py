"""Unroll-and-jam: several rounds of a serial loop side by side, and all rounds of a short one.

    for %0, %n, %1 (%j: i64) { %v = load x[%j], invariant=true ...; store %sum, ... }

    for %0, %n, %1, schedule={jam=4} (%j: i64) { ... }

Code generation makes four rounds of one: first all that no round has from another (four loads side by side, which LLVM
joins), then the rest, round by round. What is left over makes one round at a time. For loops that wait for memory which
nobody writes and that are short enough.

`ahead`: all threads read the same there, so they wait for it at the same time. The loads of the next four rounds are
under way while the current ones are computed.

`unroll`: the rounds are few and known. Where a thread takes several iterations of the task, at most so many, the rounds
are written one behind the other, so that neighbours see what they have in common: the taps of a filter.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.serial_loops import apart_and_in_turn, is_shared, most_places, size_of, worth_it
from weft.ir.ops import For, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.schedule import LoopSchedule

__all__ = ["unroll_and_jam"]

_ROUNDS, _SHARED_ROUNDS = 4, 8  # side by side
_SMALL = 32  # ops of a body of which there are that many


@pass_("unroll_and_jam")
def unroll_and_jam(root: Kernel, config: CompileConfig) -> bool:
    """Choose which loops are unrolled, and how many rounds of others stand side by side."""
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
    apart, _ = apart_and_in_turn(op.body)
    if not worth_it(op, apart):
        return made
    ahead = is_shared(op)
    return replace(made, jam=_SHARED_ROUNDS if ahead and size_of(op.body) <= _SMALL else _ROUNDS, ahead=ahead)
