"""Tracebacks in IPython and notebooks: they end at the user's line, without frames of Weft.

Frames of Weft are shown if the fault is Weft's, or if WEFT_TRACEBACK is "full".
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from weft.ir.errors import InternalError, WeftError
from weft.lang.notebook.cells import shell

__all__ = ["chain", "entries_of", "install", "is_ours", "users_part"]

_PACKAGE = Path(__file__).resolve().parents[2]
# Demos count as programs, as what else is in a clone does.
_OURS = (
    *(os.path.join(_PACKAGE, name, "") for name in ("codegen", "ir", "lang", "runtime")),
    *(os.path.join(_PACKAGE, name) for name in ("__init__.py", "__main__.py")),
)


def is_ours(entry: TracebackType) -> bool:
    """Return whether the frame belongs to a file of Weft."""
    return os.path.realpath(entry.tb_frame.f_code.co_filename).startswith(_OURS)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Return the exception and the exceptions that caused it."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def users_part(error: BaseException, entries: list[TracebackType]) -> TracebackType | None:
    """Return a traceback of these entries without those of Weft, unless Weft is at fault."""
    full = os.environ.get("WEFT_TRACEBACK") == "full" or isinstance(error, InternalError)
    blameless = isinstance(error, WeftError | KeyboardInterrupt) or not entries or _is_deliberate(entries[-1])
    if blameless and not full:
        entries = [entry for entry in entries if not is_ours(entry)]
    made: TracebackType | None = None
    for entry in reversed(entries):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _is_deliberate(entry: TracebackType) -> bool:
    """Return whether the frame belongs to the user, or is at a `raise` of Weft."""
    line = linecache.getline(entry.tb_frame.f_code.co_filename, entry.tb_lineno)
    return not is_ours(entry) or line.lstrip().startswith("raise ")


def entries_of(error: BaseException) -> list[TracebackType]:
    """Return the entries of an exception's traceback."""
    found: list[TracebackType] = []
    entry = error.__traceback__
    while entry is not None:
        found.append(entry)
        entry = entry.tb_next
    return found


def install() -> None:
    """Shorten the tracebacks of IPython, if this is IPython and nothing else shortens them."""
    running = shell()
    if running is not None and not getattr(running, "custom_exceptions", ()):
        running.set_custom_exc((Exception, KeyboardInterrupt), _show)


def _show(shell: Any, kind: Any, error: BaseException, traceback: Any, tb_offset: Any = None) -> Any:
    """Show an exception. (A handler of `set_custom_exc`.)"""
    for one in chain(error):
        one.__traceback__ = users_part(one, entries_of(one))
    # The first entry is IPython's own; what remains begins with the cell.
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)
    return None
