"""Boundary peeling: compiles a version of the body for threads whose indices need no clamping.

    %m = binary max %i, %0 : i64                  x[max(0, min(n - 1, i + a))], a in -2 .. 2

    %m = clamp max %i, %0, axis=0, low=0, high=0 : i64

Code generation emits the body twice for coarsened tasks. If all indices of a thread are within the bounds, as for
nearly all threads, each clamp is replaced by its operand. The loads of neighbouring iterations are then adjacent in
memory and become wide loads. At the boundary, a thread runs its iterations one after the other. Tasks that are not
coarsened are left unchanged.
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
    """Mark the clamps of indices in coarsened tasks."""
    changed = False
    for task in parallel_tasks(root):
        if task.schedule.across * task.schedule.rows > 1:
            changed |= peel(task)
    return changed


def peel(task: Task) -> bool:
    """Mark the clamps of the task's indices. Gives whether there are any."""
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
