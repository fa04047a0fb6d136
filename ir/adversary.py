"""Runs the iterations of parallel loops adversarially: concurrently, and in an order that the language does not
promise.

The memory model (docs/memory-model.md) lets iterations run concurrently and unordered. A kernel without races must
therefore give the same result under every `Schedule`. A schedule assigns iterations to threads, in runs or round-robin.
Each thread has its own prologue and epilogue, and the threads take turns at every access to memory that others can
reach. A pass that loses the atomicity of an update, or that shares private memory, fails under one of a few schedules.

The body of a parallel loop becomes a generator that stops before each such access (`Machine.stepped`). The private
state of an iteration, which is its values, its random numbers and its open calls, is restored when it continues.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, TypeVar

from weft.ir.interleaving import Schedule
from weft.ir.machine import Env, Machine, Steps
from weft.ir.scopes import Scope
from weft.ir.weak_memory import View, WeakMemory

__all__ = ["Parts", "Schedule", "run_interleaved"]

Item = TypeVar("Item")


@dataclass(frozen=True)
class Parts(Generic[Item]):
    """The code that a thread runs: `before` its items, `each` item, and `after` them. `own` runs when a thread begins
    and stores the private state of the thread in the course."""

    before: Steps
    each: Callable[[Env, Item], Generator[None]]
    after: Steps
    own: Callable[[], None]


_LIVE = 64  # the most threads that run at the same time


def run_interleaved(machine: Machine, schedule: Schedule, env: Env, items: Sequence[Item], parts: Parts[Item]) -> None:
    """Run a loop over `items`, which are iterations or groups of them."""
    machine.course.loops += 1
    number = machine.course.loops
    waiting = [_thread(machine, [*env], chunk, parts) for chunk in schedule.threads(items, number)]
    draw, live = schedule.turns(number), list[_Thread]()
    memory = WeakMemory(Random(f"{schedule.seed} {number} memory")) if schedule.weak else None
    while waiting or live:
        while waiting and len(live) < (_LIVE if draw else 1):
            live.append(_Thread(waiting.pop(0), View(memory) if memory else None))
        thread = live[draw.randrange(len(live))] if draw else live[0]
        if thread.go_on(machine):
            live.remove(thread)


class _Thread:
    """A running thread, with its private part of the course."""

    def __init__(self, steps: Generator[None], view: View | None) -> None:
        self.steps, self.view = steps, view
        self.own = (0, 0, 0, 0, dict[Scope, Any]())  # iteration, draws, stream, calls, moved

    def go_on(self, machine: Machine) -> bool:
        """Run up to the next access. Gives whether the thread has ended."""
        course = machine.course
        outer = course.iteration, course.draws, course.stream, course.calls, course.moved
        course.iteration, course.draws, course.stream, course.calls, course.moved = self.own
        course.view = self.view
        ended = next(self.steps, _ENDED) is _ENDED
        self.own = course.iteration, course.draws, course.stream, course.calls, course.moved
        course.iteration, course.draws, course.stream, course.calls, course.moved = outer
        return ended


_ENDED = object()


def _thread(machine: Machine, env: Env, chunk: Sequence[Item], parts: Parts[Item]) -> Generator[None]:
    parts.own()
    yield from parts.before(env)
    for item in chunk:
        machine.burn()
        yield from parts.each(env, item)
    yield from parts.after(env)
