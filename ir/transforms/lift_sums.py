"""Sums that are made under a condition become sums that are always made, of nothing at times."""

from __future__ import annotations

from itertools import islice

from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Op
from weft.ir.ops import Alloca, Binary, Break, Const, Continue, Exit, If, Kernel, Load, Store
from weft.ir.passes import pass_
from weft.ir.types import Prim

__all__ = ["lift_sums"]

_MOST = 12  # ops of an `if`
_NEUTRAL = {"add": -0.0, "sub": 0.0, "mul": 1.0}  # what leaves every float on the left as it is, -0.0 too


@pass_("lift_sums")
def lift_sums(root: Kernel, config: CompileConfig) -> bool:
    """On a CPU, in lowered CHI, for sums and products of floats in locals:

                                             %part = alloca ; store %part, -0.0
        if %c then {                         if %c then {
          A                                    A
          store %sum, (load %sum) + %v  ->     store %part, %v
          B                                    B
        }                                    }
                                             store %sum, (load %sum) + (load %part)

    where both accesses are in the `if`, nothing else there touches %sum, and nothing jumps out of it. Exact: `x + -0.0`
    is x, whatever x is, and so are `x - 0.0` and `x * 1.0`.
    LLVM makes vectors of a loop that adds up floats in every round; of one that adds in some rounds only where NaN may
    be ignored, which Weft does not allow (ADR 6). Not for an `if` of more than 12 ops: there LLVM keeps the branch and
    sees the sum, and rounds that skip it should skip all of it."""
    return config.arch == "cpu" and _visit(root.body)


def _visit(block: Block) -> bool:
    """Inner conditions first: what leaves them may leave the ones around too."""
    changed = False
    for op in block:
        for inner in op.regions:
            changed |= _visit(inner)
        if isinstance(op, If) and _is_brief(op):
            for store in [inner for side in op.regions for inner in side if isinstance(inner, Store)]:
                changed |= _lift(op, store)
    return changed


def _is_brief(op: If) -> bool:
    inside = list(islice(op.walk(), _MOST + 2))  # the `if` itself among them
    return len(inside) <= _MOST + 1 and not any(isinstance(inner, (Break, Continue, Exit)) for inner in inside)


def _lift(op: If, store: Store) -> bool:
    """Move one sum behind the `if` that it ends a side of, if it is one."""
    local, total = store.ptr, store.value
    if not isinstance(local, Alloca) or local.within(op):
        return False
    if not isinstance(total, Binary) or total.kind not in _NEUTRAL:
        return False
    type, old = total.type, total.lhs
    if total.kind != "sub" and not _reads(old, local):
        old = total.rhs
    if not isinstance(type, Prim) or not type.is_float or not isinstance(old, Load):
        return False
    value = total.rhs if old is total.lhs else total.lhs
    inside = {user for user in local.users if user.within(op)}
    if inside != {store, old} or _count(total) != 1 or _count(old) != 1:
        return False
    before = Builder.at(op)
    part = before.add(Alloca(type=local.type, name=local.name))
    before.add(Store(part, before.add(Const(_NEUTRAL[total.kind], type=type))))
    Builder.at(store).add(Store(part, value))
    assert op.block is not None
    after = Builder(op.block, op.next, store.span)
    sides = (after.add(Load(local)), after.add(Load(part)))
    after.add(Store(local, after.add(Binary(total.kind, *sides, type=type))))
    for gone in (store, total, old):
        gone.erase()
    return True


def _reads(value: object, local: Alloca) -> bool:
    return isinstance(value, Load) and value.ptr is local


def _count(value: Op) -> int:
    return sum(value.users.values())
