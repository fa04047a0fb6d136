"""Chooses the branches that lanes run without testing whether any lane takes them.

    if %p then {A}        tested:     if any lane has %p { A with the lanes that have it }
                          unasked:    A with the lanes that have %p, even if none has

A short and cheap branch costs less than the test. It must have no effect if no lane is active: it may compute, use
locals of which each lane has its own copy, and leave loops that lanes leave one by one.
"""

from __future__ import annotations

from weft.ir.core import Block, Op, ops_of
from weft.ir.ops import Binary, Break, Continue, If, Load, Store, Unary
from weft.ir.uniform import Uniformity, target_of

__all__ = ["SIDES", "is_passive", "unasked_sides"]

SIDES = ("then", "orelse")
_MOST = 10  # the most ops of such a branch
_DEAR = frozenset(("div", "floordiv", "mod", "raw_div", "raw_mod", "pow", "atan2"))
_CHEAP_UNARY = frozenset(("neg", "bit_not", "not", "abs", "sign", "floor", "ceil", "trunc", "round"))


def unasked_sides(facts: Uniformity, op: If) -> tuple[str, ...]:
    """The branches of an `if` with a varying condition that lanes should run without a test."""
    if op.versioned or not facts.varies(op.condition):
        return ()
    return tuple(name for name in SIDES if _is_cheap(facts, getattr(op, name)))


def _is_cheap(facts: Uniformity, block: Block) -> bool:
    """Whether the ops are few, cheap, and have no effect if no lane is active."""
    inside = ops_of(block)
    few = 0 < len(inside) <= _MOST
    return few and is_passive(facts, block) and not any(map(_is_dear, inside))


def _is_dear(op: Op) -> bool:
    if isinstance(op, Binary):
        return op.kind in _DEAR
    return isinstance(op, Unary) and op.kind not in _CHEAP_UNARY


def is_passive(facts: Uniformity, block: Block) -> bool:
    """Whether the block has no effect if no lane is active. An integer division may trap in any lane."""
    return all(_rests(facts, op) for op in ops_of(block))


def _rests(facts: Uniformity, op: Op) -> bool:
    if isinstance(op, (Load, Store)):
        return facts.is_split(op.ptr)
    if isinstance(op, (Break, Continue)):
        return target_of(op) in facts.divergent
    if isinstance(op, If):
        return facts.varies(op.condition) and not op.versioned
    return op.pure and not (isinstance(op, Binary) and op.kind in _DEAR)
