"""Merges atomic sums into adjacent memory into one instruction: some GPUs add two or four floats at once.

    atomic add %p, %a; atomic add %q, %b          %q = %p + 4

    atomic_row %p, [%a, %b], unit=2

The sums must be f32 sums in one block whose old values are not used. Their addresses must differ by constants, and no
op between them may observe the difference. The instruction needs an address that is a multiple of its size. If this is
not known at compile time, a row of three or more neighbours computes it at run time, without a branch: of three
neighbours, either the first two or the last two are aligned. A scatter of vectors then costs half as much, and a
scatter of rows of three cells costs two thirds.

The pass skips fields of which a block has a private copy. It runs only for targets with the feature "adds_vectors".
"""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.mapping.wide_atomics import Run, runs_of
from weft.ir.ops import AtomicRow, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.target import ADDS_VECTORS
from weft.ir.tasks import parallel_tasks

__all__ = ["widen", "widen_atomics"]


@pass_("widen_atomics")
def widen_atomics(root: Kernel, config: CompileConfig) -> bool:
    """Replace sums into adjacent memory by `atomic_row` ops."""
    assert config.target is not None
    changed = False
    if ADDS_VECTORS in config.target.features:
        for task in parallel_tasks(root):
            changed |= widen(task)
    return changed


def widen(task: Task) -> bool:
    """Replace sums of the task by `atomic_row` ops. Gives whether there are any."""
    runs = dict.fromkeys(runs_of(task, {copy.scope for copy in task.schedule.privatized}).values())
    for run in runs:
        _join(run)
    return bool(runs)


def _join(run: Run) -> None:
    """Insert the row at the place of its last sum, where all values are defined."""
    first, block = run.sums[0], run.last.block
    assert block is not None
    block.insert(AtomicRow(first.ptr, [one.value for one in run.sums], run.unit, span=run.last.span), run.last)
    for one in run.sums:
        one.erase()
