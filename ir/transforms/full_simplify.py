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


@pass_("full_simplify")
def full_simplify(root: Kernel, config: CompileConfig) -> bool:
    """Runs the simplifications in turn; a pass that no change has happened since is not run again.

        for %i in 0..1 {                       store %p, %x
            store %a, %x               ->
            store %p, (load %a)

    Only `die` and `unreachable` without `advanced_optimization`.
    """
    passes = _ORDER if config.advanced_optimization else (unreachable, die)
    changed = False
    clean = 0  # how many passes in a row found nothing to do
    for step in range(_ROUNDS * len(passes)):
        if passes[step % len(passes)](root, config):
            changed, clean = True, 0
        else:
            clean += 1
        if clean == len(passes) - changed:  # the last to change something need not run again by itself
            break
    else:
        raise InternalError("full_simplify does not come to an end")
    return changed
