"""The SIMT intrinsics, in which the threads of a GPU cooperate. Each has one row, which typing, the verifier, the
evaluator and code generation read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from weft.ir.types import VOID, Prim, Type, i32, u32

__all__ = ["DEFAULT_THREADS", "SIMT", "WARP", "Seat", "SimtRow", "result_of"]

WARP = 32  # lanes of a warp
DEFAULT_THREADS = 128  # of a block whose threads cooperate, if the program does not say how many


class Seat(NamedTuple):
    """Which thread it is. The default: the only thread of the only block."""

    block: int = 0  # the number of the block
    thread: int = 0  # the number of the thread in its block
    threads: int = 1  # the number of threads of a block

    @property
    def lane(self) -> int:
        """The number of the thread in its warp."""
        return self.thread % WARP


Given = Mapping[int, Sequence[Any]]  # the operands of each thread of a block (of each lane of a warp) that takes part


@dataclass(frozen=True)
class SimtRow:
    """`takes`: the types of the operands. None accepts any number, and if `gives` is None the result has that type.
    `result`: the function that computes what a thread gets, from its seat and the operands of all participants.
    `meets`: the participants, which wait for one another: the threads of the "block", or lanes of the "warp". `orders`:
    whether the op orders memory."""

    takes: tuple[Prim | None, ...]
    gives: Type | None
    result: Callable[[Seat, Given], Any]
    meets: str = ""
    orders: bool = False


def _nothing(seat: Seat, given: Given) -> None:
    del seat, given


def _truths(given: Given) -> list[bool]:
    return [bool(operands[-1] != 0) for operands in given.values()]


def _bits(lanes: Sequence[int]) -> int:
    return sum(1 << lane for lane in lanes)


def _count(seat: Seat, given: Given) -> int:
    return sum(_truths(given))


def _all(seat: Seat, given: Given) -> int:
    return int(all(_truths(given)))


def _any(seat: Seat, given: Given) -> int:
    return int(any(_truths(given)))


def _agree(seat: Seat, given: Given) -> int:
    return int(len(set(_truths(given))) == 1)


def _active(seat: Seat, given: Given) -> int:
    return _bits([*given])


def _ballot(seat: Seat, given: Given) -> int:
    return _bits([lane for lane, operands in given.items() if operands[0] != 0])


def _same(seat: Seat, given: Given) -> int:
    mine = given[seat.lane][1].tobytes()
    return _bits([lane for lane, operands in given.items() if operands[1].tobytes() == mine])


def _all_same(seat: Seat, given: Given) -> int:
    found = _same(seat, given)
    return found if found == _bits([*given]) else 0


def _shuffle(from_lane: Callable[[int, int], int]) -> SimtRow:
    """`from_lane`: the lane whose value a lane gets, computed from its own number and the last operand. A lane gets its
    own value if that lane does not participate."""

    def result(seat: Seat, given: Given) -> Any:
        wanted = from_lane(seat.lane, int(given[seat.lane][2]))
        return given[wanted if wanted in given else seat.lane][1]

    return SimtRow((u32, None, i32), None, result, "warp")


SIMT: dict[str, SimtRow] = {
    # the block
    "block_sync": SimtRow((), VOID, _nothing, "block", orders=True),
    "block_sync_all": SimtRow((i32,), i32, _all, "block", orders=True),
    "block_sync_any": SimtRow((i32,), i32, _any, "block", orders=True),
    "block_sync_count": SimtRow((i32,), i32, _count, "block", orders=True),
    "block_fence": SimtRow((), VOID, _nothing, orders=True),
    "thread_idx": SimtRow((), i32, lambda seat, _: seat.thread),
    "global_thread_idx": SimtRow((), i32, lambda seat, _: seat.block * seat.threads + seat.thread),
    # the grid
    "grid_fence": SimtRow((), VOID, _nothing, orders=True),
    # the warp
    "warp_sync": SimtRow((u32,), VOID, _nothing, "warp", orders=True),
    "warp_lane": SimtRow((), i32, lambda seat, _: seat.lane),
    "warp_active": SimtRow((), u32, _active, "warp"),
    "warp_ballot": SimtRow((i32,), i32, _ballot, "warp"),
    "warp_all": SimtRow((u32, i32), i32, _all, "warp"),
    "warp_any": SimtRow((u32, i32), i32, _any, "warp"),
    "warp_uniform": SimtRow((u32, i32), i32, _agree, "warp"),
    "warp_match_any": SimtRow((u32, None), i32, _same, "warp"),
    "warp_match_all": SimtRow((u32, None), i32, _all_same, "warp"),
    "shuffle": _shuffle(lambda own, lane: lane % WARP),
    "shuffle_up": _shuffle(lambda own, offset: own - offset),
    "shuffle_down": _shuffle(lambda own, offset: own + offset),
    "shuffle_xor": _shuffle(lambda own, other: own ^ other),
}


def result_of(kind: str, operands: list[Type]) -> Type:
    """The type that the intrinsic gives on operands of those types."""
    row = SIMT[kind]
    return operands[row.takes.index(None)] if row.gives is None else row.gives
