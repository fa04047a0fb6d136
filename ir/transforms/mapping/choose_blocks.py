"""Chooses the number of threads and the shape of the blocks of each task.

    task range_for bounds { yield begins=[%0, %0], ends=[%n, %m] } ...

    task range_for schedule={block=(32, 8, 1)} bounds { yield begins=[%0, %0], ends=[%n, %m] } ...

A block is wide along the innermost axis, so that the threads of a warp access adjacent memory. It is narrower if that
axis is known to be short, and then extends further along the outer axes: over the cells of 8 x 8 x 8 elements of a
sparse field, a block has the shape (8, 8, 4), or (2, 8, 16) if each thread takes four neighbours.
`loop_config(block_dim=)` sets the number of threads, which is rounded up to whole warps. Tasks whose iterations are
numbered have their blocks already.

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
_DEEPEST = 64  # threads of a block along z


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
    width = min(_WARP, _places(task, -1, task.schedule.across), threads)
    rest = threads // width
    if axes == 2:
        return width, rest, 1
    height = rest // 2 if axes == 3 and rest >= 8 else rest
    height = min(height, _places(task, -2, task.schedule.rows))
    return width, height, min(rest // height, _DEEPEST)


def _places(task: Task, axis: int, each: int) -> int:
    """The least power of two of threads that covers an axis if each takes so many places. A large number if the length
    of the axis is not known."""
    begin, end = box_of(task).begins[axis], box_of(task).ends[axis]
    if not isinstance(begin, Const) or not isinstance(end, Const):
        return MOST_THREADS
    length = max(1, int(end.value) - int(begin.value))
    groups = length // each if length % each == 0 else length
    return 1 << (groups - 1).bit_length()
