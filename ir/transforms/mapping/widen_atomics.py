"""Sums into neighbours in memory, by one instruction: some GPUs add two or four floats at once.

    atomic add %p, %a; atomic add %q, %b          %q = %p + 4

    atomic_row %p, [%a, %b], unit=2

Where nobody wants the old values, all are sums of f32 in one block, at places that differ by constants, and nothing
between them could tell. Such an instruction needs an address that is a multiple of its size. Where that is not known,
three neighbours or more find out as they run, without branching: of three, two lie well together, the first two or the
last two. A scatter of vectors costs half as much, one of rows of three cells two thirds.

Not for fields of which a block has a copy, and only for targets with the feature "adds_vectors".
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
    """Make rows of sums into neighbours."""
    assert config.target is not None
    changed = False
    if ADDS_VECTORS in config.target.features:
        for task in parallel_tasks(root):
            changed |= widen(task)
    return changed


def widen(task: Task) -> bool:
    """Make rows of the task's sums; whether there are any."""
    runs = dict.fromkeys(runs_of(task, {copy.scope for copy in task.schedule.privatized}).values())
    for run in runs:
        _join(run)
    return bool(runs)


def _join(run: Run) -> None:
    """The row stands where the last of its sums stood: all values are known there."""
    first, block = run.sums[0], run.last.block
    assert block is not None
    block.insert(AtomicRow(first.ptr, [one.value for one in run.sums], run.unit, span=run.last.span), run.last)
    for one in run.sums:
        one.erase()
