"""Runs all simplifications until none changes anything."""

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

# Values are simplified before control flow, control flow before memory. `algebra` also folds constants.
_ORDER: tuple[Pass, ...] = (algebra, unreachable, cse, forward, dead_stores, die, licm)
_ROUNDS = 50

# The passes to run again after a pass has changed something. New values and new control flow matter to all others.
# Merged values matter to passes that compare operands and addresses. Removed stores and loads matter to passes over
# what they kept alive or hid. An op moved out of a loop may equal an op there, and the loop may become empty.
_WAKES: dict[Pass, tuple[Pass, ...]] = {
    **{each: tuple(other for other in _ORDER if other is not each) for each in (algebra, unreachable, forward)},
    cse: (algebra, forward, dead_stores, licm),
    dead_stores: (unreachable, forward, die),
    die: (unreachable, dead_stores),
    licm: (unreachable, cse, die),
}


@pass_("full_simplify")
def full_simplify(root: Kernel, config: CompileConfig) -> bool:
    """Runs the simplifications in turn. A pass runs again only after another one has changed something that it depends
    on.

        for %i in 0..1 {                       store %p, %x
            store %a, %x               ->
            store %p, (load %a)

    Without `advanced_optimization`, only `die` and `unreachable` run.
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
    raise InternalError("full_simplify does not terminate")
