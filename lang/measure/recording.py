"""Record events: launches, stages of the compiler, ranges, tasks, copies, memory.

All users (`profile.py`) share one recording; each takes the events of its own period. Without a recording, `current` is
None, and the code that reports events checks nothing else. Launches are watched (`watching.py`): calls of kernels go to
Python code, which takes the times and continues natively (see `Kernel`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.errors import WeftError
from weft.lang.logs.levels import logger
from weft.lang.measure import watching
from weft.lang.measure.ranges import named as ranged
from weft.lang.program import init as program_state
from weft.runtime.forks import forkable

if TYPE_CHECKING:
    from weft.runtime.device import Device

__all__ = [
    "COMPILE",
    "COPY",
    "LAUNCH",
    "MEMORY",
    "RANGE",
    "TASK",
    "Event",
    "Recording",
    "begin",
    "end",
    "this_thread",
]

LAUNCH, COMPILE, RANGE, COPY, TASK, MEMORY = "launch", "compile", "range", "copy", "task", "memory"


@dataclass
class Event:
    """An event on `track` (`this_thread`, or the name of a place of a device), in seconds of `time.perf_counter`. For
    MEMORY, `details` is the number of bytes that are allocated from then on."""

    kind: str
    track: int | str
    name: str
    began: float
    ended: float
    details: dict[str, Any] = field(default_factory=dict[str, Any])


class Recording:
    """All events since its creation. (An `Observer` of devices.)"""

    def __init__(self) -> None:
        self.users, self.nvtx = 0, 0
        self.threads: dict[int, str] = {}
        self._raw: list[tuple[Any, ...]] = []  # kind, track, name or kernel, begin, end, details
        self._held: dict[str, int] = {}  # bytes at the begin
        self._devices: list[Device] = []
        self._shapes: dict[int, tuple[Callable[[], Any], Any]] = {}  # shapes of live arguments, by their id

    def launch(self, kernel: Any, call: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
        """Run `call(*args, **keywords)` and record it as a launch of `kernel`. (A `Watch`.)"""
        if self.nvtx:
            call = ranged(kernel.function, call)
        began = perf_counter()
        try:
            return call(*args, **keywords)
        finally:
            ended, thread = perf_counter(), _this.number
            if thread not in self.threads:
                self.threads[thread] = threading.current_thread().name
            given = [a if a.__class__ in _PLAIN else self._described(a) for a in args]
            named = {name: self._described(value) for name, value in keywords.items()} if keywords else _NONE
            self._raw.append((LAUNCH, thread, kernel, began, ended, (given, named)))

    def _described(self, value: Any) -> Any:
        """Return a number, the shape of an argument, or its type. (To find the shape of a field takes longer than a
        launch.)"""
        if value.__class__ in _PLAIN:
            return value
        if isinstance(value, np.generic):
            return value.item()
        known = self._shapes.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        try:
            shape = getattr(value, "shape", None)
        except WeftError:  # a field without memory
            return value.__class__
        if isinstance(getattr(value.__class__, "shape", None), property) and value.__class__.__weakrefoffset__:
            self._shapes[id(value)] = weakref.ref(value), shape
        return value.__class__ if shape is None else shape

    def span(self, kind: str, name: str, began: float, ended: float, **details: Any) -> None:
        """Record what this thread did in that time."""
        thread = _this.number
        if thread not in self.threads:
            self.threads[thread] = threading.current_thread().name
        self._raw.append((kind, thread, name, began, ended, details))

    # -- reports of devices --------------------------------------------------------------------------------------------

    def held(self, place: str, change: int, owner: str) -> None:
        """A buffer was allocated, or freed if `change` is negative."""
        now = perf_counter()
        self._raw.append((MEMORY, place, owner, now, now, change))

    def copied(self, what: str, size: int, began: float) -> None:
        """A copy has just ended."""
        self.span(COPY, what, began, perf_counter(), bytes=size)

    def task(self, place: str, name: str, began: float, seconds: float) -> None:
        """A task ran at that place."""
        self._raw.append((TASK, place, name, began, began + seconds, {}))

    def watch(self, device: Device) -> None:
        """Start observing that device."""
        if device in self._devices:
            return
        self._devices.append(device)
        place = "cpu" if device.number is None else f"GPU {device.number}"
        self._held.setdefault(place, device.memory.total)
        device.observe(self)

    def leave(self) -> None:
        """Stop observing all devices."""
        for device in self._devices:
            _try(device, partial(device.observe, None))

    def flush(self) -> None:
        """Wait for the tasks launched so far, so that their times are known."""
        for device in self._devices:
            _try(device, device.task_times)

    # -- reading -------------------------------------------------------------------------------------------------------

    def between(self, began: float, ended: float) -> list[Event]:
        """Return the events that ended in that period, in order. Events that began before it are cut."""
        found: list[Event] = []
        held = dict(self._held)
        for kind, track, name, first, last, details in list(self._raw):
            if kind == MEMORY:
                held[track] = held.get(track, 0) + details
            if last < began or first > ended:
                continue
            if kind == LAUNCH:
                name, details = name.__name__, _arguments(name, details)
            elif kind == MEMORY:
                details = {"bytes": held[track], "change": details}
            found.append(Event(kind, track, name, max(first, began), min(last, ended), details))
        return sorted(found, key=lambda event: (event.began, -event.ended))

    def held_at(self, moment: float) -> dict[str, int]:
        """Return how many bytes were allocated then, by place."""
        held = dict(self._held)
        for kind, track, _, first, _, details in list(self._raw):
            if kind == MEMORY and first < moment:
                held[track] = held.get(track, 0) + details
        return held


class _Thread(threading.local):
    """The number of the current thread. (Python reuses its own numbers after a thread has ended.)"""

    def __init__(self) -> None:
        with _numbering:
            self.number = next(_numbers)


_numbers, _numbering = count(1), forkable(threading.Lock())
_this = _Thread()


def this_thread() -> int:
    """Return the track of this thread."""
    return _this.number


_NONE: dict[str, Any] = {}
_PLAIN = frozenset((int, float, bool, str, type(None)))


def _arguments(kernel: Any, given: tuple[Sequence[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the arguments of a launch by name: numbers, shapes of objects that have one, and types of the others."""
    values, named = given
    by_name = dict(zip(kernel.names, values)) | named
    return {name: value.__name__ if isinstance(value, type) else value for name, value in by_name.items()}


def _try(device: Device, ask: Callable[[], Any]) -> None:
    """Call `ask`. If it fails, because the device is broken, log a warning: its work is not recorded."""
    try:
        ask()
    except Exception as error:
        logger.warning("profile: cannot read the times of arch=%s: %s", device.arch, error)


current: Recording | None = None
_lock = forkable(threading.Lock())


def begin(nvtx: bool = False) -> Recording:
    """Start the recording, or join it. It continues until `end` was called as often. Waits for the launches so far,
    which are not part of the new user's period."""
    global current
    with _lock:
        made = current or Recording()
        made.flush()
        made.users += 1
        made.nvtx += nvtx
        if current is None:
            current = made
            watching.begin(made.launch)
            program = program_state.current_program()
            program_state.on_open.append(made.watch)
            if program is not None and (device := program.opened()) is not None:
                made.watch(device)
        return made


def end(recording: Recording, nvtx: bool = False) -> None:
    """Leave the recording. Waits for all launches."""
    global current
    with _lock:
        recording.flush()
        recording.users -= 1
        recording.nvtx -= nvtx
        if recording.users:
            return
        current = None
        watching.end(recording.launch)
        program_state.on_open.remove(recording.watch)
        recording.leave()
