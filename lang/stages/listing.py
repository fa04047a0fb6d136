"""Texts of the compiler whose lines know the place in the program that they come from.

A place is a number, a *spot*. It stands for the source line and the lines of the calls that led to it, innermost first.
To follow a kernel through LLVM, each op gets its spot as its line number (`Spots.mark`). The debug metadata of the
optimized module, and `.loc` in assembly and PTX, then contain the spots.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from weft.ir.core import Op
from weft.ir.errors import Span

__all__ = ["Line", "Listing", "Spots", "of_assembly", "of_llvm", "of_sass", "with_places"]

Line = tuple[str, int]  # file and line

_DEBUG = re.compile(r",? !dbg !(\d+)")
_LOCATION = re.compile(r"!(\d+) = (?:distinct )?!DILocation\(line: (\d+)")
_METADATA = re.compile(r"!(llvm\.dbg\.cu|llvm\.module\.flags|\d+) = ")
_OF_DEBUGGING = re.compile(r"!DI|!\{null\}|\"Debug Info Version\"|^!llvm\.")
_DEFINE = re.compile(r"define .*?@([\w.]+)\(")
_RESULT = re.compile(r"  (%[\w.]+) = ")
_NODE = re.compile(r"^!(\d+) = ", re.MULTILINE)
_LOC = re.compile(r"\s*\.loc\s+\d+\s+(\d+)")
_NOISE = re.compile(r"\s*(\.cfi_|\.file\s|\.loc\s|\.p2align|\.L(tmp|func_begin|func_end|debug)|\$L__(tmp|func))")
_SASS_GAP = re.compile(r"(?<=\*/) {12}(?= )")  # the gap between an address and its instruction
_SASS_LINE = re.compile(r'\s*//## File "spots", line (\d+)')


class Listing(str):
    """A text. `spots` has the spot of each line, or 0 if a line has none."""

    spots: tuple[int, ...]

    def __new__(cls, lines: Iterable[str], spots: Iterable[int]) -> Listing:
        made = super().__new__(cls, "".join(f"{line}\n" for line in lines))
        made.spots = tuple(spots)
        return made


class Spots:
    """Assigns numbers to places, from 1 on. `chains[number]` lists (file, line), innermost first."""

    FILE = "spots"

    def __init__(self) -> None:
        self.chains: list[tuple[Line, ...]] = [()]
        self._numbers: dict[tuple[Line, ...], int] = {(): 0}

    def number(self, span: Span | None) -> int:
        """Return the spot of the place where a span begins."""
        chain: list[Line] = []
        while span is not None:
            if not chain or chain[-1] != (span.file, span.line):
                chain.append((span.file, span.line))
            span = span.caller
        key = tuple(chain)
        if key not in self._numbers:
            self._numbers[key] = len(self.chains)
            self.chains.append(key)
        return self._numbers[key]

    def listing(self, lines: Sequence[str], spans: Iterable[Span | None]) -> Listing:
        """Return a text whose lines come from those spans."""
        return Listing(lines, map(self.number, spans))

    def mark(self, root: Op) -> None:
        """Replace the line numbers of the ops by their spots."""
        for op in root.walk():
            number = self.number(op.span)
            op.span = Span(self.FILE, number) if number else None


def with_places(optimized: str, written: Listing) -> str:
    """Restore the lines of instructions in an optimized module. LLVM drops the line of an instruction that it moves. An
    instruction that still has its name from the module `written` gets the line from there."""
    known: dict[tuple[str, str], int] = {}
    function = ""
    for line, spot in zip(written.splitlines(), written.spots, strict=True):
        function = found[1] if (found := _DEFINE.match(line)) else function
        if spot and (found := _RESULT.match(line)):
            known[function, found[1]] = spot
    lines, nodes, scope = list[str](), dict[tuple[str, int], int](), ""
    first = 1 + max(map(int, _NODE.findall(optimized)), default=-1)
    for line in optimized.splitlines():
        if found := _DEFINE.match(line):
            function, scope = found[1], (_DEBUG.findall(line) or [""])[0]
        result = _RESULT.match(line)
        spot = known.get((function, result[1]), 0) if result and scope and not _DEBUG.search(line) else 0
        lines.append(f"{line}, !dbg !{nodes.setdefault((scope, spot), first + len(nodes))}" if spot else line)
    lines += [f"!{node} = !DILocation(line: {spot}, column: 1, scope: !{of})" for (of, spot), node in nodes.items()]
    return "\n".join(lines) + "\n"


def of_llvm(text: str) -> Listing:
    """Return LLVM IR without its debug metadata."""
    places = {number: int(line) for number, line in _LOCATION.findall(text)}
    lines: list[str] = []
    spots: list[int] = []
    for line in text.splitlines():
        if _METADATA.match(line) and _OF_DEBUGGING.search(line):
            continue
        found = _DEBUG.search(line)
        lines.append(_DEBUG.sub("", line) if found else line)
        spots.append(places.get(found[1], 0) if found else 0)
    return Listing(lines, spots)


def of_assembly(text: str) -> Listing:
    """Return assembly or PTX without the directives for debuggers."""
    lines: list[str] = []
    spots: list[int] = []
    spot = 0
    for line in text.splitlines():
        where = _LOC.match(line)
        if where is not None:
            spot = int(where[1])
            continue
        if line.lstrip().startswith(".section") and ".debug" in line:
            break
        if _NOISE.match(line) or (not line.strip() and lines and not lines[-1]):
            continue
        spot = spot if line.startswith(("\t", " ", "$L", ".LBB")) else 0
        lines.append(line)
        spots.append(spot if _is_instruction(line) else 0)
    return Listing(lines, spots)


def of_sass(text: str) -> Listing:
    """Return a listing of nvdisasm's output with lines."""
    lines: list[str] = []
    spots: list[int] = []
    spot = 0
    for line in text.splitlines():
        where = _SASS_LINE.match(line)
        if where is not None:
            spot = int(where[1])
            continue
        if ".debug" in line:
            break
        lines.append(_SASS_GAP.sub("", line))
        spots.append(spot if "/*" in line and ";" in line else 0)
    return Listing(lines, spots)


def _is_instruction(line: str) -> bool:
    body = line.strip()
    return bool(body) and line[0] in "\t " and not body.startswith((".", "//", "#")) and not body.endswith(":")
