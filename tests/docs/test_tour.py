"""The dumps in docs/tour.md are what Weft prints today. `pytest --update` writes them anew.

The note above a dump says which: `dump: PASS`, or `dump: PASS 2` for the second time that pass ran; then, to show a
part, `| from TEXT` (the first line that holds TEXT) and `| to TEXT` (the first line after it that holds TEXT).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, Block, blocks

TOUR = ROOT / "docs" / "tour.md"


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the program of the page prints under each heading, in order."""
    page = blocks(TOUR.read_text(encoding="utf-8"))
    file = tmp_path_factory.mktemp("tour") / "fall.py"
    file.write_text(next(block.text for block in page if block.language == "python"), encoding="utf-8")
    wanted = sorted({name_of(block) for block in page if block.note.startswith("dump: ")})
    environment = {**os.environ, "WEFT_DUMP": ",".join(wanted)}
    run = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True)
    parts = re.split(r"^---- step: (?:after )?(\w+) -+\n", run.stderr, flags=re.MULTILINE)
    found: dict[str, list[str]] = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(name, []).append(text.rstrip() + "\n")
    return found


def name_of(block: Block) -> str:
    return block.note.removeprefix("dump: ").split("|")[0].split()[0]


def excerpt(block: Block, dumps: dict[str, list[str]]) -> str:
    """What the block's note asks for."""
    what, *cuts = (part.strip() for part in block.note.removeprefix("dump: ").split("|"))
    name, _, which = what.partition(" ")
    lines = dumps[name][int(which or 1) - 1].splitlines()
    for cut in cuts:
        edge, _, text = cut.partition(" ")
        place = next((k for k, line in enumerate(lines) if text in line), None)
        assert place is not None, f"the dump of {what} holds no {text!r}"
        lines = lines[place:] if edge == "from" else lines[: place + 1]
    return "\n".join(lines) + "\n"


def test_dumps(dumps: dict[str, list[str]], request: pytest.FixtureRequest) -> None:
    text = TOUR.read_text(encoding="utf-8")
    renewed = text
    for block in reversed(blocks(text)):
        if block.note.startswith("dump: "):
            renewed = renewed[: block.start] + excerpt(block, dumps) + renewed[block.end :]
    if request.config.getoption("--update"):
        Path(TOUR).write_text(renewed, encoding="utf-8", newline="\n")
        return
    assert text == renewed, "docs/tour.md shows something else; `pytest --update` renews it"
