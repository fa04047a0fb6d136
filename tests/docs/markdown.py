"""What the tests of the documentation read of a page: its code blocks with the notes above them, headings, links.

A note is an HTML comment on the line above a fence; it does not show on the rendered page:

    <!-- continues -->              this Python block goes on in the names of the one before it
    <!-- skip: REASON -->           this Python block is not run
    <!-- needs: MODULE -->          this Python block is run where that module is installed
    <!-- raises: NAME -->           this Python block ends in that exception
    <!-- output -->                 this block is what the Python block before it printed, or its exception's text
    <!-- session: FILE -->          this block is a session with pdb on the Python block before it, which is FILE
    <!-- file: FILE -->             this block is that file; edits and sessions follow: see test_walkthrough.py
    <!-- edit: FILE -->             this diff is done to it
    <!-- shell -->                  these commands are typed, and answer so; `...` is anything
    <!-- dump: PASS | from A | to B -->  this block is a dump of the page's program: see test_tour.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(?P<language>\w*|\{[\w-]+\})\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"<!-- (.*) -->\n\Z")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block. `start` and `end` are where its text lies in the page; `line` is where the fence is."""

    language: str
    text: str
    note: str
    line: int
    start: int
    end: int


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    for match in _FENCE.finditer(page):
        note = _NOTE.search(page, 0, match.start())
        line = page.count("\n", 0, match.start()) + 1
        place = match.start("text"), match.end("text")
        found.append(Block(match["language"], match["text"], note[1] if note else "", line, *place))
    return found


def prose(page: str) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page)


def links(page: str) -> list[str]:
    """Where its links and pictures point."""
    return _LINK.findall(prose(page))


def anchors(page: str) -> set[str]:
    """The anchors that its headings make."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
