"""Decides whether LLVM may reorder the accesses of a parallel loop (`llvm.loop.parallel_accesses`).

    x[%i].x = f(x[%i].x, x[%i].y)              yes
    x[%i].x += a ; x[%i][%k] += b              no: LLVM's vectorizer would assume no order within an iteration either,
                                               and load both elements first
    x[%i].x = a ; if c: x[%i].x = b ; x[%i].y = d          no: it would store .x and .y together, at the end
    s = a[%i].x ; b[%i].y = s ; a[%i].y        yes, but no if these are exposed: it would load the cells of `a` first,
                                               and `b` may be the same array

Iterations are independent, because the loop is parallel. With this hint, LLVM does not check dependences at all. It
moves parts of a cell: it loads all of them where the first one is loaded, and stores them where the last one is stored.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from weft.ir.addresses import byte_sum
from weft.ir.alias import is_access
from weft.ir.atomic_ops import SYNCHRONIZING
from weft.ir.core import Op, Value, ops_of
from weft.ir.ops import Address, ArrayBase, Const, For, Load, Task, TreeBase, While
from weft.ir.scopes import Scope

__all__ = ["is_unordered"]


@dataclass(frozen=True)
class _Access:
    """An access to memory that all iterations share: its field or array, and the memory that this is in; the path to it
    without constants, and these constants in bytes; whether it writes, and whether it may run again in the same
    iteration."""

    scope: Scope
    memory: Hashable
    path: tuple[Hashable, ...]
    offset: int
    writes: bool
    again: bool


def is_unordered(task: Task) -> bool:
    """Whether LLVM may reorder the accesses of an iteration. The accesses to written memory may differ only by
    constants, none may access again what has been stored, and accesses to an exposed array or field must not be
    interleaved with accesses to others. False if iterations synchronise."""
    if any(type(op) in SYNCHRONIZING for op in ops_of(task.body)):
        return False
    accesses = list(_accesses(task))
    paths: dict[Scope, set[tuple[Hashable, ...]]] = {}
    for one in accesses:
        paths.setdefault(one.scope, set()).add(one.path)
    written = {one.scope for one in accesses if one.writes}
    exposed = [(one.scope, one.writes) for one in accesses if one.scope.exposed]
    return all(len(paths[scope]) == 1 for scope in written) and not _interleaved(exposed) and not _comes_back(accesses)


def _accesses(task: Task) -> Iterator[_Access]:
    for op in ops_of(task.body):
        place = op.ptr if is_access(op) else None
        if isinstance(place, Address):
            memory, path, offset = _parts(place)
            yield _Access(place.scope.whole, memory, path, offset, not isinstance(op, Load), _is_in_a_loop(op, task))


def _interleaved(accesses: Sequence[tuple[Scope, bool]]) -> bool:
    """Whether an array is written between two loads from another one, or accessed between two stores to it, because the
    two may alias. Each access: its field or array, and whether it writes."""
    spans: dict[tuple[Scope, bool], list[int]] = {}
    for number, access in enumerate(accesses):
        spans.setdefault(access, []).append(number)
    for (array, writes), numbers in spans.items():
        between = accesses[numbers[0] : numbers[-1]]
        if any(other != array and (writes or other_writes) for other, other_writes in between):
            return True
    return False


def _comes_back(accesses: Sequence[_Access]) -> bool:
    """Whether memory is accessed again after a store to it, and there is other memory with which LLVM may merge the
    loads or stores. An inner loop may be unrolled and then accesses several addresses."""
    written = {one.memory for one in accesses if one.writes}
    if any(one.again and one.memory in written for one in accesses):
        return True
    places: dict[Hashable, set[Hashable]] = {}
    for one in accesses:
        places.setdefault(one.memory, set()).add((one.path, one.offset))
    stored = set[Hashable]()
    for one in accesses:
        place = one.path, one.offset
        if place in stored and len(places[one.memory]) > 1:
            return True
        if one.writes:
            stored.add(place)
    return False


def _parts(place: Address) -> tuple[Hashable, tuple[Hashable, ...], int]:
    """The memory that an address is in, the part of the address that is not constant, and the constant
    part in bytes."""
    found, terms = byte_sum(place), list[Hashable]()
    offset = found.offset
    for index, stride in found.terms:
        if isinstance(index, Const) and isinstance(stride, Const):
            offset += int(index.value) * int(stride.value)
        else:
            terms += [int(x.value) if isinstance(x, Const) else id(x) for x in (index, stride)]
    memory = _memory(found.base)
    return memory, (memory, *terms), offset


def _memory(base: Value) -> Hashable:
    if isinstance(base, TreeBase):
        return "tree", base.tree
    return ("array", base.index) if isinstance(base, ArrayBase) else base


def _is_in_a_loop(op: Op, task: Task) -> bool:
    around = op.parent
    while around is not None and around is not task:
        if isinstance(around, (For, While)):
            return True
        around = around.parent
    return False
