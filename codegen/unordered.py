"""Whether LLVM may move the accesses of a parallel loop past one another (`llvm.loop.parallel_accesses`).

    x[%i].x = f(x[%i].x, x[%i].y)          yes
    x[%i].x += a ; x[%i][%k] += b          no: LLVM's vectorizer would look for no order within an iteration either,
                                           and load both elements first
    s = a[%i].x ; b[%i].y = s ; a[%i].y    yes; not if these are exposed: it would load the cells of `a` first, and `b`
                                           may be the same array

Iterations are independent by themselves, since the loop is parallel. Told so, LLVM asks no more for dependences at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.core import ops_of
from weft.ir.ops import Address, Atomic, Const, Load, Store, Task
from weft.ir.scopes import Scope

__all__ = ["is_unordered"]


def is_unordered(task: Task) -> bool:
    """Whether the accesses of one iteration to memory that is written differ by constants at most, and what it has to
    do with an exposed array or field it does before or after what it has to do with others."""
    paths: dict[Scope, set[tuple[int, ...]]] = {}
    written: set[Scope] = set()
    exposed: list[tuple[Scope, bool]] = []
    for op in ops_of(task.body):
        place = op.ptr if isinstance(op, (Load, Store, Atomic)) else None
        if isinstance(place, Address):
            scope, writes = place.scope.whole, not isinstance(op, Load)
            paths.setdefault(scope, set()).add(_moving(place))
            written |= {scope} if writes else set()
            exposed += [(scope, writes)] if scope.exposed else []
    return all(len(paths[scope]) == 1 for scope in written) and not _interleaved(exposed)


def _interleaved(accesses: Sequence[tuple[Scope, bool]]) -> bool:
    """Whether another array is written between two loads from one, or touched between two stores to it. (They may be
    one and the same.) Each access: which array or field, and whether it writes."""
    spans: dict[tuple[Scope, bool], list[int]] = {}
    for number, access in enumerate(accesses):
        spans.setdefault(access, []).append(number)
    for (array, writes), numbers in spans.items():
        between = accesses[numbers[0] : numbers[-1]]
        if any(other != array and (writes or other_writes) for other, other_writes in between):
            return True
    return False


def _moving(place: Address) -> tuple[int, ...]:
    """What tells the terms of an address from another's, constant ones left out."""
    pairs = [(a, b) for a, b in zip(place.indices, place.strides, strict=True) if not isinstance(a, Const)]
    return tuple(int(x.value) if isinstance(x, Const) else id(x) for pair in pairs for x in pair)
