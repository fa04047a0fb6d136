"""Work that a thread shares with helpers: a free thread takes the largest remaining piece.

Pieces never wait for one another. The thread that shares them works until none is left, and then waits for those in
progress. A helper is a thread of its own that lives as long as there are pieces. It starts at once, or not at all if
enough threads compile already. It needs none of the locks that a fork of the process waits for (see
`runtime/forks.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Thread
from time import perf_counter
from types import TracebackType
from typing import Generic, TypeVar

__all__ = ["Crew", "Helpers", "Seats"]

T = TypeVar("T")
Note = Callable[[str], None]
Work = Callable[[Note], T]


class Seats:
    """The number of threads that may compile at once, `count`. `with seats:` is for threads that must compile, even
    without a free seat. Helpers `take` a seat if one is free, and `leave` it."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._taken = 0
        self._lock = Lock()

    def take(self) -> bool:
        """Whether there was a free seat: then it is taken."""
        with self._lock:
            free = self._taken < self.count
            self._taken += free
            return free

    def leave(self) -> None:
        """A seat is free again."""
        with self._lock:
            self._taken -= 1

    def __enter__(self) -> None:
        with self._lock:
            self._taken += 1

    def __exit__(self, *_: object) -> None:
        self.leave()


@dataclass(frozen=True)
class Helpers:
    """The seats of helpers. `heard(stage, began, ended)` is called on their threads after each stage."""

    seats: Seats
    heard: Callable[[str, float, float], None]


class _Laps:
    """Stages that follow one another: `laps(stage)` as each begins, "" at the end."""

    def __init__(self, heard: Callable[[str, float, float], None]) -> None:
        self._heard = heard
        self._running: tuple[str, float] | None = None

    def __call__(self, stage: str) -> None:
        now = perf_counter()
        if self._running is not None:
            self._heard(*self._running, now)
        self._running = (stage, now) if stage else None


class Crew(Generic[T]):
    """Pieces of work and the threads that do them: `with Crew(helpers, note) as crew: crew.give(...); results =
    crew.finish()`. When the block ends, no thread works any more. `note(stage)` is called for the stages of this
    thread."""

    def __init__(self, helpers: Helpers, note: Note) -> None:
        self._helpers, self._note = helpers, note
        self._lock = Lock()
        self._waiting: list[tuple[int, int, Work[T]]] = []  # size, number with the sign changed, work
        self._results: dict[int, T] = {}
        self._given = 0
        self._threads: list[Thread] = []
        self._errors: list[BaseException] = []

    def give(self, size: int, work: Work[T]) -> None:
        """Add a piece, and a helper if possible. `work` gets a function that it calls for its stages. Larger pieces are
        done first."""
        with self._lock:
            self._waiting.append((size, -self._given, work))
            self._given += 1
        if not self._helpers.seats.take():
            return
        thread = Thread(target=self._help, name="weft-compiler")
        try:
            thread.start()
        except RuntimeError:  # no more threads can be started: this one does the work
            self._helpers.seats.leave()
        else:
            self._threads.append(thread)

    def finish(self) -> list[T]:
        """Work until all pieces are done. Gives the results in the order of the pieces, or raises an exception that one
        of them raised."""
        self._work(self._note)
        self._note("wait")
        self._join()
        if self._errors:
            raise self._errors[0]
        return [self._results[number] for number in range(self._given)]

    def _help(self) -> None:
        laps = _Laps(self._helpers.heard)
        try:
            self._work(laps)
            laps("")
        except BaseException as error:  # for `finish`
            self._stop(error)
        finally:
            self._helpers.seats.leave()

    def _work(self, note: Note) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                piece = max(self._waiting, key=lambda one: one[:2])
                self._waiting.remove(piece)
            self._results[-piece[1]] = piece[2](note)

    def _stop(self, error: BaseException) -> None:
        with self._lock:
            self._errors.append(error)
            self._waiting.clear()

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Crew[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stop(error)
        self._join()
