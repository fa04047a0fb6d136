"""Timelines as files: Chrome's trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing show.

Each thread of the program is a track of the process "python"; each queue of a device one of a process of its own. Spans
are complete events ("X"), times are in microseconds, and spans of a track are one inside another or apart, as the
format demands. Memory is a counter ("C").
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.lang.measure.recording import MEMORY, TASK, Event

__all__ = ["trace_of", "write_trace"]

_HOST = 1  # the process of the threads


def write_trace(path: str | Path, events: Sequence[Event], threads: Mapping[int, str], start: float) -> None:
    """Write events as a timeline that begins at `start`; `threads` has their names. OSError if that cannot be."""
    Path(path).write_text(json.dumps(trace_of(events, threads, start), allow_nan=False, default=str), encoding="utf-8")


def trace_of(events: Sequence[Event], threads: Mapping[int, str], start: float) -> dict[str, Any]:
    """The contents of the file."""
    tracks: dict[int | str, list[Event]] = {}
    counters: list[Event] = []
    for event in events:
        (counters if event.kind == MEMORY else tracks.setdefault(event.track, [])).append(event)
    places = sorted({e.track for e in (*counters, *events) if isinstance(e.track, str)} - {"cpu"}, key=str)
    pids = {"cpu": _HOST} | {place: _HOST + 1 + number for number, place in enumerate(places)}
    tids = {track: number for number, track in enumerate((t for t in tracks if isinstance(t, int)), 1)}
    heads = [_name("process_name", _HOST, 0, "python")]
    heads += [_name("process_name", pids[place], 0, str(place)) for place in places]
    heads += [_name("thread_name", _HOST, tid, threads.get(track, f"thread {track}")) for track, tid in tids.items()]
    heads += [_name("thread_name", pids[track], 1, "stream") for track in tracks if isinstance(track, str)]
    made: list[dict[str, Any]] = []
    for track, spans in tracks.items():
        place = (pids[track], 1) if isinstance(track, str) else (_HOST, tids[track])
        made += [_span(event, *place, start) for event in _nested(spans)]
    made += [_count(event, pids[str(event.track)], start) for event in counters]
    made.sort(key=lambda entry: (entry["ts"], -entry.get("dur", 0.0)))
    return {"traceEvents": heads + made, "displayTimeUnit": "ms"}


def _name(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _nano(seconds: float) -> int:
    """In nanoseconds: whole numbers, whose order and sums are exact."""
    return round(seconds * 1e9)


def _span(event: Event, pid: int, tid: int, start: float) -> dict[str, Any]:
    first, last = _nano(event.began - start), _nano(event.ended - start)
    entry = {"ph": "X", "name": str(event.name), "cat": event.kind, "pid": pid, "tid": tid}
    details = {name: _spelled(value) for name, value in event.details.items()}
    return entry | {"ts": first / 1e3, "dur": (last - first) / 1e3, "args": details}


def _spelled(value: Any) -> Any:
    """JSON has no infinity."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _count(event: Event, pid: int, start: float) -> dict[str, Any]:
    entry = {"ph": "C", "name": f"memory of {event.track}", "pid": pid, "tid": 0}
    return entry | {"ts": _nano(event.began - start) / 1e3, "args": {"bytes": event.details["bytes"]}}


def _nested(spans: Sequence[Event]) -> list[Event]:
    """The spans of a track, none of which ends while one that began in it goes on. A pass tells how long it took a
    little after it ended, and a device's clock is not the host's: so an outer span may seem to begin after its first
    inner one, and a task before the one before it ends. Spans are shortened by as much."""
    ordered = sorted(spans, key=lambda event: (event.began, -event.ended))
    around: list[Event] = []
    for event in ordered:
        around = [other for other in around if other.ended > event.began]
        if event.kind == TASK and around:
            event.began = min(around[-1].ended, event.ended)
        for other in around:
            if other.ended < event.ended:
                other.began = event.began
        around = [other for other in around if other.ended >= event.ended]
        around.append(event)
    return ordered
