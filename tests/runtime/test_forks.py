"""The gate that forks wait at."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from weft.runtime.forks import Gate


def _passage(gate: Gate, at: int) -> str:
    """Pass, with another passage of the same thread, as of a finalizer, before the instruction of that number: where it
    was, "" if there are not so many."""
    count, where = 0, ""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count, where
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == at:
                where = frame.f_code.co_name
                sys.settrace(None)
                with gate:
                    pass
        return trace

    before = sys.gettrace()
    sys._getframe().f_trace_opcodes = True  # CPython 3.12 reports no instruction unless a frame asked for them before
    sys.settrace(trace)
    try:
        with gate, gate:
            pass
    finally:
        sys.settrace(before)
    return where


def test_a_finalizer_may_come_at_any_point_of_a_passage():
    gate, places, at = Gate(), list[str](), 1
    while where := _passage(gate, at):
        assert not gate._inside
        places.append(where)
        at += 1
    assert {"__enter__", "__exit__"} <= set(places)
