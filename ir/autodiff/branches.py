"""Branches that give all adjoints of a block: what comes before such a branch is reversed inside of it.

    %d = ...                                  if %c then {
    %c = binary lt %d, 1.0                      ... the adjoint of %v, of %d, and of what %d is computed from
    if %c then {                        =>    }
      %v = ... %d ...
      atomic add @y[%i], %v
    }

All other adjoints of the block would be 0: an iteration that does not take the branch has no gradient to compute or to
add. Nor does it multiply the 0 by a derivative that may be infinite there. That is legal if

- no op of the block after the branch acts, and only one of its sides does;
- no op of the block before it takes an adjoint from elsewhere: it stores to no memory of the program, and to no local
  that is declared outside of the block (reverse mode refuses calls of real functions that do);
- no parallel loop comes before it: in a branch, it would become a serial loop.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.demand import LOCALS, Demand
from weft.ir.core import Block, Op, Value

__all__ = ["sole_side"]


def sole_side(demand: Demand, op: ops.If) -> Block | None:
    """The side of a branch that gives all adjoints of the block that the branch is in. None: there is no such side, or
    nothing of the block acts before the branch."""
    block = op.block
    assert block is not None
    sides = [side for side in (op.then, op.orelse) if any(inner in demand.acts for inner in side)]
    if len(sides) != 1:
        return None
    before, after = _around(op, block)
    if any(one in demand.acts for one in after):
        return None
    acting = [one for one in before if one in demand.acts]
    if not acting or any(_takes(inner, block) for one in acting for inner in one.walk()):
        return None
    return sides[0]


def _around(op: Op, block: Block) -> tuple[list[Op], list[Op]]:
    every = list(block)
    position = every.index(op)
    return every[:position], every[position + 1 :]


def _takes(op: Op, block: Block) -> bool:
    """Whether an op may take an adjoint that no op of the block gave."""
    if isinstance(op, (ops.Store, ops.Atomic)):
        return not _is_declared_in(root_of(op.ptr), block)
    return isinstance(op, (ops.ParallelFor, ops.StructFor))


def _is_declared_in(root: Value, block: Block) -> bool:
    return isinstance(root, LOCALS) and (root.block is block or any(one.block is block for one in root.around()))
