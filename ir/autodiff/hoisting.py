"""Loads that give the same value in all iterations of a serial loop move before the loop.

The adjoint of such a load is then summed in a local, and added to memory once, not in each iteration:

    for %j in 0..%n {                          %a = load @x[%i]
      %a = load @x[%i]                   =>    for %j in 0..%n {
      ...                                        ...

The loop must not write that memory. Since it may run no iteration, the address must be in bounds.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.alias import space_of, spaces_meet
from weft.ir.core import Op, ops_of
from weft.ir.intervals import in_bounds
from weft.ir.rewrite import literal

__all__ = ["hoist_loads"]


def hoist_loads(kernel: ops.Kernel) -> None:
    """Move loads out of the serial loops of a kernel, the innermost loops first."""
    loops = [op for op in ops_of(kernel.body) if isinstance(op, (ops.For, ops.While))]
    for loop in reversed(loops):
        inside = ops_of(loop.body)
        if any(op.orders() or op.effect == "anywhere" for op in inside):
            continue
        written = {space_of(op.operands[0]) for op in inside if op.effect == "address" and op.writes}
        for op in inside:
            if isinstance(op, ops.Load) and _is_fixed(op, loop):
                space = space_of(op.ptr)
                if not any(spaces_meet(space, other) for other in written):
                    _move(op, loop)


def _is_fixed(load: ops.Load, loop: ops.For | ops.While) -> bool:
    ptr = load.ptr
    if not isinstance(root_of(ptr), (ops.FieldPtr, ops.ArrayPtr)) or not isinstance(ptr, Op) or ptr.within(loop):
        return False
    return in_bounds(ptr) or (load.block is loop.body and isinstance(loop, ops.For) and _runs(loop))


def _runs(loop: ops.For) -> bool:
    """Whether the loop is known to run an iteration, all of it."""
    begin, end, step = (literal(value) for value in (loop.begin, loop.end, loop.step))
    if begin is None or end is None or not step:
        return False
    return len(range(int(begin), int(end), int(step))) > 0 and not loop.all_of(ops.Continue, ops.Break, ops.Return)


def _move(load: ops.Load, loop: Op) -> None:
    assert loop.block is not None
    load.unlink()
    loop.block.insert(load, loop)
