"""Chooses the inner loops whose iterations run in lanes: loops that only compute reductions into locals.

for %k in %b..%e {                          %s = zeros, a vector
  %d = ... x[%k] ...                        for %k in %b..%e, 16 iterations at once {
  if %d < %r { total += f(%d) }      ->       ... %mask ... %s += f(%d)
}                                           }
                                            total += the sum of %s
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from weft.ir.addresses import root_of
from weft.ir.core import Op, Value, ops_of
from weft.ir.mapping.cost import trips
from weft.ir.mapping.lane_price import Price, is_straight
from weft.ir.ops import Alloca, Atomic, Binary, Break, Const, For, If, Load, Random, Store, Task, While
from weft.ir.types import Pointer, Prim, i32, i64, u1
from weft.ir.uniform import FAMILY, Uniformity, uniformity

__all__ = ["InnerLoop", "could_fold", "fold_prices", "inner_loops", "sums_fold"]

_MARGIN = 1.3  # costs are estimates
_GUESS = 8.0  # assumed iterations of a loop of unknown length: few, to limit the loss
_SHORT, _LONG = 8, 64  # iterations: too few for a vector; as many as LLVM would run at once
_GATHER = 4.0  # a load lane by lane, which costs the same however few lanes are active
_START, _ITERATION, _COMBINE = 6.0, 3.0, 10.0  # costs of a loop, of an iteration, and of reducing a vector


@dataclass
class InnerLoop:
    """A loop whose iterations run in lanes, or a loop around such a loop."""

    facts: Uniformity | None = None  # about its iterations; None: it is only an outer loop
    many: int = 1  # vectors that run at once if the loop is long
    totals: dict[Value, str] = field(
        default_factory=dict[Value, str]
    )  # locals that are vectors while the loop runs -> operator


def fold_prices(task: Task, lanes: int, bits: int, vector_math: bool) -> dict[For, tuple[Uniformity, float]]:
    """The loops that are cheaper in lanes, the facts for each, and the cost of a run of each."""
    found: dict[For, tuple[Uniformity, float]] = {}
    for loop in (op for op in ops_of(task.body) if isinstance(op, For)):
        known = all(isinstance(x, Const) for x in (loop.begin, loop.end))
        count = trips(loop) if known else _GUESS
        if not could_fold(loop) or (known and (count < _SHORT or (count >= _LONG and is_straight(loop.body)))):
            continue
        facts = uniformity(loop)
        if facts.reason or not facts.sums or not sums_fold(facts, vector_math):
            continue
        price = Price(facts, lanes, bits, vector_math)
        price.gather = _GATHER
        price.block(loop.body, 1.0, 1.0)
        vectors = -(-count // lanes) if known else count / lanes + 0.5
        cost = _START + vectors * (price.lanes_cost + _ITERATION) + _COMBINE
        if cost * _MARGIN < count * (price.scalar_cost + 1):
            found[loop] = facts, cost
    return found


def could_fold(loop: For) -> bool:
    """Whether the loop counts by one, stores nothing to memory, always runs all its iterations, and
    contains no loop."""
    step, index = loop.step, loop.body.args[0]
    if not isinstance(step, Const) or step.value != 1 or index.type not in (i32, i64):
        return False
    return not any(map(_forbidden, ops_of(loop.body)))


def _forbidden(op: Op) -> bool:
    if isinstance(op, Store):
        return not isinstance(root_of(op.ptr), Alloca)
    return isinstance(op, (Atomic, Break, For, Random, While))


def sums_fold(facts: Uniformity, vector_math: bool) -> bool:
    """Whether the sums may be computed in any order. For floats, this requires `fast_math`."""
    kinds: dict[Value, set[str]] = {}
    for store, (kind, _) in facts.sums.items():
        kinds.setdefault(store.ptr, set()).add(FAMILY[kind])
    types = [
        local.type.elem for local in kinds if isinstance(local.type, Pointer) and isinstance(local.type.elem, Prim)
    ]
    fit = (type is not u1 and (vector_math or not type.is_float) for type in types)
    return all(len(family) == 1 for family in kinds.values()) and len(types) == len(kinds) and all(fit)


def inner_loops(ops: Iterable[Op]) -> dict[Op, InnerLoop]:
    """How code generation emits the loops among `ops` that run in lanes, and the loops around them."""
    loops = {op: uniformity(op) for op in ops if isinstance(op, For) and op.schedule.lanes > 1}
    found: dict[Op, InnerLoop] = {loop: InnerLoop(facts, loop.schedule.vectors) for loop, facts in loops.items()}
    for loop, facts in loops.items():
        for store, (kind, _) in facts.sums.items():
            home = _home(store.ptr, FAMILY[kind], loop)
            found.setdefault(home, InnerLoop()).totals[store.ptr] = FAMILY[kind]
    return found


def _adds(op: Op, family: str) -> bool:
    """Whether the op, a load from a local or a store to it, is part of such a sum. The sum runs in lanes, or serially
    in a version of the loop that rarely runs."""
    total = op.value if isinstance(op, Store) else next(iter(op.users)) if len(op.users) == 1 else None
    if not isinstance(total, Binary) or FAMILY.get(total.kind) != family or len(total.users) != 1:
        return False
    local, store = op.operands[0], next(iter(total.users))
    return (
        isinstance(store, Store)
        and store.ptr is local
        and any(_reads(x, local) for x in total.operands[: 1 if total.kind == "sub" else 2])
    )


def _reads(value: Value, local: Value) -> bool:
    return isinstance(value, Load) and value.ptr is local


def _home(local: Value, family: str, loop: Op) -> Op:
    """The outermost enclosing loop in which the local is used only for sums in such loops."""
    home, around = loop, loop.parent
    while isinstance(around, (For, While, If)) and not (isinstance(local, Op) and local.within(around)):
        if not isinstance(around, If):
            if not all(_adds(op, family) for op in local.users if op.within(around)):
                break
            home = around
        around = around.parent
    return home
