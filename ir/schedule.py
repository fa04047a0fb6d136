"""Schedules: how a target runs a task and the loops in it. The passes of `TO_MAPPED` and `TO_LANES` fill them in.

    task range_for schedule={block=(32, 8, 1), across=4} ...
    for %0, %n, %1, schedule={jam=4} (%k: i64) { ... }

A schedule decides which thread runs an iteration, and when. It does not change what the iterations compute. Code
generators, the host part of a launch, and the explorer read schedules. They make no such decision themselves. A
schedule holds plain data and never refers to ops or values. A decision about a single op is an attribute of that op, or
an op of its own.

`verify_schedule.py` defines which values each field may have.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.scopes import Scope
from weft.ir.types import Prim

__all__ = ["GRIDS", "RECORDS", "STATIC_BYTES", "VECTORIZE", "LoopSchedule", "Privatized", "Schedule"]


@dataclass(frozen=True)
class Privatized:
    """A field of which each thread, or block of threads, updates a private copy. The copies are merged at the end."""

    scope: Scope
    tree: int  # the number of the field's tree
    low: int  # the byte of that tree at which the field begins
    words: int  # the number of its scalars
    kind: str  # the operator of the atomics that update it; it also merges the copies
    type: Prim  # the type of its scalars
    reach: int  # the largest distance in bytes from the field to an access whose index is off by one
    copies: int = 1  # the number of copies of each block, a power of two


@dataclass(frozen=True)
class Schedule:
    """How a target runs a parallel task. An empty schedule makes no decision."""

    block: tuple[int, ...] = ()  # GPU: the number of threads of a block along x, y and z
    few_blocks: bool = False  # GPU: threads may use all registers, although fewer blocks then fit a multiprocessor
    launch: int = -1  # GPU: the number of the launch that runs the task; consecutive serial tasks share one
    guarded: bool = False  # GPU: an earlier launch may have ended the kernel, so this one tests that first
    ends: bool = False  # GPU: the task may end the kernel, and must tell the later launches
    box: int = 0  # GPU: the word of the kernel's state where the previous launch stores the box; 0: it stores none
    measured: int = -1  # GPU: the earlier launch that stores the box, if it is not the previous one
    own_box: bool = False  # GPU: each thread computes the box, which depends on memory that the task leaves alone
    lists: int = -1  # GPU: the task runs only if the list of cells in the book of that tree may be out of date
    outdates: tuple[int, ...] = ()  # GPU: the books whose lists may be out of date after the task
    grid: str = ""  # GPU: how many blocks the launch has, one of GRIDS
    waves: int = 0  # GPU: the number of blocks for each multiprocessor, if `grid` depends on it
    shared_bytes: int = 0  # GPU: the bytes of block memory that the launch allocates for shared arrays
    numbered: bool = False  # GPU: iterations go to threads by number, as barriers and shuffles require
    across: int = 1  # GPU: thread coarsening along the innermost axis: iterations per thread
    rows: int = 1  # GPU: thread coarsening along the next axis outwards: rows of iterations per thread
    busy: int = 0  # GPU: coarsening starts when each multiprocessor has at least this many threads
    phases: str = ""  # GPU: the rows of a filter begin "anywhere" in a 16-byte word; "ask": the kernel tests it
    lanes: int = 1  # CPU: iterations per vector, one in each SIMD lane
    vectors: int = 1  # CPU: the number of such vectors that run at once
    serial_because: str = ""  # CPU: the reason why iterations do not run in SIMD lanes
    privatized: tuple[Privatized, ...] = ()  # the fields of which each thread or block updates a private copy
    price: float = 0.0  # CPU: the estimated cost of one iteration, in the units of `mapping/cost.py`
    alone: bool = False  # CPU: one thread runs all iterations, so atomics need no lock
    plain: bool = False  # CPU: the task also has a version without locks, for boxes that one thread runs
    unordered: bool = False  # CPU: LLVM may reorder the accesses of an iteration
    vectorize: str = "free"  # CPU: how LLVM may vectorize the loop, one of VECTORIZE
    unroll: bool = True  # CPU: LLVM may unroll the loop
    stretch: int = 0  # CPU: iterations between two tests whether the launch must end; as in LoopSchedule
    even: bool = False  # CPU: all stretches of a row have that length
    joined: tuple[int, ...] = ()  # CPU: the trees whose fields have one alias scope


@dataclass(frozen=True)
class LoopSchedule:
    """How a target runs a serial loop. An empty schedule makes no decision."""

    lanes: int = 1  # CPU: iterations per vector, one in each SIMD lane; they only reduce into locals outside the loop
    vectors: int = 1  # CPU: the number of such vectors that run at once if the loop is long
    stretch: int = 0  # CPU: iterations between two tests whether the launch must end; 0: no test; < 0: they are counted
    short: bool = False  # CPU: the loop probably ends within its first stretch, and has a version for that
    around: bool = False  # CPU: rows of a cell are in it, of which LLVM makes vectors, and not of this loop
    single: bool = False  # CPU: LLVM makes no copies of the body, because it rarely runs or stores

    warp: bool = False  # GPU: the lanes of a warp share the iterations of this loop and combine its sums
    jam: int = 0  # GPU: the factor of unroll-and-jam; 0: none
    ahead: bool = False  # GPU: the loads of the next `jam` iterations are issued before the current ones are computed
    unroll: int = 0  # GPU: unroll the loop completely for threads that take at most this many iterations of the task


STATIC_BYTES = 48 << 10  # the most memory of a block that code may allocate; a launch may allocate more

# How LLVM may vectorize a loop. "free": LLVM decides. "once": one vector at a time, the last one masked. "never": not.
VECTORIZE = ("free", "once", "never")

# How many blocks the launch of a task has. "cover": each group of iterations has a thread. "limited": the same, but at
# most `waves` for each multiprocessor. "resident": but at most as many as run at once. "filled": that many, and at most
# `waves` for each one.
GRIDS = ("cover", "limited", "resident", "filled")

# The records that may be attributes of ops, by their name in the declaration of the op. The printer writes them as
# `{name=value, ...}` without the fields that have their default value. The parser reads this form.
RECORDS: dict[str, type] = {"Schedule": Schedule, "LoopSchedule": LoopSchedule}
