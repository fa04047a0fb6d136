"""Decides which iterations of a task, or of its inner loops, run in SIMD lanes.

    task range_for ... body (%i: i64) { ... while { ... } ... }

    task range_for, schedule={lanes=16, vectors=4} ... body (%i: i64) { ... while { ... } ... }

If the iterations of a task run serially, inner loops that only compute reductions may run in lanes:

    for %begin, %end, %one (%k: i64) { ... }

    for %begin, %end, %one, schedule={lanes=16, vectors=2} (%k: i64) { ... }

If neither is possible or worthwhile, `serial_because` holds the reason. `mapping/lane_choice.py` makes the decision.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.lane_choice import LanePlan, lane_decision
from weft.ir.mapping.layouts import layouts_of
from weft.ir.ops import Kernel
from weft.ir.passes import pass_
from weft.ir.tasks import parallel_tasks

__all__ = ["choose_lanes"]


@pass_("choose_lanes")
def choose_lanes(root: Kernel, config: CompileConfig) -> bool:
    """Choose the number of lanes for each task, or for the loops in it."""
    assert config.target is not None
    tasks, layouts = parallel_tasks(root), layouts_of(root)
    for task in tasks:
        plan = lane_decision(task, config.target.features, layouts, config.fast_math)
        if isinstance(plan, LanePlan):
            task.schedule = replace(task.schedule, lanes=plan.lanes, vectors=plan.many)
        elif isinstance(plan, str):
            task.schedule = replace(task.schedule, serial_because=plan.removeprefix("no lanes: "))
        else:
            for loop, vectors in plan.loops.items():
                loop.schedule = replace(loop.schedule, lanes=plan.lanes, vectors=vectors)
    return bool(tasks)
