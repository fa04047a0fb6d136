"""Ops of parallel loops whose derivative depends on the order of iterations.

    for i in x:
        m[k] *= x[i]; m[k] += 1        # products and sums of one element
        s = ti.atomic_add(t, x[i])     # a derivative by the old value
        last = x[i]                    # stored by whichever iteration is the last one

Reverse mode must undo what the iterations did in the opposite order. It does not know that order, if the loop was
parallel. So the launch runs such a loop in order (`serial.py`), and so does its gradient. Only a launch that makes
records does that (`settling.py`): it runs in the place of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import carries, pointee
from weft.ir.autodiff.demand import EXTREMES, LOCALS, Demand
from weft.ir.autodiff.products import apart_from_products, loop_around
from weft.ir.autodiff.serial import blocks_only, run_serially, visits_cells
from weft.ir.autodiff.splitting import SYNCHRONIZING
from weft.ir.core import Op

__all__ = ["needs_order", "put_in_order"]


def needs_order(demand: Demand, op: Op) -> str:
    """What about an op depends on the order of iterations, in words. "": nothing."""
    if isinstance(op, ops.Store):
        written = op.relaxed and (op in demand.needed or (op.value in demand.active and op in demand.acts))
        return "a store of a value that other iterations may overwrite" if written else ""
    if isinstance(op, SYNCHRONIZING):
        takes = carries(pointee(op.ptr)) and demand.takes(op.ptr)
        return f"{op.opname} of memory that carries a derivative" if takes else ""
    if not isinstance(op, ops.Atomic) or op not in demand.acts:
        return ""
    if op.kind not in ("add", "sub", "mul", *EXTREMES):
        return f"an atomic {op.kind} in a parallel loop"
    if op.kind not in ("add", "sub") and isinstance(root_of(op.ptr), LOCALS) and not isinstance(op.ptr, LOCALS):
        return f"an atomic {op.kind} of a part of a local"
    other = apart_from_products(op) if op.kind == "mul" else None
    if other is not None:
        where = "" if other.span is None else f" (line {other.span.line})"
        return f"an atomic mul in a parallel loop that accesses this memory otherwise, too{where}"
    if any(user in demand.acts for user in op.users):
        return f"a derivative by the old value of an atomic {op.kind} in a parallel loop"
    return ""


def put_in_order(ordered: Iterable[Op]) -> bool:
    """Run the parallel loops in order that have one of these ops, and say whether there is one. Loops that only the
    threads of a block can run stay, and those over active cells."""
    found = [loop for loop in dict.fromkeys(map(loop_around, ordered)) if loop is not None]
    loops = [loop for loop in found if not blocks_only(loop) and not visits_cells(loop)]
    for loop in loops:
        assert isinstance(loop, (ops.ParallelFor, ops.StructFor))
        run_serially(loop)
    return bool(loops)
