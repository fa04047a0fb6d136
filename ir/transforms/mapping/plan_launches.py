"""Plans the launches of a kernel: which tasks each launch runs, which launch computes a box, and which may end the
kernel.

    task serial ...; task serial ...; task range_for bounds { %n = load ...; yield ... } ...

    task serial schedule={launch=0} ...; task serial schedule={launch=0} ...
    task range_for schedule={launch=1, box=20, ...} ...

Consecutive serial tasks share one launch of a single thread. A parallel task is a launch of a grid. If the box of a
parallel task depends on memory, the single thread before it computes the box, so that the task may change the memory
from which its own bounds are read. The box is then stored in the state of the kernel, from word `box` on. If the box
depends on temporaries only, and no task has written these since an earlier single thread, that one computes the box
(`measured`), and no launch is needed for it. If it depends on fields that the task does not write, each thread of the
task computes the box (`own_box`).

What makes a list of active cells (`lists`) has launches of its own, also for serial tasks: the host leaves them out
while it knows that the list is current. A launch after which that may be different says so (`outdates`, see
`mapping/current_lists.py`).

A `return` or an assertion may end the kernel. A launch that follows such a launch tests first whether the kernel has
ended (`guarded`). A launch that may end the kernel, and is not the last one, records it (`ends`).
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.artifact import STATE_RESULTS
from weft.ir.calls import may_fail
from weft.ir.config import CompileConfig
from weft.ir.mapping.current_lists import list_of, outdated_by
from weft.ir.mapping.early_boxes import is_known_before, leaves_its_box
from weft.ir.ops import Exit, Kernel, Load, Task
from weft.ir.passes import pass_
from weft.ir.tasks import box_of, tasks_of
from weft.ir.types import flat_size

__all__ = ["plan_launches"]


@pass_("plan_launches")
def plan_launches(root: Kernel, config: CompileConfig) -> bool:
    """Number the launches of a kernel, and assign words of its state to boxes."""
    if root.called or not tasks_of(root):
        return False
    words, launch, single = STATE_RESULTS + sum(map(flat_size, root.results)), -1, -1  # the last single thread
    since, making = list[Task](), -1  # the tasks after it, and which list it makes
    for task in tasks_of(root):
        lists, own = list_of(task, root), leaves_its_box(task)
        measured = task.kind != "serial" and not own and any(isinstance(op, Load) for op in task.bounds)
        fits = single >= 0 and making == lists
        early = measured and fits and is_known_before(task, since)
        if (task.kind == "serial" or measured) and not early and not (fits and single == launch):
            launch, single, since, making = launch + 1, launch + 1, [], lists
        task.schedule = replace(task.schedule, lists=lists, outdates=outdated_by(task, root))
        if task.kind == "serial":
            task.schedule = replace(task.schedule, launch=launch)
            continue
        launch += 1
        stored = single if early and single != launch - 1 else -1
        box = words if measured else 0
        task.schedule = replace(task.schedule, launch=launch, box=box, measured=stored, own_box=own)
        words += 2 * len(box_of(task).begins) if measured else 0
        since.append(task)
    _find_ends(tasks_of(root), launch)
    return True


def _find_ends(tasks: list[Task], last: int) -> None:
    """Find the launches that may end the kernel, and those that come after such a launch."""
    ending = {task.schedule.launch for task in tasks if may_fail(task) or task.all_of(Exit)}
    for task in tasks:
        launch = task.schedule.launch
        guarded = any(other < launch for other in ending)
        task.schedule = replace(task.schedule, guarded=guarded, ends=launch in ending and launch < last)
