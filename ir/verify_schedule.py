"""What the verifier holds schedules to: of tasks, and of the loops in them. See `schedule.py`.

Before tasks are mapped to a target, no schedule says anything. After that each field is checked by one row of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from weft.ir.mapping.serial_loops import counts_by_one, trips_of
from weft.ir.mapping.warp_sums import around, is_private, sums_of
from weft.ir.ops import For, Kernel, SharedBase, Simt, Task
from weft.ir.schedule import LoopSchedule, Schedule
from weft.ir.verify_cpu_schedule import loop_lanes, task_copies, task_hints, task_lanes, task_versions
from weft.ir.verify_types import require

__all__ = ["MOST_THREADS", "verify_schedule"]

MOST_THREADS = 1024  # of a block of a GPU


def verify_schedule(op: Task | For, kernel: Kernel, mapped: bool) -> None:
    """Raise InternalError unless the schedule of `op` is one that the op may have."""
    if op.schedule == type(op.schedule)():
        return
    require(mapped, op, "has a schedule before it is mapped to a target")
    if isinstance(op, Task):
        require(op.kind != "serial", op, "is serial and yet has a schedule")
        for check in _TASK.values():
            check(op, op.schedule, kernel)
    else:
        for check_loop in _LOOP.values():
            check_loop(op, op.schedule)


def _block(op: Task, schedule: Schedule, _: Kernel) -> None:
    if not schedule.block:
        return
    require(len(schedule.block) == 3 and min(schedule.block) > 0, op, f"has blocks of the shape {schedule.block}")
    require(prod(schedule.block) <= MOST_THREADS, op, f"has blocks of more than {MOST_THREADS} threads")


def _numbered(op: Task, schedule: Schedule, _: Kernel) -> None:
    if not schedule.block:
        return
    works_together = bool(op.all_of(Simt, SharedBase))
    require(works_together == schedule.numbered, op, "is numbered where its threads do nothing together, or is not")
    require(not schedule.numbered or schedule.block[1:] == (1, 1), op, "is numbered, and its blocks are not flat")


def _warp(op: For, schedule: LoopSchedule) -> None:
    if not schedule.warp:
        return
    task = op.parent
    require(isinstance(task, Task), op, "is shared by a warp, and is in no task's body")
    assert isinstance(task, Task)
    require(len([one for one in task.body if isinstance(one, For)]) == 1, op, "is shared by a warp, and is not alone")
    require(trips_of(op) is not None, op, "is shared by a warp, and makes an unknown number of rounds")
    require(counts_by_one(op), op, "is shared by a warp, and does not count by one")
    require(bool(sums_of(op)), op, "is shared by a warp, and does more than add to locals")
    before, _ = around(task, op)
    require(all(map(is_private, [*task.prologue, *before])), op, "is shared by a warp, after effects outside of locals")
    require(task.epilogue.first is None, op, "is shared by a warp, in a task with an epilogue")


_TASK: dict[str, Callable[[Task, Schedule, Kernel], None]] = {
    "block": _block,
    "numbered": _numbered,
    "lanes": task_lanes,
    "privatized": task_copies,
    "price": task_versions,
    "unordered": task_hints,
}
_LOOP: dict[str, Callable[[For, LoopSchedule], None]] = {"warp": _warp, "lanes": loop_lanes}
