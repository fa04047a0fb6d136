"""Notes which elements of gradients a gradient kernel writes, and which it sets to 0.

`autodiff/grad_accesses.py` says what a note is. Tapes read it, see `lang/autodiff/zeros.py`.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.autodiff.grad_accesses import gradient_accesses
from weft.ir.config import CompileConfig
from weft.ir.passes import pass_

__all__ = ["note_gradients"]


@pass_("note_gradients")
def note_gradients(root: ops.Kernel, config: CompileConfig) -> bool:
    """Set the attribute `grad_accesses` of a gradient kernel.

    The pass runs behind `gather_adjoints`, where the loops are those that run, and before `bounds`, where indices
    still are those of the program. An access outside of a field is dropped, so a tape reads no row with such an index.
    """
    if root.called:
        return False
    found = gradient_accesses(root)
    changed, root.grad_accesses = found != root.grad_accesses, found
    return changed
