"""Loads in functions that kernels call: none is invariant.

    %v = load %p, invariant=true : f32

    %v = load %p : f32

While a function runs, nothing else may change the fields that it reads. But its callers write them between two calls,
and code generation tells LLVM that an invariant load gives the same whenever it runs.
"""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel, Load
from weft.ir.passes import pass_

__all__ = ["forget_invariants"]


@pass_("forget_invariants")
def forget_invariants(root: Kernel, config: CompileConfig) -> bool:
    """Say of no load in a called function that it is invariant."""
    changed = False
    if root.called:
        for op in root.all_of(Load):
            changed |= op.invariant
            op.invariant = False
    return changed
