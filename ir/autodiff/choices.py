"""Loops whose results may not be chosen: then their backward sweep has nothing to do.

    for %b in 0..%n { store %d, %d + f(%b) }        if (load %d.grad) != 0 {
    %m = binary min %other, (load %d)          =>     the sweep of the loop
                                                    }

All adjoints in the sweep are products with those of the results of the loop. If these are 0, the sweep adds 0. (If a
partial derivative is infinite, it would add NaN. Forward mode adds 0, too.) The test costs little, but a branch may
keep iterations from running side by side. So it is made only if each result goes into a choice: a minimum, a maximum or
a select, which gives the adjoint 0 to what it does not choose.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import carries
from weft.ir.autodiff.demand import EXTREMES, Demand
from weft.ir.core import Op, Value
from weft.ir.types import Pointer, Prim

__all__ = ["chosen_results"]

_MOST = 2  # results of a loop that are tested


def chosen_results(demand: Demand, loop: Op) -> list[Value]:
    """The locals that hold the results of a loop with adjoints. Empty: it has others, or not all go into a choice."""
    results = dict[Value, None]()
    for op in loop.walk():
        if not isinstance(op, (ops.Store, ops.Atomic)) or op not in demand.acts:
            continue
        root = root_of(op.ptr)
        if not isinstance(op, ops.Store) or not isinstance(root, ops.Alloca):
            return []
        if not root.within(loop):
            results[root] = None
    return [*results] if len(results) <= _MOST and all(_is_chosen(local, loop) for local in results) else []


def _is_chosen(local: Value, loop: Op) -> bool:
    """Whether all that is done with a number after a loop, in its block, is to choose it or another one."""
    if not isinstance(local.type, Pointer) or not isinstance(local.type.elem, Prim):
        return False
    users = [op for load in _loads_behind(local, loop) for op in load.users]
    return bool(users) and all(map(_chooses, users))


def _loads_behind(local: Value, loop: Op) -> list[Op]:
    """The loads that may read what a loop leaves in a local, in the order of the program. A store ends them."""
    found = list[Op]()
    op = loop.next
    while op is not None:
        inside = [one for one in op.walk() if isinstance(one, ops.Load) and root_of(one.ptr) is local]
        found += inside
        if isinstance(op, ops.Store) and op.ptr is local:
            break
        op = op.next
    return found


def _chooses(op: Op) -> bool:
    if isinstance(op, ops.Binary):
        return op.kind in EXTREMES or not carries(op.type)
    return isinstance(op, ops.Select)
