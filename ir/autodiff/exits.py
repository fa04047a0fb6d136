"""Conditions of a While whose value is known in all iterations but the last one.

    while {
      if (load %run) {} else { break }
      %p = ...
      if %p { A } else { store %run, false }        %p is true in all iterations but the last one
    }

If one side of an If ends the loop, the other side runs whenever an iteration that is not the last one gets there. So
the backward sweep does not compute the condition again: it has the value of the last iteration in a local, and that one
value for all others. What only the condition depends on is not kept.

The If may be anywhere in an iteration, but in no inner loop, which could get there twice. The flag must stay false.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.autodiff.structure import test_of
from weft.ir.core import Block, Op, Value
from weft.ir.rewrite import literal

__all__ = ["exits_of"]


def exits_of(loop: ops.While) -> dict[Op, bool]:
    """The Ifs with a side that ends the loop, and the value of the condition in other iterations."""
    run = test_of(loop)[0].ptr
    if not all(_stays_false(store, run) for store in loop.all_of(ops.Store) if store.ptr is run):
        return {}
    found: dict[Op, bool] = {}
    for op in loop.all_of(ops.If):
        if _loop_of(op) is loop:
            ends = _ends(op.then, run), _ends(op.orelse, run)
            if ends[0] != ends[1]:
                found[op] = ends[1]
    return found


def _stays_false(store: ops.Store, run: Value) -> bool:
    """Whether the flag is false after the store if it was false before."""
    value = store.value
    if isinstance(value, ops.Binary) and value.kind == "and":
        return any(isinstance(one, ops.Load) and one.ptr is run for one in value.operands)
    return literal(value) is False


def _ends(side: Block, run: Value) -> bool:
    return any(isinstance(op, ops.Store) and op.ptr is run and literal(op.value) is False for op in side)


def _loop_of(op: Op) -> Op | None:
    return next((outer for outer in op.around() if not isinstance(outer, ops.If)), None)
