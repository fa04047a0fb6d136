"""Assigns iterations to threads by number if the threads of a block cooperate.

    task range_for ... { %t = simt thread_idx [] ... }

    task range_for schedule={numbered=true, block=(128, 1, 1)} ... { %t = simt thread_idx [] ... }

Iteration `k` of the box, counted with the last axis fastest, runs on thread `k % threads` of block `k // threads`. A
program with barriers, shuffles or shared arrays can therefore tell which iterations its neighbours run. A block has
exactly as many threads as the program asks for. Tasks whose threads do not cooperate are left unchanged.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.ops import Kernel, SharedBase, Simt, Task
from weft.ir.passes import pass_
from weft.ir.simt import DEFAULT_THREADS
from weft.ir.tasks import parallel_tasks
from weft.ir.verify_schedule import MOST_THREADS

__all__ = ["number_iterations"]


@pass_("number_iterations")
def number_iterations(root: Kernel, config: CompileConfig) -> bool:
    """Number the iterations of tasks whose threads cooperate."""
    changed = False
    for task in parallel_tasks(root):
        if task.all_of(Simt, SharedBase):
            task.schedule = replace(task.schedule, numbered=True, block=(_threads(task), 1, 1))
            changed = True
    return changed


def _threads(task: Task) -> int:
    """The number of threads of a block, exactly as the program asks. Raises CompilationError if it is too large."""
    wanted = task.config.block_dim or DEFAULT_THREADS
    if wanted > MOST_THREADS:
        raise CompilationError(
            f"block_dim={wanted} is too large: a block can have at most {MOST_THREADS} threads", task.span
        )
    return wanted
