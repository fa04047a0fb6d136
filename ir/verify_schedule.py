"""The verifier's rules for schedules of tasks and of the loops in them. See `schedule.py`.

Before tasks are mapped to a target, all schedules are empty. After that, one row of a table checks each field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from math import prod

from weft.ir.calls import may_fail
from weft.ir.core import ops_of
from weft.ir.mapping.clamps import clamps_of
from weft.ir.mapping.coarsening import loops_alike
from weft.ir.mapping.current_lists import list_of, outdated_by
from weft.ir.mapping.early_boxes import is_known_before, leaves_its_box
from weft.ir.mapping.phased_rows import is_row, parts_of, row_key
from weft.ir.mapping.serial_loops import counts_by_one, is_innermost, is_ordered, is_shared, trips_of
from weft.ir.mapping.warp_sums import around, is_private, sums_of, warp_loop
from weft.ir.ops import Address, Aligned, Clamp, Exit, For, Kernel, Load, SharedBase, Simt, Task
from weft.ir.schedule import GRIDS, LoopSchedule, Schedule
from weft.ir.tasks import tasks_of
from weft.ir.verify_cpu_schedule import (
    loop_lanes,
    loop_stretches,
    task_copies,
    task_hints,
    task_lanes,
    task_moves,
    task_scopes,
    task_stretches,
    task_versions,
)
from weft.ir.verify_types import require, show

__all__ = ["MOST_THREADS", "verify_schedule"]

MOST_THREADS = 1024  # of a block of a GPU
_OF_SERIAL = ("launch", "guarded", "ends", "joined", "lists", "outdates")  # the fields that serial tasks may have


def verify_schedule(op: Task | For, kernel: Kernel, mapped: bool) -> None:
    """Raise InternalError unless the schedule of `op` is legal."""
    if isinstance(op, Task):
        task_moves(op, op.schedule, kernel)
        _phased(op, op.schedule)
    if op.schedule == type(op.schedule)():
        return
    require(mapped, op, "has a schedule, but the kernel is not mapped to a target yet")
    if isinstance(op, Task):
        schedule = op.schedule
        parallel = {one.name: getattr(schedule, one.name) for one in fields(Schedule) if one.name not in _OF_SERIAL}
        require(
            op.kind != "serial" or all(getattr(Schedule(), name) == value for name, value in parallel.items()),
            op,
            "is serial, but has fields in its schedule that only parallel tasks may have",
        )
        for check in _TASK.values():
            check(op, op.schedule, kernel)
    else:
        for check_loop in _LOOP.values():
            check_loop(op, op.schedule)


def _block(op: Task, schedule: Schedule, _: Kernel) -> None:
    if not schedule.block:
        return
    require(
        len(schedule.block) == 3 and min(schedule.block) > 0,
        op,
        f"has blocks of shape {schedule.block}; expected three positive sizes",
    )
    require(
        prod(schedule.block) <= MOST_THREADS,
        op,
        f"has blocks of {prod(schedule.block)} threads; the limit is {MOST_THREADS}",
    )


def _numbered(op: Task, schedule: Schedule, _: Kernel) -> None:
    if not schedule.block:
        return
    communicates = bool(op.all_of(Simt, SharedBase))
    require(communicates or not schedule.numbered, op, "numbers its threads, but they do not communicate")
    require(schedule.numbered or not communicates, op, "has threads that communicate, but does not number them")
    require(
        not schedule.numbered or schedule.block[1:] == (1, 1),
        op,
        f"numbers its threads, but has blocks of shape {schedule.block}; expected (n, 1, 1)",
    )


def _launched(op: Task, schedule: Schedule, kernel: Kernel) -> None:
    if schedule.launch < 0:
        return
    before = [task.schedule.launch for task in tasks_of(kernel)[: tasks_of(kernel).index(op)]]
    last = before[-1] if before else -1
    above = tasks_of(kernel)[len(before) - 1] if before else op
    joins = op.kind == above.kind == "serial" and above is not op and above.schedule.lists == schedule.lists
    steps = (last,) if joins else (last + 1, last + 2) if schedule.box else (last + 1,)
    require(
        schedule.launch in steps,
        op,
        f"is in launch {schedule.launch}, but the task before it is in launch {last}; expected one of {steps}",
    )
    reads = any(isinstance(one, Load) for one in op.bounds)
    require(
        op.kind == "serial" or reads == (schedule.box > 0 or schedule.own_box),
        op,
        "reads memory for its bounds but has no `box`, or has a `box` but reads no memory",
    )
    require(not schedule.own_box or leaves_its_box(op), op, "computes its box itself, but may change it")
    earlier = [task for task in tasks_of(kernel) if task.schedule.launch < schedule.launch]
    if schedule.measured >= 0:
        alone = {task.schedule.launch for task in earlier if task.kind == "serial"}
        alone |= {one.schedule.launch - 1 for one in earlier if one.schedule.box and one.schedule.measured < 0}
        require(schedule.measured in alone, op, "is measured in a launch that is not one of a single thread")
        since = [task for task in earlier if task.schedule.launch > schedule.measured]
        require(is_known_before(op, since), op, "is measured before a task that may change its bounds")
    ending = any(may_fail(task) or task.all_of(Exit) for task in earlier)
    require(schedule.guarded or not ending, op, "is not guarded, but an earlier launch may end the kernel")


def _listed(op: Task, schedule: Schedule, kernel: Kernel) -> None:
    if schedule.launch < 0:
        return
    require(schedule.lists == list_of(op, kernel), op, f"makes the list {schedule.lists}, which its routine does not")
    missing = sorted({*outdated_by(op, kernel)} - {*schedule.outdates})
    require(not missing, op, f"may leave the lists {missing} out of date, but does not say so")
    beside = {task.schedule.lists for task in tasks_of(kernel) if task.schedule.launch == schedule.launch}
    require(beside == {schedule.lists}, op, "is in a launch that makes a list, and does something else")
    last = schedule.launch - 1 if schedule.measured < 0 else schedule.measured
    at = {task.schedule.lists for task in tasks_of(kernel) if task.schedule.launch == last and schedule.box}
    require(at <= {schedule.lists}, op, "has a box of a launch that makes a list, and is no part of that")


def _grid(op: Task, schedule: Schedule, _: Kernel) -> None:
    grid = schedule.grid
    if not grid:
        return
    require(grid in GRIDS, op, f"has the grid {grid!r}; expected one of {GRIDS}")
    require(
        (grid == "filled") == (schedule.box > 0 or schedule.own_box),
        op,
        "has the grid 'filled' but no `box`, or a `box` but not that grid",
    )
    require(
        (schedule.waves > 0) == (grid in ("limited", "filled")),
        op,
        f"has {schedule.waves} waves of blocks; expected some if the grid is 'limited' or 'filled', else none",
    )
    flat = schedule.numbered or warp_loop(op) is not None
    require(
        not flat or grid in ("cover", "filled"),
        op,
        f"has the grid {grid!r}, but its threads need one block each; expected 'cover' or 'filled'",
    )


def _arrays(op: Task, schedule: Schedule, _: Kernel) -> None:
    arrays = {one.number: one for one in op.all_of(SharedBase) if one.offset >= 0}
    end = 0
    for array in sorted(arrays.values(), key=lambda one: one.offset):
        require(array.offset >= end, op, "has shared arrays that overlap")
        end = array.offset + array.bytes
    require(
        end <= schedule.shared_bytes,
        op,
        f"has {end} bytes of shared arrays, but reserves {schedule.shared_bytes} bytes for them",
    )


def _coarsened(op: Task, schedule: Schedule, _: Kernel) -> None:
    sizes = (schedule.across, schedule.rows)
    require(
        all(size > 0 and size & (size - 1) == 0 for size in sizes),
        op,
        f"is coarsened by {sizes}; expected powers of two",
    )
    require(
        schedule.phases in ("", "ask", "anywhere"),
        op,
        f"has phases {schedule.phases!r}; expected '', 'ask' or 'anywhere'",
    )
    if sizes == (1, 1):
        return
    require(schedule.rows == 1 or len(op.body.args) > 1, op, "is coarsened along rows, but has only one axis")
    require(not schedule.numbered, op, "is coarsened, but also numbers its threads")
    require(
        not any(isinstance(one, For) and one.schedule.warp for one in op.body),
        op,
        "is coarsened, but also runs each iteration on a warp",
    )
    require(
        not any(map(is_ordered, ops_of(op.body))),
        op,
        "is coarsened, but contains an op that depends on the order of iterations",
    )
    require(loops_alike(op), op, "is coarsened, but the bounds of its loops differ between iterations")
    require(
        sum(isinstance(one, Aligned) for one in op.prologue) == 1,
        op,
        "is coarsened, but its prologue does not contain exactly one op 'aligned'",
    )


def _phased(op: Task, schedule: Schedule) -> None:
    marked = {address for address in op.all_of(Address) if address.phased}
    if not marked:
        return
    require(bool(schedule.phases), op, "has a phased address, but its schedule has no phases")
    for part in parts_of(op):
        row = [address for address in part.ops if address in marked and isinstance(address, Address)]
        alike = len({row_key(address) for address in row}) <= 1
        require(alike, op, "has phased addresses that begin at different offsets in a word, but one version for them")
        require(
            all(is_row(one, part) for one in row),
            op,
            "has a phased address that cannot be computed before the code that has versions",
        )
        marked.difference_update(row)
    require(not marked, op, "has a phased address outside of the code that has versions")


def _peeled(op: Task, schedule: Schedule, _: Kernel) -> None:
    clamps = op.all_of(Clamp)
    found = {one.op: (one.axis, one.low, one.high, one.fits, one.bound) for one in clamps_of(op)} if clamps else {}
    for clamp in clamps:
        said = clamp.axis, clamp.low, clamp.high, clamp.fits, clamp.bound
        require(found.get(clamp) == said, op, f"has a clamp whose attributes do not match its index: {show(clamp)}")


_TASK: dict[str, Callable[[Task, Schedule, Kernel], None]] = {
    "block": _block,
    "numbered": _numbered,
    "launch": _launched,
    "lists": _listed,
    "grid": _grid,
    "shared_bytes": _arrays,
    "across": _coarsened,
    "clamps": _peeled,
    "lanes": task_lanes,
    "privatized": task_copies,
    "price": task_versions,
    "unordered": task_hints,
    "joined": task_scopes,
    "stretch": task_stretches,
}


def _warp(op: For, schedule: LoopSchedule) -> None:
    if not schedule.warp:
        return
    task = op.parent
    require(isinstance(task, Task), op, "is divided among a warp, but is not in the body of a task")
    assert isinstance(task, Task)
    require(
        len([one for one in task.body if isinstance(one, For)]) == 1,
        op,
        "is divided among a warp, but is not the only loop of its task",
    )
    require(trips_of(op) is not None, op, "is divided among a warp, but its number of iterations is unknown")
    require(counts_by_one(op), op, "is divided among a warp, but its step is not one")
    require(bool(sums_of(op)), op, "is divided among a warp, but does more than reduce into locals")
    before, _ = around(task, op)
    require(
        all(map(is_private, [*task.prologue, *before])),
        op,
        "is divided among a warp, but ops before it access memory that is not local",
    )
    require(task.epilogue.first is None, op, "is divided among a warp, but its task has an epilogue")


def _jam(op: For, schedule: LoopSchedule) -> None:
    require(schedule.jam in (0, 2, 4, 8), op, f"has jam={schedule.jam}; expected 0, 2, 4 or 8")
    require(
        not schedule.ahead or (schedule.jam > 0 and is_shared(op)),
        op,
        "loads ahead, but it is not jammed, or threads do not read the same memory",
    )
    if schedule.jam:
        require(counts_by_one(op), op, "is jammed, but its step is not one")
        require(is_innermost(op), op, "is jammed, but contains another loop")
        require(
            not any(map(is_ordered, op.walk())),
            op,
            "is jammed, but contains an op that depends on the order of iterations",
        )


def _unroll(op: For, schedule: LoopSchedule) -> None:
    require(schedule.unroll >= 0, op, f"has unroll={schedule.unroll}; expected 0 or more")
    require(not schedule.unroll or trips_of(op) is not None, op, "is unrolled, but its number of iterations is unknown")
    require(not schedule.unroll or is_innermost(op), op, "is unrolled, but contains another loop")


_LOOP: dict[str, Callable[[For, LoopSchedule], None]] = {
    "warp": _warp,
    "jam": _jam,
    "unroll": _unroll,
    "lanes": loop_lanes,
    "stretch": loop_stretches,
}
