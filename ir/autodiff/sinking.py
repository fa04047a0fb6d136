"""Ops whose derivative only a branch uses move into the branch.

    %d = unary sqrt %s                         %d = unary sqrt %s
    if (lt %d, 1.0) { store %f, %d * %k }  =>  if (lt %d, 1.0) { %e = unary sqrt %s; store %f, %e * %k }

The backward sweep of the op is then in the branch, too: iterations that do not take the branch have nothing to add, and
access no gradients. The op outside stays if something else uses it, such as the condition. It has no adjoint, and the
simplifications use it for the one inside, too.

An op moves if it is pure, or a load of memory that nothing writes before the branch, and if all its uses that carry a
derivative are in one side of the branch, which is in the same block.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.alias import may_alias
from weft.ir.autodiff.companions import Companions, active_values, carries
from weft.ir.core import Block, Op, Value, ops_of

__all__ = ["sink_into_branches"]


def sink_into_branches(kernel: ops.Kernel) -> None:
    """Move ops of a kernel with a mode into branches, the outer ones first."""
    useful = _useful(kernel, active_values(kernel, Companions(kernel)))
    for branch in kernel.all_of(ops.If):
        _sink(branch, useful)


def _useful(kernel: ops.Kernel, varied: set[Value]) -> set[Value]:
    """The values that carry a derivative to something that is stored."""
    found = set[Value]()
    for op in reversed(ops_of(kernel.body)):
        if op in varied and carries(op.type) and any(_passes_on(user, found) for user in op.users):
            found.add(op)
    return found


def _passes_on(user: Op, useful: set[Value]) -> bool:
    """Whether a use of a value may carry its derivative on."""
    return user in useful or not (user.pure or isinstance(user, (ops.Load, ops.If)))


def _sink(branch: ops.If, useful: set[Value]) -> None:
    """Move what is before a branch, the last op first."""
    written = list[Value]()  # the addresses that are written between the op and the branch
    op = branch.prev
    while op is not None:
        before = op.prev
        if op in useful and (op.pure or (isinstance(op, ops.Load) and not _is_written(op, written))):
            side = _side(branch, [user for user in op.users if _passes_on(user, useful)])
            if side is not None:
                useful.discard(op)
                useful.add(_move(op, side))
        for inner in op.walk():
            if inner.orders() or inner.effect == "anywhere":
                return
            if inner.effect == "address" and inner.writes:
                written.append(inner.operands[0])
        op = before


def _is_written(load: ops.Load, written: list[Value]) -> bool:
    return any(may_alias(load.ptr, ptr) for ptr in written)


def _side(branch: ops.If, users: list[Op]) -> Block | None:
    """The side of a branch that all these ops are in."""
    sides = [next((side for side in branch.regions if _is_in(user, side)), None) for user in users]
    return sides[0] if sides and all(side is sides[0] for side in sides) else None


def _is_in(op: Op, block: Block) -> bool:
    return any(one.block is block for one in (op, *op.around()))


def _move(op: Op, side: Block) -> Op:
    """A copy of an op at the beginning of a side, which the uses in the side take."""
    made = op.clone({})
    side.insert(made, side.first)
    for user in [user for user in op.users if user is not made and _is_in(user, side)]:
        for position, value in enumerate(user.operands):
            if value is op:
                user.set_operand(position, made)
    return made
