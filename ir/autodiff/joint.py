"""Joint reversal: calls that give their value together with their adjoints, and regions that are swept only once.

The backward sweep of a call computes the call's function again. If the adjoints in its block need the value of the
call, too, the function would run twice. In a recursion, each level would double that. But often the adjoint of the
call does not depend on its value:

    %p = invoke f, [%x]                        %dp = mul %m, %dy
    %y = mul %m, %p                      =>    %j = invoke f.vjp_value, [%x, %dp]       the value and the adjoint of %x
                                               %dm = mul (member %j, 0), %dy

The call then comes where its adjoint is complete. What depends on its value follows it: ops of the forward sweep
(`dependent`), and ops of the backward sweep whose adjoint depends on the value (`late`).

Legal if no adjoint that the value is needed for is a part of the adjoint of such a call. An op that moves behind the
call is not reordered with any access to a local that it accesses. The op itself is a pure operator, or loads memory of
the program: its adjoint is an atomic sum, which no other op in its block may read.

A function that writes memory reads and clears adjoints of memory. So it has no joint calls, and no others move behind
it.

The same holds for a region. Let it be the last op of a block with adjoints of values that the program needs later, and
let what follows be linear, so that the adjoints need nothing from it. Then the adjoints that flow into the region are
known before it runs. Its blocks are swept when the forward sweep comes to it, and not again. A loop runs forwards then.
That takes iterations that are independent in their adjoints: each local that they carry derivatives in is a sum.

Source: A. Griewank, A. Walther, Evaluating Derivatives (2008), chapter 12.2, on joint and split reversal of calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.alias import space_of, spaces_meet
from weft.ir.autodiff.companions import partials_of
from weft.ir.autodiff.demand import LOCALS, NEEDS, Demand, values_in
from weft.ir.autodiff.functions import writes_companions
from weft.ir.core import Block, Op, Value

__all__ = ["Joint", "following", "joint_of", "once"]

_LOOPS = (ops.For, ops.While)


@dataclass(frozen=True)
class Joint:
    """The plan for a block. `calls`: those that give their value with their adjoints. `dependent`: the ops of the block
    that are computed from these values, and the calls. `late`: ops whose adjoint needs the values."""

    calls: Set[Op]
    dependent: Set[Op]
    late: Set[Op]


def joint_of(demand: Demand, block: Block) -> Joint | None:
    """The plan for a block, with as many calls as can be, the last ones first. None: there are none."""
    found: Joint | None = None
    for op in reversed(block):
        if is_called_for(demand, op):
            calls = frozenset({op}) if found is None else found.calls | {op}
            found = _plan(demand, block, calls) or found
    return found


def is_called_for(demand: Demand, op: Op) -> bool:
    """Whether an op is a call whose value and adjoint are needed."""
    return isinstance(op, ops.Invoke) and op in demand.acts and op in demand.needed


def _plan(demand: Demand, block: Block, calls: Set[Op]) -> Joint | None:
    first = next(op for op in block if op in calls)
    behind = [*following(first)]
    dependent = _dependent(first, behind, calls)
    if any((op.regions or writes_companions(op, demand.companions)) and op in demand.acts for op in (first, *behind)):
        return None
    if any(value in dependent for call in calls for value in call.operands):
        return None
    late = set[Op]()
    within = {first, *behind}
    for op in reversed(behind):
        if op in demand.acts and op not in calls:
            given = _late_operands(demand, op, dependent, late)
            if given is None or not given.isdisjoint(dependent):
                return None
            late.update(value for value in given if isinstance(value, Op) and value in within)
    loads = [op for op in late if isinstance(op, ops.Load)]
    if any(_changes(demand, op, load) for op in behind for load in loads):
        return None
    return Joint(calls, dependent, late)


def following(op: Op) -> Iterable[Op]:
    """The ops behind an op in its block."""
    one = op.next
    while one is not None:
        yield one
        one = one.next


def _dependent(first: Op, behind: list[Op], calls: Set[Op]) -> set[Op]:
    """The ops that are computed from the values of calls, directly, or by a local."""
    found, locals = {first, *calls}, set[Value]()
    for op in behind:
        inside = [*op.walk()]
        accessed = {
            root_of(inner.operands[0])
            for inner in inside
            if isinstance(inner, (ops.Load, ops.Store, ops.Atomic)) and isinstance(root_of(inner.operands[0]), LOCALS)
        }
        used = any(value in found for inner in inside for value in inner.operands)
        if used or not accessed.isdisjoint(locals):
            found.add(op)
            locals |= accessed
    return found


def _late_operands(demand: Demand, op: Op, dependent: Set[Op], late: Set[Op]) -> set[Value] | None:
    """The operands whose adjoint gets from that of an op what needs the values of the calls. None: the op cannot wait
    for them."""
    if isinstance(op, (ops.Unary, ops.Binary)):
        active = [(value, part) for value, part in partials_of(op) if value in demand.active]
        return {value for value, part in active if op in late or not dependent.isdisjoint(values_in(op, part))}
    if any(value in dependent for value in NEEDS[type(op)](demand, op)):
        return None
    if op not in late:
        return set()
    if isinstance(op, ops.Load):
        return None if isinstance(root_of(op.ptr), LOCALS) else set()
    return {value for value in op.operands if value in demand.active} if op.pure else None


def _changes(demand: Demand, op: Op, load: ops.Load) -> bool:
    """Whether the backward sweep of an op reads or clears the adjoint of memory that a load reads."""
    if not isinstance(op, (ops.Store, ops.Atomic)) or op not in demand.acts:
        return False
    return spaces_meet(space_of(op.ptr), space_of(load.ptr))


# ---- regions that are swept once -------------------------------------------------------------------------------------


def once(demand: Demand, block: Block, lasting: bool) -> Op | None:
    """The op with regions of a block that is swept when the forward sweep comes to it. None: there is none. `lasting`:
    the block is in such an op. Others are swept once if joint calls are in them, which would run again."""
    region = _last(demand, block)
    if region is None or not (lasting or _calls(demand, region)):
        return None
    return region if _may_sweep(demand, region) else None


def _last(demand: Demand, block: Block) -> Op | None:
    """The only op with regions that acts, if nothing that follows it needs values to be reversed."""
    acting = [op for op in block if op.regions and op in demand.acts]
    if len(acting) != 1:
        return None
    behind = [*following(acting[0])]
    needs = {value for op in behind if op in demand.acts for value in NEEDS[type(op)](demand, op)}
    return acting[0] if needs.isdisjoint(behind) else None


def _calls(demand: Demand, op: Op) -> bool:
    blocks = (block for inner in op.walk() for block in inner.regions)
    return any(joint_of(demand, block) is not None for block in blocks)


def _may_sweep(demand: Demand, op: Op) -> bool:
    """Whether the blocks of an op can be swept in the order of the program, and leave in locals what the program
    leaves there."""
    if not isinstance(op, (ops.If, *_LOOPS)) or (isinstance(op, _LOOPS) and not _is_independent(demand, op)):
        return False
    for block in op.regions:
        if any(inner.regions and inner in demand.acts for inner in block):
            region = _last(demand, block)
            if region is None or not _may_sweep(demand, region):
                return False
    return True


def _is_independent(demand: Demand, loop: Op) -> bool:
    """Whether the adjoints of the iterations of a loop do not depend on one another."""
    inside = [*loop.walk()]
    if any(writes_companions(op, demand.companions) for op in inside):
        return False
    for op in inside:
        if isinstance(op, (ops.Store, ops.Atomic)) and op in demand.acts:
            root = root_of(op.ptr)
            if not isinstance(root, LOCALS) or not (root.within(loop) or _is_sum(root, inside)):
                return False
    return True


def _is_sum(local: Value, inside: list[Op]) -> bool:
    """Whether ops do nothing to a local but to add values that do not depend on it."""
    accesses = [op for op in inside if any(root_of(value) is local for value in op.operands)]
    if len(accesses) % 2:
        return False
    for load, store in zip(accesses[::2], accesses[1::2], strict=True):
        if not isinstance(load, ops.Load) or not isinstance(store, ops.Store) or load.block is not store.block:
            return False
        if load.ptr is not local or store.ptr is not local or len(load.users) != 1:
            return False
        total = store.value
        if not isinstance(total, ops.Binary) or total.kind not in ("add", "sub") or len(total.users) != 1:
            return False
        if load not in total.operands or (total.kind == "sub" and total.lhs is not load) or total.lhs is total.rhs:
            return False
    return True
