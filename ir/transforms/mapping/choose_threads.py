"""What an iteration costs, and with that: whether threads share a loop out, and in which versions it is compiled.

    task range_for ... { ... }

    task range_for, schedule={price=112.0, plain=true} ... { ... }

The price decides how many iterations a share has, so that it is worth waking a thread. Where iterations meet at atomics
and so few threads run that they would mostly wait for each other, one thread runs them all (`alone`), and no atomic
locks. Otherwise a short body with atomics is compiled twice: once as it is, and once without locks (`plain`), for boxes
that are too small to share out. Privatized fields need neither.
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

# Ops of a body with contended atomics that is compiled twice. A longer one locks in any case: a box that is too small
# to share out is a few dozen of its iterations.
_TWICE = 500


@pass_("choose_threads")
def choose_threads(root: Kernel, config: CompileConfig) -> bool:
    """Choose who runs each task."""
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
    """What is left of it for each iteration where so many run at once."""
    return Cost(*(part / max(1, span / 4) for part in (cost.work, cost.atomics, cost.plain)))


def is_contended(task: Task) -> bool:
    """Whether iterations meet at atomics (those of the epilogue run once a share)."""
    return any(type(op) is Atomic for op in ops_of(task.body))
