"""Chooses the branches that lanes run without testing whether any lane takes them.

    if %p then {A}        tested:     if any lane has %p { A with the lanes that have it }
                          unasked:    A with the lanes that have %p, even if none has

A short and cheap branch costs less than the test. It must be *passive*: it has no effect if no lane is active.
"""

from __future__ import annotations

from weft.ir.core import Block, Op, ops_of
from weft.ir.ops import Binary, Break, Continue, If, Load, Store, Unary
from weft.ir.uniform import Uniformity

__all__ = ["SIDES", "is_passive", "unasked_sides"]

SIDES = ("then", "orelse")
_MOST = 10  # the most ops of such a branch
_DEAR = frozenset(("div", "floordiv", "mod", "raw_div", "raw_mod", "pow", "atan2"))
_CHEAP_UNARY = frozenset(("neg", "bit_not", "not", "abs", "sign", "floor", "ceil", "trunc", "round"))


def unasked_sides(facts: Uniformity, op: If) -> tuple[str, ...]:
    """The branches of an `if` with a varying condition that lanes should run without a test."""
    if op.versioned or op.general or not facts.varies(op.condition):
        return ()
    return tuple(name for name in SIDES if _is_cheap(facts, getattr(op, name)))


def _is_cheap(facts: Uniformity, block: Block) -> bool:
    """Whether the block is passive and costs less than a test: its ops are few, and cheap."""
    inside = ops_of(block)
    few = 0 < len(inside) <= _MOST
    return few and is_passive(facts, block) and not any(_is_dear(facts, op) for op in inside)


def _is_dear(facts: Uniformity, op: Op) -> bool:
    if isinstance(op, Binary):
        return op.kind in _DEAR
    if isinstance(op, If):  # a branch on which lanes agree costs as much as the test
        return op.versioned or op.general or not facts.varies(op.condition)
    return isinstance(op, Unary) and op.kind not in _CHEAP_UNARY


def is_passive(facts: Uniformity, block: Block) -> bool:
    """Whether the block, a side of a branch on which lanes disagree, has no effect if no lane is active.

    It then contains only these ops, also in blocks inside it:

    - ops that compute. They give a value for all operands, whatever inactive lanes have: a division by zero gives 0.
    - loads and stores of split locals. Each lane has memory of its own there. A load is always valid, and a store keeps
      the values of inactive lanes.
    - `break` and `continue`. The loop is divergent, because lanes disagree on the branch: a jump only removes the
      active lanes from the masks of the loop.
    - `if`s of such ops.

    Any other op is written for at least one active lane. Without one, `load` of an address that all lanes share may
    read beyond a field, `each_lane` (atomics) and `warn` would run for an inactive lane, and a loop might not end."""
    return all(_is_passive(facts, op) for op in ops_of(block))


def _is_passive(facts: Uniformity, op: Op) -> bool:
    if isinstance(op, (Load, Store)):
        return facts.is_split(op.ptr)
    return op.pure or isinstance(op, (If, Break, Continue))
