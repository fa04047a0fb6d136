"""Checks in the evaluator that LLVM may reorder the accesses of iterations, where a schedule says `unordered`.

The check knows nothing of the analysis that chose the schedule (`mapping/unordered.py`). It records the addresses that
each iteration accesses, in order, and moves the accesses as LLVM does: loads of one memory to the first of them, and
stores to the last of them. An access that would then change places with another one to the same bytes is reported.

    store x[0] = a; load x[0]; store x[4] = b       the first store would move behind the load
    load x[4]; store x[0] = a; load x[0]            the second load would move before the store

Accesses of different iterations are not compared. If these conflict, the program has a race.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.alias import is_access
from weft.ir.core import Op
from weft.ir.errors import InternalError
from weft.ir.memory_model import Place

__all__ = ["IterationAccesses"]

_UNMARKED = ("local", "")  # the kinds of memory whose accesses LLVM orders itself


class _Event(NamedTuple):
    """An access of an iteration."""

    op: Op
    memory: Hashable  # LLVM moves accesses of one memory to one another
    begin: int  # its bytes
    end: int

    @property
    def loads(self) -> bool:
        """Whether LLVM may move it as a load."""
        return isinstance(self.op, ops.Load)

    @property
    def stores(self) -> bool:
        """Whether LLVM may move it as a store. (It moves no atomics.)"""
        return isinstance(self.op, ops.Store)

    def meets(self, other: _Event) -> bool:
        """Whether the two have bytes in common."""
        return self.begin < other.end and other.begin < self.end


class IterationAccesses:
    """The accesses of the iterations that have begun and not ended, by the number of the iteration."""

    def __init__(self) -> None:
        self.events: dict[int, list[_Event]] = {}

    @staticmethod
    def counts(op: Op) -> bool:
        """Whether the order of the op is claimed not to matter."""
        return is_access(op) and isinstance(op.ptr, ops.Address) and op.ptr.scope.kind not in _UNMARKED

    def record(self, iteration: int, op: Op, place: Place) -> None:
        """Note an access."""
        if place.error:
            return
        assert is_access(op)
        root = root_of(op.ptr)
        memory = ("tree", root.tree) if isinstance(root, ops.TreeBase) else root
        memory = ("array", root.index) if isinstance(root, ops.ArrayBase) else memory
        begin = int(place.buffer.ctypes.data) + place.offsets[0]
        self.events.setdefault(iteration, []).append(_Event(op, memory, begin, begin + place.prims[0].size))

    def end(self, iteration: int) -> None:
        """End an iteration. Raises InternalError if the order of its accesses matters."""
        events = self.events.pop(iteration, [])
        for number, one in enumerate(events):
            if one.loads:
                continue
            for position in range(number + 1, len(events)):
                other = events[position]
                if not one.meets(other):
                    continue
                early = other.loads and _another(other, events[:number])
                late = one.stores and _another(one, events[position + 1 :])
                if early or late:
                    raise InternalError(f"{other.op!r} must follow {one.op!r}, but the schedule says otherwise")


def _another(event: _Event, events: list[_Event]) -> bool:
    """Whether LLVM may move the access to one of these: it is of the same kind and memory, and accesses other bytes."""
    return any(
        one.memory == event.memory and one.begin != event.begin and type(one.op) is type(event.op) for one in events
    )
