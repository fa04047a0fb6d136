"""Removes `invariant` from the loads in functions that kernels call.

    %v = load %p, invariant=true : f32

    %v = load %p : f32

Nothing else may change the fields that a function reads while the function runs. But its callers may write them between
two calls. Code generation tells LLVM that an invariant load gives the same value whenever it runs, which would be wrong
there.
"""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel, Load
from weft.ir.passes import pass_

__all__ = ["forget_invariants"]


@pass_("forget_invariants")
def forget_invariants(root: Kernel, config: CompileConfig) -> bool:
    """Mark every load in a called function as not invariant."""
    changed = False
    if root.called:
        for op in root.all_of(Load):
            changed |= op.invariant
            op.invariant = False
    return changed
