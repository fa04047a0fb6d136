"""Moves a conditional reduction out of its `if`, so that every iteration adds a value, which may be the neutral
element.
"""

from __future__ import annotations

from itertools import islice

from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Op
from weft.ir.ops import Alloca, Binary, Break, Const, Continue, Exit, If, Kernel, Load, Store
from weft.ir.passes import pass_
from weft.ir.types import Prim

__all__ = ["lift_sums"]

_MOST = 12  # ops of an `if`
_NEUTRAL = {"add": -0.0, "sub": 0.0, "mul": 1.0}  # right operands that leave every float unchanged, -0.0 too


@pass_("lift_sums")
def lift_sums(root: Kernel, config: CompileConfig) -> bool:
    """In lowered CHI, for sums and products of floats in locals:

                                             %part = alloca ; store %part, -0.0
        if %c then {                         if %c then {
          A                                    A
          store %sum, (load %sum) + %v  ->     store %part, %v
          B                                    B
        }                                    }
                                             store %sum, (load %sum) + (load %part)

    This applies if both accesses are in the `if`, nothing else in the `if` accesses %sum, and no jump leaves the `if`.
    The result is exact: `x + -0.0`, `x - 0.0` and `x * 1.0` equal x for every x.

    The pass runs only for a CPU (`Traits.vectorizes_sums`). There, LLVM vectorizes a loop that adds a float in every
    iteration. It vectorizes a loop that adds only in some iterations only if it may ignore NaN, which Weft does not
    allow (ADR 6). The pass skips an `if` of more than 12 ops: LLVM keeps the branch there and recognizes the sum, and
    iterations that do not add should skip the whole `if`.
    """
    return config.traits.vectorizes_sums and _visit(root.body)


def _visit(block: Block) -> bool:
    """Visit inner conditions first: a sum that leaves one of them may leave the outer ones too."""
    changed = False
    for op in block:
        for inner in op.regions:
            changed |= _visit(inner)
        if isinstance(op, If) and _is_brief(op):
            for store in [inner for side in op.regions for inner in side if isinstance(inner, Store)]:
                changed |= _lift(op, store)
    return changed


def _is_brief(op: If) -> bool:
    inside = list(islice(op.walk(), _MOST + 2))  # includes the `if` itself
    return len(inside) <= _MOST + 1 and not any(isinstance(inner, (Break, Continue, Exit)) for inner in inside)


def _lift(op: If, store: Store) -> bool:
    """Move one sum out of an `if` if it is the last op of a branch there."""
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
