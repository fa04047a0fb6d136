"""Write timelines in Chrome's trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing show.

The program is one process. Its tracks, from top to bottom, are its threads, then the queue of each device. A queue is a
thread of the format, so that viewers show it by default. Spans are complete events ("X"), times are in microseconds,
and spans of a track are nested or disjoint, as the format requires. Memory is a counter ("C").
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.lang.arguments import path_of
from weft.lang.measure.recording import MEMORY, TASK, Event

__all__ = ["trace_of", "write_trace"]

_PROCESS = 1


def write_trace(path: Any, events: Sequence[Event], threads: Mapping[int, str], start: float) -> None:
    """Write events as a timeline that begins at `start`. `threads` has the names of threads. Raises OSError if the file
    cannot be written."""
    Path(path_of(path, "a timeline")).write_text(
        json.dumps(trace_of(events, threads, start), allow_nan=False, default=str), encoding="utf-8"
    )


def trace_of(events: Sequence[Event], threads: Mapping[int, str], start: float) -> dict[str, Any]:
    """Return the contents of the file."""
    tracks: dict[int | str, list[Event]] = {}
    counters: list[Event] = []
    for event in events:
        (counters if event.kind == MEMORY else tracks.setdefault(event.track, [])).append(event)
    ordered: list[int | str] = [track for track in tracks if isinstance(track, int)]
    ordered += sorted(track for track in tracks if isinstance(track, str))
    heads = [_head("process_name", 0, name=_program())]
    made: list[dict[str, Any]] = []
    for tid, track in enumerate(ordered, 1):
        name = track if isinstance(track, str) else threads.get(track, f"thread {track}")
        heads += [_head("thread_name", tid, name=name), _head("thread_sort_index", tid, sort_index=tid)]
        made += [_span(event, tid, start) for event in _nested(tracks[track])]
    made += [_count(event, start) for event in counters]
    made.sort(key=lambda entry: (entry["ts"], -entry.get("dur", 0.0)))
    return {"traceEvents": heads + made, "displayTimeUnit": "ms"}


def _program() -> str:
    """Return the name of the running file or package, or "python"."""
    path = Path(sys.argv[0] if sys.argv else "")
    name = path.parent.name if path.name == "__main__.py" else path.name
    return name if name not in ("", "-c") else "python"


def _head(what: str, tid: int, **args: Any) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": _PROCESS, "tid": tid, "args": args}


def _nano(seconds: float) -> int:
    """Convert to nanoseconds: integers, whose order and sums are exact."""
    return round(seconds * 1e9)


def _span(event: Event, tid: int, start: float) -> dict[str, Any]:
    first, last = _nano(event.began - start), _nano(event.ended - start)
    entry = {"ph": "X", "name": str(event.name), "cat": event.kind, "pid": _PROCESS, "tid": tid}
    details = {name: _spelled(value) for name, value in event.details.items()}
    return entry | {"ts": first / 1e3, "dur": (last - first) / 1e3, "args": details}


def _spelled(value: Any) -> Any:
    """Replace infinities, which JSON does not have."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _count(event: Event, start: float) -> dict[str, Any]:
    entry = {"ph": "C", "name": f"memory of {event.track}", "pid": _PROCESS, "tid": 0}
    return entry | {"ts": _nano(event.began - start) / 1e3, "args": {"bytes": event.details["bytes"]}}


def _nested(spans: Sequence[Event]) -> list[Event]:
    """Make the spans of a track nested: none ends while a span that began inside it is open. A pass reports its time
    slightly after its end, and the clock of a device differs from that of the host. An outer span may therefore seem to
    begin after its first inner span, and a task before the end of the previous one. Spans are shortened accordingly."""
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
