"""Sessions with pdb on the pages: the program above each is run, what was typed is typed, and pdb answers the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.markdown import PAGES, Block, blocks


def sessions() -> list[tuple[Block, Block]]:
    """Each program with the session below it."""
    found: list[tuple[Block, Block]] = []
    for page in PAGES:
        all_blocks = blocks(page.read_text(encoding="utf-8"))
        for program, session in pairwise(all_blocks):
            if session.note.startswith("session: "):
                found.append((program, session))
    return found


@pytest.mark.parametrize(("program", "session"), sessions())
def test_a_session_goes_as_the_page_says(program: Block, session: Block, tmp_path: Path) -> None:
    file = tmp_path / session.note.removeprefix("session: ")
    file.write_text(program.text, encoding="utf-8")
    command, _, shown = session.text.partition("\n")
    settings, _, arguments = command.removeprefix("$ ").partition(" python ")
    environment = dict(pair.split("=") for pair in settings.split())
    typed = re.findall(r"^\(Pdb\) (.*)$", shown, re.MULTILINE)
    done = subprocess.run(
        [sys.executable, *arguments.split()],
        cwd=tmp_path,
        env={**os.environ, **environment, "PYTHONUNBUFFERED": "1"},
        input="\n".join([*typed, "q", ""]),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    said = done.stdout.replace(f"{tmp_path}{os.sep}", "")
    expected = re.sub(r"^(\(Pdb\) ).*\n", r"\1", shown.removeprefix("...\n"), flags=re.MULTILINE)
    assert expected.rstrip() in said, said


def test_there_are_sessions() -> None:
    assert sessions()
