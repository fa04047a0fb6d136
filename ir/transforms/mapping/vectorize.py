"""Makes vectors of the iterations that run in SIMD lanes.

    task range_for, schedule={lanes=16} body (%i: i64) {
      %p = address %x, [%i], [%four], 0 : *f32
      %v = load %p, move=adjacent : f32
      %c = binary gt %v, %limit : u1
      if %c then { store %p, %limit, move=adjacent }
    }

    task range_for, schedule={lanes=16} body (%i: i64, %left: i64) {
      %here = first_lanes %left : <16 x u1>
      %p = address %x, [%i], [%four], 0 : *f32
      %v = masked_load %p, %here : <16 x f32>
      %limits = splat %limit : <16 x f32>
      %c = binary gt %v, %limits : <16 x u1>
      %some = binary and %here, %c : <16 x u1>
      %any = any_active %some : u1
      if %any then { masked_store %p, %limits, %some }
    }

The body of a task with `lanes` gets one more argument, `left`: the number of iterations from the first one of this
group on. The index is that of lane 0. A value that all lanes share, or that is evenly spaced, stays a scalar. All
others become vectors. Branches and loops on which lanes may disagree run for the lanes in a mask.

A loop whose iterations run in lanes (`mapping/fold_choice.py`) becomes a loop over groups, with the same two
arguments, and sums into vectors.

The pass makes no decisions: `lanes`, `move` and `unasked` say what to do. Tasks and loops without lanes do not change.
"""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.mapping.layouts import layouts_of
from weft.ir.ops import For, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.tasks import parallel_tasks

__all__ = ["vectorize"]


@pass_("vectorize")
def vectorize(root: Kernel, config: CompileConfig) -> bool:
    """Write the tasks and loops that run in lanes as vectors."""
    tasks = [task for task in parallel_tasks(root) if _has_lanes(task)]
    if not tasks:
        return False
    from weft.ir.mapping.vectorize.tasks import vectorize_task  # which most kernels do not need

    layouts = layouts_of(root)
    for task in tasks:
        vectorize_task(task, layouts)
    return True


def _has_lanes(task: Task) -> bool:
    return task.schedule.lanes > 1 or any(loop.schedule.lanes > 1 for loop in task.all_of(For))
