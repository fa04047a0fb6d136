"""Writes the rarely needed version of a block for one lane, in a loop over the active lanes.

    if %mask { <hundreds of masked accesses> }   ->    each_lane %mask, cold=True (%k: i64) { <the block> }

A masked access of all lanes needs many times as much code as the access of one lane. Code generation moves the body of
such a loop to a function of its own.
"""

from __future__ import annotations

from weft.ir.addresses import root_of
from weft.ir.core import Block, Value, ops_of
from weft.ir.mapping.vectorize.state import Vectorizer
from weft.ir.ops import Alloca, Atomic, Break, Continue, If, Load, Random, Store
from weft.ir.uniform import target_of

__all__ = ["can_run_by_lane", "write_by_lane"]


def write_by_lane(v: Vectorizer, block: Block) -> bool:
    """Write such a block for one active lane after another. False if that is not possible. Nothing is written then."""
    if not can_run_by_lane(block):
        return False
    for _ in v.each_vector():
        with v.each(cold=True) as number:
            values = {value: v.of_lane(value, number) for value in _taken(block)}
            for op in block:
                v.add(op.clone(values))
            _forget_lanes(v.point.build.block)
    return True


def can_run_by_lane(block: Block) -> bool:
    """Whether one lane may run the whole block before the next one begins: it does not leave the block, draws no random
    number, and uses no local of the code around."""
    inside = ops_of(block)
    if any(isinstance(op, Random) for op in inside):
        return False
    own = {*inside}
    if any(target_of(op) not in own for op in inside if isinstance(op, Break | Continue)):
        return False
    return not any(isinstance(root_of(value), Alloca) for value in _taken(block))


def _taken(block: Block) -> list[Value]:
    """The values from outside that the ops of the block use."""
    inside = ops_of(block)
    own: set[Value] = {*inside, *(arg for op in inside for region in op.regions for arg in region.args)}
    return list(dict.fromkeys(value for op in inside for value in op.operands if value not in own))


def _forget_lanes(block: Block) -> None:
    """Remove what the ops say about lanes."""
    for op in ops_of(block):
        if isinstance(op, (Load, Store, Atomic)):
            op.move = ""
        elif isinstance(op, If):
            op.unasked = ()
