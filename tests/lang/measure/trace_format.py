"""The rules of Chrome's trace event format (JSON object form), as far as `ti.profile` uses it: a file that keeps them
opens in Perfetto. Times in it are compared in whole nanoseconds, since they are decimal fractions of microseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PHASES = {
    "X": ("name", "cat", "ts", "dur", "pid", "tid", "args"),
    "C": ("name", "ts", "pid", "args"),
    "M": ("name", "args"),
}


def check_trace(path: Path) -> list[dict[str, Any]]:
    """The events of a file, metadata left out, after all that is wrong with it was asserted not to be."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    assert whole["displayTimeUnit"] in ("ms", "ns")
    events: list[dict[str, Any]] = whole["traceEvents"]
    for event in events:
        assert event["ph"] in PHASES, event
        assert all(key in event for key in PHASES[event["ph"]]), event
        assert isinstance(event["name"], str)
        assert all(isinstance(event[key], int) and 0 <= event[key] < 2**31 for key in ("pid", "tid")), event
        if event["ph"] != "M":
            assert event["ts"] >= 0
            assert event.get("dur", 0) >= 0
    _check_names(events)
    found = [event for event in events if event["ph"] != "M"]
    assert [event["ts"] for event in found] == sorted(event["ts"] for event in found)
    for track in {(event["pid"], event["tid"]) for event in found if event["ph"] == "X"}:
        _check_nesting([e for e in found if e["ph"] == "X" and (e["pid"], e["tid"]) == track])
    for event in found:
        if event["ph"] == "C":
            assert event["args"]
            assert all(isinstance(value, (int, float)) and value >= 0 for value in event["args"].values()), event
    return found


def _check_names(events: list[dict[str, Any]]) -> None:
    """Each process and each thread with spans has one name."""
    names = [(e["name"], e["pid"], 0 if e["name"] == "process_name" else e["tid"]) for e in events if e["ph"] == "M"]
    assert len(names) == len(set(names))
    for event in events:
        if event["ph"] == "M":
            (said,) = event["args"].items()
            assert event["name"] == f"thread_{said[0]}" or (event["name"], said[0]) == ("process_name", "name"), event
            assert said[1]
        else:
            assert ("process_name", event["pid"], 0) in names, event
        if event["ph"] == "X":
            assert ("thread_name", event["pid"], event["tid"]) in names, event


def _check_nesting(spans: list[dict[str, Any]]) -> None:
    """Of two spans of a track, one contains the other or they are apart."""
    ends: list[int] = []
    for span in sorted(spans, key=lambda e: (e["ts"], -e["dur"])):
        first = round(span["ts"] * 1e3)
        last = first + round(span["dur"] * 1e3)
        while ends and ends[-1] <= first:
            ends.pop()
        assert not ends or last <= ends[-1], f"{span} goes on after what it began in"
        ends.append(last)
