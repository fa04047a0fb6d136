"""Boundary peeling: where indices are clamped to a field, a version of the body for where they need not be.

    %m = binary max %i, %0 : i64                  x[max(0, min(n - 1, i + a))], a in -2 .. 2

    %m = clamp max %i, %0, axis=0, low=0, high=0 : i64

Code generation writes the body twice for tasks of which a thread takes several iterations together. If all indices of
the thread are inside of the bounds, as for nearly all threads, each clamp is its operand, so that the reads of
neighbouring iterations are neighbours in memory: wide loads. At the boundary the thread makes one iteration after the
other. Tasks of which threads take one iteration at a time keep their ops.
"""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.mapping.clamps import ClampedIndex, clamps_of
from weft.ir.ops import Clamp, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.tasks import parallel_tasks

__all__ = ["peel", "peel_boundaries"]


@pass_("peel_boundaries")
def peel_boundaries(root: Kernel, config: CompileConfig) -> bool:
    """Mark the clamps of indices in tasks that are coarsened."""
    changed = False
    for task in parallel_tasks(root):
        if task.schedule.across * task.schedule.rows > 1:
            changed |= peel(task)
    return changed


def peel(task: Task) -> bool:
    """Mark the clamps of the task's indices; whether there are any."""
    clamps = clamps_of(task)
    for found in clamps:
        _mark(found)
    return bool(clamps)


def _mark(found: ClampedIndex) -> None:
    op = found.op
    assert op.block is not None
    made = Clamp(
        op.kind,
        op.lhs,
        op.rhs,
        found.axis,
        found.low,
        found.high,
        moved=int(op.lhs is found.bound),
        fits=found.fits,
        name=op.name,
        span=op.span,
    )
    op.block.insert(made, op)
    op.replace(made)
