"""Schedules: how a target runs a task and the loops in it. Passes of `TO_MAPPED` and `TO_LANES` fill them.

    task range_for schedule={block=(32, 8, 1)} ...
    for %0, %n, %1, schedule={warp=true} (%k: i64) { ... }

A schedule changes which thread runs an iteration, and when, but not what the iterations compute. Code generators, the
host's half of a launch and the explorer read schedules; none of them decides again. A schedule holds plain data and
never refers to ops or values: a decision about an op is an attribute of that op, or an op of its own.

`verify_schedule.py` says what each field may be.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RECORDS", "LoopSchedule", "Schedule"]


@dataclass(frozen=True)
class Schedule:
    """How a target runs a parallel task. The empty schedule makes no decision."""

    block: tuple[int, ...] = ()  # GPU: the threads of a block along x, y and z
    numbered: bool = False  # GPU: threads take iterations by number, as programs with barriers or shuffles count on


@dataclass(frozen=True)
class LoopSchedule:
    """How a target runs a serial loop. The empty schedule makes no decision."""

    warp: bool = False  # GPU: the lanes of a warp share the rounds of this loop, and combine its sums


# The records that may be attributes of ops, by the name that the op's declaration has for them. The printer writes
# `{name=value, ...}`, without what is as by default; the parser reads it back.
RECORDS: dict[str, type] = {"Schedule": Schedule, "LoopSchedule": LoopSchedule}
