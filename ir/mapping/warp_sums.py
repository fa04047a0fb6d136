"""The sums of a loop whose iterations the lanes of a warp may share, and the ops around that loop in its task."""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.core import Op
from weft.ir.ops import Alloca, Binary, For, Load, Store, Task
from weft.ir.types import Prim, f32, f64, i32, i64, u32, u64

__all__ = ["LANES", "LoopSum", "around", "is_private", "sums_of", "warp_loop"]

LANES = 32  # the lanes of a warp
_KINDS = {"sub": "add", **{kind: kind for kind in ("add", "mul", "min", "max", "and", "or", "xor")}}  # how lanes join
_TYPES = (f32, f64, i32, i64, u32, u64)


@dataclass(frozen=True)
class LoopSum:
    """A local to which each iteration of the loop adds. `kind`: the operator that combines two such sums."""

    local: Alloca
    kind: str
    type: Prim


def warp_loop(task: Task) -> For | None:
    """The loop of the task whose iterations the lanes of a warp share, if there is one."""
    return next((op for op in task.body if isinstance(op, For) and op.schedule.warp), None)


def around(task: Task, loop: For) -> tuple[list[Op], list[Op]]:
    """The ops of the body before and after the loop."""
    ops = list(task.body)
    place = ops.index(loop)
    return ops[:place], ops[place + 1 :]


def is_private(op: Op) -> bool:
    """Whether all lanes may run the op, because it changes only locals."""
    return op.pure or isinstance(op, Alloca | Load) or (isinstance(op, Store) and isinstance(op.ptr, Alloca))


def sums_of(loop: For) -> tuple[LoopSum, ...]:
    """The sums of the loop, or nothing if the loop does anything else."""
    found = dict[Op, LoopSum]()
    for op in loop.body:
        if isinstance(op, Store):
            one = _sum(loop, op)
            if one is None:
                return ()
            found[one.local] = one
    touched = {op.ptr for op in loop.body if isinstance(op, Load) and not op.invariant}
    plain = all(op.pure or isinstance(op, Load | Store) for op in loop.body)
    return tuple(found.values()) if plain and touched <= set(found) else ()


def _sum(loop: For, store: Store) -> LoopSum | None:
    local, total = store.ptr, store.value
    if not isinstance(local, Alloca) or not isinstance(total, Binary) or total.kind not in _KINDS:
        return None
    if total.type not in _TYPES:
        return None
    reads = [op for op in loop.body if isinstance(op, Load) and op.ptr is local]
    sides = (total.lhs,) if total.kind == "sub" else (total.lhs, total.rhs)
    if len(reads) != 1 or list(reads[0].users) != [total] or sum(side is reads[0] for side in sides) != 1:
        return None
    if list(total.users) != [store]:
        return None
    assert isinstance(total.type, Prim)
    return LoopSum(local, _KINDS[total.kind], total.type)
