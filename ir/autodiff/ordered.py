"""Parallel loops that must run in order, since they update a value and its dual together.

An atomic product, minimum, maximum or exchange, or a compare-and-swap, changes a value, and its dual depends on the old
value. A relaxed store writes a value that another iteration may overwrite. The dual is a second access, so concurrent
iterations could leave the value of one iteration and the dual of another. Such a loop becomes serial loops. Sums are
not affected, as long as their old values are not used: the sum of the duals is the dual of the sum in any order. Nor
are private locals.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import Companions, carries, pointee
from weft.ir.autodiff.serial import blocks_only, run_serially, visits_cells
from weft.ir.autodiff.splitting import SYNCHRONIZING, split_synchronizing
from weft.ir.calls import DRAWS
from weft.ir.core import Op, Value
from weft.ir.errors import CompilationError

__all__ = ["run_in_order"]

_SUMS = ("add", "sub")


def run_in_order(kernel: ops.Kernel, active: set[Value], companions: Companions) -> None:
    """Replace the parallel loops in which the order of two accesses matters by serial loops. The loops around a
    function are not known."""
    unordered = next((op for op in kernel.walk() if kernel.called and _ordered(op, kernel, active, companions)), None)
    if unordered is not None:
        what = getattr(unordered, "kind", unordered.opname)
        raise CompilationError(
            f"forward mode cannot differentiate this {what} of shared memory in a real function", unordered.span
        )
    loops: list[ops.ParallelFor | ops.StructFor] = [*kernel.all_of(ops.ParallelFor), *kernel.all_of(ops.StructFor)]
    for loop in loops:
        found = next((op for op in loop.walk() if _ordered(op, loop, active, companions)), None)
        if found is None:
            continue
        if blocks_only(loop) is not None:
            what = getattr(found, "kind", found.opname)
            raise CompilationError(
                f"forward mode cannot differentiate this {what} of shared memory in a parallel loop that uses the "
                "memory or the functions of a thread block",
                found.span,
            )
        if any(DRAWS in call.effects for call in loop.all_of(ops.Invoke)):  # it counts the numbers of its thread
            raise CompilationError(
                f"forward mode cannot differentiate this {getattr(found, 'kind', found.opname)} of shared memory in a "
                "parallel loop that calls a real function that draws random numbers and calls itself: pass them as "
                "arguments",
                found.span,
            )
        if visits_cells(loop) and loop.all_of(ops.Random, ops.RandomAt):
            raise CompilationError(
                f"forward mode cannot differentiate this {getattr(found, 'kind', found.opname)} of shared memory in a "
                "loop over active cells that draws random numbers",
                found.span,
            )
        run_serially(loop)
    split_synchronizing(kernel)


def _ordered(op: Op, loop: Op, active: set[Value], companions: Companions) -> bool:
    if not isinstance(op, (ops.Atomic, ops.Store, *SYNCHRONIZING)) or not carries(pointee(op.ptr)):
        return False
    root = root_of(op.ptr)
    if not companions.has(root) and (root not in active or (isinstance(root, Op) and root.within(loop))):
        return False
    if isinstance(op, ops.Store):
        return op.relaxed
    if not isinstance(op, ops.Atomic):
        return True
    if op.kind in _SUMS:
        return bool(op.users)
    return op.kind != "mul" or op.value in active
