"""Chooses how many vectors of lanes run at once: more than one if a single one would mostly wait.

    while x * x + y * y < 4:          an iteration needs the results of the last one, each of which takes four cycles,
        x, y = ...                    and at the end the lanes mispredict whether there is another iteration
    for k in range(n): s += a[k] * b[k, j]     a sum waits for the last one; a[k] is loaded once for all vectors
    for k in range(n): f[k] += g(x[j], x[k])   lanes add their numbers up before they add to f[k]: a long chain of
                                               additions, once for all vectors

If iterations do not depend on one another, one vector is enough, and more of them would only need more registers.
"""

from __future__ import annotations

from weft.ir.core import Block, Op, ops_of
from weft.ir.mapping.lane_price import is_chained, scalar_price
from weft.ir.ops import Alloca, Atomic, Binary, Cast, For, Load, Random, Select, Store, Task, Unary, While
from weft.ir.types import Pointer, Prim
from weft.ir.uniform import Uniformity

__all__ = ["vectors_at_once", "vectors_of_fold", "waits"]

_FOUR, _TWO = 16, 24  # the longest reductions that run four or two vectors at once, in arithmetic ops
_FOUR_SUMS, _TWO_SUMS = 36, 96  # the same for loops that add the numbers of all lanes to memory
_SHORT, _MIDDLING = 128, 360  # ops of a body whose iterations wait for each other: four vectors, two, else one


def vectors_at_once(task: Task, facts: Uniformity, bits: int) -> int:
    """The largest number of vectors of iterations that run at once."""
    inner = list(ops_of(task.body))
    loops = [op for op in inner if isinstance(op, (For, While))]
    if len(loops) == 1 and not waits(task, facts) and (many := _of_sums(loops[0].body, facts, bits)):
        return many
    if any(isinstance(op, (Atomic, Random)) for op in inner):  # lane by lane
        return 1
    if waits(task, facts):
        return 1 if len(inner) > _MIDDLING else 4 if len(inner) <= _SHORT and bits == 512 else 2
    return vectors_of_fold(loops[0].body, facts, bits) if len(loops) == 1 else 1


def waits(task: Task, facts: Uniformity) -> bool:
    """Whether the iterations of a loop wait for each other. If none do, masks are no obstacle either: LLVM may merge
    all vectors."""
    loops = (op for op in ops_of(task.body) if isinstance(op, (For, While)))
    return any(op in facts.divergent or is_chained(op) for op in loops)


def vectors_of_fold(body: Block, facts: Uniformity, bits: int) -> int:
    """The same for a loop that only computes reductions. It is more than one if the loop contains only arithmetic and
    loads that the lanes share or that are adjacent. It is four if the values may stay in 32 registers."""
    inner = list(ops_of(body))
    heavy = any(isinstance(op, (For, While, Atomic)) or scalar_price(op) > 8 for op in inner)
    if heavy or any(_scattered(op, facts) for op in inner):
        return 1
    arithmetic = sum(isinstance(op, (Binary, Unary, Select, Cast)) for op in inner)
    return 4 if arithmetic <= _FOUR and bits == 512 else 2 if arithmetic <= _TWO else 1


def _of_sums(body: Block, facts: Uniformity, bits: int) -> int:
    """The same for a loop whose iterations add what all lanes have to one place. 0: it is no such loop."""
    inner = list(ops_of(body))
    atomics = [op for op in inner if isinstance(op, Atomic)]
    if not atomics or any(facts.step(op.ptr) != 0 or op.users for op in atomics):
        return 0
    if any(op.region_names or isinstance(op, Random) or _scattered(op, facts) for op in inner):
        return 0
    arithmetic = sum(isinstance(op, (Binary, Unary, Select, Cast)) for op in inner)
    return 4 if arithmetic <= _FOUR_SUMS and bits == 512 else 2 if arithmetic <= _TWO_SUMS else 1


def _scattered(op: Op, facts: Uniformity) -> bool:
    """Whether the op stores to memory, or loads from addresses that are not adjacent."""
    if not isinstance(op, (Load, Store)) or isinstance(op.ptr, Alloca):
        return False
    assert isinstance(op.ptr.type, Pointer)
    size = op.ptr.type.elem.size if isinstance(op.ptr.type.elem, Prim) else 0
    return isinstance(op, Store) or facts.is_split(op.ptr) or facts.step(op.ptr) not in (0, size)
