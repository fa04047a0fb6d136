"""Estimates the cost of an iteration, and decides whether several threads run a loop and in which versions it is
compiled.

    task range_for ... { ... }

    task range_for, schedule={price=112.0, plain=true} ... { ... }

The price determines the number of iterations of a chunk, so that a chunk is worth waking a thread. If iterations
contend for atomics and so few threads run that they would mostly wait for each other, one thread runs all iterations
(`alone`), and no atomic locks. Otherwise a short body with atomics is compiled twice: once as it is, and once without
locks (`plain`), for boxes that are too small for several threads. Tasks with privatized fields need neither.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.core import ops_of
from weft.ir.mapping.cost import Cost, cost_of, length
from weft.ir.ops import Atomic, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.schedule import Schedule
from weft.ir.tasks import parallel_tasks

__all__ = ["choose_threads", "is_contended"]

# The largest body with contended atomics that is compiled twice, in ops. A longer one always locks: a box that is too
# small for several threads has only a few dozen of its iterations.
_TWICE = 500


@pass_("choose_threads")
def choose_threads(root: Kernel, config: CompileConfig) -> bool:
    """Choose the threads and versions of each task."""
    assert config.target is not None
    tasks = parallel_tasks(root)
    for task in tasks:
        task.schedule = _schedule(task, config.target.threads)
    return bool(tasks)


def _schedule(task: Task, threads: int) -> Schedule:
    schedule, cost = task.schedule, cost_of(task.body)
    schedule = replace(schedule, price=cost.work + cost.plain)
    if schedule.privatized:
        return schedule
    contended, in_lanes = is_contended(task), _in_lanes(cost, schedule.lanes * schedule.vectors)
    if threads == 1 or (contended and 0 < threads <= in_lanes.contest):
        return replace(schedule, alone=True)
    return replace(schedule, plain=contended and length(task) <= _TWICE)


def _in_lanes(cost: Cost, span: int) -> Cost:
    """The cost per iteration if this many iterations run at once."""
    return Cost(*(part / max(1, span / 4) for part in (cost.work, cost.atomics, cost.plain)))


def is_contended(task: Task) -> bool:
    """Whether iterations contend for atomics. Atomics of the epilogue run only once per chunk and do not count."""
    return any(type(op) is Atomic for op in ops_of(task.body))
