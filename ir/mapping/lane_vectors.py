"""How many vectors of lanes run side by side: more than one where one would mostly wait.

    while x * x + y * y < 4:          a round needs the last one's results, each of which takes four cycles to come,
        x, y = ...                    and in the end the lanes guess wrong whether there is another round
    for k in range(n): s += a[k] * b[k, j]     a sum waits for the last one; a[k] is loaded once for all vectors

Rounds that do not need one another are enough by themselves, and more of them would only need more registers.
"""

from __future__ import annotations

from weft.ir.core import Block, Op, ops_of
from weft.ir.mapping.lane_price import is_chained, scalar_price
from weft.ir.ops import Alloca, Atomic, Binary, Cast, For, Load, Random, Select, Store, Task, Unary, While
from weft.ir.types import Pointer, Prim
from weft.ir.uniform import Uniformity

__all__ = ["vectors_at_once", "vectors_of_rounds", "waits"]

_FOUR, _TWO = 16, 24  # arithmetic instructions of a loop that only sums up, of which so many vectors run at once
_SHORT, _MIDDLING = 128, 360  # ops of a body whose rounds wait for each other: four vectors of it, two, or one


def vectors_at_once(task: Task, facts: Uniformity, bits: int) -> int:
    """How many vectors of iterations run at once, at most."""
    inner = list(ops_of(task.body))
    loops = [op for op in inner if isinstance(op, (For, While))]
    if any(isinstance(op, (Atomic, Random)) for op in inner):  # lane by lane
        return 1
    if waits(task, facts):
        return 1 if len(inner) > _MIDDLING else 4 if len(inner) <= _SHORT and bits == 512 else 2
    return vectors_of_rounds(loops[0].body, facts, bits) if len(loops) == 1 else 1


def waits(task: Task, facts: Uniformity) -> bool:
    """Whether rounds of a loop wait for each other. (Where none do, masks are not in the way either: LLVM may have all
    vectors as one.)"""
    loops = (op for op in ops_of(task.body) if isinstance(op, (For, While)))
    return any(op in facts.divergent or is_chained(op) for op in loops)


def vectors_of_rounds(body: Block, facts: Uniformity, bits: int) -> int:
    """The same of a loop that only sums up: several, where nothing but arithmetic is in it, and loads that the lanes
    share or that stand side by side. Four if their values may stay in 32 registers."""
    inner = list(ops_of(body))
    heavy = any(isinstance(op, (For, While, Atomic)) or scalar_price(op) > 8 for op in inner)
    if heavy or any(_scattered(op, facts) for op in inner):
        return 1
    arithmetic = sum(isinstance(op, (Binary, Unary, Select, Cast)) for op in inner)
    return 4 if arithmetic <= _FOUR and bits == 512 else 2 if arithmetic <= _TWO else 1


def _scattered(op: Op, facts: Uniformity) -> bool:
    """Whether the op stores to memory, or loads what lies apart."""
    if not isinstance(op, (Load, Store)) or isinstance(op.ptr, Alloca):
        return False
    assert isinstance(op.ptr.type, Pointer)
    size = op.ptr.type.elem.size if isinstance(op.ptr.type.elem, Prim) else 0
    return isinstance(op, Store) or facts.is_split(op.ptr) or facts.step(op.ptr) not in (0, size)
