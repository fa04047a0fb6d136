"""Loop-invariant code motion: moves computations that give the same result in every iteration out of the loop."""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.core import Block, Op
from weft.ir.ops import For, Kernel, Task, While
from weft.ir.passes import pass_

__all__ = ["licm", "move_out"]


@pass_("licm")
def licm(root: Kernel, config: CompileConfig) -> bool:
    """Moves pure ops whose operands are defined outside a loop to before the loop, or from a task's body to its
    prologue.

        for %i in 0..%n {                      %b = binary mul %x, %y
            %b = binary mul %x, %y     ->      for %i in 0..%n {
            store %p, %b                           store %p, %b

    Pure ops cannot fail, so they may move even if the loop never runs. The pass does not move loads, nor ops inside an
    If of the loop, which may never run. It does not move ops out of a ParallelFor or StructFor, whose body becomes a
    task with a prologue.
    """
    return move_out(root.body)


def move_out(block: Block) -> bool:
    """Move ops out of the loops in a block, the innermost loops first: an op can leave several loops in one run."""
    changed = False
    for op in block:
        if not op.region_names:
            continue
        for region in op.regions:
            changed |= move_out(region)
        if isinstance(op, (For, While)):
            assert op.block is not None
            changed |= _hoist(op.body, op.block, op)
        elif isinstance(op, Task) and op.kind != "serial":
            changed |= _hoist(op.body, op.prologue, None)
    return changed


def _hoist(body: Block, target: Block, before: Op | None) -> bool:
    """An op directly in `body` can use only values that are defined directly in `body` or outside the loop."""
    changed = False
    for op in body:
        if op.pure and all(value.block is not body for value in op.operands):  # type: ignore[attr-defined]
            body.unlink(op)
            target.insert(op, before)
            changed = True
    return changed
