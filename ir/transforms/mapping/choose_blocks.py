"""The threads of a block, and its shape.

    task range_for bounds { yield begins=[%0, %0], ends=[%n, %m] } ...

    task range_for schedule={block=(32, 8, 1)} bounds { yield begins=[%0, %0], ends=[%n, %m] } ...

A block is wide along the innermost axis, so that the threads of a warp touch neighbouring memory. It is narrower where
that axis is known to be short. It has as many threads as `loop_config(block_dim=)` says, in whole warps. Tasks whose
iterations are numbered have their blocks already.

A target may save registers so that many blocks fit a multiprocessor. `few_blocks` tells it not to: a loop of many
rounds lives on what one thread has under way at a time. But where the threads of a block wait for one another, other
blocks must have work meanwhile.
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
    """Choose the threads of each task's blocks."""
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
