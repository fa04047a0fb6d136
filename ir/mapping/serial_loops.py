"""Facts about serial loops in tasks: their number of iterations, the dependences between iterations, and what threads
share.

Passes and code generators for GPUs use them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.ir.core import Op, Value
from weft.ir.ops import Address, Break, Const, Continue, Exit, For, Load, Task, While
from weft.ir.tasks import shows_order
from weft.ir.types import Prim

__all__ = [
    "counts_by_one",
    "fetched_ahead",
    "independent_and_ordered",
    "is_alike",
    "is_innermost",
    "is_long",
    "is_ordered",
    "is_shared",
    "is_short",
    "most_places",
    "size_of",
    "trips_of",
    "worth_it",
]

_MOST_WRITTEN_OUT = 2048  # the most ops of an inner loop after unrolling and coarsening
_MOST_TRIPS = 32  # the longest loop that is unrolled completely, in iterations
_FEW = 64  # a loop with up to this many iterations is not long
_MOST_SHARED = 4  # the most such loops of a task: each one is emitted three times
_MOST_SIDE_BY_SIDE = 64  # the largest body of a loop for unroll-and-jam, in ops
_FEWEST = 8  # the fewest iterations for which unroll-and-jam is worthwhile


def trips_of(op: For) -> int | None:
    """The number of iterations of the loop, if it is known."""
    if not all(isinstance(value, Const) for value in (op.begin, op.end, op.step)):
        return None
    begin, end, step = (int(value.value) for value in (op.begin, op.end, op.step) if isinstance(value, Const))
    return len(range(begin, end, step)) if step else None


def is_innermost(op: For) -> bool:
    """Whether the loop contains no other loop."""
    return not any(isinstance(inner, For | While) for inner in op.walk() if inner is not op)


def counts_by_one(op: For) -> bool:
    """Whether the loop counts up by one, in a signed type."""
    signed = isinstance(op.begin.type, Prim) and op.begin.type.is_signed
    return signed and isinstance(op.step, Const) and op.step.value == 1


def is_long(op: For) -> bool:
    """Whether a loop has many iterations, or may have, and contains no loop."""
    trips = trips_of(op)
    return is_innermost(op) and (trips is None or trips > _FEW)


def is_short(op: For) -> bool:
    """Whether a loop has so few iterations that it may be unrolled completely."""
    return (trips_of(op) or _MOST_TRIPS + 1) <= _MOST_TRIPS


def is_shared(op: For) -> bool:
    """Whether a thread does little except run the many iterations of this loop, in which all threads read the same
    memory."""
    task = op.parent
    if (
        not isinstance(task, Task)
        or not is_long(op)
        or sum(isinstance(other, For) for other in task.body) > _MOST_SHARED
    ):
        return False
    varying, moving = _varying(task), set[Value](op.body.args)
    loads = list[Op]()
    for inner in op.body:
        if any(value in moving for value in inner.operands):
            moving.add(inner)
            loads += [inner] if isinstance(inner, Load) and inner.invariant else []
    return bool(loads) and not any(load in varying for load in loads)


def _varying(task: Task) -> set[Value]:
    """The values that may differ between two iterations of the task."""
    found: set[Value] = set(task.body.args)
    for top in task.body:
        for op in top.walk():
            differs = any(value in found for value in op.operands)
            if differs or not is_alike(op):
                found.add(op)
            if differs and isinstance(op, For):
                found.update(op.body.args)
    return found


def is_ordered(op: Op) -> bool:
    """Whether iterations that contain the op cannot be interleaved."""
    return shows_order(op) or isinstance(op, (Break, Continue, Exit, While))


def size_of(ops: Iterable[Op]) -> int:
    """The approximate number of instructions of a block."""
    return sum(not isinstance(inner, Address | Const) for op in ops for inner in op.walk())


def is_alike(op: Op) -> bool:
    """Whether the op gives the same result whenever its operands are the same."""
    return op.pure or (isinstance(op, Load) and op.invariant)


def independent_and_ordered(ops: Iterable[Op]) -> tuple[list[Op], list[Op]]:
    """The ops of an iteration that depend on nothing that other iterations change, and the rest."""
    independent, ordered, waits = list[Op](), list[Op](), set[Value]()
    for op in ops:
        alone = is_alike(op) and not any(value in waits for value in op.operands)
        (independent if alone else ordered).append(op)
        if not alone:
            waits.add(op)
    return independent, ordered


def fetched_ahead(op: For, independent: Sequence[Op]) -> tuple[list[Op], list[Op]]:
    """The ops that a loop with `ahead` runs one step early: its loads that move with the loop, and the ops that they
    need. Then the ops that it runs at the usual time. `independent`: the ops that depend on no other iteration."""
    moving, needed = set[Value](op.body.args), set[Value]()
    for inner in independent:
        if any(value in moving for value in inner.operands):
            moving.add(inner)
    for inner in reversed(independent):
        if inner in needed or (isinstance(inner, Load) and inner in moving):
            needed.add(inner)
            needed.update(inner.operands)
    early = [inner for inner in independent if inner in needed]
    return early, [inner for inner in independent if inner not in needed or not isinstance(inner, Load)]


def worth_it(op: For, independent: list[Op]) -> bool:
    """Whether unroll-and-jam is worthwhile: the loop waits for memory and is short enough. `independent`: the ops of an
    iteration that do not depend on another one."""
    trips = trips_of(op)
    if not counts_by_one(op) or not is_innermost(op) or (trips is not None and trips < _FEWEST):
        return False
    if size_of(op.body) > _MOST_SIDE_BY_SIDE or any(is_ordered(inner) for inner in op.walk()):
        return False
    index = op.body.args[0]
    varying: set[Value] = {index}
    for inner in independent:
        if any(value in varying for value in inner.operands):
            varying.add(inner)
    return any(isinstance(inner, Load) and inner in varying for inner in independent)


def most_places(op: For) -> int:
    """The largest number of iterations of the task for which the loop may be unrolled completely, or 0."""
    trips = trips_of(op)
    if trips is None or trips > _MOST_TRIPS or not is_innermost(op):
        return 0
    return _MOST_WRITTEN_OUT // max(1, trips * size_of(op.body))
