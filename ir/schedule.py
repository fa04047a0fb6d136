"""Schedules: how a target runs a task and the loops in it. Passes of `TO_MAPPED` and `TO_LANES` fill them.

    task range_for schedule={block=(32, 8, 1), across=4} ...
    for %0, %n, %1, schedule={jam=4} (%k: i64) { ... }

A schedule changes which thread runs an iteration, and when, but not what the iterations compute. Code generators, the
host's half of a launch and the explorer read schedules; none of them decides again. A schedule holds plain data and
never refers to ops or values: a decision about an op is an attribute of that op, or an op of its own.

`verify_schedule.py` says what each field may be.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.scopes import Scope
from weft.ir.types import Prim

__all__ = ["RECORDS", "VECTORIZE", "LoopSchedule", "Privatized", "Schedule"]


@dataclass(frozen=True)
class Privatized:
    """A field of which each thread (or block of threads) updates a copy that is merged at the end."""

    scope: Scope
    tree: int  # the tree that the field is in
    low: int  # the byte of that tree where the field begins
    words: int  # how many scalars it has
    kind: str  # the operator of the atomics that update it, and that merges copies
    type: Prim  # of its scalars
    reach: int  # by how many bytes an index that is wrong by one misses the field, at most
    copies: int = 1  # how many each block has, a power of two


@dataclass(frozen=True)
class Schedule:
    """How a target runs a parallel task. The empty schedule makes no decision."""

    block: tuple[int, ...] = ()  # GPU: the threads of a block along x, y and z
    few_blocks: bool = False  # GPU: threads get all the registers they can use, though fewer blocks fit a processor
    launch: int = -1  # GPU: the number of the launch; serial tasks that follow one another have one in common
    guarded: bool = False  # GPU: an earlier launch may have ended the kernel, so that this one asks first
    ends: bool = False  # GPU: the task may end the kernel, and a later launch must hear of it
    box: int = 0  # GPU: the word of the state where the box is measured, by the launch before; 0 if it need not be
    shared_bytes: int = 0  # GPU: the memory of a block for arrays that comes with the launch
    numbered: bool = False  # GPU: threads take iterations by number, as programs with barriers or shuffles count on
    across: int = 1  # GPU: neighbours along the innermost axis that a thread takes together
    rows: int = 1  # GPU: neighbours along the axis before that one which a thread takes together
    busy: int = 0  # GPU: threads of each processor from which on threads take several iterations
    phases: str = ""  # GPU: rows of a filter may begin "anywhere" in a word; "ask": that is found out as it runs
    lanes: int = 1  # CPU: how many iterations run at once in a vector, one in each SIMD lane
    vectors: int = 1  # CPU: how many such vectors run side by side
    serial_because: str = ""  # CPU: why iterations run one after another and not in lanes
    privatized: tuple[Privatized, ...] = ()  # fields of which each thread updates a copy
    price: float = 0.0  # CPU: what an iteration costs by itself, in the units of `mapping/cost.py`
    alone: bool = False  # CPU: one thread runs all iterations, so that atomics need not lock
    plain: bool = False  # CPU: there is a second version without locks, for boxes that one thread runs
    unordered: bool = False  # CPU: LLVM may move the accesses of an iteration past one another
    vectorize: str = "free"  # CPU: how LLVM may vectorize the loop, one of VECTORIZE
    unroll: bool = True  # CPU: LLVM may unroll the loop


@dataclass(frozen=True)
class LoopSchedule:
    """How a target runs a serial loop. The empty schedule makes no decision."""

    lanes: int = 1  # CPU: how many rounds run at once, one in each SIMD lane; they only sum up into locals outside
    vectors: int = 1  # CPU: how many vectors of so many rounds run side by side where the loop is long

    warp: bool = False  # GPU: the lanes of a warp share the rounds of this loop, and combine its sums
    jam: int = 0  # GPU: rounds that stand side by side, 0 where they do not
    ahead: bool = False  # GPU: the loads of the next rounds are under way while these rounds are computed
    unroll: int = 0  # GPU: iterations that a thread takes together for which all rounds are written out


# How LLVM may vectorize a loop: as it likes; one vector at a time, the last one masked; not at all.
VECTORIZE = ("free", "once", "never")

# The records that may be attributes of ops, by the name that the op's declaration has for them. The printer writes
# `{name=value, ...}`, without what is as by default; the parser reads it back.
RECORDS: dict[str, type] = {"Schedule": Schedule, "LoopSchedule": LoopSchedule}
