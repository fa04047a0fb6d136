"""Functions that a gradient calls again for their values: they write no memory then.

    %r = invoke function=f, [%x], touched=(y, z), only_read=(z)       store @y[%i], %v; return [%v]
                                                                  =>
    %r = invoke function=f.rerun, [%x], touched=(z), only_read=(z)    return [%v]

Legal if the function does not use values of memory that it writes, nor does any that it calls: `only_written` says so,
and `refusals.py` asks. Then it returns the same value. It checks no assertion, warns of nothing and prints nothing,
since the function has done all that. What only these messages use is not computed. In debug mode, that may be the old
value of an atomic, to see whether a sum overflows. Functions that it calls become such functions, and those whose
results are not used are not called.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.functions import called_again
from weft.ir.core import Builder, Op, ops_of
from weft.ir.transforms.die import drop_dead

__all__ = ["drop_effects"]

_MEMORY = (ops.FieldPtr, ops.ArrayPtr)
_FOR_RESULTS = (ops.Print, ops.Assert, ops.Warn, ops.Invoke)  # they stay only if results depend on them


def drop_effects(kernel: ops.Kernel) -> None:
    """Let a function compute its results, and do nothing else."""
    drop_dead(ops_of(kernel.body), lambda op: _writes(op) or isinstance(op, _FOR_RESULTS))
    for op in kernel.walk():
        assert not _writes(op), op  # a result would depend on it
        if isinstance(op, ops.Invoke) and op.written:
            op.replace(Builder.at(op).add(called_again(op, op.values)))


def _writes(op: Op) -> bool:
    """Whether an op writes memory of the program, and is no call."""
    return isinstance(op, (ops.Store, ops.Atomic)) and isinstance(root_of(op.ptr), _MEMORY)
