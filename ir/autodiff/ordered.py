"""Parallel loops that must run in order, since they update a value and its dual together.

An atomic product, minimum, maximum or exchange changes a value, and its dual depends on the old value. A relaxed store
writes a value that another iteration may overwrite. The dual is a second access, so concurrent iterations could leave
the value of one iteration and the dual of another. Such a loop becomes serial loops. Sums are not affected, as long as
their old values are not used: the sum of the duals is the dual of the sum in any order. Nor are private locals.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import Companions, carries
from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.errors import CompilationError
from weft.ir.types import Prim

__all__ = ["run_in_order"]

_ORDERED = ("mul", "min", "max", "xchg")
_SUMS = ("add", "sub")
_STUCK = (ops.Random, ops.Shared, ops.Simt)


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
        stuck = next((op for op in loop.walk() if isinstance(op, _STUCK)), None)
        if stuck is not None:
            what = getattr(found, "kind", found.opname)
            raise CompilationError(
                f"forward mode cannot differentiate this {what} of shared memory in a parallel loop that uses random "
                "numbers or the memory of a thread block",
                found.span,
            )
        _serialize(loop)


def _ordered(op: Op, loop: Op, active: set[Value], companions: Companions) -> bool:
    if not isinstance(op, (ops.Atomic, ops.Store)) or not carries(op.value.type):
        return False
    root = root_of(op.ptr)
    if not companions.has(root) and (root not in active or (isinstance(root, Op) and root.within(loop))):
        return False
    if isinstance(op, ops.Store):
        return op.relaxed
    if op.kind in _SUMS:
        return bool(op.users)
    return op.kind in _ORDERED and (op.kind != "mul" or op.value in active)


def _serialize(loop: ops.ParallelFor | ops.StructFor) -> None:
    """The loop as nested serial loops, slowest axis first."""
    build = Builder.at(loop)
    args, box = list(loop.body.args), list[tuple[Value, Value]]()
    begin: Value
    end: Value
    if isinstance(loop, ops.ParallelFor):
        box = list(zip(loop.begins, loop.ends, strict=True))
        order = list(range(len(args)))
    else:
        if not args or any(any(pair) for pair in loop.field.path.cell.halo):
            what = "a field with a halo" if args else "a field without axes"
            raise CompilationError(f"forward mode cannot run a loop over {what} in order", loop.span)
        space, order = loop.field.space, list(loop.field.space.order)
        for arg, first, extent in zip(args, space.first, space.shape, strict=True):
            begin, end = (build.add(ops.Const(number, type=arg.type)) for number in (first, first + extent))
            box.append((begin, end))
    block = Block()
    block.take(loop.body)
    for axis in reversed(order):
        begin, end = box[axis]
        assert isinstance(begin.type, Prim)
        step = build.add(ops.Const(1, type=begin.type))
        arg = BlockArg(args[axis].type, args[axis].name, args[axis].span)
        args[axis].replace_uses(arg)
        made = ops.For(begin, end, step, body=block, span=loop.span)
        block.args = [arg]
        arg.block = block
        block = Block()
        block.append(made)
    for op in block:
        block.unlink(op)
        build.add(op)
    loop.erase()
