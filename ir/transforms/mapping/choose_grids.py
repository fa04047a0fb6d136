"""Chooses how many blocks the launch of each task has.

    task range_for schedule={block=(256, 1, 1), ...} ... epilogue { %t = atomic add %total, %sum }

    task range_for schedule={block=(256, 1, 1), grid=limited, waves=8, ...} ... epilogue { ... }

The loops of a thread stride by the size of the grid, so every grid computes the same. The host computes the number of
blocks from the box when it launches the task:

- `cover`: each group of iterations has a thread of its own.
- `limited`: the same, but at most `waves` blocks for each multiprocessor. Each block of a task with an epilogue adds to
  a total at its end, so few blocks with long threads are faster.
- `resident`: the same, but at most as many blocks as the multiprocessors hold at once. Each block of a task with
  privatized fields creates and merges private copies.
- `filled`: as many blocks as the multiprocessors hold at once, but at most `waves` for each. The box depends on memory,
  so only the device knows it.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.warp_sums import warp_loop
from weft.ir.ops import Kernel, Task
from weft.ir.passes import pass_
from weft.ir.tasks import parallel_tasks

__all__ = ["choose_grids"]

_WAVES = 8


@pass_("choose_grids")
def choose_grids(root: Kernel, config: CompileConfig) -> bool:
    """Choose the number of blocks of each launch of a grid."""
    changed = False
    for task in parallel_tasks(root):
        if task.schedule.launch >= 0:
            grid = _grid(task)
            task.schedule = replace(task.schedule, grid=grid, waves=_WAVES if grid in ("limited", "filled") else 0)
            changed = True
    return changed


def _grid(task: Task) -> str:
    schedule = task.schedule
    if schedule.box or schedule.own_box:
        return "filled"
    if schedule.numbered or warp_loop(task) is not None:
        return "cover"
    if schedule.privatized:
        return "resident"
    return "limited" if task.epilogue.first is not None else "cover"
