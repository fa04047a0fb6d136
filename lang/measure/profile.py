"""Record a timeline of a part of a program for Perfetto, and print tables of it: `ti.profile`::

    with ti.profile("trace.json") as seen:        # or @ti.profile("trace.json") on a function
        with ti.profile.range("step"):
            step()
    seen.table()

`recording.py` records the events. `trace_events.py` writes them.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import ParamSpec, TypeVar

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import flag_of, path_of, shown
from weft.lang.measure import recording
from weft.lang.measure.recording import COMPILE, COPY, LAUNCH, MEMORY, RANGE, TASK, Event, Recording
from weft.lang.measure.scopes import ScopedProfiler
from weft.lang.measure.trace_events import write_trace
from weft.lang.program import init as program_state
from weft.runtime.memory import readable_size
from weft.runtime.nvtx import in_range

__all__ = ["Profile", "profile"]

P = ParamSpec("P")
R = TypeVar("R")

_TABLES = (
    (LAUNCH, "kernel launches, on the host"),
    (TASK, "tasks, on the device"),
    (COPY, "copies"),
    (COMPILE, "compiling (stages contain others)"),
    (RANGE, "ranges"),
)


class Profile:
    """Records the events between `__enter__` and `__exit__`, which are in `events` afterwards. Profiles may be nested,
    overlap, and belong to any thread. Each records the events of all threads."""

    def __init__(self, path: str | Path | None = None, nvtx: bool = False) -> None:
        self.path = None if path is None else path_of(path, "ti.profile")
        self.nvtx = flag_of(nvtx, "nvtx")
        self.events: list[Event] = []
        self._recording: Recording | None = None
        self._began = 0.0

    def __enter__(self) -> Profile:
        if self._recording is not None:
            raise RuntimeError("this profile is already active: create another one with ti.profile(...)")
        self._recording = recording.begin(self.nvtx)
        self._began = perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        record, self._recording = self._recording, None
        assert record is not None
        recording.end(record, self.nvtx)
        ended = perf_counter()
        held = [
            Event(MEMORY, place, "", self._began, self._began, {"bytes": size, "change": 0})
            for place, size in sorted(record.held_at(self._began).items())
        ]
        self.events = held + record.between(self._began, ended)
        profile.last = self
        if self.path is not None:
            write_trace(self.path, self.events, record.threads, self._began)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function whose calls are profiled. The file contains the last call that ended."""
        if not callable(function):
            raise TypeMismatch(f"ti.profile must decorate a function, not {shown(function)}")

        @functools.wraps(function)
        def run(*args: P.args, **keywords: P.kwargs) -> R:
            with Profile(self.path, self.nvtx):
                return function(*args, **keywords)

        return run

    def table(self) -> None:
        """Print the times in milliseconds, the longest first, and the peak of the allocated memory."""
        lines: list[str] = []
        for kind, title in _TABLES:
            rows = _rows([event for event in self.events if event.kind == kind])
            if rows:
                lines += [f"{title:<44}{'total':>11}{'count':>8}{'min':>10}{'avg':>10}{'max':>10}", *rows, ""]
        most: dict[str, int] = {}
        for event in self.events:
            if event.kind == MEMORY:
                most[str(event.track)] = max(most.get(str(event.track), 0), event.details["bytes"])
        lines += [f"peak memory on {place}: {readable_size(size)}" for place, size in most.items()]
        sys.stdout.write("\n".join([*lines, ""]))


def _rows(events: Sequence[Event]) -> list[str]:
    found: dict[str, list[Event]] = {}
    for event in events:
        found.setdefault(event.name, []).append(event)
    rows: list[tuple[float, str]] = []
    for name, several in found.items():
        times = [1e3 * (event.ended - event.began) for event in several]
        numbers = f"{min(times):>10.4f}{sum(times) / len(times):>10.4f}{max(times):>10.4f}"
        size = sum(event.details.get("bytes", 0) for event in several if event.kind == COPY)
        more = f"  {readable_size(size)}" if size else ""
        rows.append((sum(times), f"  {name:<42}{sum(times):>11.3f}{len(times):>8}{numbers}{more}"))
    return [text for _, text in sorted(rows, key=lambda row: (-row[0], row[1]))]


class _Profiling:
    """The object `ti.profile`. `last` is the profile that ended last."""

    last: Profile | None = None

    def __call__(self, path: str | Path | None = None, *, nvtx: bool = False) -> Profile:
        """Return a profile, for a `with` block or as a decorator of a function.

        It records launches of kernels, tasks by the clock of the device, the stages of compilations, copies between
        host and device, memory, and the ranges of the program. `path`, if given, is the file for the timeline: JSON
        that ui.perfetto.dev shows. With `nvtx`, launches and ranges also appear in NVIDIA's tools. Raises OSError if
        the file cannot be written."""
        return Profile(path, nvtx)

    @staticmethod
    @contextmanager
    def range(name: str) -> Generator[None, None, None]:
        """Show the body of `with ti.profile.range("step"):`, or the decorated function, as a span of that name. (It is
        also a scope of `ti.profiler.print_scoped_profiler_info`.)"""
        record, program = recording.current, program_state.current_program()
        with ScopedProfiler(name):
            if (record is not None and record.nvtx) or (program is not None and program.chosen.get("nvtx")):
                with in_range(name):
                    yield
            else:
                yield

    def table(self) -> None:
        """Print the tables of the profile that ended last."""
        if self.last is None:
            print('There are no profiles: use "with ti.profile():".')
            return
        self.last.table()


profile = _Profiling()
