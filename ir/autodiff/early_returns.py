"""Parallel loops behind a `return`.

    if %p { return }                       if %p { store %go, false }
    %v = load @n[]                         if (load %go) { store %l, (load @n[]) }
    parallel_for [0, %v) {           =>    %g = load %go
      A                                    parallel_for [0, (load %l)) {
    }                                        if %g { A }
                                           }

Loops stay at the top level, where they are parallel. Their iterations do nothing once the kernel has returned. Serial
ops run in branches. What they give to later ops goes through locals, which are 0 if they did not run. Pure ops stay.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.ir import ops
from weft.ir.autodiff.adjoints import filled
from weft.ir.core import Block, Builder, Op, Value
from weft.ir.types import VOID, pointer

__all__ = ["PARALLEL", "guard_rest"]

PARALLEL = (ops.ParallelFor, ops.StructFor)


def guard_rest(block: Block, first: Op, go: Value, each: Callable[[Op, Block], None]) -> None:
    """Let `first` and the ops after it in `block` run only while `go` is true. `each` is called with each parallel loop
    and its body, and with each branch that was made and its block."""
    group: list[Op] = []
    op: Op | None = first
    while op is not None:
        following = op.next
        parallel = isinstance(op, PARALLEL)
        if not (op.pure or op.local or parallel):
            group.append(op)
        else:
            _branch(block, group, go, each)
            group = []
        if parallel:
            each(op, op.regions[0])
            _guard(block, op, go)
        op = following
    _branch(block, group, go, each)


def _branch(block: Block, group: list[Op], go: Value, each: Callable[[Op, Block], None]) -> None:
    """Put neighbouring ops into a branch."""
    if not group:
        return
    build = Builder(block, group[0], group[0].span)
    branch = build.add(ops.If(build.add(ops.Load(go))))
    for op in group:
        op.unlink()
        branch.then.append(op)
    before, after = Builder(block, branch, branch.span), Builder(block, branch.next, branch.span)
    for op in group:
        outside = [user for user in op.users if not user.within(branch)]
        if op.type is VOID or not outside:
            continue
        local = before.add(ops.Alloca(type=pointer(op.type), name=op.name))
        before.add(ops.Store(local, filled(before, op.type)))
        loaded = after.add(ops.Load(local, name=op.name))
        for user in outside:
            for position, value in enumerate(user.operands):
                if value is op:
                    user.set_operand(position, loaded)
        branch.then.insert(ops.Store(local, op), op.next)
    each(branch, branch.then)


def _guard(block: Block, loop: Op, go: Value) -> None:
    """Let the iterations of a parallel loop do nothing if `go` is false."""
    build = Builder(block, loop, loop.span)
    branch = ops.If(build.add(ops.Load(go)), span=loop.span)
    branch.then.take(loop.regions[0])
    loop.regions[0].append(branch)
