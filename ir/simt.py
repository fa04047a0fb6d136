"""The SIMT intrinsics, in which the threads of a GPU cooperate. Each has one row, which typing, the verifier, the
evaluator and code generation read.

The evaluator runs blocks of one thread, one after another. A warp has a single lane there, with the number 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.ir.types import VOID, Prim, Type, i32, u32

__all__ = ["SIMT", "SimtRow", "result_of"]


@dataclass(frozen=True)
class SimtRow:
    """`takes`: the types of the operands. None accepts any number, and if `gives` is None the result has that type.
    `alone`: the result in a block of one thread. `orders`: it orders memory."""

    takes: tuple[Prim | None, ...]
    gives: Type | None
    alone: Callable[..., Any]
    orders: bool = False


def _nothing() -> None:
    return None


def _truth(*operands: Any) -> int:
    return int(operands[-1] != 0)


def _own(mask: Any, value: Any, lane: Any) -> Any:
    del mask, lane
    return value


_SHUFFLE = SimtRow((u32, None, i32), None, _own)
_VOTE = SimtRow((u32, i32), i32, _truth)

SIMT: dict[str, SimtRow] = {
    # the block
    "block_sync": SimtRow((), VOID, _nothing, orders=True),
    "block_sync_all": SimtRow((i32,), i32, _truth, orders=True),
    "block_sync_any": SimtRow((i32,), i32, _truth, orders=True),
    "block_sync_count": SimtRow((i32,), i32, _truth, orders=True),
    "block_fence": SimtRow((), VOID, _nothing, orders=True),
    "thread_idx": SimtRow((), i32, lambda: 0),
    "global_thread_idx": SimtRow((), i32, lambda: 0),
    # the grid
    "grid_fence": SimtRow((), VOID, _nothing, orders=True),
    # the warp
    "warp_sync": SimtRow((u32,), VOID, lambda mask: None, orders=True),
    "warp_lane": SimtRow((), i32, lambda: 0),
    "warp_active": SimtRow((), u32, lambda: 1),
    "warp_ballot": SimtRow((i32,), i32, _truth),
    "warp_all": _VOTE,
    "warp_any": _VOTE,
    "warp_uniform": SimtRow((u32, i32), i32, lambda mask, value: 1),
    "warp_match_any": SimtRow((u32, None), i32, lambda mask, value: 1),
    "warp_match_all": SimtRow((u32, None), i32, lambda mask, value: 1),
    "shuffle": _SHUFFLE,
    "shuffle_up": _SHUFFLE,
    "shuffle_down": _SHUFFLE,
    "shuffle_xor": _SHUFFLE,
}


def result_of(kind: str, operands: list[Type]) -> Type:
    """The type that the intrinsic gives on operands of those types."""
    row = SIMT[kind]
    return operands[row.takes.index(None)] if row.gives is None else row.gives
