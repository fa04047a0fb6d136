"""What LLVM's loop vectorizer is told about the loop over iterations.

    task range_for ... { x[%i] = f(y[%i]) }

    task range_for, schedule={unordered=true} ... { x[%i] = f(y[%i]) }

`unordered`: accesses may be moved past one another (`llvm.loop.parallel_accesses`), since `mapping/unordered.py` found
that no order within an iteration matters either. `vectorize=once`: one vector at a time, the last one masked: more
copies of a long body cost time to compile and hide nothing that the body itself does not hide. `vectorize=never`: a
very long body, or one of wide cells (`mapping/wide_cells.py`). `unroll=false`: a body that is not short. Loops whose
iterations run in lanes are vectors already, and get no hints.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.cost import length
from weft.ir.mapping.unordered import is_unordered
from weft.ir.mapping.wide_cells import in_wide_cells
from weft.ir.ops import Kernel, Task
from weft.ir.passes import pass_
from weft.ir.schedule import Schedule
from weft.ir.tasks import parallel_tasks

__all__ = ["hint_vectorizer"]

# Ops of a body that LLVM shall not unroll, and of one that it shall not copy for any other reason.
_MIDDLING, _LONG = 60, 128

# Ops of a body that LLVM shall not vectorize: it would take time by their square.
_TOO_LONG = 5000


@pass_("hint_vectorizer")
def hint_vectorizer(root: Kernel, config: CompileConfig) -> bool:
    """Choose the hints of each task."""
    changed = False
    for task in parallel_tasks(root):
        if task.schedule.lanes == 1:
            before, task.schedule = task.schedule, _hinted(task)
            changed |= task.schedule != before
    return changed


def _hinted(task: Task) -> Schedule:
    ops = length(task)
    vectorize = "never" if ops > _TOO_LONG or in_wide_cells(task) else "once" if ops > _LONG else "free"
    unordered = vectorize != "never" and is_unordered(task)
    return replace(task.schedule, unordered=unordered, vectorize=vectorize, unroll=ops <= _MIDDLING)
