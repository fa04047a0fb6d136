"""Whether LLVM may be told that the iterations of a loop touch nothing of one another's."""

from __future__ import annotations

from weft.ir.ops import Address, Atomic, Const, Load, Store, Task

__all__ = ["plainly_apart"]


def plainly_apart(task: Task) -> bool:
    """Whether the accesses of one iteration to memory that is written differ by constants at most. Told that iterations
    are independent, LLVM's vectorizer looks for no order within one either: with `v[i][1] += a; v[i][k] += b` it would
    load both elements first."""
    paths: dict[str, set[tuple[int, ...]]] = {}
    written: set[str] = set()
    for op in (inner for outer in task.body for inner in outer.walk()):
        place = op.ptr if isinstance(op, (Load, Store, Atomic)) else None
        if isinstance(place, Address):
            paths.setdefault(place.scope, set()).add(_moving(place))
            written |= set() if isinstance(op, Load) else {place.scope}
    return all(len(paths[scope]) == 1 for scope in written)


def _moving(place: Address) -> tuple[int, ...]:
    """What tells the terms of an address from another's, constant ones left out."""
    pairs = [(a, b) for a, b in zip(place.indices, place.strides, strict=True) if not isinstance(a, Const)]
    return tuple(int(x.value) if isinstance(x, Const) else id(x) for pair in pairs for x in pair)
