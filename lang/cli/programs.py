"""Programs that the command line runs: as Python would run them, with `import taichi` meaning Weft.

What they raise is shown as if Python had run them: of the traceback, the program's own frames. Frames of Weft stay
where the mistake is Weft's, and where WEFT_TRACEBACK is "full".
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
_INTERRUPTED = 130  # the exit status that shells give after Ctrl-C


def run_program(program: str, arguments: Sequence[str], debugs: bool = False) -> int:
    """Run a Python file; gives the exit status. `debugs`: `breakpoint()` means a debugger that knows what is Weft's."""
    importlib.import_module("weft.compat").install()
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(Path(program).resolve().parent))
    if debugs and sys.breakpointhook is sys.__breakpointhook__:
        sys.breakpointhook = _breaks
    traced, token = sys.gettrace(), running.set(sys._getframe())
    try:
        runpy.run_path(program, run_name="__main__")
    except bdb.BdbQuit:  # whoever sat at the debugger has seen enough
        return 1
    except (Exception, KeyboardInterrupt) as error:
        for one in _chain(error):
            one.__traceback__ = _shown(one, program)
        sys.excepthook(type(error), error, error.__traceback__)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        sys.settrace(traced)  # a debugger of the program has no more to do
        running.reset(token)
    return 0


def _breaks(*given: object, **named: object) -> None:
    """`breakpoint()` in a program that `weft debug` runs."""
    if wants_pdb():
        from weft.lang.interpret.debugger import stop  # only who stops somewhere needs pdb

        stop(sys._getframe(1))
    else:
        sys.__breakpointhook__(*given, **named)


HOOKS.append(_breaks)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception, and those that it came from."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _shown(error: BaseException, program: str) -> TracebackType | None:
    """The traceback as Python would show it, had it run the program; without frames of Weft, unless what they raised is
    a mistake of theirs. All of it where the program did not begin."""
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
    """Whether it is of a file of Weft's; demos are programs."""
    file = os.path.realpath(entry.tb_frame.f_code.co_filename)
    return file.startswith(_PACKAGE) and not file.startswith(os.path.join(_PACKAGE, "demos", ""))
