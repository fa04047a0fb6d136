"""Run programs from the command line as Python would, with `import taichi` mapped to Weft.

An exception is shown as if Python had run the program: the traceback shows only the program's own frames. Frames of
Weft are shown if the fault is Weft's, or if WEFT_TRACEBACK is "full".
"""

from __future__ import annotations

import bdb
import importlib
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from weft.lang.interpret.breakpoints import HOOKS, running, wants_pdb
from weft.lang.notebook.tracebacks import chain, entries_of, users_part

__all__ = ["INTERRUPTED", "run_program", "runner_of"]

INTERRUPTED = 130  # the exit status of shells after Ctrl-C


def run_program(program: str, arguments: Sequence[str], debugs: bool = False, quiet: bool = False) -> int:
    """Run a Python file and return the exit status. With `debugs`, `breakpoint()` opens a debugger that hides Weft's
    frames. With `quiet`, an interrupt prints no traceback."""
    importlib.import_module("weft.compat").install()
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(Path(program).resolve().parent))
    if debugs and sys.breakpointhook is sys.__breakpointhook__:
        sys.breakpointhook = _breaks
    traced, token = sys.gettrace(), running.set(sys._getframe())
    program = os.path.abspath(program)  # as Python does: messages and the cache name the same file
    try:
        runpy.run_path(program, run_name="__main__")
    except bdb.BdbQuit:  # the user has quit the debugger
        return 1
    except (Exception, KeyboardInterrupt) as error:
        if quiet and isinstance(error, KeyboardInterrupt):
            return INTERRUPTED
        for one in chain(error):
            one.__traceback__ = _shown(one, program)
        sys.excepthook(type(error), error, error.__traceback__)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        sys.settrace(traced)  # turn off the tracing of a debugger in the program
        running.reset(token)
    return 0


def runner_of(
    program: str, arguments: Sequence[str] = (), frames: int = 1, quiet: bool = False
) -> Callable[[], int] | None:
    """Return a function that runs the program and returns the exit status: a file as Python would, or so many frames of
    a demo. None if neither exists. `quiet`: see `run_program`."""
    if Path(program).is_file():
        return lambda: run_program(program, arguments, quiet=quiet)
    demos: Any = importlib.import_module("weft.demos.runner")
    if program not in demos.NAMES:
        return None

    def play() -> int:
        frame = demos.start(program)
        for number in range(frames):
            frame(number)
        return 0

    return play


def _breaks(*given: object, **named: object) -> None:
    """Handle `breakpoint()` in a program that `weft debug` runs."""
    if wants_pdb():
        from weft.lang.interpret.debugger import stop  # pdb is only needed at a stop

        stop(sys._getframe(1))
    else:
        sys.__breakpointhook__(*given, **named)


HOOKS.append(_breaks)


def _shown(error: BaseException, program: str) -> TracebackType | None:
    """Return the traceback as if Python had run the program: without frames of Weft, unless Weft itself is at fault. If
    the program did not start, return the whole traceback."""
    entries = entries_of(error)
    first = next((k for k, entry in enumerate(entries) if entry.tb_frame.f_code.co_filename == program), 0)
    entries = entries[first:]
    return users_part(error, entries)
