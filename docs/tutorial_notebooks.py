"""Tutorials as notebooks: `conf.py` writes one for each page of `tutorials/` when it builds the site.

The pages are Markdown, so that a change is a diff that a person can read, and tests run their blocks as they run those
of other pages (docs/adr/0082-tutorials-are-pages.md). A notebook has the same text and the same programs: a cell for
each block of Python, and a cell that shows the picture where the page has the picture.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```\n?", re.MULTILINE | re.DOTALL)
_OUTPUT = re.compile(r"^<!-- output -->\n```text\n.*?^```\n?", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"^<!-- .* -->\n", re.MULTILINE)
_PICTURE = re.compile(r"^!\[[^\]]*\]\(\.\./pictures/tutorials/(?P<name>[\w.-]+)\)\n?", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?!\w+:)[^)\s]+\)")


def _cell(kind: str, text: str, number: int) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    cell["source"] = text.strip("\n").splitlines(keepends=True)
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell


def _pieces(page: str) -> list[tuple[str, str]]:
    """The page in order: ("markdown", prose) and ("code", program)."""
    found: list[tuple[str, str]] = []
    rest = page
    while rest:
        block = next((match for match in _BLOCK.finditer(rest) if match["language"] == "python"), None)
        picture = _PICTURE.search(rest)
        here = min((match for match in (block, picture) if match), key=lambda match: match.start(), default=None)
        if here is None:
            return [*found, ("markdown", rest)]
        show = f'from IPython.display import Image\n\nImage("{here["name"]}")' if here is picture else here["text"]
        found += [("markdown", rest[: here.start()]), ("code", show)]
        rest = rest[here.end() :]
    return found


def notebook(page: str) -> dict[str, Any]:
    """A notebook (nbformat 4.5) of a page. It has no outputs, and links to other pages become their text."""
    text = _NOTE.sub("", _OUTPUT.sub("", page))
    prose = [(kind, _LINK.sub(r"\g<text>", part) if kind == "markdown" else part) for kind, part in _pieces(text)]
    cells = [_cell(kind, part, number) for number, (kind, part) in enumerate(prose) if part.strip()]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def write_all(pages: Path, folder: Path) -> None:
    """Write the notebook of each tutorial in `pages` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(pages.glob("*.md")):
        if page.stem != "index":
            text = json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1, ensure_ascii=False)
            (folder / f"{page.stem}.ipynb").write_text(text + "\n", encoding="utf-8", newline="\n")
