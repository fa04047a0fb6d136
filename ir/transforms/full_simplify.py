"""All simplifications together, until nothing changes."""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.ops import Kernel
from weft.ir.passes import Pass, pass_
from weft.ir.transforms.algebra import algebra
from weft.ir.transforms.cse import cse
from weft.ir.transforms.dead_stores import dead_stores
from weft.ir.transforms.die import die
from weft.ir.transforms.forward import forward
from weft.ir.transforms.licm import licm
from weft.ir.transforms.unreachable import unreachable

__all__ = ["full_simplify"]

# `algebra` folds constants too. Values settle before control flow, control flow before memory; `die` sweeps up.
_ORDER: tuple[Pass, ...] = (algebra, unreachable, cse, forward, dead_stores, die, licm)
_ROUNDS = 50

# What may find something to do after a pass has changed something. New values and new control flow concern all others;
# values that became one, operands and addresses; stores and loads that are gone, what they kept alive or hid; what
# was moved out of a loop, what may equal it there, and the loop, if nothing is left in it.
_WAKES: dict[Pass, tuple[Pass, ...]] = {
    **{each: tuple(other for other in _ORDER if other is not each) for each in (algebra, unreachable, forward)},
    cse: (algebra, forward, dead_stores, licm),
    dead_stores: (unreachable, forward, die),
    die: (unreachable, dead_stores),
    licm: (unreachable, cse, die),
}


@pass_("full_simplify")
def full_simplify(root: Kernel, config: CompileConfig) -> bool:
    """Runs the simplifications in turn; a pass is not run again before one has changed something that concerns it.

        for %i in 0..1 {                       store %p, %x
            store %a, %x               ->
            store %p, (load %a)

    Only `die` and `unreachable` without `advanced_optimization`.
    """
    passes = _ORDER if config.advanced_optimization else (unreachable, die)
    changed = False
    due = set(passes)
    for _ in range(_ROUNDS):
        for each in passes:
            if each in due:
                due.discard(each)
                if each(root, config):
                    changed = True
                    due.update(_WAKES[each])
        due.intersection_update(passes)
        if not due:
            return changed
    raise InternalError("full_simplify does not come to an end")
