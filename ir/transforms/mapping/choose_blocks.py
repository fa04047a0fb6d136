"""Chooses the number of threads and the shape of the blocks of each task.

    task range_for bounds { yield begins=[%0, %0], ends=[%n, %m] } ...

    task range_for schedule={block=(32, 8, 1)} bounds { yield begins=[%0, %0], ends=[%n, %m] } ...

A block is wide along the innermost axis, so that the threads of a warp access adjacent memory. It is narrower if that
axis is known to be short. `loop_config(block_dim=)` sets the number of threads, which is rounded up to whole warps.
Tasks whose iterations are numbered have their blocks already.

A target may use fewer registers per thread, so that more blocks fit a multiprocessor. `few_blocks` prevents that for a
loop of many iterations, whose speed depends on the number of operations that one thread has in flight. If the threads
of a block wait for one another, however, other blocks must have work in the meantime.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.coarsening import has_long_loop
from weft.ir.mapping.warp_sums import warp_loop
from weft.ir.ops import Const, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.tasks import box_of, parallel_tasks
from weft.ir.verify_schedule import MOST_THREADS

__all__ = ["choose_blocks"]

_THREADS = 256
_WARP = 32


@pass_("choose_blocks")
def choose_blocks(root: Kernel, config: CompileConfig) -> bool:
    """Choose the shape of each task's blocks."""
    changed = False
    for task in parallel_tasks(root):
        if not task.schedule.numbered:
            few = has_long_loop(task) and warp_loop(task) is None
            task.schedule = replace(task.schedule, block=_shape(task), few_blocks=few)
            changed = True
    return changed


def _threads(task: Task) -> int:
    wanted = task.config.block_dim
    return min(-(-wanted // _WARP) * _WARP, MOST_THREADS) if wanted else _THREADS


def _shape(task: Task) -> tuple[int, int, int]:
    limits, threads = box_of(task), _threads(task)
    axes = len(limits.begins)
    if axes == 1 or warp_loop(task) is not None:
        return threads, 1, 1
    begin, end = limits.begins[-1], limits.ends[-1]
    width = _WARP
    if isinstance(begin, Const) and isinstance(end, Const):
        length = max(1, int(end.value) - int(begin.value))
        width = min(_WARP, 1 << (length - 1).bit_length())
    rest = threads // width
    depth = 2 if axes == 3 and rest >= 8 else 1
    return width, rest // depth, depth
