"""The meaning of the SIMT ops and of a block's arrays in the evaluator. `meetings.py` says who waits for whom."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from weft.ir import ops
from weft.ir.core import Op, pointee
from weft.ir.errors import InternalError
from weft.ir.machine import Env, Machine, Run, Steps, runs, steps
from weft.ir.meetings import Meeting
from weft.ir.memory_model import Place, convert
from weft.ir.simt import DEFAULT_THREADS, SIMT
from weft.ir.types import VOID, Array, element, shape_of

__all__ = ["threads_of_blocks"]

_COOPERATE = (ops.Simt, ops.Shared, ops.SharedBase)


def threads_of_blocks(loop: ops.ParallelFor | ops.StructFor | ops.Task) -> int:
    """The number of threads of each block, if the iterations of this loop go to threads by number, else 0. A schedule
    says it, or the program."""
    schedule = loop.schedule if isinstance(loop, ops.Task) else None
    if schedule is not None and schedule.block:
        return schedule.block[0] if schedule.numbered else 0
    return (loop.config.block_dim or DEFAULT_THREADS) if loop.all_of(*_COOPERATE) else 0


@runs(ops.Simt)
def _simt(machine: Machine, op: ops.Simt) -> Run:
    """An op that waits for no other thread, or a thread that is alone in its block."""
    values, row, type, course = machine.slot_list(op.values), SIMT[op.kind], op.type, machine.course

    def run(env: Env) -> Any:
        if row.meets and course.seat.threads > 1:
            raise InternalError(f"{op!r} waits at a place where threads cannot wait")
        result = row.result(course.seat, {course.seat.lane: [env[value] for value in values]})
        return None if type is VOID else convert(result, type)

    return run


@steps(ops.Simt)
def _simt_in_steps(machine: Machine, op: ops.Simt) -> Steps:
    values, row, type, course = machine.slot_list(op.values), SIMT[op.kind], op.type, machine.course
    alone = _simt(machine, op)

    def run(env: Env) -> Generator[None, None, Any]:
        if course.view is not None and row.orders:
            course.view.fence("acq_rel")
        if not row.meets or course.seat.threads == 1:
            return alone(env)
        course.meeting = meeting = Meeting(op, course.seat, [env[value] for value in values])
        yield
        return None if type is VOID else convert(meeting.result, type)

    return run


@runs(ops.Shared)
def _shared(machine: Machine, op: ops.Shared) -> Run:
    assert isinstance(op.type, Array)
    shape, elem, course = (*op.shape, *shape_of(op.type.elem)), element(op.type.elem), machine.course

    def run(env: Env) -> Any:
        if op not in course.arrays:
            course.arrays[op] = np.ones(shape, elem.np)
        return course.arrays[op]

    return run


@runs(ops.SharedBase)
def _shared_base(machine: Machine, op: ops.SharedBase) -> Run:
    """An array of the block: in memory of its own, or at an offset in the memory that the launch allocates."""
    task: Op | None = op
    while task is not None and not isinstance(task, ops.Task):
        task = task.parent
    prim, course, start = element(pointee(op)), machine.course, max(op.offset, 0)
    key, size = ("launch", task.schedule.shared_bytes if task else 0) if op.offset >= 0 else (op.number, op.bytes)

    def run(env: Env) -> Place:
        if key not in course.arrays:
            course.arrays[key] = np.ones(size, np.uint8)
        return Place(course.arrays[key][start : start + op.bytes], [0], [prim])

    return run
