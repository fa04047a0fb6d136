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

If one If has all ops that act in A (`outer_exit`), the sweep of an iteration that takes its other side does nothing. So
that iteration is not swept, and the condition is known in all that are.
"""

from __future__ import annotations

from collections.abc import Set

from weft.ir import ops
from weft.ir.autodiff.structure import test_of
from weft.ir.core import Block, Op, Value, ops_of
from weft.ir.rewrite import literal

__all__ = ["exits_of", "is_only_end", "outer_exit"]


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


def outer_exit(loop: ops.While, exits: dict[Op, bool], acts: Set[Op]) -> Op | None:
    """The one of these Ifs whose side that goes on has all ops of the loop that act, if there is one."""
    acting = [op for op in ops_of(loop.body) if op in acts and not op.regions]
    for exit in exits:
        if exit.block is loop.body and all(_side(op, exit) is _goes_on(exit, exits) for op in acting):
            return exit
    return None


def is_only_end(loop: ops.While, exits: dict[Op, bool], exit: Op) -> bool:
    """Whether no iteration is the last one but those that take the other side of that If."""
    run = test_of(loop)[0].ptr
    ends = [store for store in loop.all_of(ops.Store) if store.ptr is run]
    return all(_side(store, exit) not in (None, _goes_on(exit, exits)) for store in ends)


def _goes_on(exit: Op, exits: dict[Op, bool]) -> Block:
    assert isinstance(exit, ops.If)
    return exit.then if exits[exit] else exit.orelse


def _side(op: Op, exit: Op) -> Block | None:
    """The side of an If that an op is in."""
    inner = next((one for one in (op, *op.around()) if one.parent is exit), None)
    return None if inner is None else inner.block


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
