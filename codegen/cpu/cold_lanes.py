"""Emits the rarely needed version of a block for a single lane, in a loop over the active lanes.

    if %mask { <hundreds of masked accesses> }   ->    for lane in lanes of %mask { call @f_apart1(its values) }

A masked access of all lanes needs many times as much code as the access of one lane. `llvm/cold_versions.py` creates
the function.
"""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING

from weft.codegen.llvm.cold_versions import write_apart
from weft.ir.addresses import root_of
from weft.ir.core import Block, Value, ops_of
from weft.ir.ops import Alloca, Break, Const, Continue, Random
from weft.ir.types import Pointer
from weft.ir.uniform import target_of

if TYPE_CHECKING:
    from weft.codegen.cpu.lanes import LaneWriter

__all__ = ["write_by_lane"]


def write_by_lane(f: LaneWriter, block: Block, done: str) -> bool:
    """Emit such a block for one active lane after another, then continue at `done`. False if that is not possible.
    Nothing is emitted then."""
    inside = ops_of(block)
    own: set[Value] = {*inside, *(arg for op in inside for region in op.regions for arg in region.args)}
    taken = dict.fromkeys(value for op in inside for value in op.operands if value not in own)
    if f.many > 1 or not f.apart or not all(op.pure or (op.lanes and not isinstance(op, Random)) for op in inside):
        return False
    if any(target_of(op) not in own for op in inside if isinstance(op, Break | Continue)):
        return False
    if any(isinstance(root_of(value), Alloca) for value in taken if isinstance(value.type, Pointer)):
        return False
    if not all(value in f.values or isinstance(value, Const) for value in taken):
        return False
    with f.each() as number:
        mine = {value: f.of_lane(value, number) for value in taken}
        before = f.here, f.values
        f.here, f.values = (), ChainMap({}, mine, f.values)
        label, end = f.fresh_label("one"), f.fresh_label("rest")
        f.start(label)
        write_apart(f, block, end)
        f.start(end)
        f.here, f.values = before
    f.jump(done)
    return True
