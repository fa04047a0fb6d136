"""Meetings in the evaluator: where threads of a block wait for one another.

    simt block_sync []               all threads of the block that have not ended
    simt warp_sync [%mask]           the lanes of `mask` that have not ended, with the same op and the same mask
    simt warp_ballot [%p]            the lanes of the warp that reach this op, when all other lanes of the warp wait or
                                     have ended

A thread that reaches such an op waits. When all of them have reached it, each gets its result, and all continue.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.ir.memory_model import Fault
from weft.ir.ops import Simt
from weft.ir.simt import SIMT, WARP, Seat, SimtRow
from weft.ir.types import u32

__all__ = ["Meeting", "settle"]


@dataclass(eq=False)
class Meeting:
    """A thread that waits: the op at which it waits, and the operands. `result` is what it gets when it continues."""

    op: Simt
    seat: Seat
    operands: Sequence[Any]
    result: Any = None

    @property
    def row(self) -> SimtRow:
        """The row of its op."""
        return SIMT[self.op.kind]

    @property
    def mask(self) -> int | None:
        """The lanes that take part, as bits; None: those that are there."""
        return int(self.operands[0]) if self.row.takes[:1] == (u32,) else None


def settle(waits: Mapping[int, Meeting | None], lanes: Iterable[int]) -> list[list[int]]:
    """End the meetings at which all are present. `waits`: by the number of each thread of a block that has not ended,
    the meeting at which it waits; None: it runs. `lanes`: the threads of the warp that has just stopped. Gives the
    threads that go on, those of one meeting together."""
    if waits and all(one is not None and one.row.meets == "block" for one in waits.values()):
        return [_end(waits, list(waits), "block")]
    here = {thread: waits[thread] for thread in lanes if thread in waits}
    groups: dict[Hashable, list[int]] = {}
    for thread, one in here.items():
        if one is not None and one.row.meets == "warp":
            if one.mask is not None and not one.mask >> one.seat.lane & 1:
                raise Fault("barrier", f"{one.op.kind}: a lane is not in its own mask")
            groups.setdefault((one.op.kind, one.mask, one.op if one.mask is None else None), []).append(thread)
    stopped = None not in here.values()
    found: list[list[int]] = []
    for threads in groups.values():
        one = here[threads[0]]
        assert one is not None
        wanted = [thread for thread in here if one.mask is not None and one.mask >> thread % WARP & 1]
        if threads == wanted or (one.mask is None and stopped):
            found.append(_end(waits, threads, "warp"))
    return found


def _end(waits: Mapping[int, Meeting | None], threads: list[int], of: str) -> list[int]:
    meetings = [one for one in (waits[thread] for thread in threads) if one is not None]
    if len({one.op.kind for one in meetings}) > 1:
        raise Fault("barrier", "threads of a block wait at different barriers")
    given = {one.seat.thread if of == "block" else one.seat.lane: one.operands for one in meetings}
    for one in meetings:
        one.result = one.row.result(one.seat, given)
    return threads
