"""Runs the iterations of parallel loops adversarially: concurrently, and in an order that the language does not
promise.

The memory model (docs/memory-model.md) lets iterations run concurrently and unordered. A kernel without races must
therefore give the same result under every `Schedule`. A schedule assigns iterations to threads, in runs or round-robin.
Each thread has its own prologue and epilogue, and the threads take turns at every access to memory that others can
reach. A pass that loses the atomicity of an update, or that shares private memory, fails under one of a few schedules.

The threads of a GPU run in blocks. They share arrays and copies of fields, and wait for one another at barriers
(`meetings.py`). Every other thread is a block by itself.

The body of a parallel loop becomes a generator that stops before each such access (`Machine.stepped`). The private
state of an iteration, which is its values, its random numbers and its open calls, is restored when it continues.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeVar

from weft.ir.interleaving import Schedule
from weft.ir.machine import Env, Machine, Steps
from weft.ir.meetings import Meeting, settle
from weft.ir.memory_model import Fault
from weft.ir.scopes import Scope
from weft.ir.simt import WARP, Seat
from weft.ir.weak_memory import View, WeakMemory, meet

__all__ = ["Parts", "Schedule", "run_interleaved"]

Item = TypeVar("Item")


@dataclass(frozen=True)
class Parts(Generic[Item]):
    """The code that a thread runs: `before` its items, `each` item, and `after` them. `own` runs when a thread begins
    and stores the private state of the thread in the course. `close` runs when all threads of a block have ended."""

    before: Steps
    each: Callable[[Env, Item], Generator[None]]
    after: Steps
    own: Callable[[Seat], None]
    close: Callable[[int], None]


_LIVE = 64  # the most threads that run at the same time, unless a block has more


def run_interleaved(
    machine: Machine,
    schedule: Schedule | None,
    env: Env,
    deal: Callable[[int], Sequence[Sequence[Sequence[Item]]]],
    threads: int,
    parts: Parts[Item],
) -> None:
    """Run a loop over items, which are iterations or groups of them. `deal` gives, for the number of the loop, the
    items of each thread of each block. A block has up to `threads` threads. Without a schedule, each thread runs until
    it waits for another one, and the blocks run in order."""
    machine.course.loops += 1
    number = machine.course.loops
    weak = WeakMemory(Random(f"{schedule.seed} {number} memory")) if schedule and schedule.weak else None
    waiting = [
        _Block(machine, env, Seat(block, 0, threads), chunks, parts, weak) for block, chunks in enumerate(deal(number))
    ]
    draw, running = schedule.turns(number) if schedule else None, list[tuple[_Block[Item], int]]()
    blocks = list[_Block[Item]]()
    waiting.reverse()
    while waiting or blocks:
        while waiting and (not blocks or (draw and len(running) + len(waiting[-1].threads) <= _LIVE)):
            blocks.append(waiting.pop())
            running += [(blocks[-1], thread) for thread in blocks[-1].threads]
        if not running:
            raise Fault("barrier", "threads of a block wait at a barrier that other threads never reach")
        block, thread = turn = running[draw.randrange(len(running)) if draw else 0]
        if not block.go_on(thread):
            running.remove(turn)
            running += [(block, other) for other in block.settle(thread)]
            if not block.threads:
                parts.close(block.seat.block)
                blocks.remove(block)


class _Block(Generic[Item]):
    """The threads of a block that have not ended, by their numbers, and the arrays that they share."""

    def __init__(
        self,
        machine: Machine,
        env: Env,
        seat: Seat,
        chunks: Sequence[Sequence[Item]],
        parts: Parts[Item],
        memory: WeakMemory | None,
    ) -> None:
        self.machine, self.seat, self.arrays = machine, seat, dict[Hashable, Any]()
        self.threads = {
            number: _Thread(_thread(machine, [*env], chunk, parts), View(memory) if memory else None)
            for number, chunk in enumerate(chunks)
        }

    def go_on(self, number: int) -> bool:
        """Run a thread up to its next access. Gives whether it can go on from there."""
        thread = self.threads[number]
        if thread.go_on(self.machine, self.seat._replace(thread=number), self.arrays):
            del self.threads[number]
            return False
        return thread.waits is None

    def settle(self, stopped: int) -> list[int]:
        """Return the threads that continue because that one has come to a meeting, or has ended."""
        first = stopped // WARP * WARP
        waits = {number: thread.waits for number, thread in self.threads.items()}
        found = list[int]()
        for threads in settle(waits, range(first, first + WARP)):
            for number in threads:
                self.threads[number].waits = None
            meet([self.threads[number].view for number in threads])
            found += threads
        return found


class _Thread:
    """A running thread, with its private part of the course. `waits`: the meeting at which it waits."""

    def __init__(self, steps: Generator[None], view: View | None) -> None:
        self.steps, self.view = steps, view
        self.waits: Meeting | None = None
        self.own = (0, 0, 0, 0, dict[Scope, Any]())  # iteration, draws, stream, calls, moved

    def go_on(self, machine: Machine, seat: Seat, arrays: dict[Hashable, Any]) -> bool:
        """Run up to the next access. Gives whether the thread has ended."""
        course = machine.course
        outer = course.iteration, course.draws, course.stream, course.calls, course.moved
        around = course.view, course.seat, course.arrays
        course.iteration, course.draws, course.stream, course.calls, course.moved = self.own
        course.view, course.seat, course.arrays = self.view, seat, arrays
        ended = next(self.steps, _ENDED) is _ENDED
        self.waits, course.meeting = course.meeting, None
        self.own = course.iteration, course.draws, course.stream, course.calls, course.moved
        course.iteration, course.draws, course.stream, course.calls, course.moved = outer
        course.view, course.seat, course.arrays = around
        return ended


_ENDED = object()


def _thread(machine: Machine, env: Env, chunk: Sequence[Item], parts: Parts[Item]) -> Generator[None]:
    parts.own(machine.course.seat)
    yield from parts.before(env)
    for item in chunk:
        machine.burn()
        yield from parts.each(env, item)
    yield from parts.after(env)
