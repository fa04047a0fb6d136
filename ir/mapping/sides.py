"""Which sides of a branch lanes run without asking whether any lane takes it.

    if %p then {A}        asked:     if any lane has %p { A with the lanes that have it }
                          unasked:   A with the lanes that have %p, even if none has

A side that is short and cheap costs less than the question. It must do nothing where no lane is here: it may compute,
use locals of which each lane has its own, and leave loops that lanes leave one by one.
"""

from __future__ import annotations

from weft.ir.core import Block, Op, ops_of
from weft.ir.ops import Binary, Break, Continue, If, Load, Store, Unary
from weft.ir.uniform import Uniformity, target_of

__all__ = ["SIDES", "is_passive", "unasked_sides"]

SIDES = ("then", "orelse")
_MOST = 10  # ops of such a side
_DEAR = frozenset(("div", "floordiv", "mod", "raw_div", "raw_mod", "pow", "atan2"))
_CHEAP_UNARY = frozenset(("neg", "bit_not", "not", "abs", "sign", "floor", "ceil", "trunc", "round"))


def unasked_sides(facts: Uniformity, op: If) -> tuple[str, ...]:
    """The sides of a branch on which lanes disagree that they had better run in any case."""
    if op.versioned or not facts.varies(op.condition):
        return ()
    return tuple(name for name in SIDES if _is_cheap(facts, getattr(op, name)))


def _is_cheap(facts: Uniformity, block: Block) -> bool:
    """Whether the ops are few, cheap, and do nothing where no lane is here."""
    inside = ops_of(block)
    few = 0 < len(inside) <= _MOST
    return few and is_passive(facts, block) and not any(map(_is_dear, inside))


def _is_dear(op: Op) -> bool:
    if isinstance(op, Binary):
        return op.kind in _DEAR
    return isinstance(op, Unary) and op.kind not in _CHEAP_UNARY


def is_passive(facts: Uniformity, block: Block) -> bool:
    """Whether the block does nothing where no lane is here. (A quotient of integers may trap in any lane.)"""
    return all(_rests(facts, op) for op in ops_of(block))


def _rests(facts: Uniformity, op: Op) -> bool:
    if isinstance(op, (Load, Store)):
        return facts.is_split(op.ptr)
    if isinstance(op, (Break, Continue)):
        return target_of(op) in facts.divergent
    if isinstance(op, If):
        return facts.varies(op.condition) and not op.versioned
    return op.pure and not (isinstance(op, Binary) and op.kind in _DEAR)
