"""Runs parallel loops in the evaluator: threads, each with its chunk of the iterations and possibly copies of fields.

Without an adversary's schedule, `config.threads` consecutive chunks run one after another. With one, the threads take
turns at every access (see `adversary.py`). The task's own schedule is executed as well:

    lanes, vectors       the body of a vectorized task runs for a group of this many neighbours along the innermost axis
    across, rows         a thread of a GPU runs this many iterations, coarsened (see `gpu_machine.py`)
    privatized           a thread updates a copy that begins with neutral elements; copies are merged at the end. The
                         threads of a GPU's block share `copies` of them
    unordered            the order of an iteration's accesses must not matter (see `iteration_accesses.py`)
    numbered, block      iterations go to the threads of blocks by number; before tasks are mapped, the loops whose
                         threads cooperate run like that
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import groupby
from math import prod
from typing import Any, TypeVar

import numpy as np

from weft.ir import ops
from weft.ir.adversary import Parts, Schedule, run_interleaved
from weft.ir.boxes import points
from weft.ir.core import Block, BlockArg
from weft.ir.evaluate_simt import threads_of_blocks
from weft.ir.gpu_machine import Point, ThreadBody, groups_of
from weft.ir.iteration_accesses import IterationAccesses
from weft.ir.machine import Env, Flow, Machine, Run, Steps
from weft.ir.mapping.warp_sums import warp_loop
from weft.ir.scalar import BINARY, cast_value, identity
from weft.ir.schedule import Privatized
from weft.ir.scopes import Scope
from weft.ir.simt import Seat
from weft.ir.tasks import left_of
from weft.ir.types import element

__all__ = ["at_once", "spread_out", "task_threads"]

Item = TypeVar("Item")
Spread = Callable[[Env, list[range]], Flow | None]
_GARBAGE = 1  # the bytes around a copy


def at_once(steps: Steps) -> Run:
    """The same, run without stops."""

    def run(env: Env) -> Flow | None:
        running = steps(env)
        while True:
            try:
                next(running)
            except StopIteration as end:
                flow: Flow | None = end.value
                return flow

    return run


def spread_out(
    machine: Machine,
    loop: ops.ParallelFor | ops.StructFor,
    args: Sequence[BlockArg],
    listed: Sequence[tuple[int, ...]] | None = None,
) -> Spread:
    """A parallel loop that is not a task yet. `listed`: the indices of each iteration, by its number in the box."""
    empty, numbered = Block(), threads_of_blocks(loop)
    each = _one_by_one(machine, args, loop.body, numbered > 0, listed=listed)
    return _threads(machine, empty, each, empty, _groups, _Team(numbered, numbered > 0, ()))


def task_threads(machine: Machine, task: ops.Task) -> Spread:
    """A task, run as its schedule says."""
    schedule, args, numbered = task.schedule, task.body.args, threads_of_blocks(task)
    span, groups = schedule.lanes * schedule.vectors, _groups
    if left_of(task) is not None:
        each, groups = _vectorized(machine, task, span), partial(_rests, span=span)
    elif schedule.across * schedule.rows > 1 or warp_loop(task) is not None:
        each = _in_threads(machine, task)
        groups = partial(groups_of, across=schedule.across, rows=schedule.rows)
    else:
        each = _one_by_one(machine, args, task.body, numbered > 0, schedule.unordered)
    team = _Team(numbered or prod(schedule.block), numbered > 0, schedule.privatized)
    return _threads(machine, task.prologue, each, task.epilogue, groups, team)


Grouping = Callable[[Sequence[Point]], list[tuple[Point, ...]]]
Each = tuple[Callable[[Env, Sequence[Point]], "Flow | None"], Callable[[Env, Sequence[Point]], Generator[None]]]


@dataclass(frozen=True)
class _Team:
    """What the threads of a loop have in common."""

    threads: int  # the number of threads of a block; 1: threads are alone
    numbered: bool  # iteration `k` runs on thread `k % threads` of block `k // threads`
    privatized: Sequence[Privatized]  # the fields of which each block has copies

    def deal(self, schedule: Schedule | None, items: Sequence[Item], loop: int) -> list[list[list[Item]]]:
        """The items of each thread of each block."""
        if self.numbered:
            return _split([[item] for item in items], self.threads)
        assert schedule is not None
        chunks = schedule.threads(items, loop)
        return _split(chunks, min(self.threads, schedule.sharers(loop)) if self.privatized else 1)


def _split(items: Sequence[Item], size: int) -> list[list[Item]]:
    return [list(items[start : start + size]) for start in range(0, len(items), size)]


def _threads(machine: Machine, before: Block, each: Each, after: Block, groups: Grouping, team: _Team) -> Spread:
    """`each` runs a group of iterations: at once, or in steps."""
    at_once, in_steps = each
    course, copies = machine.course, _Copies(machine, team.privatized)

    def own(seat: Seat) -> None:
        course.moved = copies.take(seat)

    schedule = course.schedule
    if schedule is not None or team.numbered:
        parts = Parts(machine.stepped(before), in_steps, machine.stepped(after), own, copies.merge)

        def interleaved(env: Env, box: list[range]) -> None:
            machine.afford(box)
            items = groups([*enumerate(points(box))])
            run_interleaved(machine, schedule, env, partial(team.deal, schedule, items), team.threads, parts)

        return interleaved
    first, last = machine.block(before), machine.block(after)

    def in_order(env: Env, box: list[range]) -> Flow | None:
        machine.afford(box)
        done, outer = 0, course.moved
        for block, chunk in enumerate(_chunks(box, max(1, machine.config.threads))):
            own(Seat(block))
            first(env)
            mine = [*enumerate(points(chunk), done)]
            for group in groups(mine):
                if at_once(env, group) is Flow.END:
                    return Flow.END
            last(env)
            done += len(mine)
            copies.merge(block)
        course.moved = outer
        return None

    return in_order


def _groups(iterations: Sequence[Point]) -> list[tuple[Point, ...]]:
    """Each iteration by itself."""
    return [(one,) for one in iterations]


def _rests(iterations: Sequence[Point], span: int) -> list[tuple[Point, ...]]:
    """For each group of `span` neighbours along the innermost axis, the iterations of its row from the group on."""
    rows = [[*row] for _, row in groupby(iterations, lambda one: one[1][:-1])]
    return [tuple(row[start:]) for row in rows for start in range(0, len(row), span)]


def _chunks(box: list[range], threads: int) -> list[list[range]]:
    """The box, split along its slowest axis: one chunk for each thread that gets iterations."""
    if not box:
        return [box]
    slowest, *rest = box
    chunk = max(1, -(-len(slowest) // threads))
    return [[slowest[start : start + chunk], *rest] for start in range(0, max(1, len(slowest)), chunk)]


def _one_by_one(
    machine: Machine,
    args: Sequence[BlockArg],
    body: Block,
    numbered: bool,
    unordered: bool = False,
    listed: Sequence[tuple[int, ...]] | None = None,
) -> Each:
    slots, prims, course = machine.slot_list(args), [element(arg.type) for arg in args], machine.course
    in_turns = numbered or course.schedule is not None
    machine.recorded = recorded = IterationAccesses() if unordered else None
    whole, steps = (None, machine.stepped(body)) if in_turns else (machine.block(body), None)
    machine.recorded = None

    def bind(env: Env, group: Sequence[Point]) -> None:
        ((course.iteration, values),) = group
        course.draws = 0
        point = values if listed is None else listed[values[0]]
        for slot, prim, index in zip(slots, prims, point, strict=True):
            env[slot] = cast_value(index, prim)

    def at_once(env: Env, group: Sequence[Point]) -> Flow | None:
        machine.burn()
        bind(env, group)
        assert whole is not None
        flow: Flow | None = whole(env)
        if recorded is not None:
            recorded.end(course.iteration)
        return flow

    def in_steps(env: Env, group: Sequence[Point]) -> Generator[None]:
        bind(env, group)
        assert steps is not None
        flow = yield from steps(env)
        assert flow in (None, Flow.CONTINUE), "an iteration ends by its end or a continue"
        if recorded is not None:
            recorded.end(course.iteration)

    return at_once, in_steps


# ---- threads of a GPU ------------------------------------------------------------------------------------------------


def _in_threads(machine: Machine, task: ops.Task) -> Each:
    body = ThreadBody(machine, task)

    def at_once(env: Env, group: Sequence[Point]) -> None:
        for _ in body.run(env, group):
            pass

    return at_once, body.run


# ---- lanes -----------------------------------------------------------------------------------------------------------


def _vectorized(machine: Machine, task: ops.Task, span: int) -> Each:
    """A task whose body runs a group of `span` iterations, of which the row may end before. It is given the indices of
    the first iteration, and the number of iterations left in the row."""
    slots, prims = machine.slot_list(task.body.args), [element(arg.type) for arg in task.body.args]
    course, body, counts = machine.course, machine.stepped(task.body), machine.slot(task)

    def in_steps(env: Env, group: Sequence[Point]) -> Generator[None]:
        course.iteration, point = group[0]
        course.draws = 0
        env[counts] = dict[int, int]()  # of the random numbers of each iteration
        for slot, prim, value in zip(slots, prims, (*point, len(group)), strict=True):
            env[slot] = cast_value(value, prim)
        flow = yield from body(env)
        assert flow in (None, Flow.CONTINUE), "a group of iterations ends by its end or a continue"

    def at_once(env: Env, group: Sequence[Point]) -> None:
        for _ in range(min(span, len(group))):
            machine.burn()
        for _ in in_steps(env, group):
            pass

    return at_once, in_steps


# ---- copies of fields ------------------------------------------------------------------------------------------------


class _Copies:
    """The private copies of a task's privatized fields: `copies` of each one for each block of threads."""

    def __init__(self, machine: Machine, privatized: Sequence[Privatized]) -> None:
        self.trees, self.privatized = machine.memory.trees, privatized
        self.taken: dict[int, dict[Scope, list[Any]]] = {}  # by the number of the block

    def take(self, seat: Seat) -> dict[Scope, Any]:
        """Begin a thread: give it one of the copies of its block. The first thread of a block creates them, filled
        with neutral elements."""
        if seat.block not in self.taken:
            self.taken[seat.block] = {
                copy.scope: [self.made(copy) for _ in range(copy.copies)] for copy in self.privatized
            }
        mine = self.taken[seat.block]
        return {copy.scope: mine[copy.scope][seat.thread & (copy.copies - 1)] for copy in self.privatized}

    def made(self, copy: Privatized) -> Any:
        """A new copy."""
        bytes = np.full(len(self.trees[copy.tree]), _GARBAGE, np.uint8)
        _words(copy, bytes)[:] = identity(copy.kind, copy.type)
        return bytes

    def merge(self, block: int) -> None:
        """End a block: combine the copies of each word, and update the field with the result."""
        made = self.taken.pop(block)
        for copy in self.privatized:
            home, mine = _words(copy, self.trees[copy.tree]), [_words(copy, bytes) for bytes in made[copy.scope]]
            combine = BINARY[copy.kind].evaluate
            for k in range(copy.words):
                chosen = [mine[(k + ahead) & (copy.copies - 1)][k] for ahead in range(copy.copies)]
                home[k] = combine(home[k], reduce(combine, chosen))


def _words(copy: Privatized, bytes: Any) -> Any:
    return np.ndarray((copy.words,), copy.type.np, bytes, copy.low)
