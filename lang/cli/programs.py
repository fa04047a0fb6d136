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
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from weft.ir.errors import InternalError, WeftError
from weft.lang.interpret.breakpoints import HOOKS, running, wants_pdb

__all__ = ["run_program"]

_PACKAGE = str(Path(__file__).resolve().parents[2]) + os.sep
_INTERRUPTED = 130  # the exit status of shells after Ctrl-C


def run_program(program: str, arguments: Sequence[str], debugs: bool = False) -> int:
    """Run a Python file and return the exit status. With `debugs`, `breakpoint()` opens a debugger that hides Weft's
    frames."""
    importlib.import_module("weft.compat").install()
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(Path(program).resolve().parent))
    if debugs and sys.breakpointhook is sys.__breakpointhook__:
        sys.breakpointhook = _breaks
    traced, token = sys.gettrace(), running.set(sys._getframe())
    try:
        runpy.run_path(program, run_name="__main__")
    except bdb.BdbQuit:  # the user has quit the debugger
        return 1
    except (Exception, KeyboardInterrupt) as error:
        for one in _chain(error):
            one.__traceback__ = _shown(one, program)
        sys.excepthook(type(error), error, error.__traceback__)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        sys.settrace(traced)  # turn off the tracing of a debugger in the program
        running.reset(token)
    return 0


def _breaks(*given: object, **named: object) -> None:
    """Handle `breakpoint()` in a program that `weft debug` runs."""
    if wants_pdb():
        from weft.lang.interpret.debugger import stop  # pdb is only needed at a stop

        stop(sys._getframe(1))
    else:
        sys.__breakpointhook__(*given, **named)


HOOKS.append(_breaks)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Return the exception and the exceptions that caused it."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _shown(error: BaseException, program: str) -> TracebackType | None:
    """Return the traceback as if Python had run the program: without frames of Weft, unless Weft itself is at fault. If
    the program did not start, return the whole traceback."""
    entries = list(_entries(error.__traceback__))
    first = next((k for k, entry in enumerate(entries) if entry.tb_frame.f_code.co_filename == program), 0)
    entries = entries[first:]
    full = os.environ.get("WEFT_TRACEBACK") == "full" or isinstance(error, InternalError)
    blameless = isinstance(error, WeftError | KeyboardInterrupt) or not (entries and _is_ours(entries[-1]))
    if blameless and not full:
        entries = [entry for entry in entries if not _is_ours(entry)]
    made: TracebackType | None = None
    for entry in reversed(entries):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _entries(entry: TracebackType | None) -> Iterator[TracebackType]:
    while entry is not None:
        yield entry
        entry = entry.tb_next


def _is_ours(entry: TracebackType) -> bool:
    """Return whether the frame belongs to a file of Weft. Demos count as programs."""
    file = os.path.realpath(entry.tb_frame.f_code.co_filename)
    return file.startswith(_PACKAGE) and not file.startswith(os.path.join(_PACKAGE, "demos", ""))
