"""Parses Python's two formatting notations, `"%d" % n` and `"{}".format(n)`, into texts and slots for values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter

__all__ = ["Piece", "Slot", "parse_braces", "parse_percent"]


@dataclass(frozen=True)
class Slot:
    """A place for a value in a format: its position or name, and its format specification (as for `format(value,
    spec)`). `whole` says that the value is converted to an integer, `quoted` that its `repr` is printed."""

    key: int | str
    spec: str
    whole: bool = False
    quoted: bool = False


Piece = str | Slot

_PERCENT = re.compile(r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<digits>\d+))?[hlL]?(?P<kind>[diouxXeEfFgGcrsa%])")


def parse_percent(text: str) -> list[Piece]:
    """Parse a format of the `%` operator into texts and slots. Raises ValueError for an invalid conversion."""
    pieces: list[Piece] = []
    position, count = 0, 0
    for found in _PERCENT.finditer(text):
        pieces += _literal(text[position : found.start()])
        position = found.end()
        if found["kind"] == "%":
            pieces.append("%")
            continue
        pieces.append(_percent_slot(found, count))
        count += 1
    return pieces + _literal(text[position:])


def _literal(text: str) -> list[Piece]:
    if "%" in text:
        raise ValueError(
            f"'{text[text.index('%') :][:6]}' is not a valid conversion: write %d, %5.2f, %s ..., or %% for a "
            "percent sign"
        )
    return [text] if text else []


def _percent_slot(found: re.Match[str], count: int) -> Slot:
    flags, kind, digits = found["flags"], found["kind"], found["digits"]
    sign = "+" if "+" in flags else " " if " " in flags else ""
    alternate = "#" if "#" in flags else ""
    zero = "0" if "0" in flags and "-" not in flags and kind not in "rsac" else ""
    align = "<" if "-" in flags else ">" if found["width"] and not zero else ""
    if kind in "rsac":
        return Slot(count, f"{align}{found['width']}" if found["width"] else "", quoted=kind in "ra")
    whole = kind in "diouxX"
    if whole:
        kind, digits = {"i": "d", "u": "d"}.get(kind, kind), None
    precision = f".{digits}" if digits is not None else ""
    return Slot(count, f"{align}{sign}{alternate}{zero}{found['width']}{precision}{kind}", whole)


def parse_braces(text: str) -> list[Piece]:
    """Parse a format of `str.format` into texts and slots. Raises ValueError for what Python rejects, and for
    attributes or items of a value."""
    pieces: list[Piece] = []
    count = 0
    for literal, name, spec, conversion in Formatter().parse(text):
        if literal:
            pieces.append(literal)
        if name is None:
            continue
        if "{" in (spec or "") or not re.fullmatch(r"\w*", name):
            raise ValueError(
                f"'{{{name}}}' is not supported: a placeholder cannot name attributes or items, and its format "
                "cannot contain placeholders"
            )
        key: int | str = int(name) if name.isdigit() else name
        if name == "":
            key, count = count, count + 1
        pieces.append(Slot(key, spec or "", quoted=conversion == "r"))
    return pieces
