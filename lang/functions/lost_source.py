"""Finds the text of functions that are in no file: from `python -c`, `exec`, standard input or an interactive session.

The text may still be on the command line, in strings that the running frames can reach, or in the lines typed so far.
Each of these texts is compiled again. The one that gives exactly the same code is the right one. The search runs once,
when a decorator is applied, because the frames are gone later. The text of a file is also stored at that point: if a
program is edited while it runs, it still runs what was imported."""

from __future__ import annotations

import linecache
import os
import stat
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from types import CodeType, FrameType
from typing import Any, Generic, TypeVar
from weakref import ref

from weft.lang.functions.lambdas import FUTURES, LAMBDA

__all__ = ["file_of", "find_lost", "keep_text", "lines_of_lost"]

V = TypeVar("V")


class _OfCode(Generic[V]):
    """A mapping from code objects, by identity, to values. An entry lives as long as its code object. `gone` is called
    with the value of an entry whose code object has died.

    Code that was compiled twice from the same text gives two equal objects. A weak dictionary would have one entry for
    both, and lose it with the first of them."""

    def __init__(self, gone: Callable[[V], None] | None = None) -> None:
        self._entries: dict[int, tuple[ref[CodeType], V]] = {}
        self._gone = gone

    def __setitem__(self, code: CodeType, value: V) -> None:
        key = id(code)
        self._entries[key] = ref(code, lambda _: self._drop(key)), value

    def get(self, code: CodeType) -> V | None:
        """The value of this code object. None if it has none."""
        entry = self._entries.get(id(code))
        return None if entry is None else entry[1]

    def items(self) -> list[tuple[CodeType, V]]:
        """The live code objects with their values, the oldest first."""
        return [(code, value) for weak, value in list(self._entries.values()) if (code := weak()) is not None]

    def _drop(self, key: int) -> None:
        _, value = self._entries.pop(key)
        if self._gone is not None:
            self._gone(value)


def _forget(name: str) -> None:
    """Drop the text with this name from `linecache` if no function of it is left."""
    if all(name != other for _, other in _named.items()):
        linecache.cache.pop(name, None)


_found = _OfCode[list[str]]()
_named = _OfCode[str](_forget)  # see `file_of`


def find_lost(function: Callable[..., Any], depth: int) -> None:
    """Look for the text of `function` if no file contains it. The function is defined `depth` frames up."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    if not code.co_filename.startswith("<"):
        _keep_file(function, code)
        return
    if _is_kept(code):
        return
    for text in _candidates(code, sys._getframe(depth + 1)):
        if _begins(code) in text and _gives(text, code):
            _found[code] = text.splitlines(keepends=True)
            return


def keep_text(function: Callable[..., Any], text: str) -> None:
    """Record `text` as what `function` was compiled from."""
    _found[function.__code__] = text.splitlines(keepends=True)


def _keep_file(function: Callable[..., Any], code: CodeType) -> None:
    """Store the current lines of the file, in one list for all of its functions."""
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if _defines(lines, code):
        _found[code] = lines


def _is_kept(code: CodeType) -> bool:
    """Whether Python kept the text. It does so for a notebook cell and, from 3.13 on, for `python -c`, whose file name
    `<string>` is that of any text given to `exec`."""
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    return any(_begins(code) in line for line in lines)


def lines_of_lost(code: CodeType) -> list[str] | None:
    """The lines of the text that `code` was compiled from, if the text was found: for this function, or for a kernel of
    the same text. (A plain function has no decorator that would start a search.)"""
    known = _found.get(code)
    if known is not None:
        return known
    texts = {id(lines): lines for other, lines in _found.items() if other.co_filename == code.co_filename}
    if not code.co_filename.startswith("<"):
        return next((lines for lines in reversed(texts.values()) if _defines(lines, code)), None)
    typed = (text.splitlines(keepends=True) for text in (_typed() if code.co_filename == "<stdin>" else ()))
    for lines in (*texts.values(), *typed):
        if _gives("".join(lines), code):
            _found[code] = lines
            return lines
    return None


def file_of(code: CodeType) -> str:
    """The name of the file of `code`, under which `linecache` has its text.

    Code that is in no file gets a name of its own, such as `<string 1f3a9c>`, because `<string>` may stand for many
    texts. Messages, warnings, tracebacks and pdb find the text by this name."""
    lines = lines_of_lost(code) if code.co_filename.startswith("<") else None
    if lines is None:
        return code.co_filename
    text = "".join(lines)
    name = f"{code.co_filename.removesuffix('>')} {sha256(text.encode()).hexdigest()[:6]}>"
    linecache.cache.setdefault(name, (len(text), None, lines, name))
    if _named.get(code) is None:
        _named[code] = name
    return name


def _defines(lines: list[str], code: CodeType) -> bool:
    """Whether a function of this name begins in the lines that `code` was compiled from."""
    last = max(line or 0 for _, _, line in code.co_lines())
    return any(_begins(code) in line for line in lines[code.co_firstlineno - 1 : last])


def _begins(code: CodeType) -> str:
    """The words that the text of this function contains."""
    return "lambda" if code.co_name == LAMBDA else f"def {code.co_name}"


def _gives(text: str, code: CodeType) -> bool:
    """Whether compiling `text` gives `code`, possibly with other code."""
    try:
        pending: list[Any] = [compile(text, code.co_filename, "exec", code.co_flags & FUTURES, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return False
    while pending:
        inner = pending.pop()
        if inner == code:
            return True
        pending += [constant for constant in inner.co_consts if isinstance(constant, CodeType)]
    return False


def _candidates(code: CodeType, frame: FrameType | None) -> Iterator[str]:
    yield from sys.orig_argv
    while frame is not None:
        named = [frame.f_globals.get(name) for name in frame.f_code.co_names]
        places = (frame.f_locals.values(), frame.f_code.co_consts, named)
        yield from (text for place in places for text in list(place) if isinstance(text, str))
        frame = frame.f_back
    if code.co_filename == "<stdin>":
        yield from _standard_input()
        yield from _typed()


def _standard_input() -> Iterator[str]:
    """The whole text of standard input, if that is a file. Its position does not change."""
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode) and hasattr(os, "pread"):
            yield os.pread(0, status.st_size, 0).decode()
    except (OSError, UnicodeDecodeError):
        return


def _typed() -> Iterator[str]:
    """The last lines of an interactive session, from each decorator or definition on."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    count: int = readline.get_current_history_length()
    lines = [readline.get_history_item(number) or "" for number in range(max(1, count - 500), count + 1)]
    for start in range(len(lines) - 1, -1, -1):
        if lines[start].startswith(("@", "def ")):
            yield "\n".join(lines[start:]) + "\n"
