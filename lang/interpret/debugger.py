"""Debug kernels that run as Python with pdb. Steps, stops and post-mortems show the user's lines and hide Weft's own.

(Pdb) step       steps from a kernel into a @func that it calls, and skips the code that computes the numbers
(Pdb) up         goes from a kernel to the line that called it; after an exception, Weft's frames below the user's
                 line are hidden
"""

from __future__ import annotations

import pdb
import sys
from types import FrameType, TracebackType

from weft.lang.functions.source import LIBRARY
from weft.lang.interpret.breakpoints import HOOKS, running, wants_pdb
from weft.lang.interpret.rewrite import HELPER

__all__ = ["standard", "stop", "trimmed"]

# Steps do not stop in these modules: they compute the numbers of a kernel. (`weft.demos` are programs.)
_UNDERNEATH = sys.stdlib_module_names | {"numpy", "weft"}
_PROGRAMS = ("weft.demos",)


class _Debugger(pdb.Pdb):
    """A pdb that steps through the program only. `home` is the frame that called the debugger."""

    home: FrameType | None = None

    def is_skipped_module(self, module_name: str | None) -> bool:
        """Return whether steps skip the code of that module."""
        return _is_underneath(module_name or "")

    def stop_here(self, frame: FrameType) -> bool:
        """Also skip what Weft calls for a kernel, such as imports and their hooks, and what runs the program."""
        return super().stop_here(frame) and not _serves(frame, self.home) and not _runs_it(frame)

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        """Return the frames that `where`, `up` and `down` show: without Weft's frames between a call and its kernel."""
        stack, index = super().get_stack(f, t)
        users = [entry for entry in stack[:index] if not _is_ours(entry[0]) and not _runs_it(entry[0])]
        return users + stack[index:], len(users)


def _is_ours(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__") or ""
    return module.partition(".")[0] == "weft" and not module.startswith(_PROGRAMS)


def _is_underneath(module: str) -> bool:
    return module.partition(".")[0] in _UNDERNEATH and not module.startswith(_PROGRAMS)


def _runs_it(frame: FrameType) -> bool:
    """Return whether the frame belongs to what runs the program: `weft run`, `weft debug` or Python's `runpy`."""
    outer = running.get()
    if outer is not None and frame.f_globals.get("__name__") == "runpy":
        return True
    while outer is not None and outer is not frame:
        outer = outer.f_back
    return outer is not None


def _serves(frame: FrameType | None, home: FrameType | None) -> bool:
    """Return whether Weft's code runs between `frame` and its caller. The caller is the rewritten function that `frame`
    works for, the frame `home` where the debugger was called, or the program."""
    beneath = ours = False
    while frame is not None and frame is not running.get() and frame is not home:
        if HELPER in frame.f_code.co_freevars:
            return beneath
        beneath = beneath or _is_underneath(frame.f_globals.get("__name__") or "")
        ours = ours or _is_ours(frame)
        frame = frame.f_back
    return ours


def standard() -> bool:
    """Return whether `breakpoint()` calls Python's own debugger."""
    return sys.breakpointhook in HOOKS and wants_pdb()


def stop(frame: FrameType | None = None) -> None:
    """Run `breakpoint()` in the rewritten function that calls this, or in the given frame."""
    debugger = _Debugger(skip=_UNDERNEATH)
    debugger.home = frame or sys._getframe(1)
    debugger.set_trace(debugger.home)


def trimmed(entry: TracebackType | None, marker: str) -> TracebackType | None:
    """Return the traceback from the first rewritten function to the last function of the user, or None if there is no
    such function. A rewritten function has `marker` among the names of its closure."""
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
