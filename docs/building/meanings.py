"""What parameters mean: sentences of the docstring that name them, and the rows of `parameters.txt`."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).with_name("parameters.txt")
_ROW = re.compile(r"(?P<pattern>\S+?)(?: \{(?P<kind>[^}]*)\})?:(?: (?P<text>.*))?$")
_END_OF_SENTENCE = re.compile(r"(?<=[^.][.:;])\s+(?=[A-Z`(0-9])")
_GOES_ON = re.compile(r"(With None|None |Without it|It is |The default)")


@dataclass(frozen=True)
class Row:
    """A row of the table: what the parameters are whose `<function>.<parameter>` fits the pattern. An empty text
    leaves the meaning to the docstring."""

    pattern: str
    kind: str
    text: str


@cache
def rows() -> list[Row]:
    """The rows of the table, in their order: the first that fits is meant."""
    found = []
    for line in _TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            match = _ROW.match(line)
            assert match, f"parameters.txt: not a row: {line}"
            found.append(Row(match["pattern"], match["kind"] or "", match["text"] or ""))
    return found


def row(place: str) -> Row | None:
    """The row of a parameter, `<function>.<parameter>`."""
    return next((one for one in rows() if fnmatchcase(place, one.pattern)), None)


def kind_and_meaning(function: str, parameter: str, *texts: str) -> tuple[str, str]:
    """The type that the table gives a parameter ("" if none), and its meaning: of the table, or else of the first text
    that names it. The texts are docstrings: that of the function, then that of its class."""
    found = row(f"{function}.{parameter}")
    meaning = found.text if found else ""
    for text in texts:
        meaning = meaning or sentences_about(parameter, text)
    return (found.kind if found else ""), meaning


def sentences_about(parameter: str, text: str) -> str:
    """The sentence of a docstring that is about a parameter: that begins with it, or else the first that names it. If
    the next sentence goes on about it, that too. Empty if there is none."""
    about = [part for part in _sentences(text) if re.search(rf"`{re.escape(parameter)}(=[^`]*)?`", part)]
    if not about:
        return ""
    first = next((part for part in about if part.startswith(f"`{parameter}")), about[0])
    every = _sentences(text)
    after = every[every.index(first) + 1 :]
    whole = f"{first} {after[0]}" if after and _GOES_ON.match(after[0]) else first
    return whole.rstrip(";:") + ("." if whole[-1] in ";:" else "")


def _sentences(text: str) -> list[str]:
    prose = re.sub(r"^Example:\n(?: {4}.*\n?|\n)*", "\n\n", inspect.cleandoc(text), flags=re.MULTILINE)
    found: list[str] = []
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", prose):
        found += _END_OF_SENTENCE.split(" ".join(paragraph.removeprefix("- ").split()))
    return found


def documentation(one: Any) -> str:
    """The docstring of a function or class, or ""."""
    return inspect.getdoc(one) or ""
