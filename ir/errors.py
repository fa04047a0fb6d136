"""Source locations of nodes, and the errors that refer to them.

A `Span` is a range of the user's source. Inlined functions chain spans through `caller`, so that an error inside a
`@func` is shown like a traceback. Source text is read only when an error is shown.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "GENERATED",
    "LIBRARY",
    "CompilationError",
    "InternalError",
    "Span",
    "TypeMismatch",
    "WeftError",
    "message_parts",
    "shown_values",
]

GENERATED = "<generated>"  # the end of the names of generated files, whose text errors do not show

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lang", "")  # files of ours


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source: 1-based lines, 0-based columns (as Python's `ast` counts), `end_*` exclusive in columns."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""
    caller: Span | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"

    def render(self) -> str:
        """The location, the source line and a line of carets under the range. Callers come first, as in a traceback."""
        lines: list[str] = []
        if self.caller is not None and not self.caller.file.endswith(GENERATED):
            lines.append(self.caller.render())
        where = f", in {self.function}" if self.function else ""
        lines.append(f'  File "{self.file}", line {self.line}{where}')
        source = linecache.getline(self.file, self.line).rstrip("\n")
        text = source.strip()
        if text:
            indent = len(source) - len(source.lstrip())
            # ast counts UTF-8 bytes; carets count characters.
            start = len(source.encode()[: self.column].decode(errors="replace"))
            stop = len(source)
            if self.end_line == self.line and self.end_column > self.column:
                stop = len(source.encode()[: self.end_column].decode(errors="replace"))
            start = max(start, indent)
            lines.append("    " + text)
            lines.append("    " + " " * (start - indent) + "^" * max(1, stop - start))
        return "\n".join(lines)


class WeftError(Exception):
    """The base class of all errors that Weft raises deliberately. Taichi's name of it is `ti.TaichiRuntimeError`.

    Example:
        issubclass(ti.CompilationError, ti.WeftError), ti.TaichiRuntimeError is ti.WeftError  # (True, True)
    """


class CompilationError(WeftError):
    """An error in the user's program. The message says where (file, line and a caret), what was found, and what would
    be correct. Taichi's name of it is `ti.TaichiCompilationError`.

    Example:
        @ti.kernel
        def lost() -> ti.i32:
            return 1 << "a"

        lost()  # raises TypeMismatch
        issubclass(ti.TaichiTypeError, ti.CompilationError)  # True
    """

    def __init__(self, message: str, span: Span | None = None) -> None:
        self.message, self.span = message, span
        super().__init__(message if span is None else f"\n{span.render()}\n{message}")


class TypeMismatch(CompilationError, TypeError):
    """Types that cannot be combined. Weft calls it TypeMismatch. It is a CompilationError and a TypeError.

    Example:
        ti.Vector([1, 2]) + ti.Vector([1, 2, 3])  # raises TypeMismatch
        issubclass(ti.TaichiTypeError, TypeError)  # True
    """


class InternalError(WeftError):
    """An error in Weft itself. It names the pass and the op. `text` is the IR that the pass was given, if the pipeline
    was verifying. It can be parsed to reproduce the error.

    Example:
        issubclass(ti.InternalError, ti.WeftError), issubclass(ti.InternalError, ti.CompilationError)  # (True, False)
    """

    text: str = ""


_SLOT = re.compile(r"\{(?::([^{}]*))?\}")


def message_parts(message: str) -> tuple[list[str], list[str]]:
    """The texts of an assertion's message, and between them the formats of its values: `{}` or `{:.3f}`."""
    parts = _SLOT.split(message)
    return parts[::2], [spec or "" for spec in parts[1::2]]


_OF_INDICES = ("bounds", "outside")  # the kinds of sites whose values are indices
_LAST_INDEX = 2**63 - 1  # it stands for all larger u64: `infer_types` clamps them to i64


def shown_values(kind: str, values: Sequence[Any]) -> list[Any]:
    """The values as a message of a site of that kind shows them. An index that may be larger than shown is marked."""
    if kind not in _OF_INDICES:
        return [*values]
    return [
        f"{value} or more" if getattr(value, "ndim", 0) == 0 and value == _LAST_INDEX else value for value in values
    ]
