"""Functions that a gradient calls again for their values: they write no memory then.

    %r = invoke function=f, [%x], touched=(y, z), only_read=(z)       store @y[%i], %v; return [%v]
                                                                  =>
    %r = invoke function=f.rerun, [%x], touched=(z), only_read=(z)    return [%v]

Legal if the function does not use values of memory that it writes, nor does any that it calls: `only_written` says so,
and `refusals.py` asks. Then it returns the same value. It checks no assertion and prints nothing, since the function
has done both. Functions that it calls become such functions, and those whose results are not used are not called.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.functions import called_again
from weft.ir.core import Builder, Op

__all__ = ["drop_effects"]

_MEMORY = (ops.FieldPtr, ops.ArrayPtr)


def drop_effects(kernel: ops.Kernel) -> None:
    """Let a function compute its results, and do nothing else."""
    for op in reversed([*kernel.walk()]):
        if _has_no_value(op):
            op.erase()
        elif isinstance(op, ops.Invoke) and op.written:
            op.replace(Builder.at(op).add(called_again(op, op.values)))


def _has_no_value(op: Op) -> bool:
    """Whether an op does nothing but what a function does beside its results."""
    if isinstance(op, (ops.Store, ops.Atomic)):
        return isinstance(root_of(op.ptr), _MEMORY)
    return isinstance(op, (ops.Print, ops.Assert)) or (isinstance(op, ops.Invoke) and not op.users)
