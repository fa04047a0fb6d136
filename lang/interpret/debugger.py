"""Kernels that run as Python, under pdb: stops, steps and post-mortems are about the user's lines, not about ours.

(Pdb) step       from a line of a kernel into the @func that it calls, not into what makes its numbers
(Pdb) up         from a kernel to the line that called it; from an exception: where there is nothing of Weft's below
                 the user's line, nothing to climb over
"""

from __future__ import annotations

import pdb
import sys
from types import FrameType, TracebackType

from weft.lang.functions.source import LIBRARY
from weft.lang.interpret.breakpoints import HOOKS, running, wants_pdb
from weft.lang.interpret.rewrite import HELPER

__all__ = ["standard", "stop", "trimmed"]

# Where steps do not stop: what makes a kernel's numbers. (`weft.demos` are programs.)
_UNDERNEATH = sys.stdlib_module_names | {"numpy", "weft"}
_PROGRAMS = ("weft.demos",)


class _Debugger(pdb.Pdb):
    """pdb that steps through the program alone. `home`: where it was called."""

    home: FrameType | None = None

    def is_skipped_module(self, module_name: str | None) -> bool:
        """Whether to go on in code of that module."""
        return _is_underneath(module_name or "")

    def stop_here(self, frame: FrameType) -> bool:
        """Not in what Weft calls for a kernel either, imports and their hooks, say; nor in what runs the program."""
        return super().stop_here(frame) and not _serves(frame, self.home) and not _runs_it(frame)

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        """What `where`, `up` and `down` go through: the program's functions, not ours between a call and its kernel."""
        stack, index = super().get_stack(f, t)
        users = [entry for entry in stack[:index] if not _is_ours(entry[0]) and not _runs_it(entry[0])]
        return users + stack[index:], len(users)


def _is_ours(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__") or ""
    return module.partition(".")[0] == "weft" and not module.startswith(_PROGRAMS)


def _is_underneath(module: str) -> bool:
    return module.partition(".")[0] in _UNDERNEATH and not module.startswith(_PROGRAMS)


def _runs_it(frame: FrameType) -> bool:
    """Whether it stands around the program that `weft run` or `weft debug` runs: theirs, Python's `runpy`."""
    outer = running.get()
    if outer is not None and frame.f_globals.get("__name__") == "runpy":
        return True
    while outer is not None and outer is not frame:
        outer = outer.f_back
    return outer is not None


def _serves(frame: FrameType | None, home: FrameType | None) -> bool:
    """Whether something of Weft's stands between `frame` and who called it: the rewritten function that it runs for,
    the frame `home` where the debugger was called, or the program."""
    beneath = ours = False
    while frame is not None and frame is not running.get() and frame is not home:
        if HELPER in frame.f_code.co_freevars:
            return beneath
        beneath = beneath or _is_underneath(frame.f_globals.get("__name__") or "")
        ours = ours or _is_ours(frame)
        frame = frame.f_back
    return ours


def standard() -> bool:
    """Whether `breakpoint()` means Python's own debugger."""
    return sys.breakpointhook in HOOKS and wants_pdb()


def stop(frame: FrameType | None = None) -> None:
    """`breakpoint()` of the rewritten function that calls this, or of that frame."""
    debugger = _Debugger(skip=_UNDERNEATH)
    debugger.home = frame or sys._getframe(1)
    debugger.set_trace(debugger.home)


def trimmed(entry: TracebackType | None, marker: str) -> TracebackType | None:
    """The traceback from the first rewritten function (one with `marker` among its closure's names) to the last one of
    the user's; None if there is none."""
    entries: list[TracebackType] = []
    last = 0
    while entry is not None:
        code = entry.tb_frame.f_code
        users = marker in code.co_freevars and not code.co_filename.startswith(LIBRARY)
        if users or entries:
            entries.append(entry)
        last = len(entries) if users else last
        entry = entry.tb_next
    made: TracebackType | None = None
    for one in reversed(entries[:last]):
        made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made
